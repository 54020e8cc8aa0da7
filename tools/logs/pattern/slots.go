package pattern

import (
	"sort"
	"strings"
)

const (
	// maxDistinct bounds the count of distinct values of a slot: 32 hashes are 256 bytes, and beyond some dozens the
	// exact number tells a reader nothing.
	maxDistinct = 32
	// maxListed is how many different values a slot may have to be listed by value rather than by range.
	maxListed = 5
	maxTop    = 3
	// maxValue bounds the text kept of one value.
	maxValue = 64
	// maxNumber is the longest number compared: more digits than a float64 holds are an identifier.
	maxNumber = 20
)

// Slot is a variable part of a template.
type Slot struct {
	Name     string  // the key in front of the slot (status=500, status: 500), or ""
	Distinct int     // how many different values, exact up to a bound
	Over     bool    // the bound was passed: Distinct is a lower limit
	Top      []Value // the most frequent values, at most 3, when at most 5 different ones were seen
	Min, Max string  // the range when every value is a number (unit allowed) and the values are not listed
}

// Value is a value of a slot and how often it stood there.
type Value struct {
	Text  string
	Count int
}

// slotStat gathers a slot's values in bounded memory.
type slotStat struct {
	hashes []uint64
	texts  []string // kept while at most maxListed are known
	counts []int
	over   bool
	blind  bool // nothing was gathered, there being too many slots already
	notNum bool
	unit   unit
	nums   int // how many numbers min and max stand for
	min    number
	max    number
}

type number struct {
	val  float64
	len  uint8
	text [maxNumber + 12]byte
}

func (n *number) set(v float64, s string) {
	n.val = v
	n.len = uint8(copy(n.text[:], s))
}

func (n *number) String() string { return string(n.text[:n.len]) }

func (st *slotStat) add(h uint64, s string, n int) {
	if !st.over {
		st.addValue(h, s, n)
	}
	if !st.notNum {
		st.addNumber(s)
	}
}

func (st *slotStat) addValue(h uint64, s string, n int) {
	for i, x := range st.hashes {
		if x == h {
			if i < len(st.counts) {
				st.counts[i] += n
			}
			return
		}
	}
	if len(st.hashes) == maxDistinct {
		st.over = true
		st.hashes, st.texts, st.counts = nil, nil, nil
		return
	}
	st.hashes = append(st.hashes, h)
	if len(st.hashes) > maxListed {
		st.texts, st.counts = nil, nil
		return
	}
	if len(s) > maxValue {
		s = cutRune(s, maxValue)
	}
	st.texts = append(st.texts, strings.Clone(s))
	st.counts = append(st.counts, n)
}

// close ends the gathering: nothing is said of the slot.
func (st *slotStat) close() {
	st.over, st.notNum = true, true
	st.hashes, st.texts, st.counts = nil, nil, nil
}

func (st *slotStat) addNumber(s string) {
	v, u, ok := parseNumber(s)
	if !ok || st.nums > 0 && u != st.unit {
		st.notNum = true
		return
	}
	if st.nums == 0 {
		st.unit = u
		st.min.set(v, s)
		st.max = st.min
	} else if v < st.min.val {
		st.min.set(v, s)
	} else if v > st.max.val {
		st.max.set(v, s)
	}
	st.nums++
}

// merge adds the values of o.
func (st *slotStat) merge(o *slotStat) {
	st.blind = st.blind || o.blind
	switch {
	case o.over:
		st.over = true
		st.hashes, st.texts, st.counts = nil, nil, nil
	case !st.over:
		for i, h := range o.hashes {
			if i < len(o.texts) {
				st.addValue(h, o.texts[i], o.counts[i])
			} else {
				// The other side stopped listing, so this one has more than maxListed values as well.
				st.addValue(h, "", 0)
			}
			if st.over {
				break
			}
		}
		if len(o.hashes) > maxListed {
			st.texts, st.counts = nil, nil
		}
	}
	switch {
	case o.notNum || st.nums > 0 && o.nums > 0 && st.unit != o.unit:
		st.notNum = true
	case o.nums == 0:
	case st.nums == 0:
		st.unit, st.min, st.max, st.nums = o.unit, o.min, o.max, o.nums
	default:
		if o.min.val < st.min.val {
			st.min = o.min
		}
		if o.max.val > st.max.val {
			st.max = o.max
		}
		st.nums += o.nums
	}
}

func (st *slotStat) slot(name string) Slot {
	out := Slot{Name: name, Distinct: len(st.hashes), Over: st.over}
	if st.over && !st.blind {
		out.Distinct = maxDistinct + 1
	}
	if len(st.texts) > 0 && !st.over && len(st.hashes) <= maxListed {
		for i, s := range st.texts {
			out.Top = append(out.Top, Value{s, st.counts[i]})
		}
		sort.Slice(out.Top, func(a, b int) bool {
			if out.Top[a].Count != out.Top[b].Count {
				return out.Top[a].Count > out.Top[b].Count
			}
			return out.Top[a].Text < out.Top[b].Text
		})
		if len(out.Top) > maxTop {
			out.Top = out.Top[:maxTop]
		}
	} else if !st.notNum && st.nums > 0 {
		out.Min, out.Max = st.min.String(), st.max.String()
	}
	return out
}

// parseNumber reads a decimal number with an optional sign, fraction and unit (12, -0.5, 30ms, 42%). A time of day, a
// version and an address are no numbers.
func parseNumber(s string) (float64, unit, bool) {
	i := 0
	neg := false
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		neg = s[i] == '-'
		i++
	}
	start := i
	var v float64
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		v = v*10 + float64(s[i]-'0')
		i++
	}
	if i == start || i-start > 15 {
		return 0, 0, false
	}
	if i < len(s) && s[i] == '.' {
		i++
		scale := 0.1
		frac := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			v += float64(s[i]-'0') * scale
			scale /= 10
			i++
		}
		if i == frac {
			return 0, 0, false
		}
	}
	if i > maxNumber {
		return 0, 0, false
	}
	if neg {
		v = -v
	}
	if i == len(s) || s[i:] == "%" {
		return v, unitNone, true
	}
	if s[i] == ' ' {
		i++
	}
	u, scale := scaleOf(s[i:])
	return v * scale, u, u != unitNone
}

func cutRune(s string, n int) string {
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}
