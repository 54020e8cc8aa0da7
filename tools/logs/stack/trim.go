package stack

import (
	"strconv"
	"strings"
)

// Options say which frames are the application's own and how many frames stay.
type Options struct {
	InApp []string // prefixes of functions or paths; none: whatever is of no known library
	Head  int      // frames nearest the throw (3)
	App   int      // first frames of the application (2)
}

const (
	defaultHead = 3
	defaultApp  = 2
	// maxPeriod is the longest cycle of a recursion that is folded.
	maxPeriod = 8
	// deepStack is how many omitted frames make the far end worth keeping: such a stack is a recursion mostly.
	deepStack = 50
)

// entry is a frame of a segment, or a folded run of frames.
type entry struct {
	frames []int32 // the frames printed
	times  int     // how often they stand in a row
	keep   bool
	mark   int // line of a mark that stands here instead of frames, or -1
	folded bool
}

// Trim shortens every run of frames in text and says how many frames it left out. All other lines stay as they are.
func Trim(text string, o Options) (trimmed string, omittedFrames int) {
	if o.Head <= 0 {
		o.Head = defaultHead
	}
	if o.App <= 0 {
		o.App = defaultApp
	}
	p := parse(text)
	if len(p.frames) == 0 {
		return text, 0
	}
	var out []string
	for i := 0; i < len(p.lines); {
		if p.kinds[i] != inFrame {
			out = append(out, p.lines[i])
			i++
			continue
		}
		j := i
		for j < len(p.lines) && p.kinds[j] != other {
			j++
		}
		var n int
		out, n = p.segment(out, i, j, o)
		omittedFrames += n
		i = j
	}
	if omittedFrames == 0 {
		return text, 0
	}
	return strings.Join(out, "\n"), omittedFrames
}

// segment appends what stays of the lines from i to j, which are frames and marks.
func (p *parsed) segment(out []string, i, j int, o Options) ([]string, int) {
	es := p.entries(i, j)
	p.choose(es, o)
	omitted := 0
	for k := 0; k < len(es); {
		e := es[k]
		switch {
		case e.mark >= 0:
			out = append(out, p.lines[e.mark])
			k++
		case e.keep:
			for _, f := range e.frames {
				fr := p.frames[f]
				out = append(out, p.lines[fr.first:fr.first+fr.n]...)
			}
			if e.times > 1 {
				what := "frame above x"
				if len(e.frames) > 1 {
					what = strconv.Itoa(len(e.frames)) + " frames above x"
				}
				out = append(out, p.margin(e.frames[0])+"... "+what+strconv.Itoa(e.times))
				omitted += len(e.frames) * (e.times - 1)
			}
			k++
		default:
			frames, lines, l := 0, 0, k
			for l < len(es) && es[l].mark < 0 && !es[l].keep {
				frames += len(es[l].frames) * es[l].times
				for _, f := range es[l].frames {
					lines += p.frames[f].n * es[l].times
				}
				l++
			}
			if lines < 2 { // a mark would be as long
				for ; k < l; k++ {
					fr := p.frames[es[k].frames[0]]
					out = append(out, p.lines[fr.first:fr.first+fr.n]...)
				}
				continue
			}
			what := " frames omitted"
			if frames == 1 {
				what = " frame omitted"
			}
			out = append(out, p.margin(es[k].frames[0])+"... "+strconv.Itoa(frames)+what)
			omitted += frames
			k = l
		}
	}
	return out, omitted
}

// margin is what stands in front of a frame's first line.
func (p *parsed) margin(f int32) string {
	line := p.lines[p.frames[f].first]
	rest, m := tree(line)
	m += indentOf(rest)
	if p.frames[f].runtime == Go {
		return "\t"
	}
	return line[:m]
}

// entries folds runs of equal frames.
func (p *parsed) entries(i, j int) []entry {
	var es []entry
	for i < j {
		if p.kinds[i] == mark {
			t, _ := tree(p.lines[i])
			if n := foldMark(strings.TrimSpace(t)); n > 0 && n <= len(es) {
				es = joinLast(es, n)
			}
			es = append(es, entry{mark: i, times: 1})
			i++
			continue
		}
		lo := p.at[i]
		hi := lo
		for i < j && p.kinds[i] == inFrame {
			hi = p.at[i]
			i++
		}
		es = p.fold(es, lo, hi+1)
	}
	return es
}

// foldMark is how many frames a mark of Trim ("... 2 frames above x9") speaks of, or 0.
func foldMark(t string) int {
	rest, ok := strings.CutPrefix(t, "... ")
	if !ok {
		return 0
	}
	if strings.HasPrefix(rest, "frame above x") {
		return 1
	}
	n, err := strconv.Atoi(rest[:leadingNumber(rest)])
	if err != nil || n > maxPeriod || !strings.HasPrefix(rest[leadingNumber(rest):], " frames above x") {
		return 0
	}
	return n
}

// joinLast makes one folded entry of the last n, which an earlier Trim folded.
func joinLast(es []entry, n int) []entry {
	at := len(es) - n
	e := entry{times: 1, mark: -1, folded: true}
	for _, x := range es[at:] {
		if x.mark >= 0 || len(x.frames) != 1 || x.times > 1 {
			return es
		}
		e.frames = append(e.frames, x.frames[0])
	}
	return append(es[:at], e)
}

// fold appends the frames from lo to hi, with cycles that repeat in a row as one entry.
func (p *parsed) fold(es []entry, lo, hi int32) []entry {
	for i := lo; i < hi; {
		period, times := p.cycle(i, hi)
		if times > 1 {
			// A cycle that itself holds a run is left to that run, or a second Trim would fold it.
			for k := i; k < i+period && times > 1; k++ {
				if _, inner := p.cycle(k, i+period); inner > 1 {
					period, times = 1, 1
				}
			}
		}
		e := entry{times: times, mark: -1, folded: times > 1}
		for k := range period {
			e.frames = append(e.frames, i+k)
		}
		es = append(es, e)
		i += period * int32(times)
	}
	return es
}

// cycle finds the shortest cycle that repeats from frame i on and saves at least two frames; 1, 1 if there is none.
func (p *parsed) cycle(i, hi int32) (period int32, times int) {
	for period = 1; period <= maxPeriod && i+2*period <= hi; period++ {
		n := int32(0) // how far the frames equal those one period before
		for i+period+n < hi && p.frames[i+n].same == p.frames[i+period+n].same {
			n++
		}
		if times = int(n/period) + 1; times > 1 && int32(times-1)*period >= 2 {
			return period, times
		}
	}
	return 1, 1
}

// choose decides which entries stay.
func (p *parsed) choose(es []entry, o Options) {
	n := len(es)
	at := func(k int) *entry { return &es[k] }
	for _, e := range es {
		if e.mark < 0 {
			if p.frames[e.frames[0]].newest {
				at = func(k int) *entry { return &es[n-1-k] }
			}
			break
		}
	}
	head, app, folds := 0, 0, 0
	keepNext, panicked := false, false
	total := 0
	var last *entry
	for k := range n {
		e := at(k)
		if e.mark >= 0 {
			total += omittedMark(p.lines[e.mark])
			continue
		}
		last = e
		total += len(e.frames) * e.times
		if head < o.Head && !machinery(p.frames[e.frames[0]].name) {
			head++
			e.keep = true
		}
		if keepNext {
			e.keep, keepNext = true, false
		}
		if app < o.App && p.anyInApp(e, o.InApp) {
			app++
			e.keep = true
		}
		// Node opens the error's properties behind its last frame.
		if f := p.frames[e.frames[0]]; f.runtime == Node && strings.HasSuffix(p.lines[f.first], " {") {
			e.keep = true
		}
		// A recursion shows its cycle once and who entered it.
		if e.folded && folds < maxPeriod {
			folds++
			e.keep, keepNext = true, true
		}
		// Above panic( stand the deferred calls, below it what panicked.
		f := &p.frames[e.frames[0]]
		if f.runtime == Go {
			if f.name == "panic(" {
				panicked, e.keep = true, true
			} else if panicked && !strings.HasPrefix(f.name, "runtime.") {
				panicked, e.keep = false, true
			}
		}
	}
	if last != nil && total > deepStack {
		last.keep = true
	}
	// "[Previous line repeated …]" needs its line.
	for k := 1; k < n; k++ {
		if es[k].mark >= 0 && es[k-1].mark < 0 && strings.Contains(p.lines[es[k].mark], "[Previous line repeated ") {
			es[k-1].keep = true
		}
	}
}

// machinery: functions that only carry a Rust panic out; the throw is below them.
func machinery(name string) bool {
	switch {
	case strings.Contains(name, "rust_begin_unwind"), strings.HasPrefix(name, "core::panicking::"), strings.HasPrefix(name, "std::panicking::"),
		strings.HasPrefix(name, "std::sys::backtrace::"), strings.HasPrefix(name, "std::sys_common::backtrace::"), strings.HasPrefix(name, "std::backtrace"),
		name == "core::result::unwrap_failed", name == "core::option::unwrap_failed", name == "core::option::expect_failed",
		strings.HasPrefix(name, "anyhow::error::"):
		return true
	}
	return false
}

func (p *parsed) anyInApp(e *entry, prefixes []string) bool {
	for _, f := range e.frames {
		if p.frames[f].inApp(prefixes) {
			return true
		}
	}
	return false
}

// omittedMark is the count in a mark of Trim, or 0.
func omittedMark(line string) int {
	_, rest, ok := strings.Cut(line, "... ")
	n := leadingNumber(rest)
	if !ok || n == 0 || n > 9 || !strings.HasPrefix(rest[n:], " frame") {
		return 0
	}
	v, err := strconv.Atoi(rest[:n])
	if err != nil {
		return 0
	}
	return v
}
