package pattern

// Thresholds of merging: how many different words must stand in one place, all else being equal, before the place is
// taken for a variable. The stronger the other signs, the fewer words.
const (
	minWords      = 5  // prose, with at least minConsts other words
	minConsts     = 2  //
	minWordsBare  = 8  // one other word only
	minWordsFirst = 20 // the first word, which mostly names what the message is about
	minWordsKey   = 4  // behind "key="
	minWordsSlot  = 1  // beside a slot that was seen in the same place
)

// decide says whether the place pos of a template is a variable, given the different words seen there and how many
// templates have a slot there already.
func decide(items []item, pos int, words map[string]int, slots, consts int) bool {
	all := func(f func(string) bool) bool {
		for w := range words {
			if !f(w) {
				return false
			}
		}
		return true
	}
	prev := before(items, pos)
	switch {
	case pos > 0 && (items[pos-1].kind == kindSlot) && all(func(w string) bool { return unitOf(w) == unitSize }),
		pos > 0 && (items[pos-1].kind == kindSlot) && all(func(w string) bool { return unitOf(w) == unitTime }):
		return true
	case all(isBool) && consts >= 1:
		return true
	case all(isSwitch) && (prev == "=" || prev == ":") && consts >= 1:
		return true
	case slots > 0 && all(isNothing) && consts >= 1:
		return true
	case prev == "=":
		return len(words) >= minWordsKey || slots > 0
	case isUserWord(prev) && consts >= minConsts:
		return true
	case enumerated(words) && consts >= minConsts:
		return true
	case isFirst(items, pos):
		return len(words) >= minWordsFirst && consts >= minConsts
	case slots > 0 && consts >= 4:
		return true
	}
	return len(words) >= minWords && consts >= minConsts || len(words) >= minWordsBare && consts >= 1
}

// before is the text in front of pos: a word, or the separator.
func before(items []item, pos int) string {
	for pos--; pos >= 0; pos-- {
		t := items[pos]
		if t.kind == kindPunct && (t.text == `"` || t.text == "'" || t.text == "[") {
			continue
		}
		return t.text
	}
	return ""
}

// isFirst: no other word stands in front.
func isFirst(items []item, pos int) bool {
	for _, t := range items[:pos] {
		if t.kind != kindPunct {
			return false
		}
	}
	return true
}

func isBool(s string) bool {
	switch s {
	case "true", "false", "True", "False", "TRUE", "FALSE":
		return true
	}
	return false
}

func isSwitch(s string) bool {
	switch s {
	case "on", "off", "On", "Off", "ON", "OFF", "yes", "no", "Yes", "No", "YES", "NO":
		return true
	}
	return false
}

// isNothing: what a program prints when a value is missing.
func isNothing(s string) bool {
	switch s {
	case "null", "NULL", "nil", "none", "None", "NONE", "unknown", "UNKNOWN", "Unknown", "undefined", "N/A", "n/a", "NaN", "localhost":
		return true
	}
	for i := range len(s) {
		if isLetter(s[i]) {
			return false
		}
	}
	return true
}

func isUserWord(s string) bool {
	switch s {
	case "user", "User", "USER", "username", "login", "account":
		return true
	}
	return false
}

// enumerated: names of one length that differ in their last letter only (LNKA, LNKB; sda, sdb, sdc). Two words may look
// so by chance (has, had; ON, OK), so it takes three of them or a capital behind three other letters.
func enumerated(words map[string]int) bool {
	if len(words) < 2 {
		return false
	}
	stem, upper := "", true
	for w := range words {
		if len(w) < 2 {
			return false
		}
		s, c := w[:len(w)-1], w[len(w)-1]
		if stem == "" {
			stem = s
		}
		if s != stem || c >= 0x80 {
			return false
		}
		upper = upper && c >= 'A' && c <= 'Z'
	}
	return upper && len(stem) >= 3 || len(words) >= 3
}
