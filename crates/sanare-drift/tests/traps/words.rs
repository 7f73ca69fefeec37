//! Names and their words: the table of 200 names, and the core concepts in every language, with accents and without.

use sanare_drift::lexicon::Lexicon;
use sanare_drift::names::{canonical, fold, same};

use super::desk::{Memory, decide, expected, seen, text};
use super::entries::{LANGUAGES, find};

/// A name, its words, and after `|` its units.
const NAMES: &[(&str, &str)] = &[
    ("amount", "amount"),
    ("Amount", "amount"),
    ("AMOUNT", "amount"),
    (" amount ", "amount"),
    ("\u{feff}amount", "amount"),
    ("amount\u{200b}", "amount"),
    ("amount\u{a0}", "amount"),
    ("\"amount\"", "amount"),
    ("'amount'", "amount"),
    ("\u{201e}amount\u{201c}", "amount"),
    ("total_amount", "total amount"),
    ("total-amount", "total amount"),
    ("total.amount", "total amount"),
    ("total amount", "total amount"),
    ("totalAmount", "total amount"),
    ("TotalAmount", "total amount"),
    ("TOTAL_AMOUNT", "total amount"),
    ("Total  Amount", "total amount"),
    ("total/amount", "total amount"),
    ("total:amount", "total amount"),
    ("order[total]", "order total"),
    ("Country/Region", "country region"),
    ("Country_Region", "country region"),
    ("Province/State", "province state"),
    ("Last Update", "last update"),
    ("Trip_Pickup_DateTime", "trip pickup date time"),
    ("pickup_datetime", "pickup datetime"),
    ("tpep_pickup_datetime", "tpep pickup datetime"),
    ("VendorID", "vendor id"),
    ("PULocationID", "pu location id"),
    ("DOLocationID", "do location id"),
    ("customerIDs", "customer ids"),
    ("HTMLParser", "html parser"),
    ("parseHTML", "parse html"),
    ("HTTPServerError", "http server error"),
    ("userId", "user id"),
    ("userID", "user id"),
    ("user_id", "user id"),
    ("UserId2", "user id 2"),
    ("iPhone", "i phone"),
    ("eMail", "e mail"),
    ("E-Mail", "e mail"),
    ("e-mail address", "e mail address"),
    ("MutatieSoort", "mutatie soort"),
    ("Mutatiesoort", "mutatiesoort"),
    ("windspeed_10m", "windspeed 10 m"),
    ("wind_speed_10m", "wind speed 10 m"),
    ("temperature_2m", "temperature 2 m"),
    ("newDeaths28DaysByDeathDate", "new deaths 28 days by death date"),
    ("newCasesBySpecimenDate", "new cases by specimen date"),
    ("co2", "co 2"),
    ("PM2.5", "pm 2 5"),
    ("pm2_5", "pm 2 5"),
    ("Q1 2024", "q 1 2024"),
    ("2024Q1", "2024 q 1"),
    ("address1", "address 1"),
    ("address_line_2", "address line 2"),
    ("col_1_12", "col 1 12"),
    ("iso3166", "iso 3166"),
    ("iso_3166_2_code", "iso 3166 2 code"),
    ("sub_region_1", "sub region 1"),
    ("popData2019", "pop data 2019"),
    ("01 - Rental Details Rental ID", "01 rental details rental id"),
    ("03 - Rental Start Station Name", "03 rental start station name"),
    ("4. close", "4 close"),
    ("Betrag (EUR)", "betrag|eur"),
    ("Betrag (\u{20ac})", "betrag|eur"),
    ("Betrag [EUR]", "betrag|eur"),
    ("Betrag in (EUR)", "betrag in|eur"),
    ("Amount (in EUR)", "amount|eur"),
    ("Amount ($)", "amount|usd_sign"),
    ("Amount (USD)", "amount|usd"),
    ("Price \u{20ac}", "price|eur"),
    ("Price (K\u{10d})", "price|czk"),
    ("Cena (z\u{142})", "cena|pln"),
    ("Rate (%)", "rate|percent"),
    ("Rate %", "rate|percent"),
    ("% change", "change|percent"),
    ("Weight (kg)", "weight|kg"),
    ("Weight [kg]", "weight|kg"),
    ("Speed (km/h)", "speed|kmh"),
    ("Price (\u{20ac}/kWh)", "price|eur/kwh"),
    ("Revenue (Mio. EUR)", "revenue|eur million"),
    ("Temperature (\u{b0}C)", "temperature|celsius"),
    ("Temp (\u{2109})", "temp|fahrenheit"),
    ("Total duration (ms)", "total duration|ms"),
    ("Area (m\u{b2})", "area|m2"),
    ("PM10 (\u{b5}g/m\u{b3})", "pm 10|ugm3"),
    ("Height (m)", "height|meter"),
    ("Betrag (Fremdw\u{e4}hrung)", "betrag fremdwahrung"),
    ("Total (inclusive of fees)", "total inclusive fees"),
    ("Economy (GDP per Capita)", "economy gdp per capita"),
    ("Health (Life Expectancy)", "health life expectancy"),
    ("Number of Orders", "number orders"),
    ("date of birth", "date birth"),
    ("the date", "date"),
    ("date field", "date"),
    ("field_date", "date"),
    ("amount column", "amount"),
    ("Column", "column"),
    ("field", "field"),
    ("the", "the"),
    ("magnetic field strength", "magnetic field strength"),
    ("order id no", "order id"),
    ("order no", "order no"),
    ("Order #", "order nr"),
    ("# orders", "nr orders"),
    ("id nr.", "id"),
    ("Research & Development", "research and development"),
    ("age 65+", "age 65 plus"),
    ("<18", "lt 18"),
    (">18", "gt 18"),
    ("income <=50k", "income lt 50 k"),
    ("18-24", "18 24"),
    ("Stra\u{df}e", "strasse"),
    ("STRASSE", "strasse"),
    ("Gr\u{f6}\u{df}e", "grosse"),
    ("groesse", "groesse"),
    ("W\u{e4}hrung", "wahrung"),
    ("Empf\u{e4}nger", "empfanger"),
    ("Gl\u{e4}ubiger-ID", "glaubiger id"),
    ("Zahlungspflichtige*r", "zahlungspflichtige r"),
    ("Auftraggeber / Beg\u{fc}nstigter", "auftraggeber begunstigter"),
    ("\u{dc}berweisung", "uberweisung"),
    ("MwSt", "mw st"),
    ("mwst", "mwst"),
    ("MWST.", "mwst"),
    ("USt-IdNr.", "u st id"),
    ("Kontonummer", "kontonummer"),
    ("Pr\u{e9}nom", "prenom"),
    ("n\u{b0} commande", "n commande"),
    ("N\u{ba} factura", "no factura"),
    ("d\u{e9}but", "debut"),
    ("date d'\u{e9}ch\u{e9}ance", "date d echeance"),
    ("date d\u{2019}\u{e9}ch\u{e9}ance", "date d echeance"),
    ("customer's name", "customer s name"),
    ("a\u{f1}o", "ano"),
    ("espa\u{f1}ol", "espanol"),
    ("descripci\u{f3}n", "descripcion"),
    ("citt\u{e0}", "citta"),
    ("quantit\u{e0}", "quantita"),
    ("endere\u{e7}o", "endereco"),
    ("pre\u{e7}o", "preco"),
    ("in\u{ed}cio", "inicio"),
    ("co\u{f6}rdinaten", "coordinaten"),
    ("p\u{142}atno\u{15b}\u{107}", "platnosc"),
    ("warto\u{15b}\u{107}", "wartosc"),
    ("Ilo\u{15b}\u{107}", "ilosc"),
    ("\u{142}\u{105}cznie", "lacznie"),
    ("m\u{11b}na", "mena"),
    ("\u{10d}\u{e1}stka", "castka"),
    ("z\u{e1}kazn\u{ed}k", "zakaznik"),
    ("p\u{159}\u{ed}jmen\u{ed}", "prijmeni"),
    ("d\u{e1}tum", "datum"),
    ("\u{f6}sszeg", "osszeg"),
    ("\u{fc}gyf\u{e9}l", "ugyfel"),
    ("\u{dc}GYF\u{c9}L", "ugyfel"),
    ("m\u{e9}rt\u{e9}kegys\u{e9}g", "mertekegyseg"),
    ("id\u{151}", "ido"),
    ("z\u{e1}r\u{f3}_d\u{e1}tum", "zaro datum"),
    ("rendel\u{e9}s sz\u{e1}ma", "rendeles szama"),
    ("Sz\u{e9}kesfeh\u{e9}rv\u{e1}r", "szekesfehervar"),
    ("pre\u{21b}", "pret"),
    ("pre\u{163}", "pret"),
    ("\u{219}ofer", "sofer"),
    ("\u{15f}ofer", "sofer"),
    ("v\u{e2}rst\u{103}", "varsta"),
    ("\u{e5}lder", "alder"),
    ("\u{c5}lder", "alder"),
    ("best\u{e4}llning", "bestallning"),
    ("k\u{f6}n", "kon"),
    ("s\u{f8}ster", "soster"),
    ("bel\u{f8}b", "belob"),
    ("k\u{f8}n", "kon"),
    ("\u{e6}ble", "aeble"),
    ("\u{153}uvre", "oeuvre"),
    ("\u{111}\u{1ecb}a", "dia"),
    ("m\u{fc}\u{15f}teri", "musteri"),
    ("\u{130}sim", "isim"),
    ("k\u{131}rm\u{131}z\u{131}", "kirmizi"),
    ("f\u{131}yat", "fiyat"),
    ("\u{f0}\u{fe}", "dth"),
    ("\u{17d}elja", "zelja"),
    ("\u{9867}\u{5ba2}", "\u{9867}\u{5ba2}"),
    ("\u{9867}\u{5ba2}ID", "\u{9867}\u{5ba2} id"),
    ("\u{6ce8}\u{6587}\u{756a}\u{53f7}", "\u{6ce8}\u{6587}\u{756a}\u{53f7}"),
    ("\u{5546}\u{54c1}\u{540d}", "\u{5546}\u{54c1}\u{540d}"),
    ("\u{30e6}\u{30fc}\u{30b6}\u{30fc}", "\u{30e6}\u{30fc}\u{30b6}\u{30fc}"),
    ("\u{304c}\u{304d}", "\u{304c}\u{304d}"),
    ("\u{ff21}\u{ff4d}\u{ff4f}\u{ff55}\u{ff4e}\u{ff54}", "amount"),
    ("\u{fb01}eld x", "x"),
    ("\u{438}\u{43c}\u{44f}", "\u{438}\u{43c}\u{44f}"),
    ("\u{418}\u{41c}\u{42f}", "\u{438}\u{43c}\u{44f}"),
    ("geo\\time", "geo time"),
    ("geo\\TIME_PERIOD", "geo time period"),
    ("oml:task_id", "oml task id"),
    ("@type", "type"),
    ("$price", "price|usd_sign"),
    ("__name__", "name"),
    ("-amount-", "amount"),
    ("", ""),
    ("---", ""),
    ("%", "|percent"),
    ("\u{20ac}", "|eur"),
    ("a", "a"),
    ("A1B2", "a 1 b 2"),
];

#[test]
fn names_and_their_words() {
    assert!(NAMES.len() >= 200, "{}", NAMES.len());
    let mut wrong = Vec::new();
    for (name, words) in NAMES {
        let canonical = canonical(name);
        let mut found = canonical.tokens.join(" ");
        if !canonical.units.is_empty() {
            found.push('|');
            found.push_str(&canonical.units.join(" "));
        }
        if found != *words {
            wrong.push(format!("{name:?}: {found:?}, not {words:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn names_that_are_the_same() {
    for (one, other) in [
        ("größe", "groesse"),
        ("größe", "GRÖSSE"),
        ("größe", "grosse"),
        ("Total_Amount", "totalAmount"),
        ("windspeed", "wind_speed"),
        ("Betrag (EUR)", "betrag (€)"),
        ("østre", "oestre"),
        ("østre", "ostre"),
        ("Ålesund", "aalesund"),
        ("ﬁeld of view", "view"),
        ("date", "the date"),
    ] {
        assert!(same(one, other), "{one} {other}");
    }
    for (one, other) in [
        ("amount", "amounts"),
        ("Betrag (EUR)", "Betrag (USD)"),
        ("Betrag (EUR)", "Betrag"),
        ("col_1_12", "col_11_2"),
        ("<18", ">18"),
        ("age 65+", "age 65"),
        ("%", "€"),
        ("", "-"),
        ("population_de", "population"),
        ("がき", "かき"),
    ] {
        assert!(!same(one, other), "{one} {other}");
    }
}

/// Concepts that every language must know.
const CORE: [&str; 24] = [
    "amount",
    "price",
    "customer",
    "quantity",
    "name",
    "address",
    "city",
    "country",
    "invoice",
    "order",
    "product",
    "description",
    "email",
    "phone",
    "balance",
    "currency",
    "category",
    "temperature",
    "weight",
    "age",
    "distance",
    "salary",
    "supplier",
    "status",
];

#[test]
fn core_concepts_map_in_every_language() {
    let mut missed = Vec::new();
    let mut tried = 0;
    for id in CORE {
        let entry = find(id);
        let english = entry.terms_in("en").first().copied().unwrap_or(id);
        for language in &LANGUAGES[1..] {
            let terms = entry.terms_in(language);
            if terms.is_empty() && !marked_or_shared(id, language) {
                missed.push(format!("{id} has no term in {language}"));
            }
            for term in terms {
                let spellings = [term.to_owned(), fold(term).0, fold(term).1, term.to_uppercase()];
                for spelling in spellings {
                    tried += 1;
                    if same(english, &spelling) {
                        continue;
                    }
                    let kind = entry.values();
                    let decision =
                        decide(&expected(&[(english, kind)], Memory::Shape), &seen(&[(&spelling, kind)]), false);
                    if text(&decision) != format!("{english}={spelling}") {
                        missed.push(format!("{id} {language} {spelling}: {decision:?}"));
                    }
                }
            }
        }
    }
    eprintln!("core concepts: {tried} names in {} languages", LANGUAGES.len());
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// Words that mean two things in a language are marked there, and count with other headers only.
fn marked_or_shared(id: &str, language: &str) -> bool {
    matches!(
        (id, language),
        ("name", "fr" | "es" | "it" | "pt") | ("salary", "sv") | ("status", "it") | ("amount", "ro")
    )
}

#[test]
fn the_lexicon_says_what_names_are() {
    let lexicon = Lexicon::standard();
    let check = |name: &str, expected: &str| {
        let meaning = lexicon.meaning(&canonical(name));
        let readings: Vec<String> = meaning.readings.iter().map(|reading| lexicon.describe(reading)).collect();
        let mut found = readings.join(" | ");
        if !meaning.leftovers.is_empty() {
            found.push_str(&format!(" + {}", meaning.leftovers.join(" ")));
        }
        if !meaning.units.is_empty() {
            found.push_str(&format!(" [{}]", meaning.units.join(" ")));
        }
        assert_eq!(found, expected, "{name}");
    };
    check("Kundennummer", "customer number");
    check("kundenname", "customer name");
    check("Rechnungsbetrag", "invoice amount");
    check("Rechnungsempfänger", "invoice recipient");
    check("Bestellwert", " + bestellwert");
    check("fecha de pedido", "date order");
    check("population_de", "population + de");
    check("ügyfél neve", "customer name");
    check("注文番号", "order number");
    check("顧客の住所", "customer address");
    check("refund_amount", "refund amount");
    check("price_cents", "price [cent]");
    check("duration_ms", "duration [ms]");
    check("newDeaths28Days", "new deaths + 28 [day]");
    check("is_not_active", "active");
    check("xyzzy", " + xyzzy");
}
