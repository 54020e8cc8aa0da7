// Package audit keeps one metadata row for every attempted call, in MySQL or in a file. It never holds content: its input type has no field for it. It never blocks
// a call, never fails one and never delays one: rows go through a bounded queue to one writer; when the queue is full rows are dropped, counted, and the count is
// logged once a minute.
package audit

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
)

const (
	// queueRows is how many rows wait for the writer. A row is about 400 bytes, so a full queue is 3 MiB; at 200 calls a second it covers 40 s of a dead database.
	queueRows = 8192
	// batchRows is how many rows one write takes: past a hundred the gain of a larger INSERT is small.
	batchRows = 128
	// writeTimeout bounds one write, so that a frozen database costs rows and not the writer.
	writeTimeout = 5 * time.Second
	// reportEvery is how often drops are logged.
	reportEvery = time.Minute
	// retryWait spaces attempts at a sink that fails.
	retryWait = time.Second
)

// Options configure a sink.
type Options struct {
	Logger *slog.Logger // nil discards
	// Retention is how long MySQL keeps rows; 0: DefaultRetention; negative: for ever.
	Retention time.Duration
	// MaxFile is the size at which the file sink starts a new file; 0: DefaultMaxFile.
	MaxFile int64
	// Keep is how many old files the file sink keeps; 0: DefaultKeep.
	Keep int
}

// Defaults of Options.
const (
	DefaultRetention       = 90 * 24 * time.Hour
	DefaultMaxFile   int64 = 64 << 20
	DefaultKeep            = 9
)

// writer stores rows, in order. It is called from one goroutine at a time. Rows whose write failed come again, all of them and before any other.
type writer interface {
	write(ctx context.Context, rows []boundary.AuditRecord) error
	check(ctx context.Context) error
	tidy(ctx context.Context) error
	close() error
}

// Stats counts what became of the rows.
type Stats struct {
	Written, Dropped int64
}

// Sink is a boundary.Auditor. Close it to write what is queued.
type Sink struct {
	w       writer
	log     *slog.Logger
	queue   chan boundary.AuditRecord
	stop    chan struct{}
	done    chan struct{}
	start   sync.Once
	end     sync.Once
	mu      sync.Mutex // one user of w at a time
	written atomic.Int64
	dropped atomic.Int64
}

var _ boundary.Auditor = (*Sink)(nil)

func newSink(w writer, o Options) *Sink {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Sink{w: w, log: o.Logger, queue: make(chan boundary.AuditRecord, queueRows), stop: make(chan struct{}), done: make(chan struct{})}
}

// Audit queues a row. It returns at once, whatever the sink's state.
func (s *Sink) Audit(r boundary.AuditRecord) {
	s.start.Do(func() { go s.run() })
	select {
	case <-s.stop:
		s.dropped.Add(1)
	default:
		select {
		case s.queue <- r:
		default:
			s.dropped.Add(1)
		}
	}
}

// Stats tells what became of the rows so far.
func (s *Sink) Stats() Stats { return Stats{s.written.Load(), s.dropped.Load()} }

// Dropped counts the rows that were lost so far.
func (s *Sink) Dropped() int64 { return s.dropped.Load() }

// Check verifies that rows can be written, and brings the schema up to date. The error's text tells an operator the next step and holds no secret.
func (s *Sink) Check(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.check(ctx)
}

// Close writes what is queued as long as ctx allows, counts the rest as dropped and releases the sink.
func (s *Sink) Close(ctx context.Context) error {
	s.start.Do(func() { close(s.done) }) // never started: nothing to wait for
	s.end.Do(func() { close(s.stop) })
	select {
	case <-s.done:
	case <-ctx.Done():
		return errors.New("audit: rows were left unwritten") // the writer is still at work: its sink goes with the process
	}
	return s.w.close()
}

func (s *Sink) run() {
	defer close(s.done)
	report := time.NewTicker(reportEvery)
	defer report.Stop()
	var reported int64
	batch := make([]boundary.AuditRecord, 0, batchRows)
	for {
		select {
		case r := <-s.queue:
			batch = append(batch[:0], r)
		case <-report.C:
			s.tidy()
			reported = s.reportDrops(reported)
			continue
		case <-s.stop:
			s.drain(batch)
			s.reportDrops(reported)
			return
		}
		batch = s.fill(batch)
		for last := false; !s.flush(batch); {
			if last {
				s.dropped.Add(int64(len(batch) + len(s.queue)))
				s.reportDrops(reported)
				return
			}
			// The rows wait in the queue, and are dropped at its tail, until the sink is back.
			select {
			case <-time.After(retryWait):
			case <-report.C:
				reported = s.reportDrops(reported)
			case <-s.stop:
				last = true // one more try, at once
			}
		}
	}
}

// fill takes what else waits, up to a batch.
func (s *Sink) fill(batch []boundary.AuditRecord) []boundary.AuditRecord {
	for len(batch) < batchRows {
		select {
		case r := <-s.queue:
			batch = append(batch, r)
		default:
			return batch
		}
	}
	return batch
}

func (s *Sink) flush(batch []boundary.AuditRecord) bool {
	if len(batch) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	s.mu.Lock()
	err := s.w.write(ctx, batch)
	s.mu.Unlock()
	if err != nil {
		return false
	}
	s.written.Add(int64(len(batch)))
	return true
}

// drain writes what is queued at the end, until the sink fails.
func (s *Sink) drain(batch []boundary.AuditRecord) {
	for {
		if batch = s.fill(batch[:0]); len(batch) == 0 {
			return
		}
		if !s.flush(batch) {
			s.dropped.Add(int64(len(batch) + len(s.queue)))
			return
		}
	}
}

func (s *Sink) tidy() {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.w.tidy(ctx) // tried again in a minute
}

func (s *Sink) reportDrops(before int64) int64 {
	now := s.dropped.Load()
	if now > before {
		s.log.Warn("audit rows dropped", slog.Int64("count", now-before), slog.Int64("total", now))
	}
	return now
}
