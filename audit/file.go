package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-069badc9/mcp-gateway/boundary"
)

// NewFile keeps rows as JSON, one a line, in a file of mode 0600. When the file reaches Options.MaxFile it is renamed to path.1, path.1 to path.2 and so on, at most
// Options.Keep of them. The file is opened with the first row.
func NewFile(path string, o Options) (*Sink, error) {
	if path == "" {
		return nil, errors.New("audit: no file name")
	}
	if o.MaxFile <= 0 {
		o.MaxFile = DefaultMaxFile
	}
	if o.Keep <= 0 {
		o.Keep = DefaultKeep
	}
	return newSink(&fileWriter{path: path, max: o.MaxFile, keep: o.Keep}, o), nil
}

type fileWriter struct {
	path string
	max  int64
	keep int
	f    *os.File
	size int64
}

func (w *fileWriter) open() error {
	if w.f != nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(w.path), 0o700); err != nil {
		return fmt.Errorf("audit: the folder of %s cannot be made; check its permissions", w.path)
	}
	f, err := os.OpenFile(w.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("audit: %s cannot be written; check its permissions or name another file", w.path)
	}
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		f.Close()
		return fmt.Errorf("audit: %s is no regular file", w.path)
	}
	w.f, w.size = f, st.Size()
	return nil
}

func (w *fileWriter) write(_ context.Context, rows []boundary.AuditRecord) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, r := range rows {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	if err := w.open(); err != nil {
		return err
	}
	if w.size > 0 && w.size+int64(b.Len()) > w.max {
		if err := w.rotate(); err != nil {
			return err
		}
	}
	// One write a batch: with O_APPEND several processes may share a file, lines stay whole.
	n, err := w.f.Write(b.Bytes())
	w.size += int64(n)
	if err != nil && n > 0 {
		// A full disk took part of the batch. Cut it off, so that the retry does not leave half a line or a row twice.
		w.size -= int64(n)
		_ = w.f.Truncate(w.size)
	}
	return err
}

func (w *fileWriter) rotate() error {
	w.f.Close()
	w.f = nil
	for i := w.keep - 1; i >= 1; i-- {
		_ = os.Rename(fmt.Sprintf("%s.%d", w.path, i), fmt.Sprintf("%s.%d", w.path, i+1))
	}
	if err := os.Rename(w.path, w.path+".1"); err != nil {
		return err
	}
	return w.open()
}

func (w *fileWriter) check(context.Context) error { return w.open() }
func (w *fileWriter) tidy(context.Context) error  { return nil }

func (w *fileWriter) close() error {
	if w.f == nil {
		return nil
	}
	err := w.f.Close()
	w.f = nil
	return err
}
