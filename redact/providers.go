package redact

import "bytes"

// charset says which bytes the rest of a provider's token may have.
type charset uint8

const (
	csWord charset = iota // letters, digits, _
	csURL                 // letters, digits, _ -
	csUpper
	csHex
	csPath // anything of a URL path
	csDotted
	csHash // the text of a password's hash: parameters and base64
)

// prefix is a token format with a fixed beginning, after the public formats that secret scanners know.
type prefix struct {
	text string
	cs   charset
	min  int // bytes after the prefix
	keep int // bytes of the prefix that stay: the address of a webhook says where it goes, its path is the secret
}

// providers is ordered by service; the automaton finds every prefix in one pass.
var providers = []prefix{
	{"AKIA", csUpper, 12, 0}, {"ASIA", csUpper, 12, 0}, {"ABIA", csUpper, 12, 0}, {"ACCA", csUpper, 12, 0}, {"A3T", csUpper, 15, 0}, {"AROA", csUpper, 14, 0}, {"AIDA", csUpper, 14, 0}, {"ABSK", csWord, 60, 0},
	{"ghp_", csWord, 16, 0}, {"gho_", csWord, 16, 0}, {"ghu_", csWord, 16, 0}, {"ghs_", csWord, 16, 0}, {"ghr_", csWord, 16, 0}, {"github_pat_", csWord, 16, 0},
	{"glpat-", csDotted, 10, 0}, {"gldt-", csURL, 10, 0}, {"glrt-", csDotted, 10, 0}, {"glptt-", csURL, 10, 0}, {"glcbt-", csURL, 10, 0}, {"glft-", csURL, 10, 0}, {"glsoat-", csURL, 10, 0}, {"glagent-", csURL, 10, 0}, {"gloas-", csURL, 10, 0}, {"glimt-", csURL, 10, 0}, {"glffct-", csURL, 10, 0}, {"GR1348941", csURL, 10, 0},
	{"xoxb-", csURL, 8, 0}, {"xoxa-", csURL, 8, 0}, {"xoxp-", csURL, 8, 0}, {"xoxr-", csURL, 8, 0}, {"xoxs-", csURL, 8, 0}, {"xoxo-", csURL, 8, 0}, {"xoxe-", csURL, 8, 0}, {"xoxe.", csDotted, 8, 0}, {"xapp-", csURL, 8, 0},
	{"hooks.slack.com/services/", csPath, 6, 25}, {"hooks.slack.com/workflows/", csPath, 6, 26}, {"hooks.slack.com/triggers/", csPath, 6, 25}, {"discord.com/api/webhooks/", csPath, 6, 25}, {"discordapp.com/api/webhooks/", csPath, 6, 28},
	{"webhook.office.com/webhookb2/", csPath, 6, 29}, {"outlook.office.com/webhook/", csPath, 6, 27}, {"/open-apis/bot/v2/hook/", csPath, 6, 23}, {"/cgi-bin/webhook/send?key=", csPath, 6, 26}, {"hooks.zapier.com/hooks/catch/", csPath, 6, 29}, {"maker.ifttt.com/use/", csPath, 6, 20}, {"api.telegram.org/bot", csPath, 6, 20}, {"chat.googleapis.com/v1/spaces/", csPath, 6, 30}, {"events.pagerduty.com/integration/", csPath, 6, 33}, {"hooks.pagerduty.com/", csPath, 6, 20},
	{"sk_live_", csWord, 8, 0}, {"sk_test_", csWord, 8, 0}, {"rk_live_", csWord, 8, 0}, {"rk_test_", csWord, 8, 0}, {"pk_live_", csWord, 8, 0}, {"pk_test_", csWord, 8, 0}, {"whsec_", csWord, 16, 0}, {"sk_prod_", csWord, 8, 0}, {"rk_prod_", csWord, 8, 0},
	{"AIza", csURL, 20, 0}, {"ya29.", csDotted, 16, 0}, {"GOCSPX-", csURL, 16, 0}, {"1//0", csURL, 30, 0},
	{"SG.", csDotted, 30, 0}, {"npm_", csWord, 20, 0}, {"pypi-", csURL, 16, 0}, {"rubygems_", csWord, 20, 0}, {"cio", csWord, 32, 0}, {"dckr_pat_", csURL, 16, 0}, {"dckr_oat_", csURL, 16, 0},
	{"sk-ant-", csURL, 16, 0}, {"sk-proj-", csURL, 16, 0}, {"sk-svcacct-", csURL, 16, 0}, {"sk-admin-", csURL, 16, 0}, {"sk-or-", csURL, 16, 0}, {"sk-", csURL, 20, 0}, {"gsk_", csWord, 20, 0}, {"xai-", csWord, 20, 0}, {"pplx-", csWord, 20, 0}, {"r8_", csWord, 20, 0}, {"hf_", csWord, 16, 0}, {"api_org_", csWord, 20, 0}, {"nvapi-", csURL, 20, 0},
	{"LTAI", csWord, 12, 0}, {"AKID", csWord, 13, 0}, {"AKLT", csWord, 16, 0}, {"JDC_", csWord, 16, 0},
	{"dop_v1_", csHex, 16, 0}, {"doo_v1_", csHex, 16, 0}, {"dor_v1_", csHex, 16, 0}, {"AGE-SECRET-KEY-1", csUpper, 16, 0}, {"shpat_", csHex, 16, 0}, {"shpca_", csHex, 16, 0}, {"shppa_", csHex, 16, 0}, {"shpss_", csHex, 16, 0},
	{"sq0atp-", csURL, 16, 0}, {"sq0csp-", csURL, 16, 0}, {"sq0idp-", csURL, 16, 0}, {"EAAA", csURL, 40, 0}, {"key-", csHex, 32, 0}, {"pubkey-", csHex, 32, 0}, {"dapi", csHex, 30, 0}, {"hvs.", csURL, 16, 0}, {"hvb.", csURL, 16, 0}, {"hvr.", csURL, 16, 0}, {"s.", csWord, 24, 0},
	{"HRKU-", csURL, 20, 0}, {"NRAK-", csUpper, 16, 0}, {"NRJS-", csWord, 16, 0}, {"NRII-", csURL, 16, 0}, {"NRRA-", csWord, 16, 0}, {"glsa_", csWord, 16, 0}, {"glc_", csWord, 24, 0}, {"lin_api_", csWord, 16, 0}, {"lin_oauth_", csWord, 16, 0}, {"dp.pt.", csWord, 16, 0}, {"dp.st.", csDotted, 16, 0}, {"dp.ct.", csWord, 16, 0}, {"dp.sa.", csWord, 16, 0},
	{"dt0c01.", csDotted, 24, 0}, {"PMAK-", csURL, 24, 0}, {"sntrys_", csDotted, 24, 0}, {"sntryu_", csWord, 24, 0}, {"tfp_", csWord, 24, 0}, {".atlasv1.", csURL, 24, 0}, {":AA", csURL, 30, 0}, {"pscale_tkn_", csDotted, 16, 0}, {"pscale_pw_", csDotted, 16, 0}, {"pscale_oauth_", csDotted, 16, 0}, {"pul-", csHex, 32, 0}, {"ops_eyJ", csWord, 24, 0}, {"fo1_", csWord, 20, 0}, {"fm1r_", csDotted, 20, 0}, {"fm2_", csDotted, 20, 0},
	{"duffel_live_", csURL, 16, 0}, {"duffel_test_", csURL, 16, 0}, {"EZAK", csWord, 40, 0}, {"EZTK", csWord, 40, 0}, {"FLWSECK", csURL, 12, 0}, {"FLWPUBK", csURL, 12, 0}, {"ion_", csWord, 36, 0}, {"shippo_live_", csHex, 16, 0}, {"shippo_test_", csHex, 16, 0}, {"xkeysib-", csURL, 24, 0}, {"xsmtpsib-", csURL, 24, 0}, {"ntn_", csWord, 24, 0}, {"secret_", csWord, 40, 0}, {"figd_", csURL, 20, 0}, {"CFPAT-", csURL, 20, 0}, {"patr", csWord, 60, 0},
	{"AccountKey=", csPath, 8, 11}, {"SharedAccessSignature ", csPath, 8, 22}, {"SharedAccessKey=", csPath, 8, 16}, {"waka_", csURL, 20, 0}, {"tskey-", csURL, 12, 0}, {"cfut_", csWord, 20, 0}, {"pat-na1-", csURL, 16, 0}, {"pat-eu1-", csURL, 16, 0}, {"ATATT3", csURL, 20, 0}, {"ATCTT3", csURL, 20, 0}, {"ATBB", csWord, 20, 0}, {"BBDC-", csURL, 20, 0}, {"p8e-", csWord, 20, 0}, {"CCIPAT_", csWord, 20, 0}, {"CCIPRJ_", csWord, 20, 0}, {"bkua_", csWord, 20, 0}, {"sgp_", csWord, 20, 0}, {"sbp_", csHex, 20, 0}, {"eyJhbGciOi", csDotted, 4, 0}, {"phc_", csWord, 20, 0}, {"phx_", csWord, 20, 0}, {"rnd_", csWord, 24, 0},
	{"-us", csHex, 1, 0}, {"sl.", csDotted, 60, 0}, {"pat", csDotted, 72, 0}, {"t1.9eu", csDotted, 60, 0}, {"nfp_", csWord, 30, 0}, {"nfc_", csWord, 30, 0}, {"A3-", csURL, 26, 0}, {"AKCp", csWord, 60, 0}, {"oy2", csWord, 43, 0}, {"squ_", csHex, 32, 0}, {"sqp_", csHex, 32, 0}, {"sqa_", csHex, 32, 0}, {":APA91b", csURL, 60, 0}, {"live_", csHex, 35, 0}, {"test_", csHex, 35, 0}, {"re_", csWord, 30, 0}, {"ico-", csWord, 32, 0}, {"CLOJARS_", csHex, 40, 0},
	{"ALTAK-", csURL, 20, 0}, {"sb_secret_", csURL, 16, 0}, {"vercel_blob_rw_", csWord, 16, 0}, {"pnu_", csWord, 30, 0}, {"rdme_", csWord, 30, 0}, {"essu_", csWord, 30, 0}, {"mdb_sa_sk_", csURL, 16, 0}, {"napi_", csWord, 30, 0}, {"access-production-", csURL, 30, 0}, {"access-sandbox-", csURL, 30, 0}, {"access_token$", csPath, 20, 0}, {"rzp_live_", csWord, 12, 0}, {"rzp_test_", csWord, 12, 0}, {"akab-", csURL, 30, 0}, {"K00", csWord, 28, 0}, {"tgp_v1_", csURL, 24, 0}, {"sdk-", csURL, 36, 0}, {"mob-", csURL, 36, 0}, {"0Q~", csDotted, 28, 0}, {"LS0tLS1CRUdJTi", csPath, 8, 0}, {"LS0tLS1FTkQ", csPath, 8, 0}, {"$ANSIBLE_VAULT;", csPath, 2, 0},
	{"$2a$", csPath, 20, 0}, {"$2b$", csPath, 20, 0}, {"$2y$", csPath, 20, 0}, {"$6$", csPath, 20, 0}, {"$5$", csPath, 20, 0}, {"$1$", csPath, 20, 0}, {"$argon2", csHash, 20, 0}, {"$apr1$", csPath, 16, 0}, {"$7$", csHash, 20, 0}, {"$scrypt$", csHash, 20, 0}, {"$pbkdf2", csHash, 20, 0}, {"pbkdf2_sha", csHash, 24, 0}, {"pbkdf2:sha", csHash, 24, 0}, {"scrypt:32768", csHash, 24, 0}, {"{SSHA256}", csPath, 16, 0}, {"{SSHA512}", csPath, 16, 0}, {"{CRYPT}", csPath, 10, 0}, {"$y$", csPath, 20, 0}, {"{SSHA}", csPath, 16, 0}, {"{SHA}", csPath, 16, 0},
}

// is compares with regard to case; 0 stands for any digit, as in the automaton.
func (p *prefix) is(v []byte) bool {
	return string(v) == p.text || p.text[0] == '0' && isDigit(v[0]) && string(v[1:]) == p.text[1:]
}

func (cs charset) has(c byte) bool {
	switch cs {
	case csWord:
		return isWord(c)
	case csURL:
		return isWord(c) || c == '-'
	case csUpper:
		return class[c]&(cUpper|cDigit) != 0
	case csHex:
		return isHex(c)
	case csDotted:
		return isWord(c) || c == '-' || c == '.'
	case csHash:
		return isB64(c) || c == '$' || c == '=' || c == ',' || c == '.' || c == ':'
	}
	return c > ' ' && c < 0x7f && c != '"' && c != '\'' && c != '<' && c != '>' && c != '`' && c != '\\' && c != ';' && c != ',' && c != '&' && c != ')'
}

// maxProviders is room for the table of providers.
const maxProviders = 256

// provider checks the token after a prefix and masks it.
func (w *scanner) provider(n, from, to int) {
	b, p := w.b, providers[n]
	if from < int(w.provEnd[n]) {
		return
	}
	if !w.r.on[kindSecret] || !p.is(b[from:to]) || p.keep == 0 && from > 0 && (isAlnum(b[from-1]) || b[from-1] == '_' && p.text[0] != '$') && p.text[0] != '.' && p.text[0] != '/' && p.text[0] != ':' && p.text[0] != '-' && p.text[0] != '0' {
		return
	}
	e := to
	for e < len(b) && p.cs.has(b[e]) {
		e++
	}
	w.steps += e - to
	w.provEnd[n], w.provAny = int32(e), true
	for e > to && (b[e-1] == '.' || b[e-1] == '-') {
		e--
	}
	if e-to < p.min {
		return
	}
	v := b[to:e]
	if p.cs == csURL && p.keep == 0 && (!hasDigit(v) && !generated(v) || dnsWords(v)) {
		return
	}
	if p.cs == csWord && p.keep == 0 && len(p.text) <= 5 && (digits(v) < 3 && !generated(v) || dnsWords(v)) {
		return
	}
	if w.r.o.KeepPlaceholders && (placeholder(v) || bytes.IndexByte(v, '{') >= 0) {
		return
	}
	if p.text == ":AA" { // Telegram: the number of the bot, a colon, the key
		o := from
		for from > 0 && isDigit(b[from-1]) && o-from < 12 {
			from--
		}
		if o-from < 8 {
			return
		}
	}
	switch p.text { // what stands before the marker, or a full stop within, makes the token
	case "-us": // Mailchimp: 32 hexadecimal digits and the data centre
		o := from
		for from > 0 && isHex(b[from-1]) && o-from < 33 {
			from--
		}
		if o-from != 32 || e-to > 2 || from > 0 && isWord(b[from-1]) {
			return
		}
	case "0Q~": // Azure
		for n := 0; n < 3 && from > 0 && (isWord(b[from-1]) || b[from-1] == '-' || b[from-1] == '.' || b[from-1] == '~'); n++ {
			from--
		}
	case "pat": // Airtable
		if at(v, 14) != '.' {
			return
		}
	case ":APA91b":
		for from > 0 && (isWord(b[from-1]) || b[from-1] == '-') && to-from < 64 {
			from--
		}
	}
	if p.text[0] == '.' { // the id before the marker is part of the token
		for from > 0 && isAlnum(b[from-1]) && to-from < 40 {
			from--
		}
	}
	w.secret(from+p.keep, e)
}

// generated tells whether v without a digit changes between capitals and small letters as no name does.
func generated(v []byte) bool {
	upper := 0
	for _, c := range v {
		if class[c]&cUpper != 0 {
			upper++
		}
	}
	return len(v) >= 16 && upper*4 >= len(v) && (len(v)-upper)*4 >= len(v)
}

func digits(v []byte) (n int) {
	for _, c := range v {
		if isDigit(c) {
			n++
		}
	}
	return n
}

func hasDigit(v []byte) bool {
	for _, c := range v {
		if isDigit(c) {
			return true
		}
	}
	return false
}

// dnsWords tells whether v is short words with hyphens, as in sk-learn-pipeline-v2-final: no piece of a key is that readable.
func dnsWords(v []byte) bool {
	run, digits := 0, 0
	for _, c := range v {
		if c == '-' || c == '_' {
			run = 0
			continue
		}
		if class[c]&cUpper != 0 {
			return false
		}
		if isDigit(c) {
			digits++
		}
		if run++; run > 11 {
			return false
		}
	}
	return digits <= 4
}

// jwt masks header.payload.signature; a header with a payload alone is enough.
func (w *scanner) jwt(from int) {
	b := w.b
	if !w.r.on[kindSecret] || from < w.jwtEnd || !has(b, from, "eyJ") || from > 0 && isWord(b[from-1]) {
		return
	}
	e, dots, part := from, 0, 0
	for e < len(b) && (isB64(b[e]) || b[e] == '.' || b[e] == '=') {
		if b[e] == '.' {
			if part < 4 && dots > 0 {
				break
			}
			dots, part = dots+1, 0
		} else {
			part++
		}
		e++
	}
	w.steps += e - from
	w.jwtEnd = e
	for e > from && b[e-1] == '.' {
		e--
	}
	if dots == 0 {
		if d := decode64(b[from:e]); e-from < 24 || !w.r.holds(d) {
			return
		}
	} else if e-from < 16 {
		return
	}
	w.secret(from, e)
}

// armor masks PEM and PGP blocks whole, whatever they hold, in one line or in many. A block without an end takes the rest of the event; an end without a
// beginning takes the lines of base64 before it.
func (w *scanner) armor(from int) int {
	b := w.b
	if !w.r.on[kindSecret] {
		return from + 5
	}
	if hasFold(b, from+5, "end") {
		lastLine := func(i int) int { return max(0, i-200) + bytes.LastIndexByte(b[max(0, i-200):i], '\n') } // no line of a key is longer
		i, start := lastLine(from), from
		for n := 0; n < 256 && i >= 0 && b[i] == '\n'; n++ {
			prev := lastLine(i) + 1
			line := bytes.TrimSpace(b[prev:i])
			if len(line) > 80 || len(line) == 0 || !allB64(line) || n > 0 && len(line) < 16 {
				break
			}
			start, i = prev, prev-1
		}
		e := from + 8
		for e < len(b) && b[e] != '\n' && !has(b, e, "-----") {
			e++
		}
		if has(b, e, "-----") {
			e += 5
			w.secret(start, e)
		}
		return e
	}
	e := from + 10
	for ; e < len(b) && e-from < 80 && b[e] != '\n' && !has(b, e, "-----"); e++ {
		if c := b[e]; c != ' ' && c != '-' && !isAlnum(c) {
			return from + 5
		}
	}
	if w.r.o.KeepPlaceholders && has(b, e, "-----") {
		if body := bytes.TrimLeft(b[e+5:min(len(b), e+12)], "\n\r \\n"); placeholder(body) || bytes.HasPrefix(body, []byte("...")) {
			return e
		}
	}
	end := len(b)
	if n := bytes.Index(b[e:], []byte("-----END")); n >= 0 {
		end = e + n + 8
		for end < len(b) && b[end] != '\n' && !has(b, end, "-----") {
			end++
		}
		if has(b, end, "-----") {
			end += 5
		}
	} else {
		w.armorOpen = true
	}
	w.secret(from, end)
	return end
}
