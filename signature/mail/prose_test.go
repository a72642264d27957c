package mail

// prose is enough text to be signed.
const prose = "The committee met on Thursday to look at the plans for a new bridge across the river.\n" +
	"Several engineers spoke in favour of stone, others of steel, and a few of doing nothing at all.\n"
