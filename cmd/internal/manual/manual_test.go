package manual

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// toy is a command with all that a page can hold.
func toy() *cobra.Command {
	root := &cobra.Command{Use: "toy", Short: "plays", Long: "Plays a game.\nAnd more.\n\nSecond paragraph.\n\nFiles:\n  ~/.toy  what it knows"}
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
  65  bad`,
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
	for _, p := range Pages(toy(), 6, "game(7)") {
		pages[p.Name] = string(p.Text)
	}
	if len(pages) != 3 || pages["toy-old.6"] != "" || pages["toy-help.6"] != "" { // completion is the third
		t.Errorf("%d pages", len(pages))
	}
	for name, wants := range map[string][]string{
		"toy.6": {
			`.TH "TOY" "6" "" "toy"` + "\n", ".SH \"DESCRIPTION\"\nPlays a game. And more.\n.PP\nSecond paragraph.\n",
			".SH \"FILES\"\n.TP\n\\fB\\(ti/.toy\\fR\nwhat it knows\n", "\\fBgame\\fR(7),\n\\fBtoy\\-completion\\fR(6),\n\\fBtoy\\-move\\fR(6)\n",
		},
		"toy-move.6": {
			".SH \"DESCRIPTION\"\nmove moves. .hidden line that would be a macro\n.TP\n\\fBWIDTH\\fR\nfirst goes on\n.TP\n\\fBHEIGHT\\fR\nsecond\n",
			".SH \"EXIT STATUS\"\n.TP\n\\fB0\\fR\ndone\n.TP\n\\fB64\\fR\nwrong, very wrong\n.PP\nOf several, the first one decides.\n.TP\n\\fB65\\fR\nbad\n",
			"\\fB\\-t\\fR, \\fB\\-\\-times\\fR \\fIN\\fR\nso many N (default 3)\n", ".SH \"OPTIONS OF ALL COMMANDS\"\n.TP\n\\fB\\-\\-board\\fR \\fIFILE\\fR\n",
			".EX\n  toy move .K \\(aqe4\\(aq\n  toy move \\en\n.EE\n", ".B toy move [PIECE...] [OPTIONS]\n",
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

// A line never begins with what troff takes for a request.
func TestEscape(t *testing.T) {
	for text, want := range map[string]string{".PP": `\&.PP`, "'br": `\(aqbr`, `a\b`: `a\eb`, "--x": `\-\-x`, "~^`": "\\(ti\\(ha\\`"} {
		if got := escape(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
