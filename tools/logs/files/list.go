package files

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// maxFiles bounds how many files a topic may have: each costs an open file while a call runs.
const maxFiles = 1000

var (
	errKind = errors.New("not a regular file")
	errLink = errors.New("leads out of the folder that paths name before their first *; name the folder that it leads to instead, as in /var/log/pods/*/*/*.log")
	errMany = errors.New("more than 1000 files match")
)

// listing is the files of one moment, opened.
type listing struct {
	files    []*file
	problems []error // files that match and cannot be read
	blocked  []time.Time
	roots    []*os.Root
}

func (l *listing) close() {
	for _, f := range l.files {
		_ = f.h.Close() // opened for reading
	}
	for _, r := range l.roots {
		_ = r.Close()
	}
}

// list opens what the patterns match. A name that is a link is followed within its folder only.
func (s *Source) list() *listing {
	l := &listing{}
	for _, p := range s.patterns {
		root, err := os.OpenRoot(p.root)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			l.problem(err, time.Time{})
			continue
		}
		l.roots = append(l.roots, root)
		l.walk(root, ".", p.parts)
	}
	l.dedupe()
	return l
}

func (l *listing) problem(err error, last time.Time) {
	l.problems = append(l.problems, err)
	l.blocked = append(l.blocked, last)
}

func (l *listing) walk(root *os.Root, dir string, parts []string) {
	part := parts[0]
	if !strings.ContainsAny(part, `*?[\`) {
		l.visit(root, path.Join(dir, part), parts[1:])
		return
	}
	d, err := root.Open(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			l.problem(err, time.Time{})
		}
		return
	}
	names, err := d.Readdirnames(-1)
	_ = d.Close() // opened for reading
	if err != nil {
		l.problem(err, time.Time{})
	}
	slices.Sort(names)
	for _, n := range names {
		if ok, _ := path.Match(part, n); ok && (n[0] != '.' || part[0] == '.') {
			l.visit(root, path.Join(dir, n), parts[1:])
		}
	}
}

func (l *listing) visit(root *os.Root, name string, rest []string) {
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return // vanished, or a link to nothing
	case err != nil && strings.HasSuffix(err.Error(), "path escapes from parent"): // the package has no name for this error
		l.problem(fmt.Errorf("%s: %w", path.Join(root.Name(), name), errLink), time.Time{})
		return
	case err != nil:
		l.problem(err, time.Time{})
		return
	case len(rest) > 0:
		if info.IsDir() {
			l.walk(root, name, rest)
		}
		return
	case info.IsDir():
		return
	case !info.Mode().IsRegular():
		l.problem(fmt.Errorf("%s: %w", name, errKind), time.Time{})
		return
	case len(l.files) >= maxFiles:
		l.problem(errMany, time.Time{})
		return
	}
	// Not blocking: between Stat and here the name may have become a pipe.
	h, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		l.problem(err, info.ModTime())
		return
	}
	if info, err = h.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = h.Close() // opened for reading
		l.problem(fmt.Errorf("%s: %w", name, errKind), time.Time{})
		return
	}
	l.files = append(l.files, &file{name: name, root: root, h: h, info: info, size: info.Size()})
}

// dedupe drops a file that two patterns match, and a compressed copy that stands beside its original: rotation writes it before it removes the original. A packed
// file of that name with another content is an older log and stays.
func (l *listing) dedupe() {
	plain := make(map[string]*file, len(l.files))
	for _, f := range l.files {
		plain[f.root.Name()+"/"+f.name] = f
	}
	seen := make(map[[2]uint64]bool, len(l.files))
	kept := l.files[:0]
	for _, f := range l.files {
		id := inode(f.info)
		copied := false
		for _, ext := range []string{".gz", ".zst"} {
			if base, ok := strings.CutSuffix(f.root.Name()+"/"+f.name, ext); ok && plain[base] != nil {
				copied = f.copyOf(plain[base])
			}
		}
		if id != [2]uint64{} && seen[id] || copied || f.size == 0 {
			_ = f.h.Close() // opened for reading
			continue
		}
		seen[id] = true
		kept = append(kept, f)
	}
	l.files = kept
}

// copyOf tells whether a packed file begins as the plain one does. One in which nothing can be read yet is being written.
func (f *file) copyOf(plain *file) bool {
	if f.sniff() != nil || f.pack == none {
		return false
	}
	r, done, err := f.open()
	if err != nil {
		return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	}
	defer done()
	var a, b [4096]byte
	n, err := io.ReadFull(r, a[:])
	if n == 0 {
		return errors.Is(err, io.ErrUnexpectedEOF)
	}
	m, err := plain.h.ReadAt(b[:n], 0)
	return (err == nil || errors.Is(err, io.EOF)) && m == n && a == b
}

func inode(info fs.FileInfo) [2]uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return [2]uint64{uint64(st.Dev), st.Ino}
	}
	return [2]uint64{}
}

// moved tells whether a name means another file by now, or the file is shorter than it was: the listing is of a moment that has passed.
func (l *listing) moved() bool {
	for _, f := range l.files {
		info, err := f.root.Stat(f.name)
		if err != nil || !os.SameFile(info, f.info) || info.Size() < f.size {
			return true
		}
	}
	return false
}

// sortFiles puts files into the order of their first events.
func sortFiles(fs []*file) {
	slices.SortStableFunc(fs, func(a, b *file) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.name, b.name)) })
}

// section reads a file from an offset to the size it had when it was opened.
func (f *file) section(from, to int64) io.Reader { return io.NewSectionReader(f.h, from, to-from) }
