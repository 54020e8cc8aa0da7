package redact

import "bytes"

// key is a classified identifier.
type key struct {
	from, to int // of the identifier in the text under scan
	kind     kind
	form     keyForm
	weak     bool // a secret only when the value looks like one
	code     bool // a secret only when the value has digits
	plural   bool // tokens, token_id: a number under it is a count or a key of a table
	names    bool // secrets, tokens: a name under it is one of a Secret
	short    bool // pass: a small number under it is a count
	auth     bool // Authorization: the scheme stays
	cookie   bool
	set      bool // Set-Cookie: attributes stay
	hostish  bool // a host only when the value looks like one
	cwd      bool // PWD, OLDPWD: a directory
	wide     bool // in another script: prose in that script is no value
	phrase   bool // passphrase: the value may hold blanks
	token    bool
	password bool // reads as a password in prose
}

// keyForm is a spelling of a key under which values are judged otherwise.
type keyForm uint8

const (
	plainForm keyForm = iota
	envForm           // a weak one in an environment: REDISCLI_AUTH
	dirForm           // pwd: a password, or what reads as a directory
)

// maxIdent bounds an identifier: the longest property names seen in practice have about 60 bytes.
const maxIdent = 64

// bounds widens b[from:to] to the identifier around it.
func bounds(b []byte, from, to int) (int, int) {
	l, r := from, to
	for l > 0 && from-l < maxIdent && isIdent(b[l-1]) {
		l--
	}
	for r < len(b) && r-to < maxIdent && isIdent(b[r]) {
		if c := b[r]; (c == '.' || c == '-' || c == '$') && !isWord(at(b, r+1)) {
			break
		}
		r++
	}
	for l < from && (b[l] == '-' || b[l] == '.' || b[l] == '$') {
		l++
	}
	if l < from && b[l] == 'D' && l > 0 && b[l-1] == '-' && (l == 1 || !isIdent(b[l-2])) { // java -Djwt=x
		l++
	}
	return l, r
}

// splitter cuts an identifier into lower-case terms: at _ - . $, at digits and at humps.
type splitter struct {
	buf  [2*maxIdent + 64]byte
	term [24]struct{ from, to uint8 }
	n    int
}

func (s *splitter) split(id []byte) {
	s.n = 0
	if len(id) > len(s.buf) {
		id = id[len(id)-len(s.buf):]
	}
	start := -1
	end := func(i int) {
		if start < 0 {
			return
		}
		if s.n == len(s.term) { // keep the last ones: they say what the value is
			copy(s.term[:], s.term[1:])
			s.n--
		}
		s.term[s.n].from, s.term[s.n].to = uint8(start), uint8(i)
		s.n++
		start = -1
	}
	for i, c := range id {
		s.buf[i] = lower(c)
		switch {
		case c >= 0x80:
			if start < 0 {
				start = i
			}
		case class[c]&cUpper != 0:
			if i > 0 && class[id[i-1]]&cLower != 0 || i+1 < len(id) && class[id[i+1]]&cLower != 0 && i > 0 && class[id[i-1]]&cUpper != 0 {
				end(i)
			}
			if start < 0 {
				start = i
			}
		case class[c]&cLower != 0:
			if start < 0 {
				start = i
			}
		default:
			end(i)
		}
	}
	end(len(id))
}

func (s *splitter) at(i int) []byte { return s.buf[s.term[i].from:s.term[i].to] }

// strongIn finds a strong word in a term and says whether what follows it takes the meaning away.
func strongIn(t []byte) (found, plural bool) {
	for _, w := range strong {
		i := bytes.Index(t, []byte(w))
		if i < 0 {
			continue
		}
		rest := t[i+len(w):]
		for _, e := range weakEndings {
			if bytes.HasPrefix(rest, []byte(e)) {
				return false, false
			}
		}
		return true, w == "token" && string(rest) == "s"
	}
	return false, false
}

// classify says what the identifier b[from:to] names.
func classify(b []byte, from, to int) key {
	k := key{from: from, to: to}
	id := b[from:to]
	var s splitter
	s.split(id)
	if s.n == 0 {
		return k
	}
	// The meaning of each term, the strong ones by content.
	var ms [24]meaning
	anyStrong, anyWeak, keyed := false, false, false
	for i := range s.n {
		t := s.at(i)
		m := terms[string(t)]
		if m == mNone {
			if ok, plural := strongIn(t); ok {
				m = mSecret
				k.plural = k.plural || plural
				k.token = k.token || bytes.Contains(t, []byte("token"))
				k.phrase = k.phrase || string(t) == "passphrase"
				k.password = k.password || bytes.HasPrefix(t, []byte("pass")) || bytes.HasSuffix(t, []byte("password"))
			} else if len(t) > 4 && bytes.HasSuffix(t, []byte("pass")) && !notPass[string(t)] {
				m = mPass
			} else if len(t) > 3 && bytes.HasSuffix(t, []byte("pwd")) {
				m = mSecret
				k.password = true
				k.cwd = string(id) == "OLDPWD"
			} else if len(t) > 4 && bytes.HasSuffix(t, []byte("host")) && !bytes.Equal(t, []byte("ghost")) && !bytes.Equal(t, []byte("localhost")) {
				m = mHost
			}
		}
		switch m {
		case mSecret:
			anyStrong = true
			switch string(t) {
			case "passphrase", "mnemonic":
				k.phrase = true
			case "pwd", "pw", "psw", "passcode", "psk", "passe", "heslo", "parola", "salasana", "lozinka", "kennwort", "senha", "contrasena", "wachtwoord":
				k.password = true
				k.cwd = k.cwd || string(id) == "PWD"
				if string(id) == "pwd" {
					k.form = dirForm
				}
			}
		case mPass:
			anyStrong = true
			k.short = s.n == 1
			k.password = s.n > 1
		case mWeak:
			anyWeak = true
		case mKey:
			if i > 0 && (keyOf[string(s.at(i-1))] || ms[i-1] == mSecret) {
				keyed = true
			}
		}
		ms[i] = m
	}
	last := s.n - 1
	if n := string(s.at(last)); k.token && (n == "num" || n == "number" || n == "no") {
		k.plural = true
	}
	for last > 0 && (ms[last] == mNeutral || ms[last] == mHeadName && ms[last-1] != mNeutral && !(anyStrong || anyWeak || keyed)) {
		last--
	}
	if last == 0 && s.n == 2 && string(s.at(1)) == "id" && (string(s.at(0)) == "request" || string(s.at(0)) == "req") {
		ms[0] = mTrace
	}
	k.names = bytes.HasSuffix(s.at(s.n-1), []byte("secrets")) || bytes.HasSuffix(s.at(s.n-1), []byte("tokens"))
	switch {
	case hasFold(id, 0, "imagepullsecret"), hasFold(id, 0, "credentialsid"): // names of secrets
		return k
	case hasFold(id, 0, "samlresponse"), hasFold(id, 0, "samlassertion"):
		k.kind = kindSecret
		return k
	case k.token && s.n == 2 && textTokens[string(s.at(0))]:
		return k
	}
	switch ms[last] {
	case mAuthorization:
		k.kind, k.auth = kindSecret, true
		return k
	case mCookie:
		k.kind, k.cookie = kindSecret, true
		k.set = last > 0 && string(s.at(last-1)) == "set"
		return k
	case mHost, mHostish, mPod, mPID, mMAC, mPhone, mCard, mIDNumber, mTrace:
		if last < s.n-1 && string(s.at(s.n-1)) == "env" { // NODE_ENV=production
			return k
		}
		if !(anyStrong && ms[last] != mHost && ms[last] != mHostish) {
			k.infra(ms[last], &s, last)
			return k
		}
	case mDigits:
		k.kind, k.code = kindSecret, true
		return k
	case mBenign, mHeadName:
		return k
	}
	switch {
	case anyStrong, keyed:
		k.kind = kindSecret
		k.plural = k.plural || s.n > 1 && string(s.at(s.n-1)) == "id" && string(s.at(0)) != "session" // token_id=42
	case string(id) == "AUTH":
		k.kind, k.weak = kindSecret, true
	case anyWeak && (ms[last] == mWeak || ms[last] == mKey):
		k.kind = kindSecret
		k.weak = last == s.n-1 || string(s.at(s.n-1)) != "id" // session_id is the session itself
		if k.weak && s.n > 1 && !hasLower(id) {
			k.form = envForm
		}
	case ms[last] == mKey && (last == 0 && s.n == 1 || last > 0 && string(s.at(0)) == "x"): // X-Functions-Key
		k.kind, k.weak = kindSecret, true
	case last > 0 && string(s.at(last)) == "code" && codeOf[string(s.at(last-1))]:
		k.kind, k.code = kindSecret, true
	}
	return k
}

// textTokens are what the tokens of a language model are called.
var textTokens = map[string]bool{"stop": true, "eos": true, "bos": true, "pad": true, "unk": true, "sep": true, "cls": true, "start": true, "end": true, "agent": true, "next": true}

// notPass are words that end in pass and are no password; codeOf are the codes that open something.
var (
	notPass = map[string]bool{"bypass": true, "compass": true, "trespass": true, "surpass": true, "overpass": true, "underpass": true, "encompass": true, "multipass": true, "singlepass": true}
	codeOf  = map[string]bool{"verification": true, "verify": true, "sms": true, "auth": true, "mfa": true, "otp": true, "login": true, "totp": true, "2fa": true, "pin": true, "recovery": true, "backup": true, "security": true, "captcha": true, "authorization": true, "activation": true, "time": true, "onetime": true, "unlock": true, "reset": true, "invite": true, "access": true}
)

func (k *key) infra(m meaning, s *splitter, last int) {
	switch m {
	case mHost:
		k.kind = kindHost
	case mHostish:
		k.kind, k.hostish = kindHost, true
		if last > 0 && string(s.at(last)) != "server" {
			switch p := s.at(last - 1); {
			case string(p) == "mac" || string(p) == "hw" || string(p) == "ether":
				k.kind, k.hostish = kindMAC, false
			case string(p) == "mail" || string(p) == "email":
				k.kind = kindNone // found by its form
			}
		}
	case mPod:
		k.kind = kindPod
	case mPID:
		k.kind = kindPID
	case mMAC:
		k.kind = kindMAC
	case mPhone:
		k.kind = kindPhone
	case mCard:
		k.kind = kindCard
		if last > 0 && string(s.at(last-1)) == "id" {
			k.kind = kindID
		}
	case mIDNumber:
		k.kind = kindID
	case mTrace:
		k.kind = kindTrace
	}
}
