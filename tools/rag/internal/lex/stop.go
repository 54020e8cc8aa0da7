package lex

import "strings"

// stopWords carry no meaning for search: English function words and the words questions are made of. Words of operations (not, no, down, up, off, over, under,
// above, below, between, down) stay: "not ready" and "over quota" are what alerts say.
var stopWords = func() map[string]struct{} {
	m := make(map[string]struct{}, 160)
	for _, w := range strings.Fields(`a an the this that these those there here it its itself they them their theirs he him his she her hers we us our ours you your yours i me my mine
		is are was were be been being am do does did doing done has have had having will would shall should can could may might must
		and or but nor so if then else than as at by for from in into of on onto to with within without about via per
		what which who whom whose when where why how
		also just only very too such some any each every all both either neither other another same own
		because while until unless since though although however please let lets
		s t ll re ve d m don doesn didn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn cannot`) {
		m[w] = struct{}{}
	}
	return m
}()

func isStop(w string) bool {
	if len(w) > 9 {
		return false
	}
	_, ok := stopWords[w]
	return ok
}

// glue are the ideographs that hold Chinese and Japanese sentences together. A bigram of two of them, or with one of them, says less than its rarity suggests.
const glue = "的了是在和与及或而且也都就还又很吗呢吧啊呀么什怎哪谁何为被把将对从向于以其这那此该之们个些有没不会能可要请想需如若则因所由使让给做时候里中上下来去到过得着地您我你他她它はがをにのでとへもかやよね"

var glueRunes = func() map[rune]struct{} {
	m := make(map[rune]struct{})
	for _, r := range glue {
		m[r] = struct{}{}
	}
	return m
}()

// Glue counts the sentence-making ideographs of a bigram or single: 0, 1 or 2.
func Glue(term string) int {
	n := 0
	for _, r := range term {
		if _, ok := glueRunes[r]; ok {
			n++
		}
	}
	return n
}

// short are abbreviations that operations people write for a word: both meet in one term.
var short = map[string]string{
	"config": "configuration", "configs": "configuration", "conf": "configuration", "cfg": "configuration", "db": "database", "dbs": "database", "k8s": "kubernetes", "kube": "kubernetes",
	"err": "error", "errs": "error", "mem": "memory", "cert": "certificate", "certs": "certificate", "msg": "message", "msgs": "message", "req": "request", "reqs": "request", "resp": "response",
	"repo": "repository", "repos": "repository", "fs": "filesystem", "auth": "authentication", "env": "environment", "admin": "administrator", "info": "information", "perf": "performance",
	"stats": "statistics", "tmp": "temporary", "svc": "service", "deps": "dependency", "conn": "connection", "conns": "connection", "prod": "production", "init": "initialization",
	"param": "parameter", "params": "parameter", "utilisation": "utilization", "initialisation": "initialization",
}

// normal is the term of a folded word.
func normal(w string) string {
	if len(w) <= 14 {
		if long, ok := short[w]; ok {
			w = long
		}
	}
	return stem(w)
}
