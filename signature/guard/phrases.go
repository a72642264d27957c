package guard

import "github.com/spambloom/spambloom/signature/words"

// The words by which guards recognise mail. They are normalised like the text.
var (
	// codeWords name a code.
	codeWords = words.Folded([]string{
		"verification code", "security code", "confirmation code", "one-time code", "one-time password", "one-time passcode", "one time password", "one time code",
		"one-time pin", "passcode", "login code", "log-in code", "sign-in code", "access code", "authentication code", "authorization code", "activation code", "your code is", "enter this code",
		"enter the code", "use this code", "use the code", "the following code", "bestätigungscode", "sicherheitscode", "verifizierungscode", "einmalcode", "einmalpasswort", "einmalkennwort", "anmeldecode", "zugangscode",
		"code de vérification", "code de sécurité", "code de confirmation", "code à usage unique", "código de verificación", "código de seguridad", "código de confirmación", "código de un solo uso",
		"código de verificação", "código de segurança", "código de confirmação", "codice di verifica", "codice di sicurezza", "codice di conferma", "verificatiecode", "beveiligingscode", "kod weryfikacyjny", "kod bezpieczeństwa",
		"verifieringskod", "säkerhetskod", "bekræftelseskode", "ověřovací kód", "doğrulama kodu", "código d'un sol ús", "код подтверждения", "проверочный код", "код безопасности", "одноразовый код", "одноразовый пароль",
		"验证码", "驗證碼", "校验码", "动态密码", "確認コード", "認証コード", "ワンタイムパスワード", "인증번호", "인증 코드",
	})
	// codeHints are instructions beside a code.
	codeHints = words.Folded([]string{
		"expires in", "will expire", "expire in", "expires after", "is valid for", "valid for", "do not share", "don't share", "never share", "not share this code", "did not request", "didn't request",
		"did not try to", "didn't try to", "if this wasn't you", "if this was not you", "you can ignore this", "please ignore this", "safely ignore", "ist gültig", "minuten gültig", "läuft ab", "nicht angefordert", "niemals weiter", "nicht weiter",
		"expire dans", "valable", "ne partagez", "ne le partagez", "pas demandé", "caduca", "es válido", "no compartas", "no comparta", "no solicitaste", "no has solicitado", "é válido", "não partilhe", "não compartilhe", "não solicitou", "expira em",
		"scade tra", "è valido", "non condividere", "non hai richiesto", "verloopt", "deel deze code", "is geldig", "ważny", "nie udostępniaj", "wygasa", "giltig", "gyldig", "platnost", "geçerlidir", "kimseyle paylaşma",
		"действителен", "никому не сообщайте", "не сообщайте", "не запрашивали", "分钟内有效", "分鐘內有效", "请勿泄露", "請勿", "有効期限", "分間有効", "心当たりのない", "유효", "공유하지",
	})
	invitationWords = words.Folded([]string{
		"has invited you", "you have been invited", "invitation from google calendar", "has accepted this invitation", "has declined this invitation", "has canceled this event", "has been canceled", "this event has been changed", "this event has been updated",
		"microsoft teams", "microsoft teams-möte", "microsoft teams-møde", "microsoft teams-møte", "join zoom meeting", "join the meeting", "join with google meet", "webex meeting", "accepted", "declined", "tentative", "canceled", "cancelled", "meeting", "appointment", "hat sie eingeladen", "hat zugesagt", "hat abgesagt",
		"besprechung", "termin", "einladung", "invitation", "réunion", "rendez-vous", "reunión", "reunião", "invitación", "convite", "riunione", "invito", "vergadering", "uitnodiging", "spotkanie", "zaproszenie", "встреча", "приглашение", "会议", "会議", "회의",
	})
	bounceWords = words.Folded([]string{
		"this is the qmail-send program", "this message was created automatically by mail delivery software", "this message was created automatically by the mail system", "this is the mail system at", "this is the postfix program at",
		"i'm sorry to have to inform you that", "the original message was received at", "your message could not be delivered", "your message did not reach", "a message that you sent could not be delivered", "delivery to the following recipient failed",
		"delivery to the following recipients failed", "delivery has failed to these recipients", "this is a permanent error", "undeliverable", "undelivered mail returned to sender", "returning message to sender", "delivery status notification", "i wasn't able to deliver your message",
		"ihre nachricht konnte nicht zugestellt werden", "unzustellbar", "votre message n'a pas pu être remis", "su mensaje no se ha podido entregar", "il tuo messaggio non è stato recapitato", "não foi possível entregar", "ваше сообщение не доставлено", "退信", "配信できませんでした",
	})
	receiptWords = words.Folded([]string{
		"this is a receipt for the mail you sent", "this is a return receipt", "your message was read on", "no guarantee that the message has been read or understood", "this receipt verifies that the message", "das ist eine empfangsbestätigung", "dies ist eine empfangsbestätigung", "lesebestätigung",
		"ceci est un accusé de réception", "accusé de réception pour le message", "este es un acuse de recibo", "questa è una ricevuta di ritorno", "dit is een ontvangstbevestiging", "это подтверждение о прочтении", "这是您发送的邮件的回执", "開封確認",
	})
	// readWords are those of receipts that name the message between them. They count only in the form of a
	// report.
	readWords = words.Folded([]string{
		"was read on", "was deleted without being read", "ihre nachricht an", "a été lu le", "a été supprimé sans être lu", "fue leído el", "se eliminó sin leer", "è stato letto", "è stata letta", "is gelezen op",
		"foi lida em", "foi lida no", "ditt meddelande till", "din meddelelse til", "meldingen din til", "twoja wiadomość do", "было прочитано", "прочитано",
	})
	awaySubjects = []string{"out of office", "out of the office", "automatic reply", "auto reply", "auto-reply", "autoreply", "autoresponse", "vacation reply", "abwesenheit", "automatische antwort", "automatisch antwoord", "afwezig",
		"réponse automatique", "absence du bureau", "respuesta automática", "fuera de la oficina", "resposta automática", "ausência", "risposta automatica", "fuori sede", "autosvar", "odpowiedź automatyczna", "автоответ", "自动回复", "自動返信", "자동 회신"}
	awayWords = words.Folded([]string{
		"out of office", "out of the office", "away from the office", "away from my desk", "away from my email", "on vacation", "on holiday", "on annual leave", "on parental leave", "on maternity leave", "on business trip", "limited access to email", "limited access to my email", "no access to my email", "will be back", "i will return",
		"when i return", "upon my return", "am currently away", "thank you for your message", "thank you for your email", "we have received your", "nicht im büro", "nicht am arbeitsplatz", "nicht an meinem arbeitsplatz", "nicht im hause", "außer haus", "im urlaub", "bin ich nicht erreichbar", "bin abwesend", "wird nicht automatisch weitergeleitet", "wieder zugriff auf meine e-mails", "wieder erreichbar", "wieder im büro", "e-mails werden nicht weitergeleitet",
		"absent du bureau", "je suis absent", "actuellement absent", "en congé", "de retour le", "fuera de la oficina", "estoy ausente", "de vacaciones", "fora do escritório", "estou ausente", "de férias", "fuori ufficio", "sono assente", "in ferie", "niet aanwezig", "afwezig", "op vakantie", "nieobecny", "nie ma mnie w biurze", "na urlopie",
		"på semester", "på ferie", "ikke på kontoret", "в отпуске", "отсутствую", "буду отсутствовать", "不在办公室", "休假", "不在にして", "休暇", "부재중", "휴가",
	})
	challengeWords = words.Folded([]string{
		"confirm that you are a real person", "confirm that you are not a spammer", "verify that you are a real person", "verify that you are human and not a spammer", "your message is being held until you confirm", "your message will be delivered once you confirm",
		"your email is waiting for your confirmation", "this message was sent automatically because you have not", "because this is the first time you have sent me", "i am using a challenge response system", "challenge-response system to", "reply to this message to have your original message delivered",
		"bestätigen sie bitte dass sie kein spammer", "ihre nachricht wird zugestellt sobald sie", "confirmez que vous n'êtes pas un spammeur", "confirme que no es un spammer",
	})
	listWords = words.Folded([]string{
		"mailing list memberships reminder", "this is a reminder sent out once a month about your", "mailing list memberships", "we have received a request for subscription of your email address", "your membership in the mailing list", "mailing list confirmation",
		"confirmation of list posting", "your message to the list awaits moderator approval", "is being held until the list moderator", "is held until the list moderator can review it", "welcome to the mailing list", "you have been unsubscribed from", "you have been removed from the mailing list", "you are not allowed to post to this mailing list",
	})
	// confirmWords ask to confirm a subscription. Advertising has such words, too: they
	// count only in mail of a program that keeps lists.
	confirmWords = words.Folded([]string{
		"confirm your subscription", "confirm subscription to", "to confirm that you want to be added to",
		"bitte bestätigen sie ihr abonnement", "bitte bestätigen sie ihre anmeldung", "confirmez votre abonnement", "confirmer votre inscription", "confirme su suscripción", "confirma tu suscripción", "confirme sua inscrição", "conferma la tua iscrizione", "bevestig uw inschrijving", "potwierdź subskrypcję", "подтвердите подписку",
	})
	listPrograms = []string{"mailman", "majordomo", "listserv", "sympa@", "ezmlm", "listmaster", "-request@", "-confirm", "-owner@", "-bounces@", "-help@"}
)
