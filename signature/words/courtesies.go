package words

// unsketched are the phrases that no sketch contains: boilerplate, courtesies and meetings. unphrased are those of
// them that are no words of a text that is too short to sign.
var (
	unsketched = together(notes, closings, normalised(meetingNotes))
	unphrased  = together(notes, closings)
	closings   = normalised(courtesies)
)

// courtesies are those with which letters of many senders end. A text that consists of them
// has content, and is signed. But its sketch would match all letters that end so: a mail with
// nothing else, once reported, would list them.
var courtesies = []string{
	"if you have any questions", "if you have any further questions", "if you have questions", "should you have any questions",
	"should you have any further questions", "should you need", "if you need any assistance", "if you need help", "please do not hesitate to contact us",
	"please do not hesitate to contact me", "please don't hesitate to contact us", "please don't hesitate", "do not hesitate to",
	"please feel free to contact us", "please feel free to contact me", "feel free to", "please contact us", "contact us by telephone", "contact us at any time",
	"by phone or email", "simply reply to this email", "reply to this email", "our customer service team", "our customer support team", "our support team", "your customer service team",
	"is available", "available monday to friday", "monday to friday", "monday through friday", "from 9 am to 5 pm", "during business hours", "we are happy to help", "we are here to help",
	"happy to assist you", "thank you for your patience", "thank you for your understanding", "and understanding", "thank you for your cooperation", "and your cooperation",
	"thank you for your business", "thank you for your trust", "thank you for your attention", "thank you for your time", "thank you for choosing", "thank you for contacting",
	"thank you very much for", "thanks in advance", "thank you in advance", "we apologise for any inconvenience", "we apologize for any inconvenience", "we look forward to hearing from you",
	"look forward to hearing from you", "we look forward to your", "we look forward to seeing you", "looking forward to", "we wish you", "have a nice day", "have a great day", "hope this email finds you well",
	"hope you are doing well", "with kind regards", "kind regards", "best regards", "yours sincerely", "yours faithfully", "remain with",
	"für rückfragen stehen wir", "bei fragen stehen wir ihnen gerne zur verfügung", "stehen wir ihnen gerne zur verfügung", "stehen wir ihnen jederzeit", "sollten sie fragen haben",
	"sollten sie noch fragen haben", "wenn sie fragen haben", "haben sie noch fragen", "zögern sie nicht", "zögern sie bitte nicht", "kontaktieren sie uns", "wenden sie sich bitte an",
	"unser kundenservice", "ihr kundenservice", "unser serviceteam", "montag bis freitag", "von montag bis freitag", "vielen dank für ihr verständnis", "vielen dank für ihr vertrauen",
	"vielen dank für ihre geduld", "wir danken für ihr", "wir danken ihnen", "vielen dank im voraus", "wir freuen uns auf", "wir freuen uns von ihnen zu hören", "wir wünschen ihnen",
	"einen schönen tag", "mit freundlichen grüßen", "mit freundlichen grüssen", "freundliche grüße", "viele grüße",
	"si vous avez des questions", "pour toute question", "pour toute information complémentaire", "n'hésitez pas à nous contacter", "n'hésitez pas à", "notre service client",
	"du lundi au vendredi", "nous restons à votre disposition", "nous vous remercions de votre", "merci de votre compréhension", "merci pour votre confiance", "dans l'attente de votre réponse",
	"nous vous prions d'agréer", "veuillez agréer", "l'expression de nos salutations distinguées", "cordialement", "bonne journée",
	"si tiene alguna pregunta", "si tiene alguna duda", "no dude en contactarnos", "no dude en ponerse en contacto", "no dude en", "estamos a su disposición", "nuestro servicio de atención al cliente",
	"de lunes a viernes", "gracias por su comprensión", "gracias por su confianza", "gracias por su paciencia", "quedamos a la espera", "reciba un cordial saludo", "un cordial saludo", "saludos cordiales", "atentamente",
	"se tiver alguma dúvida", "em caso de dúvidas", "não hesite em contactar", "não hesite em entrar em contato", "estamos à disposição", "de segunda a sexta", "agradecemos a sua compreensão",
	"obrigado pela sua", "aguardamos o seu contato", "com os melhores cumprimentos", "atenciosamente",
	"per qualsiasi domanda", "per ulteriori informazioni", "non esiti a contattarci", "non esitate a contattarci", "siamo a sua disposizione", "restiamo a disposizione", "il nostro servizio clienti",
	"dal lunedì al venerdì", "grazie per la comprensione", "la ringraziamo per", "in attesa di un suo riscontro", "cordiali saluti", "distinti saluti",
	"als u vragen heeft", "heeft u vragen", "mocht u nog vragen hebben", "aarzel dan niet om contact", "neem gerust contact", "onze klantenservice", "van maandag tot en met vrijdag", "wij danken u voor",
	"bedankt voor uw begrip", "met vriendelijke groet", "met vriendelijke groeten",
	"w razie pytań", "w przypadku pytań", "prosimy o kontakt", "od poniedziałku do piątku", "dziękujemy za zrozumienie", "dziękujemy za zaufanie", "z poważaniem", "pozdrawiamy",
	"если у вас возникли вопросы", "если у вас есть вопросы", "пожалуйста свяжитесь с нами", "с понедельника по пятницу", "благодарим за понимание", "спасибо за понимание", "будем рады", "с уважением", "с наилучшими пожеланиями",
}
