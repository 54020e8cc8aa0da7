package redact

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// span is a finding in the bytes under scan.
type span struct {
	from, to int
	kind     kind
}

// scanner is the scratch of one call: it walks the event, and its decoded views when the event holds disguises, and collects findings in the event's own offsets.
type scanner struct {
	r     *Redactor
	in    []byte
	res   []byte
	memo  memo
	alt   []byte
	v1    view
	v2    view
	found []span // in offsets of the event
	b     []byte // what is being scanned: the event or a view of it
	spans []span // in offsets of b

	guards
	provEnd [maxProviders]int32 // by provider: what was looked at in vain
	provAny bool

	cmdCount  int
	htmlHeads int // columns of HTML tables that were followed
	sqlWaste  int
	sqlText   string // b for the lexer, made when first needed
	quotePos  int    // bare quotes before it were counted for the line
	quoteOdd  bool

	sawData bool // "data:" may begin the data of a manifest
	sawKind int  // manifests in JSON whose kind is Secret

	heads []heading // columns of secrets

	// What the text left open, for a Stream.
	busy      bool  // a secret or a literal was met: see settled
	pending   bool  // a secret's key ended the text: its value is on the next line
	open      quote // a quoted secret did not end in the text
	armorOpen bool  // a PEM block did not end in the text
	namedOpen bool  // name: DB_PASSWORD ended the text: value: is on the next line
	formOpen  bool  // the name of a form's part ended the text: the value is behind an empty line
	blockOpen int   // indentation of a key whose block scalar may go on, or -1
	steps     int   // bytes that checks looked at, for the test of linear time
}

// guards keep the walk linear: each is the end of what a family of checks has already looked at.
type guards struct {
	identEnd, numEnd, dotEnd, colonEnd, hostEnd, b64End, hexEnd, jwtEnd, sqlEnd, urlEnd int
	cmdEnd, atEnd, litEnd, paramEnd, nearEnd, lineTo, bracketTo                         int
	argEnd, argCount, ruleTo                                                            int
	rowFrom, rowEnd, rowHeads                                                           int // the line of the cell that was looked at last
	rowRule                                                                             bool
	secretFrom, secretEnd                                                               int // the value that was masked last
}

// quote is an opening quote: its character and the backslashes before it.
type quote struct {
	c byte
	n int
}

// find scans s and reports whether anything is to be masked; the findings are in w.found, sorted and disjoint.
func (w *scanner) find(s []byte) bool {
	w.reset()
	w.scan(s, nil)
	w.disguises(s)
	w.byRegex(s)
	return w.settle(s)
}

// maxPasses bounds settled. Two passes do for anything but text made to need more.
const maxPasses = 4

// settled writes s with its findings masked to w.res. Where a secret's key was met, the result is scanned again until nothing is found: a mask may end a value
// earlier or join two, and redacted text must stay as it is when it is redacted again.
func (w *scanner) settled(s []byte, t *Tagger, st *Stats, again func([]byte) bool) {
	w.res = w.render(w.res[:0], s, t, st)
	for n := 1; n < maxPasses && w.busy && again(w.res); n++ {
		w.alt = w.render(w.alt[:0], w.res, t, st)
		w.res, w.alt = w.alt, w.res
	}
}

func (w *scanner) reset() {
	w.found, w.busy = w.found[:0], false
	w.pending, w.open, w.armorOpen, w.namedOpen, w.formOpen, w.blockOpen, w.steps = false, quote{}, false, false, false, -1, 0
}

// disguises scans the decoded forms of s, if decoding changes it.
func (w *scanner) disguises(s []byte) {
	b, m := s, origins(nil)
	if needsFold(s) && w.v1.fold(s, nil) {
		b, m = w.v1.b, w.v1.off
		w.scan(b, m)
	}
	if !needsUnescape(b) || !w.v2.unescape(b, m) {
		return
	}
	w.scan(w.v2.b, w.v2.off)
	if needsFold(w.v2.b) && w.v1.fold(w.v2.b, w.v2.off) { // what was escaped may be a disguise itself
		w.scan(w.v1.b, w.v1.off)
	}
}

// scan walks b; off maps its offsets to those of the event, nil when b is the event.
func (w *scanner) scan(b []byte, off origins) {
	w.begin(b)
	w.walk(w.r.ascii)
	if !ascii(b) {
		w.identEnd = 0
		w.walk(w.r.wide)
	}
	w.manifest()
	w.tables()
	w.collect(off)
}

// begin makes b what is scanned.
func (w *scanner) begin(b []byte) {
	w.b = b
	w.spans = w.spans[:0]
	w.sawData, w.sawKind, w.heads = false, 0, w.heads[:0]
	w.guards = guards{}
	w.cmdCount, w.htmlHeads, w.sqlWaste, w.sqlText, w.quotePos, w.quoteOdd = 0, 0, 0, "", 0, false
	if w.provAny {
		w.provEnd, w.provAny = [maxProviders]int32{}, false
	}
}

// collect moves the findings of the scan into the offsets of the event.
func (w *scanner) collect(off origins) {
	for _, s := range w.spans {
		if s.to <= s.from || !w.r.on[s.kind] {
			continue
		}
		s.from, s.to = off.at(s.from), off.at(s.to)
		w.found = append(w.found, s)
	}
}

func (w *scanner) walk(a *automaton) {
	b, st := w.b, a.root
	next, class, bits := a.next, &a.class, a.bits&15
	for i := 0; i < len(b); i++ {
		st = next[int(st)<<bits|int(class[b[i]])]
		if st >= a.accepts {
			continue
		}
		for _, o := range a.out[st] {
			if j := w.hit(o, i+1-int(o.n), i+1); j > i+1 {
				i, st = j-1, a.root
				break
			}
		}
	}
}

// hit looks at the trigger o found at b[from:to]. A result beyond to says that the walk goes on there: only masks and PEM blocks are jumped over, because a key
// may begin inside of anything else that was masked and have its value behind it.
func (w *scanner) hit(o output, from, to int) int {
	switch o.h {
	case onKey:
		w.key(from, to)
	case onURL:
		w.url(from)
	case onAt:
		w.address(from)
	case onLess:
		return w.less(from)
	case onBracket:
		w.bracket(from)
	case onColon:
		w.colons(from)
	case onDash:
		w.dashes(from)
	case onDots:
		w.dots(from)
	case onDigits:
		w.digits(from)
	case onPlus:
		w.phonePlus(from)
	case onProvider:
		w.provider(int(o.arg), from, to)
	case onArmor:
		return w.armor(from)
	case onJWT:
		w.jwt(from)
	case onBase64:
		w.base64(from, to)
	case onSuffix:
		w.hostSuffix(from, to)
	case onSQL:
		w.sql(from, to)
	case onLogin:
		if w.r.on[kindSecret] {
			w.login(from, to)
		}
	case onCall:
		if w.r.on[kindSecret] {
			w.call(to-1, o.arg == 0)
		}
	case onHex:
		w.hex(int(o.arg), from, to)
	case onPhrase:
		w.phrase(int(o.arg), from, to)
	case onCommand:
		w.command(int(o.arg), from, to)
	case onArgument:
		w.argument(int(o.arg), from, to)
	case onIBAN:
		w.iban(from)
	case onHash:
		w.hashPID(from)
	case onData:
		w.sawData = w.sawData || from == 0 || isSpace(w.b[from-1]) || hasFold(w.b, from-6, "string")
	case onKind:
		w.kindSecretAt(to)
	case onWide:
		w.wideKey(int(o.arg), from, to)
	}
	return to
}

// add records a finding. Text that is nothing but masks stays as it is, so that redacting twice changes nothing; under a secret's key only <secret> counts.
func (w *scanner) add(k kind, from, to int) {
	if from < to && to <= len(w.b) && !onlyTags(w.b[from:to], k) {
		w.busy = w.busy || k >= kindSQL
		w.spans = append(w.spans, span{from, to, k})
	}
}

// onlyTags tells whether b consists of masks, line ends and blanks around them; for secrets the masks must be <secret>.
func onlyTags(b []byte, k kind) bool {
	any := false
	for i := 0; i < len(b); {
		if isSpace(b[i]) {
			i++
			continue
		}
		t, n := tagAt(b, i)
		if n == 0 || k == kindSecret && t != kindSecret {
			return false
		}
		any = true
		i += n
	}
	return any
}

// settle sorts the findings, joins those that overlap and drops those that the configuration keeps.
func (w *scanner) settle(s []byte) bool {
	if len(w.found) == 0 {
		return false
	}
	f := w.found
	for i := range f { // a view may map into the middle of a character: widen, never cut one
		for f[i].from > 0 && f[i].from < len(s) && !utf8.RuneStart(s[f[i].from]) {
			f[i].from--
		}
		for f[i].to < len(s) && !utf8.RuneStart(s[f[i].to]) {
			f[i].to++
		}
	}
	if len(f) > 1 {
		slices.SortFunc(f, func(a, b span) int {
			if a.from != b.from {
				return a.from - b.from
			}
			return b.to - a.to
		})
		n := 0
		for _, x := range f[1:] {
			last := &f[n]
			if x.from < last.to || x.from == last.to && x.kind == kindSecret && last.kind == kindSecret {
				last.to = max(last.to, x.to)
				last.kind = max(last.kind, x.kind)
				continue
			}
			n++
			f[n] = x
		}
		f = f[:n+1]
	}
	if len(w.r.keep) > 0 {
		f = w.kept(s, f)
	}
	w.found = f
	return len(f) > 0
}

// kept drops the findings that lie inside a match of a keep expression.
func (w *scanner) kept(s []byte, f []span) []span {
	for _, re := range w.r.keep {
		m := re.FindAllIndex(s, -1)
		f = slices.DeleteFunc(f, func(x span) bool {
			i, _ := slices.BinarySearchFunc(m, x.to, func(m []int, to int) int { return m[1] - to })
			return i < len(m) && m[i][0] <= x.from && x.to <= m[i][1]
		})
	}
	return f
}

// byRegex adds the matches of the hide expressions, without what is masked already.
func (w *scanner) byRegex(s []byte) {
	for _, re := range w.r.hide {
		for _, m := range re.FindAllIndex(s, -1) {
			from, to := m[0], m[1]
			for i := max(0, from-2*suffixLen-4); i < to; i++ { // a match may begin inside a mask
				_, n := tagAt(s, i)
				if n == 0 || i+n <= from {
					continue
				}
				if i < from || i == from && i+n >= to {
					from = i + n
				} else if i+n > to {
					to = i
				}
				i += n - 1
			}
			if from < to {
				w.found = append(w.found, span{from, to, kindSecret})
			}
		}
	}
}

// render writes s with its findings masked; a finding over several lines leaves one mask a line.
func (w *scanner) render(dst, s []byte, t *Tagger, st *Stats) []byte {
	pos := 0
	for _, f := range w.found {
		dst = append(dst, s[pos:f.from]...)
		pos = f.to
		body := s[f.from:f.to]
		if st != nil {
			st.n[f.kind].Add(1)
		}
		for {
			nl := bytes.IndexByte(body, '\n')
			line := body
			if nl >= 0 {
				line = body[:nl]
			}
			if len(line) > 0 && line[len(line)-1] == '\r' {
				if len(line) > 1 {
					dst = w.memo.appendMask(dst, f.kind, line[:len(line)-1], t)
				}
				dst = append(dst, '\r')
			} else if len(line) > 0 {
				dst = w.memo.appendMask(dst, f.kind, line, t)
			}
			if nl < 0 {
				break
			}
			dst = append(dst, '\n')
			body = body[nl+1:]
		}
	}
	return append(dst, s[pos:]...)
}

// survey looks at eight bytes at a time whether b has any byte beyond ASCII and any control character but line ends and tabs.
func survey(b []byte) (wide, control bool) {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		if x&high != 0 {
			wide = true
		}
		if ((x-ones*0x20)&^x|(x^ones*0x7f)-ones)&high != 0 { // a byte below 0x20 or equal to 0x7f
			for _, c := range b[i : i+8] {
				control = control || c < 0x20 && c != '\n' && c != '\t' && c != '\r' || c == 0x7f
			}
		}
		if wide && control {
			return
		}
	}
	for _, c := range b[i:] {
		wide = wide || c >= utf8.RuneSelf
		control = control || c < 0x20 && c != '\n' && c != '\t' && c != '\r' || c == 0x7f
	}
	return
}

func ascii(b []byte) bool {
	wide, _ := survey(b)
	return !wide
}
