package stack

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Key identifies a failure across its occurrences, in 16 hexadecimal digits: the chain of classes and the application's
// frame nearest the root cause. Without such a frame the shape of the root cause's message stands in, or unrelated
// failures of one class would be one.
func Key(text string, o Options) string {
	p := parse(text)
	hs := p.headers()
	h := sha256.New()
	put := func(s string) {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	for _, x := range hs {
		put(x.class)
	}
	if f := p.culprit(hs, o); f != nil {
		put(beforeArgs(f.name))
		if f.name == "" || f.runtime == Python || f.runtime == Ruby {
			put(withoutLine(f.path))
		}
	} else {
		line := p.lines[max(p.root(hs), 0)]
		put(shape(line))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// culprit is the application's frame nearest the root cause, or nil.
func (p *parsed) culprit(hs []header, o Options) *frame {
	root := p.root(hs)
	var near, any *frame
	for i := range p.frames {
		f := &p.frames[i]
		if !f.inApp(o.InApp) {
			continue
		}
		switch {
		case f.newest && (root < 0 || f.first < root):
			near = f // newest last: the last one before the header
		case !f.newest && near == nil && f.first > root:
			near = f
		}
		if any == nil || f.newest {
			any = f
		}
	}
	if near != nil {
		return near
	}
	return any
}

func withoutLine(path string) string {
	for n := numbersAtEnd(path); n > 0; n-- {
		path = path[:strings.LastIndexByte(path, ':')]
	}
	return path
}

// shape is a message without what varies: words with digits, quoted text, masks.
func shape(s string) string {
	var b strings.Builder
	for _, w := range strings.Fields(s) {
		if strings.ContainsAny(w, "0123456789<") {
			w = "#"
		}
		b.WriteString(w)
		b.WriteByte(' ')
	}
	return b.String()
}
