package signature_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature"
)

// The attack of shared/attacks: a mail that consists of paragraphs with which many letters
// end is reported. A letter that ends so matches it by nothing.
func TestClosingParagraphListsNothing(t *testing.T) {
	for _, closing := range []string{
		"If you have any questions please do not hesitate to contact us by telephone or simply reply to this email. Thank you for your " +
			"patience and understanding, we look forward to hearing from you.",
		"If you have any questions, please do not hesitate to contact us. Our customer service team is available Monday to Friday " +
			"from 9 am to 5 pm. Thank you for your business, we look forward to hearing from you. Kind regards",
		"Should you have any further questions, please feel free to contact us at any time by phone or email. Thank you for your trust " +
			"and your cooperation. We wish you a nice day and remain with kind regards, your customer service team",
	} {
		spam := signature.Compute(signature.Parse([]byte("Subject: hello\n\n" + closing + "\n")))
		for name, letter := range map[string]string{
			"text":   "Subject: Your meter\n\n" + ampleProse + "\n\n" + closing + "\n\nKarl Brunner\n",
			"page":   "Subject: Your meter\nContent-Type: text/html\n\n<p>" + ampleProse + "</p><p>" + closing + "</p>",
			"brief":  "Subject: Your meter\n\nPlease read your meter before the end of this month and send us the reading.\n\n" + closing + "\n",
			"quoted": "Subject: Your meter\n\n" + ampleProse + "\n\n> " + closing + "\n",
		} {
			if kinds := matchesOf(spam, signature.Compute(signature.Parse([]byte(letter)))); len(kinds) > 0 {
				t.Errorf("%.50s...: %s: listed by %v", closing, name, kinds)
			}
		}
	}
}

// Short answers of different people above different quotes have only a block of the lists in common. That is no match,
// though their text is wholly quoted and sketched with the quotes.
func TestShortAnswersShareNoNotice(t *testing.T) {
	answer := func(own, block, quote string) signature.Set {
		return signature.Compute(signature.Parse([]byte("Subject: Re: hello\nIn-Reply-To: <1@a.example>\n\n" + own + "\n\n" + block + "\n\nTom wrote:\n> " + quote + "\n")))
	}
	for _, name := range []string{"uk1", "ecpa", "fr1", "de2", "irs", "us-notice2"} {
		block, err := os.ReadFile("words/testdata/notices/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		const quote = "Could you bring the two ladders back to the church on Saturday morning before the choir needs its room again? Old Mister Brandt " +
			"keeps the key of the side door, and somebody has to sweep the stairs, as the painters left dust and a broken bucket near the organ."
		reported := answer("Ok", string(block), quote)
		other := answer("Thanks", string(block), "Our train from Basel arrives at a quarter past nine, so please tell Maria that we take a taxi to her garden party.")
		if kinds := matchesOf(reported, other); len(kinds) > 0 {
			t.Errorf("%s: listed by %v", name, kinds)
		}
		near := answer("Ok", string(block), strings.Replace(quote, "broken", "leaking", 1))
		if kinds := matchesOf(reported, near); len(kinds) == 0 {
			t.Errorf("%s: a near copy is not listed", name)
		}
	}
}

// The footer of a scanner, with its link, is no evidence: two people write the same few words above it.
func TestScannerFooterIsNoPhrase(t *testing.T) {
	for _, footer := range []string{
		"This email has been scanned by the Symantec Email Security.cloud service.\nFor more information please visit http://www.symanteccloud.com",
		"This email has been scanned by the MessageLabs Email Security System.\nFor more information please visit http://www.messagelabs.com/email",
	} {
		const words = "Subject: hello\n\nThat works for me, go ahead\n"
		reported := signature.Compute(signature.Parse([]byte(words + "\n" + footer + "\n")))
		if kinds := matchesOf(reported, signature.Compute(signature.Parse([]byte(words+"\n\n"+footer+"\n")))); slices.Contains(kinds, "phrase") {
			t.Errorf("%.60s: listed by %v", footer, kinds)
		}
	}
}
