package variation

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/spambloom/spambloom/cmd/bloomlab/variation/message"
)

// withFile makes the message a short text with an attachment.
func withFile(m *message.Mail, d *draw, file *message.Part) {
	m.Root = &message.Part{Type: "multipart/mixed", Params: map[string]string{},
		Children: []*message.Part{message.TextPart("text/plain", "See the file. "+d.token(6)+"\n"), file}}
}

// withZip packs the message's text, and bytes of no meaning, in an archive.
func withZip(d *draw, m *message.Mail) {
	data := make([]byte, 3000)
	for i := range data {
		data[i] = byte(d.Uint32())
	}
	withFile(m, d, message.FilePart("application/zip", "invoice.zip", pack(d, [][]byte{[]byte(m.Text()), data})))
}

// pack writes an archive whose names, times and compression are drawn.
func pack(d *draw, members [][]byte) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	level := 1 + d.IntN(9)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, level) })
	for _, i := range d.Perm(len(members)) {
		when := time.Unix(1_000_000_000+d.Int64N(500_000_000), 0).UTC()
		member, err := w.CreateHeader(&zip.FileHeader{Name: d.token(8) + ".txt", Method: zip.Deflate, Modified: when})
		if err == nil {
			_, _ = member.Write(members[i]) // writing to a buffer cannot fail
		}
	}
	_ = w.Close()
	return out.Bytes()
}

func repack(d *draw, m *message.Mail) bool {
	file := m.Root.Children[1]
	r, err := zip.NewReader(bytes.NewReader(file.Body), int64(len(file.Body)))
	if err != nil {
		return false
	}
	var members [][]byte
	for _, f := range r.File {
		content, err := readMember(f)
		if err != nil {
			return false
		}
		members = append(members, content)
	}
	withFile(m, d, message.FilePart("application/zip", d.token(6)+".zip", pack(d, members)))
	return true
}

func readMember(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, 1<<20))
}

// leastInFile is how much text a file gets, in bytes: a page with less is a note that
// anybody writes.
const leastInFile = 2000

// withPDF writes the message's text as a PDF of one page.
func withPDF(d *draw, m *message.Mail) {
	text := m.Text()
	for text != "" && len(text) < leastInFile {
		text += "\n" + text
	}
	withFile(m, d, message.FilePart("application/pdf", "invoice.pdf", label(d, pdf(text))))
}

// pdf writes a file of one page (ISO 32000-1, annex H) whose metadata label fills in.
func pdf(text string) []byte {
	var page strings.Builder
	page.WriteString("BT /F1 9 Tf 40 800 Td 11 TL\n")
	for _, line := range strings.Split(wrap(text, 100), "\n") {
		fmt.Fprintf(&page, "(%s) Tj T*\n", strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(line))
	}
	page.WriteString("ET")
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", page.Len(), page.String()),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		"<< /Producer (XXXXXXXXXXXX) /CreationDate (D:20000101000000) >>",
	}
	var out bytes.Buffer
	out.WriteString("%PDF-1.4\n")
	var places []int
	for i, o := range objects {
		places = append(places, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, at := range places {
		fmt.Fprintf(&out, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&out, "trailer\n<< /Size %d /Root 1 0 R /Info 6 0 R /ID [<%032d><%032d>] >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, 0, 0, start)
	return out.Bytes()
}

var (
	producer = regexp.MustCompile(`/Producer \(\w{12}\)`)
	created  = regexp.MustCompile(`\(D:\d{14}\)`)
	fileID   = regexp.MustCompile(`/ID \[<\w{32}><\w{32}>\]`)
)

// label draws the metadata; no length changes, so that the table of places holds.
func label(d *draw, file []byte) []byte {
	file = producer.ReplaceAllLiteral(file, []byte("/Producer ("+d.token(12)+")"))
	when := time.Unix(1_000_000_000+d.Int64N(500_000_000), 0).UTC()
	file = created.ReplaceAllLiteral(file, []byte("(D:"+when.Format("20060102150405")+")"))
	id := fmt.Sprintf("%016x%016x", d.Uint64(), d.Uint64())
	return fileID.ReplaceAllLiteral(file, []byte("/ID [<"+id+"><"+id+">]"))
}

func relabel(d *draw, m *message.Mail) bool {
	withFile(m, d, message.FilePart("application/pdf", d.token(6)+".pdf", label(d, m.Root.Children[1].Body)))
	return true
}
