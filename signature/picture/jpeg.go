package picture

import (
	"bytes"
	"image"
	"image/color"
	"math"
)

// shortData is how many bytes of zeros are added to a scan, besides a quarter of its own.
const shortData = 512

// jpegFile is what image/jpeg gets of a JPEG: the segments that it needs. It refuses files
// that programs show, with a segment that is unknown, or of which the end is missing.
type jpegFile struct {
	content           []byte
	scans, components int // components of all scans together
}

// readJPEG reads the segments of a JPEG (ITU-T T.81 section B.1). The data of a scan
// ends with the next marker; zeros take the place of what is missing, as in other programs.
func readJPEG(content []byte) (f jpegFile) {
	f.content = append(make([]byte, 0, len(content)+len(content)/4+(maxScans+2)*shortData), "\xff\xd8"...)
	for at := 2; f.scans <= maxScans; { // more are refused; each takes memory, however short it is
		start := bytes.IndexByte(content[at:], 0xff)
		if start < 0 {
			break
		}
		at += start
		for at < len(content) && content[at] == 0xff { // fill bytes
			at++
		}
		if at == len(content) || content[at] == 0xd9 { // the end of the image
			break
		}
		marker := content[at]
		if at++; marker <= 0x01 || marker >= 0xd0 && marker <= 0xd8 { // have no length
			continue
		}
		if len(content)-at < 2 {
			break
		}
		end := at + int(content[at])<<8 + int(content[at+1])
		if end < at+2 || end > len(content) {
			break
		}
		if isDecoded(marker) {
			f.content = append(append(f.content, 0xff, marker), content[at:end]...)
		}
		if marker == 0xda {
			f.addScan(content[at:end], content[end:])
		}
		at = end
	}
	f.content = append(f.content, 0xff, 0xd9)
	return f
}

// cost returns what decoding costs, in pixels.
func (f jpegFile) cost(c image.Config) int {
	if f.scans > maxScans {
		return math.MaxInt
	}
	cost := c.Width * c.Height
	if c.ColorModel == color.CMYKModel { // decoding a progressive one takes 24 bytes a pixel
		cost += cost / 2
	}
	return cost + cost*f.components/componentsOfPass
}

// isDecoded reports whether the segment of a marker is needed for the pixels: frames,
// tables of codes and of quantisation, scans, intervals, and those that name the colours. One for
// arithmetic coding (0xcc), which is not read, can be in any file.
func isDecoded(marker byte) bool {
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xcc || marker == 0xda || marker == 0xdb || marker == 0xdd || marker == 0xe0 || marker == 0xee
}

// addScan adds the data at the beginning of rest.
func (f *jpegFile) addScan(header, rest []byte) {
	f.scans++
	if len(header) > 2 {
		f.components += min(4, int(header[2]))
	}
	end := 0
	for end < len(rest) {
		next := bytes.IndexByte(rest[end:], 0xff)
		if next < 0 {
			end = len(rest)
			break
		}
		end += next
		if end+1 == len(rest) || rest[end+1] != 0 && (rest[end+1] < 0xd0 || rest[end+1] > 0xd7) {
			break
		}
		end += 2 // a byte of the data, or a restart
	}
	f.content = append(append(f.content, rest[:end]...), make([]byte, end/4+shortData)...)
}
