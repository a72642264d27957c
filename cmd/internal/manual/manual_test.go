package manual

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// toy is a command with all features of a page.
func toy() *cobra.Command {
	root := &cobra.Command{Use: "toy", Short: "plays", Long: "Plays a game.\nAnd *more*.\n\nSecond <paragraph>.\n\nFiles:\n  ~/.toy  what it knows"}
	root.PersistentFlags().String("board", "", "the `FILE` of the board")
	move := &cobra.Command{
		Use: "move [PIECE...]", Short: "moves a piece", Example: "  toy move .K 'e4'\n  toy move \\n",
		Long: `move moves.
.hidden line that would be a macro

WIDTH   first
        goes on
HEIGHT  second

Exit codes:
  0   done
  64  wrong,
      very wrong
Of several, the first one decides.
  65  bad
  130 stopped`,
		Run: func(*cobra.Command, []string) {},
	}
	move.Flags().IntP("times", "t", 3, "so many `N`")
	move.Flags().Bool("secret", false, "not shown")
	_ = move.Flags().MarkHidden("secret")
	root.AddCommand(move, &cobra.Command{Use: "old", Hidden: true, Run: func(*cobra.Command, []string) {}})
	return root
}

func TestPages(t *testing.T) {
	pages := map[string]string{}
	all, err := Pages(toy(), "6", "game(7)")
	testenv.Check(t, err)
	for _, p := range all {
		pages[p.Name] = string(p.Text)
	}
	if len(pages) != 7 || pages["toy-old.6"] != "" || pages["toy-help.6"] != "" { // five are for completion
		t.Errorf("%d pages", len(pages))
	}
	for name, wants := range map[string][]string{
		"toy.6": {
			`.TH "TOY" "6" "" "toy"`, ".SH DESCRIPTION\nPlays a game\\&.\nAnd *more*\\&.\n.PP\nSecond <paragraph>\\&.\n",
			".SH FILES\n.TP\n\\fB\\(ti/\\&.toy\\fP\nwhat it knows\n", "\\fBtoy-completion(6)\\fP, \\fBtoy-move(6)\\fP,\n\\fBgame(7)\\fP\n",
		},
		"toy-move.6": {
			".SH DESCRIPTION\nmove moves\\&.\n\\&.hidden line that would be a macro\n.TP\n\\fBWIDTH\\fP\nfirst\ngoes on\n.TP\n\\fBHEIGHT\\fP\nsecond\n",
			".SH EXIT STATUS\n.TP\n\\fB0\\fP\ndone\n.TP\n\\fB64\\fP\nwrong,\nvery wrong\n.PP\nOf several, the first one decides\\&.\n.TP\n\\fB65\\fP\nbad\n.TP\n\\fB130\\fP\nstopped\n.SH EXAMPLE\n",
			"\\fB\\-t\\fP, \\fB\\-\\-times\\fP=3\nso many \\fBN\\fR\n", ".SH OPTIONS INHERITED FROM PARENT COMMANDS\n.TP\n\\fB\\-\\-board\\fP\nthe \\fBFILE\\fR of the board",
			".EX\n  toy move .K \\(aqe4\\(aq\n  toy move \\\\n\n.EE\n", "\\fBtoy move [PIECE...] [flags]\\fP\n",
		},
	} {
		for _, want := range wants {
			if !strings.Contains(pages[name], want) {
				t.Errorf("%s lacks %q:\n%s", name, want, pages[name])
			}
		}
	}
	if strings.Contains(pages["toy-move.6"], "secret") {
		t.Error("a hidden option is shown")
	}
}
