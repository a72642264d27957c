package words

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/spambloom/spambloom/signature/span"
)

const (
	// maxBoilerplate is the length, in bytes, up to which a text may be boilerplate only.
	// Longer texts are not searched for it before they sign.
	maxBoilerplate = 4 << 10
	// boilerplateGap is the length of text, in bytes, between two phrases that belongs to
	// them: disclaimers vary in names and in half of their sentences.
	boilerplateGap = 48
	// phraseKey is the length, in bytes, by which phrases are found.
	phraseKey = 6
)

// Phrases are texts to find in normalised text, at the beginning of words.
type Phrases struct {
	byKey map[uint64][][]byte // the longest first
	known [1 << 9]uint64      // bits by a hash of the key; most places have no key
}

// Folded returns the phrases of lists, normalised like the text that they are searched
// in. It normalises them at the first call.
func Folded(lists ...[]string) func() *Phrases { return together(normalised(lists...)) }

// normalised returns the phrases of lists that are long enough to be found. It normalises
// them at the first call, which takes most of the time of a process that signs one message.
func normalised(lists ...[]string) func() [][]byte {
	return sync.OnceValue(func() (folded [][]byte) {
		var t Tokeniser
		for _, list := range lists {
			for _, s := range list {
				t.Restart()
				t.Add([]byte(s), nil, nil)
				if len(t.Text) >= phraseKey {
					folded = append(folded, slices.Clone(t.Text))
				}
			}
		}
		return folded
	})
}

// together returns the phrases of several lists, made at the first call. Others may share
// the lists.
func together(lists ...func() [][]byte) func() *Phrases {
	return sync.OnceValue(func() *Phrases {
		p := &Phrases{byKey: make(map[uint64][][]byte)}
		for _, list := range lists {
			for _, phrase := range list() {
				key := keyOf(phrase)
				p.byKey[key] = append(p.byKey[key], phrase)
				slot := slotOf(key)
				p.known[slot>>6] |= 1 << (slot & 63)
			}
		}
		for _, list := range p.byKey {
			slices.SortFunc(list, func(a, b []byte) int { return cmp.Compare(len(b), len(a)) })
		}
		return p
	})
}

// keyOf returns the first phraseKey bytes of a text, which is not shorter.
func keyOf(b []byte) uint64 {
	return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint16(b[4:]))<<32
}

func slotOf(key uint64) uint64 { return key * 0x9E3779B97F4A7C15 >> 49 }

// at returns the length of the longest phrase that stands at pos in text, 0 for
// none.
func (p *Phrases) at(text []byte, pos int) int {
	key, ok := p.keyAt(text, pos)
	if !ok {
		return 0
	}
	for _, phrase := range p.byKey[key] {
		if n := len(phrase); bytes.HasPrefix(text[pos:], phrase) && endsWord(text[pos:], n) {
			return n
		}
	}
	return 0
}

// keyAt returns the key at pos in text. It is not ok if no phrase has that key.
func (p *Phrases) keyAt(text []byte, pos int) (key uint64, ok bool) {
	switch rest := text[pos:]; {
	case len(rest) >= 8: // most places: one load
		key = binary.LittleEndian.Uint64(rest) & (1<<(8*phraseKey) - 1)
	case len(rest) >= phraseKey:
		key = keyOf(rest)
	default:
		return 0, false
	}
	slot := slotOf(key)
	return key, p.known[slot>>6]&(1<<(slot&63)) != 0
}

// endsWord reports whether a word of text ends at n.
func endsWord(text []byte, n int) bool {
	if n == len(text) || text[n] == ' ' {
		return true
	}
	last, _ := utf8.DecodeLastRune(text[:n])
	next, _ := utf8.DecodeRune(text[n:])
	return isDense(last) || isDense(next)
}

// find appends the places of the phrases that begin before to in normalised text, in
// order.
func (p *Phrases) find(text []byte, to int, dst []span.Span) []span.Span {
	for pos := 0; pos < to; {
		n := p.at(text, pos)
		if n > 0 {
			dst = append(dst, span.Span{Start: pos, End: pos + n, By: span.ByMany})
		}
		pos = nextWord(text, pos+max(n, 1))
	}
	return dst
}

// nextWord returns the first place from pos on, which is not 0, at which a word of text
// begins: after a blank, or with a letter of a script without blanks.
func nextWord(text []byte, pos int) int {
	at := pos - 1
	for ; at+8 <= len(text); at += 8 { // eight bytes at a time
		eight := binary.LittleEndian.Uint64(text[at:])
		if eight&highBits != 0 {
			break
		}
		if blanks := zeroBytes(eight ^ ' '*lowBits); blanks != 0 {
			return at + bits.TrailingZeros64(blanks)/8 + 1
		}
	}
	for ; at < len(text); at++ {
		switch c := text[at]; {
		case c == ' ':
			return at + 1
		case c >= utf8.RuneSelf && at >= pos && utf8.RuneStart(c):
			if r, _ := utf8.DecodeRune(text[at:]); isDense(r) {
				return at
			}
		}
	}
	return max(pos, len(text))
}

// The lowest and the highest bit of each byte.
const (
	lowBits  = 0x0101010101010101
	highBits = 0x80 * lowBits
)

// zeroBytes returns the highest bit of the first byte of x that is zero, and perhaps of later ones.
func zeroBytes(x uint64) uint64 { return (x - lowBits) &^ x & highBits }

// Has reports whether text contains one of the phrases.
func (p *Phrases) Has(text []byte) bool {
	for pos := 0; pos < len(text); pos = nextWord(text, pos+1) {
		if p.at(text, pos) > 0 {
			return true
		}
	}
	return false
}

// boilerplateIn returns the stretches of normalised text that are boilerplate, in order.
func boilerplateIn(text []byte, p *Phrases) []span.Span {
	return joinNear(p.find(text, len(text), nil))
}

// joinNear joins the places of phrases with little text between them.
func joinNear(places []span.Span) []span.Span {
	if len(places) == 0 {
		return nil
	}
	merged := places[:1]
	for _, s := range places[1:] {
		if last := &merged[len(merged)-1]; s.Start-last.End <= boilerplateGap {
			last.End = s.End
		} else {
			merged = append(merged, s)
		}
	}
	return merged
}

// MarkBoilerplate marks the tokens that are boilerplate or courtesies as not the author's
// own. So are those of meetings in a brief text; in a shorter one, they may be all that a false invitation
// has beside its link.
func (t *Tokeniser) MarkBoilerplate() {
	phrases := unphrased()
	if IsEnough(t.Text, Brief) {
		phrases = unsketched()
	}
	i := 0
	for _, s := range boilerplateIn(t.Text, phrases) {
		for i < len(t.Tokens) && int(t.Tokens[i].start) < s.Start {
			i++
		}
		for ; i < len(t.Tokens) && int(t.Tokens[i].start) < s.End; i++ {
			t.Tokens[i].by = s.By
		}
	}
}

// withoutBoilerplate returns normalised text without it.
func withoutBoilerplate(text []byte, p *Phrases) []byte {
	return cutOut(text, boilerplateIn(text, p))
}

// cutOut returns text with a blank for each of the places in it, which are in order.
// Places after the end of text are ignored.
func cutOut(text []byte, places []span.Span) []byte {
	if len(places) == 0 || places[0].Start >= len(text) {
		return text
	}
	own := make([]byte, 0, len(text))
	pos := 0
	for _, s := range places {
		if s.Start >= len(text) {
			break
		}
		own = append(append(own, text[pos:s.Start]...), ' ')
		pos = min(s.End, len(text))
	}
	return append(own, text[pos:]...)
}

// boilerplate is text that programs and firms add to mail. It is signed with the text,
// but does not count as content: "see attached" with a virus scanner's note below has as
// little content as "see attached".
var boilerplate = together(notes)

// notes are the phrases of addedNotes. Three sets of phrases have them.
var notes = normalised(addedNotes...)

// addedNotes are the lists of boilerplate. Those in notices.go are of programs and firms with many users.
var addedNotes = [][]string{clientNotes, scannerNotes, listFooters, viewNotes, disclaimers, gatewayNotes, firmNotes, secrecyNotes}

// clientNotes are those of mail programs and services.
var clientNotes = []string{
	"sent from my iphone", "sent from my ipad", "sent from my blackberry wireless device",
	"sent from my samsung galaxy smartphone", "sent from my galaxy", "sent from my android", "sent from my mobile",
	"sent from my phone", "sent from outlook for", "sent from yahoo mail", "sent from mail for windows", "sent from proton mail",
	"sent with proton mail secure email", "get outlook for ios", "get outlook for android", "get your free email at",
	"von meinem iphone gesendet", "von meinem ipad gesendet", "von meinem samsung galaxy smartphone gesendet",
	"diese nachricht wurde von meinem android gerät gesendet", "gesendet mit der gmx mail app", "envoyé de mon iphone", "envoyé de mon ipad",
	"envoyé depuis mon téléphone", "enviado desde mi iphone", "enviado desde mi ipad", "enviado do meu iphone", "enviado do meu telemóvel",
	"inviato da iphone", "inviato dal mio iphone", "verstuurd vanaf mijn iphone", "verzonden vanaf mijn", "wysłane z iphone",
	"skickat från min iphone", "sendt fra min iphone", "lähetetty iphonesta", "odesláno z iphonu", "iphonemdan gönderildi",
	"отправлено с iphone", "отправлено с моего", "发自我的iphone", "發自我的iphone", "从我的手机发送", "iphoneから送信", "나의 iphone에서 보냄",
	"this is a multipart message in mime format", "this is a multi-part message in mime format",
	"your mail program does not support html messages", "do you yahoo", "join the world's largest email service with msn hotmail",
	"msn photos is the easiest way to share and print your photos",
}

// scannerNotes are those of virus and spam scanners.
var scannerNotes = []string{
	"this message has been scanned for viruses and dangerous content by mailscanner and is believed to be clean",
	"this email has been checked for viruses by avast antivirus software", "this email has been scanned by the messagelabs email security system",
	"this email has been scanned for viruses", "virus-free", "no virus found in this message", "outgoing mail is certified virus free",
	"checked by avg anti-virus system", "this e-mail is virus-free", "external email do not click links or open attachments unless you",
	"this email originated from outside of the organization", "diese e-mail wurde von avast antivirus-software auf viren geprüft",
	"diese e-mail wurde auf viren geprüft", "virenfrei", "l'absence de virus dans ce courrier électronique a été vérifiée",
	"este correo electrónico ha sido comprobado en busca de virus", "este email foi escaneado pelo avast antivírus",
	"questa e-mail è stata controllata per individuare virus", "deze e-mail is gecontroleerd op virussen", "ta wiadomość została sprawdzona na obecność wirusów",
	"это сообщение проверено на вирусы", "проверено антивирусом",
}

// listFooters are those of mailing lists and newsletters.
var listFooters = []string{
	"you are receiving this email because you signed up", "you are receiving this email because you opted in via our website", "our mailing address is",
	"want to change how you receive these emails", "you can update your preferences or unsubscribe from this list", "you can update your preferences", "or unsubscribe from this list",
	"reply to this email directly or view it on github", "you are receiving this because you", "are subscribed to this thread",
	"you can view comment on or merge this pull request online at", "commit summary", "file changes", "patch links", "this message was sent by atlassian jira",
	"get jira notifications on your phone download the jira cloud app for android or ios", "manage notifications give feedback privacy policy",
	"to unsubscribe from this group send an email to", "your use of yahoo groups is subject to", "yahoo groups sponsor",
	"you received this message because you are subscribed to", "you are receiving this email because you", "you received this email because you",
	"you are receiving this message because", "to unsubscribe from this list", "to unsubscribe from this mailing list", "to unsubscribe send",
	"to unsubscribe click here", "unsubscribe from this list", "click here to unsubscribe", "if you no longer wish to receive these emails",
	"if you no longer wish to receive", "if you do not wish to receive", "to stop receiving these emails", "to change your subscription",
	"update your subscription preferences", "manage your subscription", "manage your email preferences", "unsubscribe from our emails",
	"to post to this list", "to view this discussion on the web visit", "mailing list archives", "please do not reply to this email",
	"please do not reply to this message", "this is an automatically generated email", "this mailbox is not monitored",
	"sie erhalten diese e-mail weil sie", "sie erhalten diesen newsletter", "wenn sie diese e-mail nicht mehr empfangen möchten",
	"wenn sie keine weiteren e-mails", "newsletter abbestellen", "hier abmelden", "vom newsletter abmelden",
	"bitte antworten sie nicht auf diese e-mail", "bitte antworten sie nicht auf diese nachricht", "diese e-mail wurde automatisch erstellt",
	"vous recevez cet e-mail car", "vous recevez ce message car", "si vous ne souhaitez plus recevoir", "pour vous désabonner", "pour vous désinscrire",
	"merci de ne pas répondre à cet e-mail", "ce message est envoyé automatiquement", "ha recibido este correo porque", "si no desea recibir más", "si ya no desea recibir",
	"para darse de baja", "cancelar la suscripción", "por favor no responda a este correo", "você está recebendo este e-mail porque", "se não deseja mais receber",
	"para cancelar a inscrição", "não responda a este e-mail", "hai ricevuto questa email perché", "ricevi questa email perché", "se non desideri più ricevere",
	"per annullare l'iscrizione", "si prega di non rispondere a questa email", "u ontvangt deze e-mail omdat", "als u geen e-mails meer wilt ontvangen",
	"uitschrijven voor deze nieuwsbrief", "otrzymujesz tę wiadomość ponieważ", "aby zrezygnować z subskrypcji", "prosimy nie odpowiadać na tę wiadomość",
	"du får det här mejlet för att", "avsluta prenumerationen", "du modtager denne e-mail fordi", "afmeld nyhedsbrev",
	"вы получили это письмо потому что", "вы получили это письмо так как", "чтобы отписаться от рассылки", "отписаться от рассылки", "пожалуйста не отвечайте на это письмо",
	"如果您不想再收到", "如不想继续接收", "取消订阅", "退订邮件", "此邮件由系统自动发出", "请勿直接回复", "請勿直接回覆", "このメールに心当たりのない場合", "配信停止はこちら", "配信を停止", "このメールは送信専用",
	"본 메일은 발신전용", "수신거부",
}

// viewNotes name another place where a message can be read.
var viewNotes = []string{
	"if you cannot see this message view it in your browser", "if you are having trouble viewing this email click here",
	"view this email in your browser", "view in browser", "view it in your browser", "view this message in your browser", "view online version",
	"if you are unable to see this message", "having trouble viewing this email", "add us to your address book", "im browser ansehen", "im browser anzeigen", "im browser öffnen",
	"falls diese e-mail nicht richtig dargestellt wird", "voir dans le navigateur", "afficher dans le navigateur", "si ce message ne s'affiche pas correctement",
	"consultez la version en ligne", "ver en el navegador", "ver en navegador", "si no puede ver este mensaje", "ver no navegador", "se não consegue visualizar este e-mail",
	"visualizza nel browser", "visualizza nel tuo browser", "bekijk in browser", "bekijk deze e-mail in uw browser", "zobacz w przeglądarce", "visa i webbläsare",
	"открыть в браузере", "если письмо отображается некорректно", "посмотреть в браузере", "在浏览器中查看", "在瀏覽器中檢視", "ブラウザで表示", "ブラウザで見る", "브라우저에서 보기",
}

// disclaimers are the sentences of lawyers, in pieces, as the names between them vary.
var disclaimers = []string{
	"this email and any files transmitted with it are confidential", "this e-mail and any attachments", "this email and any attachments are confidential",
	"this message and any attachments", "this communication is confidential", "intended solely for the use of the individual or entity to whom they are addressed",
	"intended solely for the use of", "intended only for the use of", "intended solely for the addressee", "intended only for the person or entity", "intended for the named recipient",
	"may contain confidential", "may be privileged", "contains confidential information", "legally privileged", "if you have received this email in error", "if you have received this message in error",
	"if you have received this communication in error", "if you received this in error", "if you are not the intended recipient", "if you are not the named addressee", "you should not disseminate distribute or copy",
	"please notify the sender immediately", "please notify the system manager", "please notify us immediately", "please delete it from your system", "delete this email from your system", "and delete the message", "destroy all copies",
	"any unauthorized review use disclosure or distribution is prohibited", "any dissemination distribution or copying", "is strictly prohibited", "taking any action in reliance on the contents of this information", "you are hereby notified that",
	"any views or opinions presented in this email are solely those of the author", "do not necessarily represent those of the company", "accepts no liability for", "the recipient should check this email and any attachments for the presence of viruses",
	"please consider the environment before printing this email", "please consider the environment before printing",
	"diese e-mail enthält vertrauliche", "diese e-mail kann vertrauliche", "und oder rechtlich geschützte informationen", "wenn sie nicht der richtige adressat sind", "diese e-mail irrtümlich erhalten haben",
	"informieren sie bitte sofort den absender", "und vernichten sie diese mail", "das unerlaubte kopieren sowie die unbefugte weitergabe dieser mail ist nicht gestattet", "bitte denken sie an die umwelt bevor sie diese",
	"ce message et toutes les pièces jointes", "sont confidentiels et établis à l'intention exclusive de", "si vous avez reçu ce message par erreur", "merci de le détruire et d'en avertir immédiatement l'expéditeur", "toute utilisation non conforme à sa destination", "pensez à l'environnement avant d'imprimer",
	"este mensaje y sus archivos adjuntos", "este mensaje se dirige exclusivamente a su destinatario", "puede contener información confidencial", "puede contener información privilegiada o confidencial", "si ha recibido este mensaje por error", "si no es usted el destinatario", "le rogamos que nos lo comunique inmediatamente", "antes de imprimir este",
	"esta mensagem pode conter informação confidencial", "esta mensagem e seus anexos", "se você recebeu esta mensagem por engano", "se recebeu esta mensagem por engano",
	"questo messaggio e i suoi allegati", "le informazioni contenute in questo messaggio", "ai sensi del regolamento ue", "se avete ricevuto questo messaggio per errore", "qualora abbiate ricevuto questa e-mail per errore",
	"dit bericht is uitsluitend bestemd voor", "de informatie verzonden met dit e-mailbericht is", "indien u dit bericht ten onrechte", "indien u niet de beoogde ontvanger",
	"ta wiadomość jest przeznaczona wyłącznie dla", "jeśli nie jesteś adresatem tej wiadomości", "det här meddelandet kan innehålla konfidentiell", "denne e-mail kan indeholde fortrolig",
	"это сообщение и любые документы приложенные к нему", "содержит конфиденциальную информацию", "если вы не являетесь адресатом", "если вы получили это письмо по ошибке", "если вы получили это сообщение по ошибке",
	"本邮件及其附件含有", "本邮件及附件含有", "保密信息", "如果您错收了本邮件", "本電子郵件及附件", "このメールには機密情報", "本メールに機密情報が含まれ", "誤って受信された場合", "본 메일에는 기밀",
}
