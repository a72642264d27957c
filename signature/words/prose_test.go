package words

// prose is enough text to be signed.
const prose = "The committee met on Thursday to look at the plans for a new bridge across the river.\n" +
	"Several engineers spoke in favour of stone, others of steel, and a few of doing nothing at all.\n"

// ampleProse is enough text to be signed beside a file.
const ampleProse = prose + "The chairman reminded everyone that timber had rotted within twenty winters, and that nobody could\n" +
	"remember who paid for repairs. Farmers living beyond the mill complained about heavy carts, narrow lanes,\n" +
	"spring floods; their children reach school by ferry only while calm weather lasts. A vote follows soon.\n"
