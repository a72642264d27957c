package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Decode reads a single JSON object without unknown members into object. The lists of a
// Request are counted before any element is stored, because a small element takes many
// times the memory of its text. The caller bounds the bytes of body.
func Decode(body io.Reader, object any) error {
	var text json.RawMessage
	decoder := json.NewDecoder(body)
	if err := decoder.Decode(&text); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	var lists lists
	_ = json.Unmarshal(text, &lists) // not an object: the strict decoder reports it
	if err := lists.check(); err != nil {
		return err
	}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(object); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("more follows the object")
		}
		return fmt.Errorf("read the request: %w", err)
	}
	return nil
}

// lists are the lengths of a Request's lists. Reading them takes no memory for the
// elements.
type lists struct {
	Signatures listLength `json:"signatures"`
	Sketches   listLength `json:"sketches"`
	Domains    listLength `json:"domains"`
}

// listLength is the length of a JSON list. Of several lists with the same name it is the
// largest.
type listLength int

// UnmarshalJSON counts the elements. They are not stored.
func (l *listLength) UnmarshalJSON(list []byte) error {
	var elements []unread
	_ = json.Unmarshal(list, &elements) // not a list: no element is stored either
	*l = max(*l, listLength(len(elements)))
	return nil
}

// unread is any JSON value. It takes no memory.
type unread struct{}

// UnmarshalJSON leaves the value unread.
func (*unread) UnmarshalJSON([]byte) error { return nil }
