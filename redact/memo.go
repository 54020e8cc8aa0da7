package redact

// memo remembers what the last lines asked for again and again: the meaning of identifiers and the suffixes of one run's masks. Both are pure functions of their
// keys; the bound keeps a text of ever new names from growing it.
type memo struct {
	keys   map[string]key
	tagger *Tagger
	tags   map[tagged][suffixLen]byte
}

type tagged struct {
	kind  kind
	value string
}

// maxMemo entries of at most maxMemoValue bytes each: some 100 KiB a scanner.
const (
	maxMemo      = 1024
	maxMemoValue = 128
)

func (m *memo) classify(b []byte, from, to int) key {
	k, ok := m.keys[string(b[from:to])]
	if !ok {
		k = classify(b, from, to)
		if to-from > maxMemoValue {
			return k
		}
		if m.keys == nil {
			m.keys = make(map[string]key)
		}
		if len(m.keys) >= maxMemo {
			clear(m.keys)
		}
		m.keys[string(b[from:to])] = k
	}
	k.from, k.to = from, to
	return k
}

// appendMask writes the mask of k for value.
func (m *memo) appendMask(dst []byte, k kind, value []byte, t *Tagger) []byte {
	dst = append(dst, '<')
	dst = append(dst, kindNames[k]...)
	if t != nil && k.tagged() {
		if m.tagger != t {
			clear(m.tags)
			m.tagger = t
		}
		s, ok := m.tags[tagged{k, string(value)}]
		if !ok {
			s = t.suffix(k, value)
			if m.tags == nil {
				m.tags = make(map[tagged][suffixLen]byte)
			}
			if len(m.tags) >= maxMemo {
				clear(m.tags)
			}
			if len(value) <= maxMemoValue {
				m.tags[tagged{k, string(value)}] = s
			}
		}
		dst = append(dst, ':')
		dst = append(dst, s[:]...)
	}
	return append(dst, '>')
}
