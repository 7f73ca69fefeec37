//! Units and currencies: their ids, and how they are written in names and beside numbers.

use std::collections::HashMap;
use std::sync::OnceLock;

/// Units that may stand beside a number or in brackets, with their spellings in lower case.
const UNITS: &[(&str, &[&str])] = &[
    (
        "percent",
        &[
            "%",
            "pct",
            "percent",
            "percentage",
            "prozent",
            "pourcent",
            "pourcentage",
            "porcentaje",
            "percentuale",
            "porcentagem",
            "procent",
            "procenten",
            "szazalek",
            "százalék",
            "v.h.",
            "yüzde",
        ],
    ),
    ("permille", &["‰", "permille", "promille"]),
    ("basis_point", &["bp", "bps", "basis points"]),
    (
        "cent",
        &[
            "cent",
            "cents",
            "ct",
            "cts",
            "centimes",
            "centavos",
            "centesimi",
            "pence",
            "grosz",
            "groszy",
            "fillér",
            "filler",
            "öre",
            "bani",
            "haléř",
            "halere",
            "kuruş",
            "kurus",
        ],
    ),
    ("mg", &["mg", "milligram", "milligrams"]),
    ("g", &["gram", "grams", "gramm", "grammes", "gramos", "grammi"]),
    (
        "kg",
        &["kg", "kgs", "kilo", "kilos", "kilogram", "kilograms", "kilogramm", "kilogrammes", "kilogramos", "quilos"],
    ),
    ("tonne", &["tonne", "tonnes", "tons", "ton", "tonnen", "toneladas", "tonn"]),
    ("lb", &["lb", "lbs", "pounds"]),
    ("oz", &["oz", "ounce", "ounces"]),
    ("mm", &["mm", "millimeter", "millimeters", "millimetres"]),
    ("cm", &["cm", "centimeter", "centimeters", "centimetres", "zentimeter"]),
    ("meter", &["meter", "meters", "metre", "metres", "metros", "metri", "metrów"]),
    (
        "km",
        &[
            "km",
            "kms",
            "kilometer",
            "kilometers",
            "kilometre",
            "kilometres",
            "kilometros",
            "kilómetros",
            "chilometri",
            "quilometros",
            "kilometrów",
        ],
    ),
    ("mile", &["mi", "mile", "miles", "meilen"]),
    ("foot", &["feet", "foot"]),
    ("inch", &["inch", "inches", "zoll"]),
    ("m2", &["m2", "m²", "sqm", "qm", "square meters", "square metres"]),
    ("m3", &["m3", "m³", "cbm", "cubic meters", "cubic metres"]),
    ("km2", &["km2", "km²", "sq km"]),
    ("hectare", &["ha", "hectare", "hectares", "hektar"]),
    ("acre", &["acre", "acres"]),
    ("sqft", &["sqft", "sq ft", "ft2", "ft²"]),
    ("ml", &["ml", "milliliter", "milliliters"]),
    ("liter", &["liter", "liters", "litre", "litres", "litros", "litri", "ltr"]),
    ("gallon", &["gal", "gallon", "gallons"]),
    ("ns", &["ns", "nanoseconds"]),
    ("us", &["µs", "μs", "usec", "microseconds"]),
    ("ms", &["ms", "msec", "millis", "millisecond", "milliseconds", "millisekunden", "millisecondes", "milisegundos"]),
    (
        "second",
        &[
            "sec",
            "secs",
            "second",
            "seconds",
            "sekunden",
            "secondes",
            "segundos",
            "secondi",
            "seconden",
            "sekund",
            "másodperc",
            "masodperc",
            "secunde",
            "sekunder",
        ],
    ),
    ("minute", &["mins", "minute", "minutes", "minuten", "minutos", "minuti", "minut", "minuter"]),
    (
        "hour",
        &[
            "hr", "hrs", "hour", "hours", "stunden", "std.", "heures", "horas", "uren", "godzin", "godziny", "hodin",
            "óra", "timmar",
        ],
    ),
    ("day", &["days", "tage", "jours", "dias", "días", "giorni", "dagen", "dni", "dní", "zile", "dagar"]),
    (
        "week",
        &[
            "weeks",
            "wochen",
            "semaines",
            "semanas",
            "settimane",
            "weken",
            "tygodni",
            "týdnů",
            "hét",
            "saptamani",
            "veckor",
        ],
    ),
    (
        "month",
        &["months", "monate", "mois", "meses", "mesi", "maanden", "miesięcy", "měsíců", "hónap", "luni", "månader"],
    ),
    ("year", &["years", "yrs", "jahre", "années", "años", "anni", "anos", "jaren", "év"]),
    ("celsius", &["°c", "celsius", "degc", "deg c", "grad celsius"]),
    ("fahrenheit", &["°f", "fahrenheit", "degf", "deg f"]),
    ("kelvin", &["kelvin"]),
    ("degree", &["°", "deg", "degrees", "grad"]),
    ("kmh", &["km/h", "kmh", "kph", "kmph"]),
    ("mps", &["m/s", "mps"]),
    ("mph", &["mph"]),
    ("knot", &["kn", "knots", "kts", "knoten"]),
    ("w", &["watt", "watts"]),
    ("kw", &["kw", "kilowatt", "kilowatts"]),
    ("mw", &["mw", "megawatt", "megawatts"]),
    ("gw", &["gw", "gigawatt"]),
    ("wh", &["wh"]),
    ("kwh", &["kwh"]),
    ("mwh", &["mwh"]),
    ("gwh", &["gwh"]),
    ("twh", &["twh"]),
    ("joule", &["joule", "joules"]),
    ("kj", &["kj"]),
    ("mj", &["mj"]),
    ("gj", &["gj"]),
    ("kcal", &["kcal"]),
    ("volt", &["volt", "volts"]),
    ("ampere", &["ampere", "amps"]),
    ("hz", &["hz"]),
    ("khz", &["khz"]),
    ("mhz", &["mhz"]),
    ("ghz", &["ghz"]),
    ("pa", &["pa", "pascal"]),
    ("hpa", &["hpa"]),
    ("kpa", &["kpa"]),
    ("bar", &["mbar"]),
    ("psi", &["psi"]),
    ("ppm", &["ppm"]),
    ("ppb", &["ppb"]),
    ("ugm3", &["µg/m3", "μg/m3", "µg/m³", "μg/m³", "ug/m3"]),
    ("mgdl", &["mg/dl"]),
    ("mmoll", &["mmol/l"]),
    ("mmhg", &["mmhg"]),
    ("bpm", &["bpm"]),
    ("byte", &["byte", "bytes"]),
    ("kb", &["kb", "kib"]),
    ("mb", &["mb", "mib"]),
    ("gb", &["gb", "gib"]),
    ("tb", &["tb", "tib"]),
    ("mbps", &["mbps", "mbit/s"]),
    ("piece", &["pcs", "pieces", "stk", "stück", "stueck", "szt", "ks", "buc"]),
    (
        "thousand",
        &[
            "thousand",
            "thousands",
            "tsd",
            "tsd.",
            "tis.",
            "tys.",
            "ezer",
            "000s",
            "'000",
            "000",
            "k",
            "milliers",
            "miles de",
            "migliaia",
        ],
    ),
    (
        "million",
        &[
            "million",
            "millions",
            "mio",
            "mio.",
            "mln",
            "mn",
            "millionen",
            "milliers de",
            "millones",
            "milioni",
            "milhoes",
        ],
    ),
    ("billion", &["billion", "billions", "bn", "mrd", "mrd.", "milliarden", "milliards"]),
];

/// Units of one letter: only in brackets, and only in this case.
const LETTERS: &[(&str, &str)] = &[
    ("m", "meter"),
    ("s", "second"),
    ("h", "hour"),
    ("g", "g"),
    ("t", "tonne"),
    ("l", "liter"),
    ("W", "w"),
    ("V", "volt"),
    ("K", "kelvin"),
    ("min", "minute"),
    ("d", "day"),
];

/// Currency signs.
const SIGNS: &[(char, &str)] = &[
    ('€', "eur"),
    ('$', "usd_sign"),
    ('£', "gbp"),
    ('¥', "yen_sign"),
    ('₹', "inr"),
    ('₽', "rub"),
    ('₺', "try"),
    ('₩', "krw"),
    ('₴', "uah"),
    ('₿', "btc"),
    ('฿', "thb"),
    ('₪', "ils"),
    ('₫', "vnd"),
    ('%', "percent"),
    ('‰', "permille"),
];

/// Words and local signs that stand for one currency.
const CURRENCY_WORDS: &[(&str, &str)] = &[
    ("zł", "pln"),
    ("zl", "pln"),
    ("kč", "czk"),
    ("kc", "czk"),
    ("ft", "huf"),
    ("lei", "ron"),
    ("euro", "eur"),
    ("euros", "eur"),
    ("dollar", "usd_sign"),
    ("dollars", "usd_sign"),
    ("forint", "huf"),
    ("us$", "usd"),
    ("a$", "aud"),
    ("c$", "cad"),
    ("r$", "brl"),
    ("hk$", "hkd"),
    ("円", "jpy"),
    ("元", "cny"),
];

/// ISO 4217 codes that are not also common words, and two well-known coins.
const CODES: &[&str] = &[
    "aed", "ars", "aud", "bgn", "bhd", "brl", "btc", "cad", "chf", "clp", "cny", "cop", "czk", "dkk", "egp", "eth",
    "eur", "gbp", "hkd", "hrk", "huf", "idr", "ils", "inr", "isk", "jod", "jpy", "kes", "krw", "kwd", "kzt", "mad",
    "mxn", "myr", "ngn", "nok", "nzd", "omr", "php", "pkr", "pln", "qar", "ron", "rsd", "rub", "sar", "sek", "sgd",
    "thb", "tnd", "twd", "uah", "usd", "usdt", "uyu", "vnd", "zar",
];

/// Codes that are also words, taken for a currency only in capitals.
const CODES_IN_CAPITALS: &[&str] = &["ALL", "BAM", "GEL", "MDL", "PEN", "TRY"];

/// The unit of a sign such as `%` or `€`.
pub fn sign(c: char) -> Option<&'static str> {
    SIGNS.iter().find(|(sign, _)| *sign == c).map(|(_, id)| *id)
}

/// The currency of a code or word (`EUR`, `zł`).
pub fn currency(text: &str) -> Option<&'static str> {
    if let Some(code) = CODES_IN_CAPITALS.iter().find(|code| **code == text) {
        return Some(match *code {
            "TRY" => "try",
            "ALL" => "all",
            "BAM" => "bam",
            "GEL" => "gel",
            "MDL" => "mdl",
            _ => "pen",
        });
    }
    table().get(text.to_lowercase().as_str()).copied().filter(|id| is_currency(id))
}

/// Whether a unit id is a currency.
pub fn is_currency(id: &str) -> bool {
    CODES.contains(&id) || matches!(id, "usd_sign" | "yen_sign" | "try" | "all" | "bam" | "gel" | "mdl" | "pen")
}

/// The unit of a word as it stands in a name (`kg`, `percent`, `cents`): currencies included, single letters not.
pub fn word(text: &str) -> Option<&'static str> {
    if CODES_IN_CAPITALS.contains(&text) {
        return currency(text);
    }
    table().get(text.to_lowercase().as_str()).copied()
}

fn table() -> &'static HashMap<&'static str, &'static str> {
    static TABLE: OnceLock<HashMap<&'static str, &'static str>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = HashMap::new();
        for (id, spellings) in UNITS {
            table.extend(spellings.iter().map(|spelling| (*spelling, *id)));
        }
        table.extend(CURRENCY_WORDS.iter().copied());
        table.extend(CODES.iter().map(|code| (*code, *code)));
        table
    })
}

/// The units that the inside of a bracket names, if it names nothing else: `EUR`, `in %`, `km/h`, `Mio. EUR`, `€/kWh`.
pub fn in_brackets(inside: &str) -> Option<Vec<String>> {
    let text = inside.trim();
    let text = text.strip_prefix("in ").or_else(|| text.strip_prefix("In ")).unwrap_or(text).trim();
    if text.is_empty() || text.chars().count() > 24 {
        return None;
    }
    if let Some(id) = alone(text) {
        return Some(vec![id.to_owned()]);
    }
    if let Some((above, below)) = text.split_once('/') {
        let (above, below) = (alone(above.trim())?, alone(below.trim())?);
        return Some(vec![format!("{above}/{below}")]);
    }
    let mut units = Vec::new();
    for part in text.split_whitespace() {
        units.push(alone(part)?.to_owned());
    }
    (units.len() > 1).then_some(units)
}

fn alone(text: &str) -> Option<&'static str> {
    if let Some((_, id)) = LETTERS.iter().find(|(letter, _)| *letter == text) {
        return Some(id);
    }
    let mut chars = text.chars();
    if let (Some(c), None) = (chars.next(), chars.next())
        && let Some(id) = sign(c)
    {
        return Some(id);
    }
    match text {
        "k€" | "T€" | "TEUR" | "kEUR" | "KEUR" => return Some("thousand eur"),
        "M€" | "MEUR" | "m€" => return Some("million eur"),
        _ => {}
    }
    word(text)
}
