package pattern

// Byte classes of the scanner. Everything that is neither blank nor a separator is part of a run: a run with a digit
// in it is a variable, whatever stands around the digit (blk_-123, rdd_2_3, v1.2.3, 0xfe), which is what word-bounded
// regular expressions miss.
const (
	clsWord  = iota // letters, marks, any other byte of a word
	clsDigit        // (0 and 1: the inner loop counts digits by adding classes)
	clsInner        // bytes of a word that say what it is: / \ . @
	clsBlank        // blanks and control bytes
	clsSep          // one-byte tokens that never belong to a value
	clsHigh         // first byte of a CJK or other wide rune: such text has no blanks, so it is split from what is ASCII
)

var classOf = func() (t [256]uint8) {
	for i := range t {
		switch {
		case i <= ' ' || i == 0x7f:
			t[i] = clsBlank
		case i >= '0' && i <= '9':
			t[i] = clsDigit
		case i >= 0xe3 && i <= 0xf4:
			t[i] = clsHigh
		}
	}
	for _, c := range []byte("=:,;()[]{}<>\"|`'") {
		t[c] = clsSep
	}
	for _, c := range []byte(`/\.@`) {
		t[c] = clsInner
	}
	return t
}()

type kind uint8

const (
	kindWord kind = iota
	kindPunct
	kindSlot
	kindMask // a slot whose text is a redaction mask: its kind stays visible
)

// token is a span of the message. space says that blanks stand before it.
type token struct {
	start, end int32
	kind       kind
	space      bool
	date       bool // a month or weekday name, a slot only beside a number
	number     bool // begins with a digit
	unit       bool // an abbreviated unit such as KB, part of the number in front of it
}

// scan splits a message into tokens, appending to toks. It gives up (false) after maxTokens.
func scan(s string, toks []token) ([]token, bool) {
	space := false
	for i := 0; i < len(s); {
		c := s[i]
		switch classOf[c] {
		case clsBlank:
			space = true
			i++
			continue
		case clsSep:
			if c == '<' {
				if n := maskLen(s[i:]); n > 0 {
					toks = append(toks, token{start: int32(i), end: int32(i + n), kind: kindMask, space: space})
					i += n
					space = false
					break
				}
				if n := lessThanLen(s[i:]); n > 0 {
					toks = append(toks, token{start: int32(i), end: int32(i + n), kind: kindSlot, space: space, number: true})
					i += n
					space = false
					break
				}
			}
			toks = append(toks, token{start: int32(i), end: int32(i + 1), kind: kindPunct, space: space})
			i++
			space = false
		default:
			t, next := run(s, i)
			t.space = space
			space = false
			toks = append(toks, t)
			if next > int(t.end) { // the full stop of a sentence
				toks = append(toks, token{start: t.end, end: int32(next), kind: kindPunct})
			}
			i = next
		}
		if len(toks) > maxTokens {
			return toks, false
		}
	}
	return toks, true
}

// run reads one run of non-separators starting at i and classifies it. next is where scanning goes on; when it is
// beyond the token's end, the bytes between are closing punctuation.
func run(s string, i int) (t token, next int) {
	start := i
	if s[i] == '.' && i+1 < len(s) && s[i+1] == '.' { // leaders: "size..........12"
		for i < len(s) && s[i] == '.' {
			i++
		}
		return token{start: int32(start), end: int32(i), kind: kindPunct}, i
	}
	if classOf[s[i]] == clsHigh {
		end := highEnd(s, i)
		return token{start: int32(start), end: int32(end)}, end
	}
	var digits, slashes, dots, ats int
	for i < len(s) {
		c := s[i]
		k := classOf[c]
		if k <= clsDigit {
			digits += int(k)
			i++
			continue
		}
		if k == clsInner {
			switch c {
			case '/', '\\':
				slashes++
			case '.':
				if i+1 < len(s) && s[i+1] == '.' {
					goto done
				}
				dots++
			case '@':
				ats++
			}
			i++
			continue
		}
		if k == clsSep && i > start {
			if c == ':' && i-start <= 4 {
				if n := hexGroups(s, start); n > 0 {
					return token{start: int32(start), end: int32(start + n), kind: kindSlot, number: true}, start + n
				}
			}
			if c == '\'' && i+1 < len(s) && isLetter(s[i-1]) && isLetter(s[i+1]) {
				i++ // can't
				continue
			}
			if c == ':' && schemeAt(s, start, i) {
				i = uriEnd(s, i+1)
				return token{start: int32(start), end: int32(i), kind: kindSlot}, i
			}
		}
		break
	}
done:
	end := i
	if i == len(s) || classOf[s[i]] == clsBlank {
		for end > start+1 && (s[end-1] == '.' || s[end-1] == '!' || s[end-1] == '?') {
			end--
			if s[end] == '.' {
				dots--
			}
		}
	}
	t = token{start: int32(start), end: int32(end), number: classOf[s[start]] == clsDigit}
	text := s[start:end]
	switch {
	case digits > 0:
		if !(i < len(s) && s[i] == '=' && isKey(text)) {
			t.kind = kindSlot
		}
	case slashes > 0 && isPath(text, slashes), ats == 1 && isAddress(text), dots > 0 && isHost(text):
		t.kind = kindSlot
	default:
		t.date = isDateName(text)
		t.unit = len(text) <= 3 && isUnitMark(text)
	}
	return t, i
}

// highEnd is where a run of CJK or other wide runes ends: at the first byte below 0x80.
func highEnd(s string, i int) int {
	for i < len(s) && s[i] >= 0x80 {
		i++
	}
	return i
}

// hexGroups is the length of a MAC or IPv6 address, or of another chain of short hexadecimal groups joined by colons, at
// i: at least three groups, one of them with a digit. A clock time is one as well, and a slot anyway.
func hexGroups(s string, i int) int {
	j, groups, digit := i, 0, false
	for {
		k := j
		for k < len(s) && k-j <= 4 && (classOf[s[k]] == clsDigit || s[k]|0x20 >= 'a' && s[k]|0x20 <= 'f') {
			digit = digit || classOf[s[k]] == clsDigit
			k++
		}
		if k-j > 4 || k == j && groups == 0 {
			return 0
		}
		if k > j {
			groups++
		}
		if k >= len(s) || s[k] != ':' {
			j = k
			break
		}
		j = k + 1
	}
	if groups < 3 || !digit || s[j-1] == ':' || j < len(s) && (isLetter(s[j]) || s[j] == '_' || s[j] == '-') {
		return 0
	}
	return j - i
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 }

// schemeAt says whether s[start:colon] is the scheme of a URL or a drive letter.
func schemeAt(s string, start, colon int) bool {
	if colon-start == 1 && colon+1 < len(s) && (s[colon+1] == '\\' || s[colon+1] == '/') && isLetter(s[start]) {
		return true
	}
	if colon+2 >= len(s) || s[colon+1] != '/' || s[colon+2] != '/' {
		return false
	}
	for _, c := range []byte(s[start:colon]) {
		if !isLetter(c) && classOf[c] != clsDigit && c != '+' && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

// uriEnd is where a URL or drive path that goes on at i ends.
func uriEnd(s string, i int) int {
	for ; i < len(s); i++ {
		c := s[i]
		if classOf[c] == clsBlank || c == '"' || c == '\'' || c == '>' || c == '<' || c == ')' || c == ']' || c == '}' || c == '|' || c == '`' {
			break
		}
	}
	for s[i-1] == '.' || s[i-1] == ',' || s[i-1] == ':' || s[i-1] == ';' {
		i--
	}
	return i
}

// isKey: a name in front of "=" stays a name although it has digits in it (r24=0x0, arg1=x).
func isKey(s string) bool {
	if len(s) > 32 || !isLetter(s[0]) && s[0] != '_' {
		return false
	}
	for _, c := range []byte(s) {
		if !isLetter(c) && classOf[c] != clsDigit && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

// isPath: rooted, and more than one slash unless it begins with a dot. "read/write/execute" is prose.
func isPath(s string, slashes int) bool {
	switch s[0] {
	case '/', '\\', '~':
		return slashes > 1
	case '.':
		return len(s) > 2 && (s[1] == '/' || s[1] == '.' && s[2] == '/')
	}
	return false
}

func isAddress(s string) bool { return s[0] != '@' && s[len(s)-1] != '@' && isLetter(s[0]) }

// isHost: a dotted lower-case name under a well-known top-level domain. The names of Java and Android classes begin
// with such a label and do not end in one.
func isHost(s string) bool {
	label, labels := s, 1
	for i := len(s) - 1; i >= 0; i-- {
		c := s[i]
		if c == '.' {
			if labels++; labels == 2 {
				label = s[i+1:]
			}
		} else if (c < 'a' || c > 'z') && (c != '-' || labels == 1) {
			return false
		}
	}
	if s[0] == '.' {
		return false
	}
	switch label {
	case "com", "net", "org", "edu", "gov", "mil", "biz", "arpa", "local", "localdomain", "lan", "localnet",
		"cn", "hk", "tw", "jp", "kr", "uk", "fr", "nl", "ru":
		return true
	case "info", "int", "io", "dev", "app", "cloud", "internal", "corp", "intra", "example", "test", "invalid", "svc", "home",
		"in", "sg", "de", "it", "es", "ch", "at", "se", "pl", "br", "ca", "au", "us", "eu", "be", "dk", "no", "fi", "cz", "tr", "mx", "za", "nz",
		"ie", "pt", "gr", "hu", "ro", "ua", "il", "th", "vn", "id", "my", "ph", "co", "me", "tv", "cc", "xyz", "top", "ai":
		// Also words that end the names of fields and functions (order.id, log.info), so it takes a third label.
		return labels > 2
	}
	return false
}

// isDateName knows the English names of months and weekdays, short and long, as clocks print them.
func isDateName(s string) bool {
	if len(s) < 3 || len(s) > 9 || s[0] < 'A' || s[0] > 'W' {
		return false
	}
	switch s {
	case "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
		"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun",
		"January", "February", "March", "April", "June", "July", "August", "September", "October", "November", "December",
		"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday":
		return true
	}
	return false
}

// maskLen is the length of a redaction mask (<secret>, <ip>, <ip:k3f9qa>) at the start of s, or 0.
func maskLen(s string) int {
	i := 1
	for i < len(s) && i < 24 && s[i] >= 'a' && s[i] <= 'z' {
		i++
	}
	if i == 1 || i >= len(s) {
		return 0
	}
	if s[i] == '>' {
		return i + 1
	}
	if s[i] != ':' || i+8 > len(s) || s[i+7] != '>' {
		return 0
	}
	for _, c := range []byte(s[i+1 : i+7]) {
		if (c < 'a' || c > 'z') && classOf[c] != clsDigit {
			return 0
		}
	}
	return i + 8
}

// maskKind is the part of a mask that names what it hides.
func maskKind(s string) string {
	for i := 1; i < len(s); i++ {
		if s[i] == ':' || s[i] == '>' {
			return s[1:i]
		}
	}
	return s
}

// lessThanLen: "<1 sec" is one quantity, as "00:02" is, and not a bracket.
func lessThanLen(s string) int {
	i := 1
	for i < len(s) && (classOf[s[i]] == clsDigit || s[i] == '.') {
		i++
	}
	if i == 1 || !(classOf[s[1]] == clsDigit) {
		return 0
	}
	for i < len(s) && s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z' {
		i++
	}
	if i < len(s) && s[i] == '>' {
		return 0
	}
	if i < len(s) && s[i] == ' ' {
		j := i + 1
		for j < len(s) && s[j]|0x20 >= 'a' && s[j]|0x20 <= 'z' {
			j++
		}
		if unitOf(s[i+1:j]) != unitNone {
			return j
		}
	}
	return i
}
