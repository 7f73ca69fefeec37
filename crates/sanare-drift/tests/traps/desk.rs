//! What the trap tests share: columns by name and kind of value, and one way to ask for a decision.

use std::sync::OnceLock;

use sanare_drift::lexicon::Lexicon;
use sanare_drift::matching::{Expected, ImpliedType, MatchContext, Seen, match_fields};
use sanare_drift::problem::{Mapping, Refusal};
use sanare_drift::profile::Profile;

/// Values of one kind, by letter: number, count, date, text, code, identifier, truth value, date and time, share.
pub fn values(kind: char) -> &'static [&'static str] {
    match kind {
        'n' => &["1200.50", "799.00", "15.25", "340.00"],
        'c' => &["12", "7", "31", "4"],
        'd' => &["2026-01-15", "2026-02-16", "2026-02-28", "2026-03-01"],
        'z' => &["2026-01-15 10:00:00", "2026-02-16 11:30:00", "2026-02-28 00:00:00", "2026-03-01 23:59:59"],
        't' => &["Alfa Kft", "Beta Zrt", "Gamma Bt", "Alfa Kft"],
        'k' => &["A", "B", "A", "C"],
        'i' => &["A-1001", "A-1002", "A-1003", "A-1004"],
        'f' => &["yes", "no", "yes", "yes"],
        'r' => &["0.25", "0.1", "0.75", "0.5"],
        _ => &[],
    }
}

/// The profile of values of one kind.
pub fn profile(kind: char) -> Profile {
    static PROFILES: OnceLock<Vec<(char, Profile)>> = OnceLock::new();
    let profiles = PROFILES.get_or_init(|| {
        "ncdztkifr".chars().map(|kind| (kind, Profile::of_texts(values(kind).iter().copied()))).collect()
    });
    profiles.iter().find(|(one, _)| *one == kind).unwrap().1.clone()
}

/// What code makes of such values.
pub fn implied(kind: char) -> Option<ImpliedType> {
    match kind {
        'n' | 'r' => Some(ImpliedType::Float),
        'c' => Some(ImpliedType::Int),
        'd' | 'z' => Some(ImpliedType::Date),
        _ => None,
    }
}

/// How much is known of what was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Names, places and value profiles.
    Shape,
    /// Only what the code reads and makes of it.
    Code,
    /// Only the names that the code reads.
    Names,
}

/// All states of memory.
pub const MEMORIES: [Memory; 3] = [Memory::Shape, Memory::Code, Memory::Names];

/// Expected fields, all needed, from names and kinds of value.
pub fn expected(fields: &[(&str, char)], memory: Memory) -> Vec<Expected> {
    fields
        .iter()
        .enumerate()
        .map(|(at, (name, kind))| Expected {
            name: (*name).to_owned(),
            needed: true,
            profile: (memory == Memory::Shape).then(|| profile(*kind)),
            position: (memory == Memory::Shape).then_some(at),
            implied_type: if memory == Memory::Names { None } else { implied(*kind) },
        })
        .collect()
}

/// Seen fields from names and kinds of value.
pub fn seen(fields: &[(&str, char)]) -> Vec<Seen> {
    fields
        .iter()
        .enumerate()
        .map(|(at, (name, kind))| Seen { name: (*name).to_owned(), profile: profile(*kind), position: at })
        .collect()
}

/// The decision, without contract and lockfile.
pub fn decide(expected: &[Expected], seen: &[Seen], closed: bool) -> Result<Vec<Mapping>, Refusal> {
    let context =
        MatchContext { lexicon: Lexicon::standard(), contract_aliases: &[], lockfile: &[], closed_record: closed };
    match_fields(expected, seen, &context)
}

/// The decision as text: `amount=osszeg, customer=ugyfel`, or `refused: reason`.
pub fn text(decision: &Result<Vec<Mapping>, Refusal>) -> String {
    match decision {
        Ok(mappings) => {
            let list: Vec<String> =
                mappings.iter().map(|mapping| format!("{}={}", mapping.expected, mapping.seen)).collect();
            list.join(", ")
        }
        Err(refusal) => format!("refused: {}", refusal.reason.code()),
    }
}
