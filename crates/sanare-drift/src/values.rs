//! Words inside cells: nulls, truth values, units, currencies.

pub mod units;

use crate::names::fold;

/// Words that stand for "no value", in lower case.
pub fn null_words() -> &'static [&'static str] {
    &[
        "",
        "-",
        "--",
        "---",
        "\u{2013}",
        "\u{2014}",
        ".",
        "..",
        "...",
        "?",
        ":",
        "n/a",
        "na",
        "n.a.",
        "n. a.",
        "#n/a",
        "<na>",
        "nan",
        "null",
        "(null)",
        "#null!",
        "\\n",
        "none",
        "nil",
        "nat",
        "k.a.",
        "k. a.",
        "n.v.t.",
        "s/d",
        "n/d",
        "n.d.",
        "nincs adat",
        "b.d.",
    ]
}

/// Whether a cell says "no value".
pub fn is_null_word(text: &str) -> bool {
    let text = text.trim();
    if text.is_empty() {
        return true;
    }
    if text.len() > 16 || text.as_bytes()[0].is_ascii_digit() {
        return false;
    }
    null_words().contains(&text.to_lowercase().as_str())
}

/// Two spellings of truth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BooleanPair {
    /// As written for true (all spellings seen, such as `Y` and `y`).
    pub truthy: Vec<String>,
    /// As written for false.
    pub falsy: Vec<String>,
}

/// Truth and its opposite, folded, by language; the first word is the true one.
const PAIRS: &[(&str, &str)] = &[
    ("true", "false"),
    ("yes", "no"),
    ("y", "n"),
    ("t", "f"),
    ("1", "0"),
    ("on", "off"),
    ("enabled", "disabled"),
    ("ja", "nein"),
    ("j", "n"),
    ("wahr", "falsch"),
    ("oui", "non"),
    ("o", "n"),
    ("vrai", "faux"),
    ("si", "no"),
    ("s", "n"),
    ("verdadero", "falso"),
    ("vero", "falso"),
    ("sim", "nao"),
    ("verdadeiro", "falso"),
    ("ja", "nee"),
    ("waar", "onwaar"),
    ("tak", "nie"),
    ("t", "n"),
    ("prawda", "falsz"),
    ("ano", "ne"),
    ("a", "n"),
    ("pravda", "nepravda"),
    ("igen", "nem"),
    ("i", "n"),
    ("igaz", "hamis"),
    ("da", "nu"),
    ("d", "n"),
    ("adevarat", "fals"),
    ("ja", "nej"),
    ("sant", "falskt"),
    ("evet", "hayir"),
    ("e", "h"),
    ("はい", "いいえ"),
    ("有", "無"),
    ("是", "否"),
];

/// The pair that a column uses, if it holds one pair of the lexicon and nothing else. Nulls are left out by the caller.
///
/// When only one side was seen, the other is added if just one pair fits, in the same case.
pub fn boolean_pair(values: &[&str]) -> Option<BooleanPair> {
    let mut spellings: Vec<&str> = Vec::new();
    for value in values {
        let value = value.trim();
        if !spellings.contains(&value) {
            spellings.push(value);
        }
        if spellings.len() > 8 {
            return None;
        }
    }
    spellings.sort_unstable();
    let folded: Vec<String> = spellings.iter().map(|spelling| fold(spelling).0).collect();
    let mut words: Vec<&str> = folded.iter().map(String::as_str).collect();
    words.sort_unstable();
    words.dedup();
    let fitting: Vec<(&str, &str)> = PAIRS
        .iter()
        .copied()
        .filter(|(truth, falsehood)| words.iter().all(|word| word == truth || word == falsehood))
        .collect();
    let (truth, falsehood) = match (fitting.as_slice(), words.len()) {
        ([first, ..], 2) => *first,
        ([only], 1) => *only,
        _ => return None,
    };
    let pick = |word: &str| -> Vec<String> {
        let seen: Vec<String> = spellings
            .iter()
            .zip(&folded)
            .filter(|(_, folded)| folded.as_str() == word)
            .map(|(spelling, _)| (*spelling).to_owned())
            .collect();
        if !seen.is_empty() {
            return seen;
        }
        vec![in_case_of(spellings[0], word)]
    };
    Some(BooleanPair { truthy: pick(truth), falsy: pick(falsehood) })
}

/// The word in the case of an example: `NO` for `YES`, `No` for `Yes`.
fn in_case_of(example: &str, word: &str) -> String {
    let mut letters = example.chars();
    let first_upper = letters.next().is_some_and(char::is_uppercase);
    let second_upper = letters.next().is_none_or(char::is_uppercase);
    match (first_upper, second_upper) {
        (true, true) => word.to_uppercase(),
        (true, false) => {
            let mut chars = word.chars();
            chars.next().map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + chars.as_str())
        }
        _ => word.to_owned(),
    }
}

/// What a column of text is by its look, if all its values have it: `email`, `iban`, `uuid`, `url`, `currency`, `country`.
pub fn validator(values: &[&str]) -> Option<&'static str> {
    type Test = fn(&str) -> bool;
    const VALIDATORS: &[(&str, Test)] = &[
        ("email", is_email),
        ("iban", is_iban),
        ("uuid", is_uuid),
        ("url", is_url),
        ("currency", |text| {
            text.len() == 3 && text.bytes().all(|b| b.is_ascii_uppercase()) && units::currency(text).is_some()
        }),
        ("country", |text| text.len() == 2 && COUNTRIES.split(' ').any(|code| code == text)),
    ];
    let first = values.first()?.trim();
    let (name, holds) = VALIDATORS.iter().find(|(_, holds)| holds(first))?;
    values.iter().all(|value| holds(value.trim())).then_some(*name)
}

fn is_email(text: &str) -> bool {
    let Some((user, host)) = text.split_once('@') else { return false };
    !user.is_empty()
        && !text.contains(char::is_whitespace)
        && host.split('.').count() > 1
        && host.split('.').all(|part| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '-'))
}

fn is_iban(text: &str) -> bool {
    let letters: Vec<u8> = text.bytes().filter(|b| *b != b' ').collect();
    if !(15..=34).contains(&letters.len())
        || !letters[..2].iter().all(u8::is_ascii_uppercase)
        || !letters[2..4].iter().all(u8::is_ascii_digit)
    {
        return false;
    }
    let mut remainder = 0_u32;
    for &letter in letters[4..].iter().chain(&letters[..4]) {
        remainder = match letter {
            b'0'..=b'9' => (remainder * 10 + u32::from(letter - b'0')) % 97,
            b'A'..=b'Z' => (remainder * 100 + u32::from(letter - b'A') + 10) % 97,
            _ => return false,
        };
    }
    remainder == 1
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text
            .bytes()
            .enumerate()
            .all(|(at, b)| if matches!(at, 8 | 13 | 18 | 23) { b == b'-' } else { b.is_ascii_hexdigit() })
}

fn is_url(text: &str) -> bool {
    (text.starts_with("http://") || text.starts_with("https://"))
        && text.len() > 10
        && !text.contains(char::is_whitespace)
}

const COUNTRIES: &str = "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS \
BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK \
FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM \
JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS \
MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW \
SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UK \
UM US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW EL";

#[cfg(test)]
mod tests {
    use super::{boolean_pair, is_null_word, validator};

    #[test]
    fn pairs_are_known_and_third_values_refused() {
        let check = |values: &[&str]| {
            boolean_pair(values).map(|pair| format!("{}|{}", pair.truthy.join(","), pair.falsy.join(",")))
        };
        assert_eq!(check(&["Y", "N", "Y"]).as_deref(), Some("Y|N"));
        assert_eq!(check(&["igen", "nem", "IGEN"]).as_deref(), Some("IGEN,igen|nem"));
        assert_eq!(check(&["Não", "Sim"]).as_deref(), Some("Sim|Não"));
        assert_eq!(check(&["Yes"]).as_deref(), Some("Yes|No"));
        assert_eq!(check(&["1", "0"]).as_deref(), Some("1|0"));
        // `Ja` may be German, Dutch or Swedish: the other side is not known.
        assert_eq!(check(&["Ja"]), None);
        assert_eq!(check(&["N"]), None);
        assert_eq!(check(&["Y", "N", "U"]), None);
        assert_eq!(check(&["male", "female"]), None);
        assert_eq!(check(&["yes", "nein"]), None);
        assert_eq!(check(&[]), None);
    }

    #[test]
    fn null_words_are_not_values() {
        for word in ["", " ", "N/A", "nan", "NULL", "-", "None"] {
            assert!(is_null_word(word), "{word:?}");
        }
        for word in ["0", "no", "*", "unknown", "-1", "nano"] {
            assert!(!is_null_word(word), "{word:?}");
        }
    }

    #[test]
    fn validators_need_every_value() {
        assert_eq!(validator(&["a@b.hu", "c.d@e-f.org"]), Some("email"));
        assert_eq!(validator(&["a@b.hu", "nobody"]), None);
        assert_eq!(validator(&["GB82 WEST 1234 5698 7654 32"]), Some("iban"));
        assert_eq!(validator(&["GB82 WEST 1234 5698 7654 33"]), None);
        assert_eq!(validator(&["EUR", "USD"]), Some("currency"));
        assert_eq!(validator(&["HU", "DE"]), Some("country"));
    }
}
