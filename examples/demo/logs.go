package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Topics, each in the format that its kind of program writes.
const (
	topicEdge      = "edge"      // access log of the web server
	topicCheckout  = "checkout"  // JSON lines
	topicPayments  = "payments"  // Java: text with stack traces; the first hour is rotated and compressed
	topicInventory = "inventory" // logfmt
)

// stream writes one topic and counts its lines by the second, so that the demo knows what a search went through.
type stream struct {
	name  string
	perS  int // events a second
	write func(b []byte, d *dice, at time.Time, n int) []byte

	lines   []int   // by second since logStart
	sizes   []int64 // bytes, likewise
	planted []planted
}

// planted is one event that is not chance: b is written at its time, in place of nothing.
type planted struct {
	at   time.Time
	text string
}

// stamp appends a time in a layout of fixed width.
func stamp(b []byte, at time.Time, layout string) []byte { return at.AppendFormat(b, layout) }

func streams() []*stream {
	return []*stream{
		{name: topicEdge, perS: 28, write: edgeLine},
		{name: topicCheckout, perS: 14, write: checkoutLine, planted: checkoutPlanted()},
		{name: topicPayments, perS: 7, write: paymentsLine, planted: paymentsPlanted()},
		{name: topicInventory, perS: 6, write: inventoryLine},
	}
}

// writeLogs writes every topic to dir and returns them with their counts.
func writeLogs(dir string) ([]*stream, error) {
	all := streams()
	for i, s := range all {
		if err := s.save(dir, uint64(i+1)); err != nil {
			return nil, fmt.Errorf("writing the logs of %s: %w", s.name, err)
		}
	}
	return all, nil
}

func (s *stream) save(dir string, seed uint64) error {
	half := logStart.Add(time.Hour)
	d := newDice(100 + seed)
	seconds := int(logEnd.Sub(logStart) / time.Second)
	s.lines, s.sizes = make([]int, seconds), make([]int64, seconds)
	if s.name != topicPayments {
		return s.file(filepath.Join(dir, s.name+".log"), d, logStart, logEnd, false)
	}
	if err := s.file(filepath.Join(dir, s.name+".log.1.gz"), d, logStart, half, true); err != nil {
		return err
	}
	return s.file(filepath.Join(dir, s.name+".log"), d, half, logEnd, false)
}

func (s *stream) file(path string, d *dice, from, to time.Time, zip bool) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	var out io.Writer = f
	if zip {
		z, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
		if err != nil {
			return err
		}
		defer func() {
			if cerr := z.Close(); err == nil {
				err = cerr
			}
		}()
		out = z
	}
	w := bufio.NewWriterSize(out, 1<<16)
	defer func() {
		if ferr := w.Flush(); err == nil {
			err = ferr
		}
	}()
	var b []byte
	offsets := make([]int, s.perS)
	for at := from; at.Before(to); at = at.Add(time.Second) {
		for i := range offsets {
			offsets[i] = d.upTo(1000)
		}
		slices.Sort(offsets)
		b = b[:0]
		next := 0
		for n, ms := range offsets {
			t := at.Add(time.Duration(ms) * time.Millisecond)
			for ; next < len(s.planted) && s.planted[next].at.Before(t); next++ {
				b = append(append(b, s.planted[next].text...), '\n')
			}
			b = s.write(b, d, t, n)
		}
		s.planted = s.planted[next:]
		i := int(at.Sub(logStart) / time.Second)
		s.lines[i], s.sizes[i] = bytes.Count(b, []byte("\n")), int64(len(b))
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// between counts the lines and bytes of a part of the time.
func (s *stream) between(from, to time.Time) (lines, size int64) {
	for i := range s.lines {
		if at := logStart.Add(time.Duration(i) * time.Second); !at.Before(from) && at.Before(to) {
			lines += int64(s.lines[i])
			size += s.sizes[i]
		}
	}
	return lines, size
}

func address(b []byte, d *dice) []byte {
	return strconv.AppendInt(append(b, "198.51.100."...), int64(d.upTo(200)+10), 10)
}

// order is the number of an order that is placed about now.
func order(b []byte, d *dice, at time.Time) []byte {
	return strconv.AppendInt(b, int64(firstOrder)+int64(at.Sub(logStart)/orderEvery)-int64(d.upTo(3)), 10)
}

func hex(b []byte, d *dice, n int) []byte {
	for v := d.next(); n > 0; n, v = n-1, v>>4 {
		b = append(b, "0123456789abcdef"[v&15])
	}
	return b
}

const edgeLayout = "02/Jan/2006:15:04:05 -0700"

func edgeLine(b []byte, d *dice, at time.Time, n int) []byte {
	method, path, status, ms := "GET", "/product/"+strconv.Itoa(d.upTo(900)+100), 200, 4+d.upTo(60)
	switch {
	case n%14 == 3:
		method, path, ms = "POST", "/api/checkout", 90+d.upTo(260)
		if broken(at) && d.upTo(100) < 71 {
			status, ms = 504, 3000+d.upTo(60)
		}
	case n%14 < 3:
		path = "/static/app-" + strconv.Itoa(d.upTo(9)) + ".js"
	case n%14 == 4:
		method, path, ms = "POST", "/api/cart", 20+d.upTo(80)
	case d.upTo(90) == 0:
		status = 404
	}
	b = append(address(b, d), " - - ["...)
	b = append(stamp(b, at, edgeLayout), "] \""...)
	b = append(append(append(b, method...), ' '), path...)
	b = append(b, " HTTP/1.1\" "...)
	b = append(strconv.AppendInt(b, int64(status), 10), ' ')
	b = strconv.AppendInt(b, int64(300+d.upTo(9000)), 10)
	b = append(b, " \"-\" \"Mozilla/5.0 (X11; Linux x86_64)\" rt="...)
	b = strconv.AppendFloat(b, float64(ms)/1000, 'f', 3, 64)
	return append(b, '\n')
}

const checkoutLayout = "2006-01-02T15:04:05.000Z"

func checkoutLine(b []byte, d *dice, at time.Time, n int) []byte {
	b = append(stamp(append(b, `{"ts":"`...), at, checkoutLayout), `","level":`...)
	customer := d.upTo(customerCount)
	tail := func() {
		b = append(append(b, `,"customer":"`...), customerEmail(customer)...)
		b = append(address(append(b, `","client_ip":"`...), d), `","trace":"`...)
		b = append(hex(b, d, 16), "\"}\n"...)
	}
	switch {
	case n%7 == 3 && broken(at) && d.upTo(100) < 71:
		b = append(b, `"error","service":"checkout","msg":"payment call for order `...)
		b = append(order(b, d, at), ` timed out after 3000 ms: POST http://payments-6c9f7d5b8-x2kqp:8080/v1/charges"`...)
	case n%7 == 3:
		b = append(order(append(b, `"info","service":"checkout","msg":"order `...), d, at), ` placed"`...)
	case n%7 < 3:
		b = append(b, `"info","service":"checkout","msg":"cart updated, `...)
		b = append(strconv.AppendInt(b, int64(d.upTo(9)+1), 10), ` items"`...)
	case d.upTo(300) == 0:
		b = append(b, `"warn","service":"checkout","msg":"coupon rejected: expired"`...)
	default:
		b = append(b, `"debug","service":"checkout","msg":"price of sku `...)
		b = append(strconv.AppendInt(b, int64(d.upTo(900)+100), 10), ` from cache"`...)
	}
	tail()
	return b
}

const paymentsLayout = "2006-01-02 15:04:05.000"

const poolStack = `java.sql.SQLTransientConnectionException: HikariPool-1 - Connection is not available, request timed out after 3000ms (total=4, active=4, idle=0, waiting=%d)
	at com.zaxxer.hikari.pool.HikariPool.createTimeoutException(HikariPool.java:686)
	at com.zaxxer.hikari.pool.HikariPool.getConnection(HikariPool.java:179)
	at com.zaxxer.hikari.HikariDataSource.getConnection(HikariDataSource.java:127)
	at com.example.payments.ledger.LedgerDao.open(LedgerDao.java:58)
	at com.example.payments.charge.ChargeService.charge(ChargeService.java:112)
	at com.example.payments.api.ChargeController.post(ChargeController.java:41)
`

func paymentsLine(b []byte, d *dice, at time.Time, n int) []byte {
	b = stamp(b, at, paymentsLayout)
	thread := func(level string) {
		b = append(append(append(b, ' '), level...), " [http-nio-8080-exec-"...)
		b = append(strconv.AppendInt(b, int64(d.upTo(32)+1), 10), "] "...)
	}
	switch {
	case n%7 == 2 && broken(at) && d.upTo(100) < 71:
		thread("ERROR")
		b = append(order(append(b, "c.e.p.charge.ChargeService : charge of order "...), d, at), " failed\n"...)
		b = fmt.Appendf(b, poolStack, 20+d.upTo(30))
	case n%7 == 2:
		thread("INFO ")
		b = append(order(append(b, "c.e.p.charge.ChargeService : charge of order "...), d, at), " accepted in "...)
		b = append(strconv.AppendInt(b, int64(40+d.upTo(180)), 10), " ms\n"...)
	case n%7 == 5 && d.upTo(60) == 0:
		thread("WARN ")
		b = append(order(append(b, "c.e.p.charge.ChargeService : charge of order "...), d, at), " declined by the issuer\n"...)
	default:
		thread("DEBUG")
		b = append(b, "c.e.p.psp.PspClient : keep-alive to psp.example.net, "...)
		b = append(strconv.AppendInt(b, int64(d.upTo(30)), 10), " idle connections\n"...)
	}
	return b
}

// paymentsPlanted holds the root cause: two lines at each start of the service, among hundreds of thousands. Beside them stands what must not leave.
func paymentsPlanted() []planted {
	start := func(at time.Time, version, pool string) []planted {
		line := func(ms int, level, text string) planted {
			t := at.Add(time.Duration(ms) * time.Millisecond)
			return planted{t, t.Format(paymentsLayout) + " " + level + " [main] " + text}
		}
		return []planted{
			line(1210, "INFO ", "c.e.p.PaymentsApplication : started PaymentsApplication "+version+" on payments-6c9f7d5b8-x2kqp (10.20.4.17)"),
			line(1340, "INFO ", "c.e.p.config.PoolConfig : datasource jdbc:mysql://payments:"+plantedPassword+"@db-pay-1.internal:3306/pay opened"),
			line(1350, "WARN ", "c.e.p.config.PoolConfig : "+pool),
			line(1420, "DEBUG", "c.e.p.psp.PspClient : login at psp.example.net with Authorization: Bearer "+plantedBearer),
			line(1425, "INFO ", "c.e.p.psp.PspClient : merchant key "+plantedKey+" is active"),
		}
	}
	return slices.Concat(start(badFrom, "4.8.1", "maximumPoolSize is not set for HikariPool-1, the shared default applies: 4"),
		start(badTo, "4.8.0", "maximumPoolSize of HikariPool-1 is 40"))
}

func checkoutPlanted() []planted {
	at := badFrom.Add(52 * time.Second)
	return []planted{{at, at.Format(`{"ts":"`+checkoutLayout) + `","level":"error","service":"checkout","msg":"payment form rejected by payments","card":"` + plantedCard +
		`","customer":"` + customerEmail(7) + `"}`}}
}

func inventoryLine(b []byte, d *dice, at time.Time, n int) []byte {
	b = append(stamp(append(b, "time="...), at, checkoutLayout), " level="...)
	if n == 0 && d.upTo(400) == 0 {
		b = append(b, "warn msg=\"stock low\" sku="...)
	} else {
		b = append(b, "info msg=\"stock reserved\" sku="...)
	}
	b = append(strconv.AppendInt(b, int64(d.upTo(900)+100), 10), " left="...)
	b = append(strconv.AppendInt(b, int64(d.upTo(70)), 10), " host=inventory-0"...)
	return append(strconv.AppendInt(b, int64(d.upTo(3)+1), 10), '\n')
}
