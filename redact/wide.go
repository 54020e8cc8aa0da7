package redact

import (
	"bytes"
	"unicode/utf8"
)

// wideKeys are keys in other scripts than ASCII, Chinese above all.
var wideKeys = []struct {
	text string
	kind kind
	code bool
	weak bool
}{
	{"密码", kindSecret, false, false}, {"密　码", kindSecret, false, false}, {"密 码", kindSecret, false, false}, {"口　令", kindSecret, false, false}, {"口 令", kindSecret, false, false}, {"密碼", kindSecret, false, false}, {"口令", kindSecret, false, false}, {"密钥", kindSecret, false, false}, {"密鑰", kindSecret, false, false}, {"秘钥", kindSecret, false, false}, {"密匙", kindSecret, false, false}, {"私钥", kindSecret, false, false}, {"令牌", kindSecret, false, false}, {"凭证", kindSecret, false, false}, {"凭据", kindSecret, false, false},
	{"暗号", kindSecret, false, false}, {"通行码", kindSecret, false, false}, {"授权码", kindSecret, false, false}, {"口令牌", kindSecret, false, false}, {"金钥", kindSecret, false, false}, {"金鑰", kindSecret, false, false}, {"權杖", kindSecret, false, false}, {"憑證", kindSecret, false, false}, {"通行碼", kindSecret, false, false}, {"驗證碼", kindSecret, true, false}, {"授權碼", kindSecret, false, false}, {"会话", kindSecret, false, true}, {"會話", kindSecret, false, true}, {"签名", kindSecret, false, true}, {"簽名", kindSecret, false, true}, {"验证码", kindSecret, true, false}, {"校验码", kindSecret, true, false}, {"動態碼", kindSecret, true, false}, {"动态码", kindSecret, true, false},
	{"пароль", kindSecret, false, false}, {"пароля", kindSecret, false, false}, {"токен", kindSecret, false, false}, {"секрет", kindSecret, false, false}, {"パスワード", kindSecret, false, false}, {"暗証番号", kindSecret, false, false}, {"トークン", kindSecret, false, false}, {"비밀번호", kindSecret, false, false}, {"암호", kindSecret, false, false}, {"토큰", kindSecret, false, false}, {"contraseña", kindSecret, false, false}, {"μυστικό", kindSecret, false, false}, {"şifre", kindSecret, false, false}, {"hasło", kindSecret, false, false}, {"lösenord", kindSecret, false, false}, {"jelszó", kindSecret, false, false}, {"mật khẩu", kindSecret, false, false}, {"clé api", kindSecret, false, false}, {"clé API", kindSecret, false, false}, {"clé secrète", kindSecret, false, false}, {"รหัสผ่าน", kindSecret, false, false}, {"كلمة المرور", kindSecret, false, false}, {"كلمة السر", kindSecret, false, false}, {"סיסמה", kindSecret, false, false}, {"पासवर्ड", kindSecret, false, false}, {"κωδικός", kindSecret, false, false},
	{"手机", kindPhone, false, false}, {"手機", kindPhone, false, false}, {"电话", kindPhone, false, false}, {"電話", kindPhone, false, false}, {"身份证", kindID, false, false}, {"身分證", kindID, false, false}, {"证件", kindID, false, false}, {"护照", kindID, false, false}, {"卡号", kindCard, false, false}, {"银行卡", kindCard, false, false},
	{"主机", kindHost, false, false}, {"主機", kindHost, false, false}, {"节点", kindHost, false, true}, {"服务器", kindHost, false, true}, {"进程", kindPID, false, false}, {"容器组", kindPod, false, false},
}

// wideSuffix may stand between such a key and its delimiter; wideBenign makes a description of the value behind it.
var (
	wideSuffix = []string{"号码", "號碼", "号", "值", "串", "字段", "明文", "原文", "名称", "名", "地址", "信息", "内容", "ID", "id", "Id", "（", "(", "）", ")", "】", "」", "”"}
	wideBenign = []string{"策略", "长度", "強度", "强度", "次数", "时间", "类型", "错误", "状态", "版本", "规则", "有效", "过期", "失败", "方式", "开关", "数量", "期限", "编号", "算法", "为空", "格式", "校验", "登录", "登陆", "文件", "路径", "错", "桶"}
	wideVerbs  = []string{"为", "是", "成", "為", "到", "は", "："}
)

// wideKey handles a key in another script at b[from:to].
func (w *scanner) wideKey(n, from, to int) {
	b, wk := w.b, wideKeys[n]
	if !w.r.on[wk.kind] || from < w.identEnd {
		return
	}
	w.identEnd = to
	w.busy = w.busy || wk.kind == kindSecret
	k := key{from: from, to: to, kind: wk.kind, code: wk.code, weak: wk.weak && wk.kind == kindSecret, hostish: wk.weak, password: wk.kind == kindSecret && !wk.weak, wide: true}
	p := bracketed(b, to)
	for again := true; again; {
		again = false
		for _, s := range wideSuffix {
			if has(b, p, s) && p-to < 48 {
				p += len(s)
				again = true
			}
		}
	}
	if isQuote(at(b, p)) || at(b, p) == '\\' {
		p = closers(b, p)
	}
	if k.to = p; k.kind == kindSecret && !w.masked(from) && (w.inTable(&k) || w.wideMarkup(&k, to)) {
		return
	}
	q := skipBlank(b, p)
	if wideDelim(b, q) == 0 {
		for _, r := range [...]int{to, p} {
			if v, d := w.delim(wideStart(b, from), r); d != noDelimiter {
				w.keyed(&k, v, d)
				return
			}
		}
	}
	if d := wideDelim(b, q); d > 0 {
		if v, dl := w.valueStart(q+d, equals); dl != noDelimiter {
			if c := at(b, v); (c == '|' || c == '>') && blockScalar(b, v) {
				dl = colon
			}
			end := w.keyed(&k, v, dl)
			for _, who := range [...]string{"账号", "帐号", "账户", "用户名", "用户"} { // 账号密码: root x
				if kind := from - len(who); end > 0 && k.kind == kindSecret && has(b, kind, who) && at(b, end) == ' ' {
					if word, e := w.next(end + 1); len(word) >= 4 && len(word) < 64 && mixed(word) {
						w.secret(end+1, e)
					}
					break
				}
			}
			return
		}
	}
	if k.kind != kindSecret {
		if q > p || p > to || isDigit(at(b, q)) {
			w.entityProse(&key{from: from, to: p, kind: k.kind, hostish: wk.weak})
			if isDigit(at(b, p)) {
				w.entityValue(&k, p, equals)
			}
		}
		return
	}
	if !w.masked(from) && !k.weak {
		w.wideProse(&k, p, q)
	}
}

// wideStart is where the word begins in which a key in another script stands: 登录密码.
func wideStart(b []byte, i int) int {
	for n := 0; n < 24 && i > 0 && (b[i-1] >= 0x80 || isIdent(b[i-1])); n++ {
		i--
	}
	return i
}

// wideMarkup handles elements named in other scripts and those that name such a key in an attribute.
func (w *scanner) wideMarkup(k *key, to int) bool {
	b, l := w.b, wideStart(w.b, k.from)
	if l > 0 && b[l-1] == '<' && at(b, k.to) == '>' {
		return w.elementValue(k, k.to+1, b[l:k.to]) > 0
	}
	c := *k
	c.from, c.to = l, to
	return (isQuote(at(b, to)) || at(b, to) == '\\' || has(b, to, "</")) && w.markup(&c)
}

func wideDelim(b []byte, i int) int {
	switch c := at(b, i); {
	case c == '=' && at(b, i+1) == '>', c == ':' && at(b, i+1) == '=', c == '-' && at(b, i+1) == '>':
		return 2
	case c == '=' || c == ':':
		return 1
	}
	if has(b, i, "：") || has(b, i, "＝") {
		return 3
	}
	return 0
}

// wideProse handles 密码是x, 密码已重置为 x, 密码从 x 改为 y, 密码x.
func (w *scanner) wideProse(k *key, p, q int) int {
	b := w.b
	if _, _, next := wideQuoted(b, q); q < len(b) && (next > q || b[q] < utf8.RuneSelf && !isSpace(b[q])) {
		return w.wideValue(k, q, false)
	}
	j, verb := p, false
	for j < len(b) && j-p < 60 && (b[j] >= utf8.RuneSelf || isBlank(b[j])) {
		if has(b, j, "了") { // 改成了 x
			j += len("了")
			continue
		}
		if b[j] >= utf8.RuneSelf {
			verb = false
			for _, v := range wideVerbs {
				verb = verb || has(b, j, v)
			}
			if has(b, j, "从") || has(b, j, "由") {
				j = skipBlank(b, j+3)
				if e := w.wideValue(k, j, true); e > 0 {
					j = e
				}
				continue
			}
		}
		_, n := utf8.DecodeRune(b[j:])
		j += n
	}
	between := b[p:j]
	for _, s := range wideBenign {
		if bytes.Contains(between, []byte(s)) {
			if d := wideDelim(b, j); d > 0 && (bytes.HasSuffix(between, []byte("错误")) || bytes.HasSuffix(between, []byte("失败"))) { // 密码错误：x
				if v := skipBlank(b, j+d); hasLetter(b[v:w.unquoted(b, v, true)]) {
					return w.wideValue(k, v, false)
				}
			}
			return 0
		}
	}
	if j < len(b) && wideDelim(b, j) > 0 {
		if v, dl := w.valueStart(j+wideDelim(b, j), equals); dl != noDelimiter {
			return w.keyed(k, v, dl)
		}
	}
	if !verb || j >= len(b) || b[j] >= utf8.RuneSelf {
		return 0
	}
	end := w.wideValue(k, j, true)
	if end > 0 && bytes.Contains(between, []byte("分别")) { // 用户名密码分别是 x 和 y
		n := skipBlank(b, end)
		for _, and := range [...]string{"和", "与", "、", "及", "/"} {
			if has(b, n, and) {
				if e := w.wideValue(k, skipBlank(b, n+len(and)), true); e > 0 {
					end = e
				}
				break
			}
		}
	}
	return end
}

// bracketed skips what brackets say about a key in front of a delimiter, 密码（root）：x, and is p where there are none.
func bracketed(b []byte, p int) int {
	q := skipBlank(b, p)
	for _, pair := range [...][2]string{{"（", "）"}, {"(", ")"}, {"【", "】"}} {
		if !has(b, q, pair[0]) {
			continue
		}
		rest := b[q:min(len(b), q+64)]
		if e := bytes.Index(rest, []byte(pair[1])); e > 0 && bytes.IndexByte(rest[:e], '\n') < 0 {
			if end := q + e + len(pair[1]); wideDelim(b, skipBlank(b, end)) > 0 {
				return end
			}
		}
	}
	return p
}

// wideValue masks an ASCII value inside other script; sure: a verb announced it.
func (w *scanner) wideValue(k *key, p int, sure bool) int {
	b := w.b
	if p >= len(b) {
		return 0
	}
	from, end := p, 0
	if f, e, _ := wideQuoted(b, p); e > f {
		from, end = f, e
		sure = sure || b[f] < 0x80
	} else if o, f := opening(b, p); o.c != 0 {
		from, sure = f, true
		end, _, _ = w.closing(b, f, o)
	} else {
		end = w.unquoted(b, p, true)
		if c := bytes.IndexByte(b[p:end], ','); k.code && c > 0 { // 验证码为482913,5分钟内有效
			end = p + c
		}
	}
	v := bytes.TrimRight(b[from:end], ".,;:!)")
	if len(v) == 0 || !isAlnum(v[0]) && !sure && !chosen(v) || plain(v) || w.harmless(k, v, false) || !sure && !mixed(v) || numeric(v) && len(v) < 4 || bytes.IndexByte(bytes.TrimRight(v, "="), '=') > 0 && !sure {
		return 0
	}
	w.secret(from, end)
	return end
}
