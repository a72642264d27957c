package signature_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/sketch/sketchtest"
)

// templates are pages as ten kinds of editors write them. %[1]s is the host of the sender,
// %[2]s a headline, %[3]s a text, %[4]s the name of a picture.
var templates = map[string]string{
	"one column":   `<table width="100%%"><tr><td align="center"><table width="600"><tr><td><img src="http://%[1]s/img/%[4]s" alt="%[2]s" width="600"></td></tr><tr><td><h1>%[2]s</h1><p>%[3]s</p></td></tr><tr><td><a href="http://%[1]s/unsubscribe">Unsubscribe</a></td></tr></table></td></tr></table>`,
	"two columns":  `<center><table width="640"><tr><td colspan="2"><a href="http://%[1]s/"><img src="http://%[1]s/%[4]s" border="0"></a></td></tr><tr><td valign="top" width="320"><h2>%[2]s</h2></td><td valign="top">%[3]s</td></tr></table></center>`,
	"button":       `<div style="background:#eee"><table align="center"><tr><td><p>%[3]s</p></td></tr><tr><td bgcolor="#336699"><a href="http://%[1]s/go" style="color:white">%[2]s</a></td></tr></table><img src="http://%[1]s/%[4]s"></div>`,
	"hero":         `<table background="http://%[1]s/bg.jpg"><tr><td height="400"><h1>%[2]s</h1></td></tr></table><table><tr><td><img src="http://%[1]s/%[4]s"><p>%[3]s</p></td></tr></table><hr><p><a href="http://%[1]s/privacy">Privacy</a> <a href="http://%[1]s/web">View in browser</a></p>`,
	"receipt":      `<table border="0" cellpadding="4"><tr><th>Order</th><th>Sum</th></tr><tr><td>%[2]s</td><td align="right">12.00</td></tr></table><p>%[3]s</p><img src="http://%[1]s/%[4]s"><a href="http://%[1]s/account">Your account</a>`,
	"social links": `<table><tr><td><img src="http://%[1]s/%[4]s"></td></tr><tr><td>%[3]s</td></tr><tr><td><a href="http://facebook.com/x"><img src="http://cdn.%[1]s/icons/facebook.png"></a><a href="http://twitter.com/x"><img src="http://cdn.%[1]s/icons/twitter.png"></a></td></tr></table><h3>%[2]s</h3>`,
	"sections":     `<section><header><img src="http://%[1]s/%[4]s"></header><article><h2>%[2]s</h2><p>%[3]s</p></article><footer><ul><li><a href="http://%[1]s/help">Help</a></li><li><a href="http://%[1]s/contact">Contact</a></li></ul></footer></section>`,
	"gallery":      `<table width="600"><tr><td><a href="http://%[1]s/1"><img src="http://%[1]s/thumb1.jpg"></a></td><td><a href="http://%[1]s/2"><img src="http://%[1]s/%[4]s"></a></td></tr><tr><td><b>%[2]s</b></td><td>%[3]s</td></tr></table>`,
	"survey":       `<form action="http://%[1]s/vote"><table><tr><td>%[2]s</td></tr><tr><td><input type="radio" value="yes"> <input type="radio" value="no"></td></tr></table><p>%[3]s</p><button>Send</button><img src="http://%[1]s/%[4]s"></form>`,
	"invitation":   `<center><img src="http://%[1]s/%[4]s"><h2>%[2]s</h2><p>%[3]s</p><table><tr><td bgcolor="green"><a href="http://%[1]s/yes">Accept</a></td><td bgcolor="red"><a href="http://%[1]s/no">Decline</a></td></tr></table></center>`,
}

// Two mailings that were made from one template, by different senders with different words
// and pictures, have the same structure. A report of one must not list the other.
func TestTemplateListsNothing(t *testing.T) {
	made := func(template, host, headline, text, picture string) signature.Set {
		page := fmt.Sprintf("<html><head><title>%[2]s</title></head><body>"+template+"</body></html>", host, headline, text, picture)
		return signature.Compute(signature.Parse([]byte("From: News <news@" + host + ">\nSubject: " + headline + "\nContent-Type: text/html\n\n" + page)))
	}
	for name, template := range templates {
		school := made(template, "school-of-music.example", "Summer concert", "The orchestra plays on Sunday in the great hall, and pupils of all classes sing. Tickets are sold at the door.", "violin-and-piano.jpg")
		garden := made(template, "garden-centre.example", "Roses arrived", "Our nursery received eleven kinds of climbing plants from Holland; visitors find them beside the greenhouse until Saturday.", "yellow-flowers.jpg")
		keyed := sketchtest.KeyedBy(1)
		st := make(sketchtest.Store)
		hasShape := false
		for _, s := range school.Sketches {
			hasShape = hasShape || s.Kind == signature.KindShape
			st.Report(s, keyed)
		}
		if !hasShape {
			t.Errorf("%s: no shape, so that nothing is tested", name)
		}
		for _, s := range garden.Sketches {
			if _, ok := st.Found(s, keyed); ok {
				t.Errorf("%s: the %s of another sender's mailing matches", name, s.Kind)
			}
		}
		for _, s := range garden.Signatures {
			for _, r := range school.Signatures {
				if s == r {
					t.Errorf("%s: both have %s", name, strings.TrimSpace(s.ID()))
				}
			}
		}
	}
}
