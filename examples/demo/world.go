package main

import (
	"fmt"
	"time"
)

// This file is the world that logs, tables and runbooks tell of: two hours of a fictional shop. At 09:10 release 4.8.1 of payments shrinks the connection pool from
// 40 to 4, checkouts time out until 4.8.0 is back at 09:41. All times are fixed, so that the demo prints the same on every day.
var (
	logStart = time.Date(2026, 3, 14, 8, 0, 0, 0, time.UTC)
	logEnd   = logStart.Add(2 * time.Hour)
	badFrom  = time.Date(2026, 3, 14, 9, 10, 0, 0, time.UTC)
	badTo    = time.Date(2026, 3, 14, 9, 41, 0, 0, time.UTC)
)

const (
	orderEvery    = 2 * time.Second
	firstOrder    = 500001
	customerCount = 400
)

func broken(t time.Time) bool { return !t.Before(badFrom.Add(40*time.Second)) && t.Before(badTo) }

var releases = []struct {
	service, version string
	at               time.Time
	note             string
}{
	{"inventory", "2.11.0", logStart.Add(-20 * time.Hour), "stock cache warms up at start"},
	{"checkout", "7.2.3", logStart.Add(14 * time.Minute), "new wording of the receipt"},
	{"payments", "4.8.0", logStart.Add(-44 * time.Hour), "retry of declined cards"},
	{"payments", "4.8.1", badFrom, "pool settings moved to the shared defaults"},
	{"payments", "4.8.0", badTo, "roll back 4.8.1"},
}

// dice is a splitmix64 generator: the same numbers for the same seed in every version of Go.
type dice struct{ s uint64 }

func newDice(seed uint64) *dice { return &dice{seed * 0x9e3779b97f4a7c15} }

func (d *dice) next() uint64 {
	d.s += 0x9e3779b97f4a7c15
	z := d.s
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (d *dice) upTo(n int) int { return int(d.next() % uint64(n)) }

func pick(d *dice, list []string) string { return list[d.upTo(len(list))] }

var (
	cities = []string{"Bremen", "Lisbon", "Osaka", "Quito", "Tartu", "Xiamen"}
)

func customerName(id int) string { return fmt.Sprintf("Customer %04d", id) }

func customerEmail(id int) string { return fmt.Sprintf("customer-%04d@example.com", id) }

// The secrets planted in logs, runbooks and tables. They are made of parts, so that no scanner takes this file for a leak, and none was ever valid.
var (
	plantedKey      = "sk_" + "live_" + "51Demo" + "TernAndSons" + "Nk3vQ8Zr2Lw"
	plantedPassword = "tern" + "-Pr0d-" + "w1nter"
	plantedBearer   = "eyJhbGciOiJIUzI1NiJ9" + "." + "eyJzdWIiOiJwYXltZW50cyJ9" + "." + "c2lnbmF0dXJlLW9mLXRoZS1kZW1v"
	plantedRunbook  = "ghp_" + "demo0" + "Tern1And2Sons3Runbook4Key5xy"
	plantedCard     = "4111 1111" + " 1111 1111"
)

func shopToken(id int) string { return fmt.Sprintf("tok_"+"demo_%06d", id*7919%999983) }
