package redact

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"sync"
)

// keyWords are the parts by which an identifier is noticed; what it means is decided by classify.
const keyWords = "pass pwd psw psk dockerc saml secret token key cred auth cookie sess csrf xsrf sid cvv cvc pin otp jwt mnemonic seed signature sig nonce ticket senha kennwort contrasena wachtwoord heslo parola salasana lozinka code pw sas " +
	"host node pod pid process mac hwaddr addr server instance machine computer peer broker upstream fqdn target worker master replica bootstrap " +
	"phone mobile tel msisdn fax card ssn iban passport idno citizenid certno ccn pan trace span requestid request_id request-id reqid req_id req-id correlation"

// encodedWords are looked for in base64.
var encodedWords = []string{"password", "passwd", "secret", "token", "api_key", "apikey", "access_key", "authorization", "private_key", "credential"}

// hexWords are the same in hexadecimal, in the spellings that keys have.
var hexWords = func() (out []string) {
	for _, w := range encodedWords {
		for _, form := range []string{w, strings.ToUpper(w), strings.ToUpper(w[:1]) + w[1:]} {
			out = append(out, hex.EncodeToString([]byte(form)))
		}
	}
	return out
}()

const ibanCountries = "ad ae al at az ba be bg bh br by ch cr cy cz de dk do ee eg es fi fo fr gb ge gi gl gr gt hr hu ie il iq is it jo kw kz lb lc li lt lu lv ly mc md me mk mr mt mu nl no pk pl ps pt qa ro rs sa sc se si sk sm st sv tl tn tr ua va vg xk"

var plainMachine = sync.OnceValue(func() *automaton {
	var keep []trigger
	for _, t := range asciiTriggers() {
		if t.h != onBase64 && t.h != onJWT && t.h != onSQL && t.h != onHex {
			keep = append(keep, t)
		}
	}
	return build(keep, 6)
})

func asciiTriggers() []trigger {
	t := []trigger{
		{"://", onURL, 0}, {"@", onAt, 0}, {"<", onLess, 0}, {"[00", onBracket, 0}, {":", onColon, 0}, {"-", onDash, 0}, {"0.0", onDots, 0}, {"+0", onPlus, 0}, {"0#", onHash, 0},
		{"0000000", onDigits, 0}, {"0000 0000", onDigits, 0}, {"0000-0000", onDigits, 0}, {"000-0000", onDigits, 0}, {"000 0000", onDigits, 0}, {"0000 000000", onDigits, 0}, {"0000-000000", onDigits, 0},
		{"-----begin ", onArmor, 0}, {"-----end ", onArmor, 0}, {"eyj", onJWT, 0}, {"data:", onData, 0}, {"kind", onKind, 0},
	}
	add := func(h handler, words string) {
		for w := range strings.FieldsSeq(words) {
			t = append(t, trigger{w, h, 0})
		}
	}
	add(onKey, keyWords)
	add(onSuffix, ".internal .local .lan .corp .intra .intranet .svc .consul .localdomain .private .com .net .org .cn .io .example .test .cloud .eu .de .uk .jp .fr .arpa")
	add(onSQL, "select insert update delete replace merge call where values")
	for i, p := range providers {
		t = append(t, trigger{strings.ToLower(p.text), onProvider, i})
	}
	for _, p := range logins {
		t = append(t, trigger{p, onLogin, 0})
	}
	for _, p := range calls {
		t = append(t, trigger{p, onCall, 0})
	}
	for _, p := range dials {
		t = append(t, trigger{p, onCall, 1})
	}
	for i, h := range hexWords {
		t = append(t, trigger{h, onHex, i})
	}
	for i, p := range phrases {
		t = append(t, trigger{p.text, onPhrase, i})
	}
	for i, a := range arguments {
		t = append(t, trigger{a.name, onArgument, i})
	}
	for i, c := range commands {
		for n := range strings.FieldsSeq(c.names) {
			t = append(t, trigger{n, onCommand, i})
		}
	}
	for c := range strings.FieldsSeq(ibanCountries) {
		t = append(t, trigger{c + "00", onIBAN, 0})
	}
	seen := map[string]bool{}
	for _, w := range encodedWords {
		for _, form := range []string{w, strings.ToUpper(w), strings.ToUpper(w[:1]) + w[1:]} {
			for pad := range 3 {
				e := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", pad) + form))
				from, to := (pad*8+5)/6, (pad+len(form))*8/6 // the characters that depend on the word alone
				if e = strings.ToLower(e[from:to]); !seen[e] {
					seen[e] = true
					t = append(t, trigger{e, onBase64, 0})
				}
			}
		}
	}
	return t
}

func wideTriggers() []trigger {
	var t []trigger
	for i, k := range wideKeys {
		t = append(t, trigger{k.text, onWide, i})
		var v view
		if v.fold([]byte(k.text), nil) && !ascii(v.b) { // as it reads where look-alike letters were folded
			t = append(t, trigger{string(v.b), onWide, i})
		}
	}
	for _, p := range wideLogins {
		t = append(t, trigger{p, onLogin, 0})
	}
	return t
}
