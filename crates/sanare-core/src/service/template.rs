//! Masked log lines: what a line looks like, without what it tells of anybody (S30).

use super::text::Text;
use crate::redact::Redactor;

/// Bytes of a line that are looked at.
pub const LINE: usize = 16 * 1024;
/// Letters of a word that is still a word of a language or a program.
const LETTERS: usize = 30;
/// Words of a template.
const WORDS: usize = 40;
/// What stands for a masked word.
const MASK: &str = "<*>";

/// The template of a line: only words of letters stay. Numbers, ids, addresses, paths, quoted texts and values after `=` or
/// `:` are masked, and secrets are taken out before.
pub fn template(line: &str) -> Text {
    let mut end = line.len().min(LINE);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    let redacted = Redactor::standard().text(line.get(..end).unwrap_or_default());
    let mut words: Vec<&str> = Vec::new();
    let mut quoted: Option<char> = None;
    for word in redacted.as_str().split_whitespace() {
        let inside = quoted.is_some();
        let symbols: Vec<char> = word.chars().collect();
        for (place, symbol) in symbols.iter().copied().enumerate() {
            // The sign in `can't` quotes nothing.
            let letter = |place: Option<usize>| {
                place.and_then(|place| symbols.get(place)).is_some_and(|near| near.is_alphabetic())
            };
            let within = letter(place.checked_sub(1)) && letter(Some(place + 1));
            if !matches!(symbol, '"' | '\'' | '`') || within {
                continue;
            }
            match quoted {
                Some(open) if open == symbol => quoted = None,
                Some(_) => {}
                None => quoted = Some(symbol),
            }
        }
        let said = word.trim_matches(|symbol: char| ".,;:!?()[]{}<>*|-".contains(symbol));
        let shown = if inside || !is_plain(said) { MASK } else { said };
        if shown == MASK && words.last() == Some(&MASK) {
            continue;
        }
        words.push(shown);
        if words.len() == WORDS {
            break;
        }
    }
    Text::of(&words.join(" "))
}

/// A word of letters, as a language or a program has them.
fn is_plain(word: &str) -> bool {
    let letters = word.chars().filter(|symbol| symbol.is_alphabetic()).count();
    let parts = word.split(['-', '_', '.']).all(|part| !part.is_empty() && part.chars().all(char::is_alphabetic));
    // `ConnectionError` has two humps; what changes its case again and again is an id.
    let mut humps = 0;
    let mut before = ' ';
    for symbol in word.chars() {
        humps += usize::from(before.is_lowercase() && symbol.is_uppercase());
        before = symbol;
    }
    parts && letters > 0 && word.chars().count() <= LETTERS && humps <= 3
}

#[cfg(test)]
mod tests {
    use super::template;

    fn check(line: &str, shown: &str) {
        assert_eq!(template(line).as_str(), shown, "{line}");
    }

    #[test]
    fn only_words_stay() {
        check("ERROR out of memory: 512 MB asked", "ERROR out of memory <*> MB asked");
        check("2026-01-01 12:00:01,123 WARN worker-7 retry 3 of 5", "<*> WARN <*> retry <*> of <*>");
        check("cannot reach 10.0.0.7:5432 as ann@example.com", "cannot reach <*> as <*>");
        check("open /home/ann/data.csv failed: ConnectionResetError", "open <*> failed ConnectionResetError");
        check("user='Ann Smith' has no access", "<*> has no access");
        check("no such user \"Ann von Smith\", gone", "no such user <*> gone");
        check("token=abc session:def id kJhGfDsAqWeRtYu", "<*> id <*>");
        check("it can't be opened", "it <*> be opened");
        check("", "");
        check("\u{0}\u{1b}[31mred", "<*>");
    }

    #[test]
    fn ten_thousand_ids_are_one_template_and_a_long_line_is_cut() {
        let shapes: std::collections::BTreeSet<String> =
            (0..10_000).map(|id| template(&format!("request {id} took {}ms", id * 7)).to_string()).collect();
        assert_eq!(shapes.len(), 1, "{shapes:?}");
        let long = "é".repeat(20_000);
        assert_eq!(template(&long).as_str(), "<*>");
        assert!(template(&"word ".repeat(100_000)).as_str().len() <= 300);
    }
}
