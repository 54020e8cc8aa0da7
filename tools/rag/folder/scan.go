package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sort"
	"strings"
	"syscall"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/tools/rag/internal/lex"
)

// Bounds of a folder. A runbook is some KiB; what is larger is a data file that got in by mistake.
const (
	maxFile  = 8 << 20
	maxFiles = 100_000
	maxTotal = 1 << 30
)

// entry is a file as the directory lists it.
type entry struct {
	path  string // relative, with slashes: for opening the file, never to be kept or shown
	name  string // what the index and every message call it: the path, redacted and clean
	size  int64
	mtime int64 // nanoseconds
	ctime int64 // of the last change of anything, which no program sets back; 0 where the system does not tell
}

// Skip is a file that is not in the index, and why.
type Skip struct {
	Path   string
	Reason string
}

// listing is what a folder holds, in the order of paths.
type listing struct {
	files    []entry
	skips    []Skip
	redactor *redact.Redactor
}

// safeName is a path as it may be kept and shown. People put passwords into file names, too, and a name may hold anything that a terminal obeys.
func safeName(p string, r *redact.Redactor) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(r.Text(redact.Clean(lex.Normalize(strings.ToValidUTF8(p, "\uFFFD"))), nil))
}

// name gives the files their names. Of two paths that differ only in what is hidden the second gets a number: a digest would let a reader test guesses.
func (l *listing) name() {
	taken := make(map[string]int, len(l.files))
	for i := range l.files {
		f := &l.files[i]
		safe := safeName(f.path, l.redactor)
		f.name = safe
		for taken[f.name] > 0 {
			taken[safe]++
			f.name = fmt.Sprintf("%s (%d)", safe, taken[safe])
		}
		taken[f.name] = 1
	}
}

// scan lists a folder. Nothing outside of it is ever looked at: links to files are followed only while they stay inside, links to folders never, and hidden names
// (.git, ..data) are passed over. A folder that cannot be listed is an error, as an index built from half a folder would look complete.
func scan(dir string, r *redact.Redactor) (listing, error) {
	l := listing{redactor: r}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return l, folderError("folder.scan", err)
	}
	defer root.Close()
	var total int64
	err = fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			if p == "." {
				return err
			}
			l.skip(p, readReason(err))
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if p != "." && strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		if _, ok := formats[strings.ToLower(path.Ext(p))]; !ok {
			l.skip(p, "unsupported type "+path.Ext(p))
			return nil
		}
		info, err := d.Info() // of the listing: a second look at each of ten thousand files would double the time
		if d.Type()&fs.ModeSymlink != 0 {
			info, err = root.Stat(p) // follows links inside the folder and refuses others
		}
		switch {
		case err != nil && d.Type()&fs.ModeSymlink != 0:
			l.skip(p, "link that leads out of the folder or nowhere")
		case err != nil:
			l.skip(p, readReason(err))
		case info.IsDir():
			l.skip(p, "link to a folder")
		case !info.Mode().IsRegular():
			l.skip(p, "not a regular file")
		case info.Size() > maxFile:
			l.skip(p, fmt.Sprintf("larger than %d MiB", maxFile>>20))
		case len(l.files) >= maxFiles || total+info.Size() > maxTotal:
			l.skip(p, "the folder holds more than an index may")
		default:
			total += info.Size()
			l.files = append(l.files, entry{path: p, size: info.Size(), mtime: info.ModTime().UnixNano(), ctime: changeTime(info)})
		}
		return nil
	})
	if err != nil {
		return l, folderError("folder.scan", err)
	}
	sort.Slice(l.files, func(i, j int) bool { return l.files[i].path < l.files[j].path })
	l.name()
	sort.Slice(l.skips, func(i, j int) bool { return l.skips[i].Path < l.skips[j].Path })
	return l, nil
}

func (l *listing) skip(p, reason string) {
	if len(l.skips) < maxFiles {
		l.skips = append(l.skips, Skip{safeName(p, l.redactor), reason})
	}
}

// readFile reads a listed file through the folder's root, so that a name swapped for a link since the listing cannot lead out.
func readFile(root *os.Root, name string) ([]byte, error) {
	// O_NONBLOCK: a file swapped for a named pipe must not hang the index.
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = errTooLarge
	}
	return b, err
}

var (
	errNotRegular = errors.New("not a regular file")
	errTooLarge   = fmt.Errorf("larger than %d MiB", maxFile>>20)
)

// readReason says in a few words why a file could not be read, without its full path.
func readReason(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.Is(err, fs.ErrNotExist):
		return "vanished while it was read"
	}
	for _, known := range []error{errBinary, errEncoding, errEmpty, errNotRegular, errTooLarge} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return "unreadable"
}

// folderError is the one error for a folder that is missing, unreadable or no folder.
func folderError(op string, err error) error {
	return fault.New(fault.BackendError, op, fmt.Errorf("the folder of the collection cannot be read: %w", err))
}
