package folder

import (
	"strings"
	"testing"
)

func TestASlipIsOneLetterOrTwoSwapped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"reload", "relaod", true}, {"certif", "certifc", true}, {"alertmang", "alertmanag", true}, {"stuck", "stcuk", true}, {"error", "errot", true}, {"error", "errors", true},
		{"error", "error", false}, {"reload", "relaodd", false}, {"reload", "erlaod", false}, {"stuck", "stack", true}, {"stuck", "steak", false}, {"ab", "ba", true}, {"a", "", true},
		{"abcd", "abdce", false}, {"network", "netowkr", false},
	} {
		if got := slip(c.a, c.b); got != c.want {
			t.Errorf("slip(%q, %q) = %v, want %v", c.a, c.b, got, c.want)
		}
		if got := slip(c.b, c.a); got != c.want {
			t.Errorf("slip(%q, %q) = %v, want %v", c.b, c.a, got, c.want)
		}
	}
}

func TestAMisspeltWordIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, shop)
	write(t, dir, map[string]string{"pay.md": "# AcquirerRejections\n\nThe acquirer rejects authorisations of build w17x3, port 40917 and session abcdefg.\n"})
	x := open(t, Options{Path: dir})
	for _, q := range []string{"acqiurer rejects", "acquirrer", "AcquirerRejectons", "authorisatoins rejected"} {
		hits := ask(t, x, q, 0.3)
		if len(hits) == 0 || hits[0].Source != "pay.md" {
			t.Errorf("%q finds %v, want pay.md", q, sources(hits))
		}
	}
	// A letter more in a short word and a digit more in an identifier are other words.
	for _, q := range []string{"w17x4", "40916", "paay"} {
		if hits := ask(t, x, q, 0.3); len(hits) != 0 {
			t.Errorf("%q finds %v, want nothing", q, sources(hits))
		}
	}
	sure, slipped := ask(t, x, "acquirer", 0)[0], ask(t, x, "acqiurer", 0)[0]
	if slipped.Relevance >= sure.Relevance || slipped.Score >= sure.Score {
		t.Errorf("a slip is as good as the word: %v and %v", slipped, sure)
	}
	// Both spellings in one question say one thing.
	if twice := ask(t, x, "acquirer acqiurer", 0)[0]; twice.Relevance != sure.Relevance || twice.Score != sure.Score {
		t.Errorf("the word and its slip give %v, the word %v", twice, sure)
	}
}

// Attack: guess a hidden value letter by letter and let the search for near words complete it.
func TestNothingHiddenIsFoundByANearSpelling(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := "wombat" + "quokka"
	write(t, dir, shop)
	write(t, dir, map[string]string{"a.md": "# Access\n\nLog in with password=" + secret + " at the console.\n"})
	x := open(t, Options{Path: dir})
	if len(ask(t, x, "log in console", 0.3)) == 0 {
		t.Fatal("the document is not indexed")
	}
	for _, q := range []string{secret, secret[:len(secret)-1], secret + "a", strings.Replace(secret, "q", "g", 1)} {
		if hits := ask(t, x, q, 0.05); len(hits) != 0 {
			t.Errorf("%q finds %v", q, sources(hits))
		}
	}
}

// A question told as a story covers little of itself with any passage. It must not be answered NO_EVIDENCE when it names what a runbook is about.
func TestALongQuestionKeepsTheRunbookThatItNames(t *testing.T) {
	t.Parallel()
	dir, _, _ := shopBooks(t)
	x := open(t, Options{Path: dir})
	for q, want := range map[string]string{
		"Hello everybody, since the marketing mail went out at noon our dashboards are red: consumers of the order queue show a growing lag, customers write angry tweets, and nobody from the second " +
			"shift remembers what helped during Black Friday. Who can tell me which buttons to press and whether it is safe to leave for dinner?": "OrderQueueLag.md",
		"Good morning, my colleague Ada left for holidays and asked me to watch her pager. It rang twice tonight: some disk of a node is apparently filling, though graphs in the portal look calm and our " +
			"supplier swears that nothing was changed. Could somebody please walk me through whatever comes first?": "ops/NodeDiskFillingUp.md",
	} {
		hits := ask(t, x, q, 0.3)
		if len(hits) == 0 || hits[0].Source != want {
			t.Errorf("%.40q… finds %v, want %s first", q, sources(hits), want)
			continue
		}
		if hits[0].Relevance >= 0.6 {
			t.Errorf("%.40q…: relevance %v calls it HIGH although most of the question is about other things", q, hits[0].Relevance)
		}
	}
	for _, q := range []string{
		"Hello everybody, my daughter turns seven and we plan a party in the garden with ten children; which games need little space, cost nothing and also work when it rains for the whole afternoon?",
		"Our landlord lets the heating fail each November and writes polite letters instead of sending a plumber; may I pay less rent, who decides that, and which form does the court want from me?",
	} {
		if hits := ask(t, x, q, 0.3); len(hits) != 0 {
			t.Errorf("%.40q… finds %v, want nothing", q, sources(hits))
		}
	}
}
