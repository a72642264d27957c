package bloomdb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// language has the sentences of newsletters: the footer of a mailing service, which all its customers
// send, and what shops write.
type language struct {
	footer string
	body   []string
}

var languages = []language{
	{"You receive this letter because you signed up in one of our shops. If you no longer want to hear from us, end your subscription with the link below; we will remove your address within two working days. Our office is at the old harbour, third floor. Prices include tax, pictures may differ from the goods.", []string{
		"The new autumn coats have arrived and hang in every branch from Thursday on.", "Until Sunday you save a fifth on all garden furniture made of oak.",
		"Our baker shows how a rye loaf rises overnight without a machine.", "Members may try the running shoes on the track before they buy a pair.",
		"Last month you chose the blue teapot as your favourite of the year.", "Bring your old lamp along and we repair its switch while you wait.",
		"The harvest of our orchard was small, so order your cider early.", "A reading with the author of the lighthouse novel takes place upstairs."}},
	{"Sie erhalten diesen Brief, weil Sie sich in einem unserer Läden angemeldet haben. Möchten Sie keine weiteren Nachrichten, beenden Sie das Abonnement über den Verweis am Ende; wir löschen Ihre Adresse binnen zwei Werktagen. Unser Büro liegt am alten Hafen im dritten Stock. Alle Preise enthalten die Steuer, Abbildungen können abweichen.", []string{
		"Die neuen Wintermäntel hängen ab Donnerstag in allen Filialen bereit.", "Bis Sonntag sparen Sie ein Fünftel auf sämtliche Gartenmöbel aus Eiche.",
		"Unser Bäcker zeigt, wie ein Roggenbrot über Nacht ohne Maschine aufgeht.", "Mitglieder dürfen die Laufschuhe vor dem Kauf auf der Bahn erproben.",
		"Im vergangenen Monat wählten Sie die blaue Teekanne zum Liebling des Jahres.", "Bringen Sie Ihre alte Lampe mit, wir richten den Schalter sofort.",
		"Die Ernte im Obstgarten fiel klein aus, bestellen Sie den Most früh.", "Eine Lesung aus dem Roman vom Leuchtturm findet im Obergeschoss statt."}},
	{"Vous recevez cette lettre parce que vous vous êtes inscrit dans une de nos boutiques. Si vous ne souhaitez plus rien recevoir, mettez fin à votre abonnement par le lien ci-dessous; nous effaçons votre adresse sous deux jours ouvrables. Notre bureau se trouve au vieux port, troisième étage. Les prix comprennent la taxe, les images peuvent différer.", []string{
		"Les manteaux de la saison sont arrivés dans toutes nos succursales jeudi.", "Jusqu'à dimanche vous gagnez un cinquième sur les meubles de jardin en chêne.",
		"Notre boulanger montre comment un pain de seigle lève pendant la nuit.", "Les membres essaient les chaussures de course sur la piste avant achat.",
		"Le mois dernier vous avez choisi la théière bleue comme favorite.", "Apportez votre vieille lampe, nous réparons son interrupteur tout de suite.",
		"La récolte du verger fut petite, commandez votre cidre assez tôt.", "Une lecture du roman sur le phare aura lieu au premier étage."}},
	{"Usted recibe esta carta porque se inscribió en una de nuestras tiendas. Si no desea recibir nada más, termine su suscripción con el enlace de abajo; borraremos su dirección en dos días laborables. Nuestra oficina está en el puerto viejo, tercer piso. Los precios incluyen el impuesto, las imágenes pueden variar.", []string{
		"Los abrigos nuevos del otoño cuelgan desde el jueves en cada sucursal.", "Hasta el domingo ahorra una quinta parte en muebles de jardín de roble.",
		"Nuestro panadero enseña cómo un pan de centeno crece durante la noche.", "Los socios prueban las zapatillas en la pista antes de comprarlas.",
		"El mes pasado ustedes eligieron la tetera azul como favorita del año.", "Traiga su lámpara vieja y arreglamos el interruptor mientras espera.",
		"La cosecha del huerto fue pequeña, pida la sidra con tiempo.", "Una lectura de la novela del faro tendrá lugar arriba."}},
	{"Otrzymują Państwo ten list, ponieważ zapisali się Państwo w jednym z naszych sklepów. Kto nie chce kolejnych wiadomości, kończy prenumeratę odnośnikiem poniżej; usuniemy adres w ciągu dwóch dni roboczych. Nasze biuro mieści się w starym porcie, trzecie piętro. Ceny zawierają podatek, zdjęcia mogą się różnić od towaru.", []string{
		"Nowe płaszcze jesienne wiszą od czwartku we wszystkich oddziałach firmy.", "Do niedzieli oszczędzają Państwo piątą część na meblach ogrodowych z dębu.",
		"Nasz piekarz pokazuje, jak chleb żytni rośnie przez noc bez maszyny.", "Członkowie wypróbują buty do biegania na bieżni przed zakupem.",
		"W zeszłym miesiącu wybrano niebieski imbryk jako ulubieniec roku.", "Proszę przynieść starą lampę, naprawimy wyłącznik na miejscu.",
		"Zbiory w sadzie były małe, cydr warto zamówić wcześnie.", "Czytanie powieści o latarni morskiej odbędzie się na górze."}},
}

// newsletter is issue n of a shop, of which each language has several. Host counts the clicks; "": that of
// the language's mailing service.
func (l language) newsletter(shop, n int, host string) string {
	var text []string
	for k := range 4 {
		text = append(text, l.body[(3*n+5*shop+k)%len(l.body)])
	}
	if host == "" {
		host = invented(len(l.footer), 1) + ".com"
	}
	return strings.Join(append(text, invented(100*shop+n, 12), l.footer, "http://click."+host+"/letter"), " ")
}

// invented returns so many words that no other seed has.
func invented(seed, n int) string {
	var list []string
	for i := range n {
		word := ""
		for v := 7919*seed + 101*i + 1; v > 0; v /= 20 {
			word += string("bcdfghjklmnpqrstvwxz"[v%20]) + string("aeiou"[v%5])
		}
		list = append(list, word)
	}
	return strings.Join(list, " ")
}

func plain(text string) signature.Set {
	return signature.Compute(signature.Parse([]byte("From: a@b.example\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n" + text + "\r\n")))
}

// imitated is what happened to newsletters, and to variations of phish that copies them.
type imitated struct{ letters, hit, unproven, phish, caught int }

// imitation is what imitate does.
type imitation struct {
	isOff  bool
	shops  int    // of a mailing service
	shares [8]int // of a newsletter's words, in percent, that the phish of each week has; 0: there is none
	host   string // that counts the clicks; "": one for each language
}

// imitate has shops in five languages send eight weekly newsletters each, those of one language through
// one mailing service, each shop on another day of the week. At the end of each week phish is reported
// that has a share of the words of one of them, the last ones first: the link and the footer.
func imitate(t *testing.T, c imitation) (o imitated) {
	s := openMailSite(t, func(o *bloomdb.Options) { o.Reports.NoCommonness = c.isOff })
	for n := range 8 {
		for shop := range c.shops {
			for i, l := range languages {
				letter := plain(l.newsletter(shop, n, c.host))
				if o.letters++; s.Judge(letter).Listed {
					o.unproven++
				}
				if s.receive(letter, fmt.Sprintf("shop%d-%d.example", i, shop)).Listed {
					o.hit++
				}
			}
			s.clock.Add(day)
		}
		for i, l := range languages {
			share := c.shares[n]
			if share == 0 {
				continue
			}
			copied := strings.Fields(l.newsletter(0, n, c.host))
			copied = copied[len(copied)*(100-share)/100:]
			own := invented(100_000+10*n+i, max(12, len(copied)*(100-share)/max(share, 1)%60))
			mustReportSet(t, s.DB, plain(own+" "+strings.Join(copied, " ")))
			variation := slices.Concat(strings.Fields(own)[1:], []string{"changed"}, copied)
			o.phish++
			if s.JudgeFrom(plain(strings.Join(variation, " ")), bloomdb.Sender{}).Listed {
				o.caught++
			}
		}
		s.clock.Add(time.Duration(7-c.shops) * day)
	}
	return o
}

// Ten shops, two of each mailing service, so that its footer is not common. No newsletter is hit if the
// site learns, and some are if it does not; variations of the phish are caught either way, but for those
// that have little of their own.
func TestNewslettersAndTheirImitations(t *testing.T) {
	shares := [8]int{4: 10, 30, 60, 90}
	on, off := imitate(t, imitation{shops: 2, shares: shares}), imitate(t, imitation{isOff: true, shops: 2, shares: shares})
	t.Logf("of %d newsletters are hit: %d, %d if no sender is proved, %d without learning; of %d variations of phish are caught: %d, without learning %d",
		on.letters, on.hit, on.unproven, off.hit, on.phish, on.caught, off.caught)
	if on.hit > 0 || off.hit == 0 {
		t.Errorf("%d newsletters are hit, without learning %d; want 0 and some", on.hit, off.hit)
	}
	if on.caught < on.phish/2 {
		t.Errorf("%d of %d variations are caught", on.caught, on.phish)
	}
}

// Where phish is reported from the first week on, when a site is new, no newsletter of a proved sender
// is hit that shares less than three quarters of its words with the phish, and variations of the phish
// are caught.
func TestNewslettersAtNewSite(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	for _, share := range []int{10, 25, 50, 75} {
		var shares [8]int
		for n := range shares {
			shares[n] = share
		}
		on, off := imitate(t, imitation{shops: 4, shares: shares}), imitate(t, imitation{isOff: true, shops: 4, shares: shares})
		if on.hit > 0 || off.hit == 0 {
			t.Errorf("%d %%: of %d newsletters %d are hit, without learning %d; want 0 and some", share, on.letters, on.hit, off.hit)
		}
		if on.caught < on.phish {
			t.Errorf("%d %%: %d of %d variations are caught", share, on.caught, on.phish)
		}
	}
}
