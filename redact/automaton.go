package redact

import "sync"

// handler says what a trigger asks the scanner to look at.
type handler uint8

const (
	onKey      handler = iota // a word that names a secret, a host, a person …: arg unused
	onURL                     // "://"
	onAt                      // "@"
	onLess                    // "<": a mask or an element
	onBracket                 // "[": a process id
	onColon                   // ":": IPv6, MAC
	onDash                    // "-": pod names, MAC
	onDots                    // digit "." digit: IPv4, dotted phone
	onDigits                  // a run or a group of digits
	onPlus                    // "+" digit: E.164
	onProvider                // a provider's prefix: arg indexes providers
	onArmor                   // -----BEGIN, -----END
	onJWT                     // eyJ
	onBase64                  // a key word in base64
	onSuffix                  // a host name's ending
	onSQL                     // a word that can begin a statement
	onLogin                   // a phrase of logins
	onCall                    // a function of calls
	onHex                     // a key word in hexadecimal: arg indexes hexWords
	onPhrase                  // a fixed phrase before a value: arg indexes phrases
	onCommand                 // a command whose flags hold secrets: arg indexes commands
	onArgument                // a command with a secret among its words: arg indexes arguments
	onIBAN                    // country code and two digits
	onHash                    // digit "#": nginx's pid#tid
	onData                    // "data:", which may begin the data of a manifest
	onKind                    // "kind" of a manifest
	onWide                    // a key in another script: arg indexes wideKeys
)

type trigger struct {
	text string // lower case; a digit stands for any digit
	h    handler
	arg  int
}

// automaton is an Aho-Corasick machine over folded bytes: letters without case, one class for all digits. One table load a byte finds every trigger; the states
// that accept come first, so that the hot loop has one comparison.
type automaton struct {
	class   [256]uint8
	bits    uint8    // of a class
	next    []uint16 // state<<bits | class; digits of a trigger's text stand for any digit
	accepts uint16   // states below accept
	root    uint16
	out     [][]output // by accepting state, longest first
}

// output is a trigger as the walk needs it.
type output struct {
	h   handler
	n   uint8 // length of the trigger
	arg int16
}

// machines are built once: one for ASCII triggers, one for keys in other scripts, which only text beyond ASCII needs.
var (
	asciiMachine = sync.OnceValue(func() *automaton { return build(asciiTriggers(), 6) })
	wideMachine  = sync.OnceValue(func() *automaton { return build(wideTriggers(), 7) })
)

func build(triggers []trigger, bits uint8) *automaton {
	a := &automaton{bits: bits}
	classes := 1
	for c := byte('0'); c <= '9'; c++ {
		a.class[c] = 1
	}
	classes++
	for _, t := range triggers {
		for i := range len(t.text) {
			c := t.text[i]
			if a.class[c] != 0 {
				continue
			}
			if classes == 1<<bits {
				panic("redact: the triggers use more characters than a class can tell apart")
			}
			a.class[c] = uint8(classes)
			if c >= 'a' && c <= 'z' {
				a.class[c-0x20] = uint8(classes)
			}
			classes++
		}
	}
	type node struct {
		kids [128]int32
		fail int32
		out  []output
	}
	nodes := []*node{{}}
	for _, t := range triggers {
		at := int32(0)
		for i := range len(t.text) {
			c := a.class[t.text[i]]
			if nodes[at].kids[c] == 0 {
				nodes = append(nodes, &node{})
				nodes[at].kids[c] = int32(len(nodes) - 1)
			}
			at = nodes[at].kids[c]
		}
		nodes[at].out = append(nodes[at].out, output{t.h, uint8(len(t.text)), int16(t.arg)})
	}
	queue := make([]int32, 0, len(nodes))
	for _, k := range nodes[0].kids[:1<<bits] {
		if k != 0 {
			queue = append(queue, k)
		}
	}
	for len(queue) > 0 {
		n := nodes[queue[0]]
		queue = queue[1:]
		f := nodes[n.fail]
		n.out = append(n.out, f.out...)
		for c, k := range n.kids[:1<<bits] {
			if k == 0 {
				n.kids[c] = f.kids[c]
				continue
			}
			nodes[k].fail = f.kids[c]
			queue = append(queue, k)
		}
	}
	id := make([]uint16, len(nodes))
	for pass := range 2 {
		for i, n := range nodes {
			if (len(n.out) > 0) == (pass == 0) {
				id[i] = uint16(len(a.out))
				a.out = append(a.out, n.out)
			}
		}
		if pass == 0 {
			a.accepts = uint16(len(a.out))
		}
	}
	a.out = a.out[:a.accepts]
	a.root = id[0]
	a.next = make([]uint16, len(nodes)<<bits)
	for i, n := range nodes {
		for c, k := range n.kids[:1<<bits] {
			a.next[int(id[i])<<bits|c] = id[k]
		}
	}
	return a
}
