// Package files searches log files of this machine for package logs. Paths are fixed by configuration, and no link leads out of their folder. Plain, .gz and .zst
// files, rotated and dated ones are read alike; what a file is, its content says.
//
// It promises: an event in the range is handed over whatever the order of the lines, unless something matched without it and the file looked sorted where it was
// read; what could not be read makes the report incomplete; memory does not grow with the size of the files.
package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/zone"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
)

// Options configure a Source.
type Options struct {
	// Paths are absolute paths; *, ? and [a-z] match within one name. The folder in front of the first of them is the boundary that links must not leave.
	Paths []string
	// Timezone is the zone of times that are written without one, by its name or its offset, as in "+08:00"; "" is UTC.
	Timezone string
}

// Source is a set of log files. It is safe for concurrent use.
type Source struct {
	patterns []pattern
	loc      *time.Location
	segment  int64 // segmentBytes; smaller in tests
}

var _ logs.Source = (*Source)(nil)

// pattern is a path with wildcards below a fixed folder.
type pattern struct {
	root  string
	parts []string
}

var (
	errPaths = errors.New("files: paths")
	errZone  = errors.New("files: timezone")
)

// New checks the options. It does no I/O beyond the zone's table.
func New(o Options) (*Source, error) {
	s := &Source{loc: time.UTC, segment: segmentBytes}
	if o.Timezone != "" {
		loc, err := zone.Load(o.Timezone)
		if err != nil {
			return nil, fmt.Errorf("%w: timezone %q: %w", errPaths, o.Timezone, err)
		}
		s.loc = loc
	}
	if len(o.Paths) == 0 {
		return nil, fmt.Errorf("%w: none given", errPaths)
	}
	for _, p := range o.Paths {
		if !filepath.IsAbs(p) {
			return nil, fmt.Errorf("%w: %q is not absolute", errPaths, p)
		}
		if _, err := path.Match(p, ""); err != nil {
			return nil, fmt.Errorf("%w: %q is not a valid pattern", errPaths, p)
		}
		if strings.Contains(p, "**") {
			return nil, fmt.Errorf("%w: %q: ** is not supported, write one * for each folder", errPaths, p)
		}
		parts := strings.Split(strings.TrimPrefix(filepath.ToSlash(filepath.Clean(p)), "/"), "/")
		fixed := 0
		for fixed < len(parts)-1 && !strings.ContainsAny(parts[fixed], `*?[\`) {
			fixed++
		}
		s.patterns = append(s.patterns, pattern{root: "/" + strings.Join(parts[:fixed], "/"), parts: parts[fixed:]})
	}
	return s, nil
}

// Check opens every file and tells the first problem: no file, one that cannot be read, one that is no regular file or lies outside its folder, one whose events lie
// in the future in the configured zone.
func (s *Source) Check(ctx context.Context) error {
	l := s.list()
	defer l.close()
	if len(l.problems) > 0 {
		return l.problems[0]
	}
	if len(l.files) == 0 {
		return fmt.Errorf("%w: %s", errPaths, s.nothing())
	}
	for _, f := range l.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f.probe(s.loc); err != nil {
			return fmt.Errorf("%w: %s: %w", errPaths, f.name, err)
		}
	}
	if d, _, f := lead(l.files, time.Now().UnixNano()); d > 0 {
		return s.zoneError(f, d)
	}
	return nil
}

// nothing tells the operator why no file is there: what was looked for, and the slip of the hand that it may be.
func (s *Source) nothing() string {
	var parts []string
	for _, p := range s.patterns {
		full := path.Join(append([]string{p.root}, p.parts...)...)
		info, err := os.Stat(full)
		switch {
		case strings.Contains(full, "/~"):
			parts = append(parts, "no file matches "+full+" (~ is not expanded: write the home folder out)")
		case err == nil && info.IsDir():
			parts = append(parts, full+" is a folder: write "+full+"/*.log or what its files are called")
		case err == nil && info.Size() == 0:
			parts = append(parts, full+" is empty")
		default:
			parts = append(parts, "no file with anything in it matches "+full)
		}
	}
	return strings.Join(parts, "; ")
}
