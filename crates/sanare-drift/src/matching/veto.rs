//! Vetoes (C56): what forbids a pair whatever speaks for it.

use super::evidence::Fit;
use super::name::Name;
use super::{Expected, ImpliedType, Seen};
use crate::lexicon::{EntryId, Lexicon, Reading, Role};
use crate::profile::{Kind, Profile};

/// A veto that fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rule {
    V1,
    V2,
    V3,
    V4,
    V5,
    V6,
    V7,
    V9,
}

/// A veto and its sentence, rule id first.
#[derive(Clone, Debug)]
pub(super) struct Veto {
    pub rule: Rule,
    pub text: String,
}

impl Veto {
    fn new(rule: Rule, text: impl AsRef<str>) -> Self {
        Self { rule, text: format!("{rule:?} {}", text.as_ref()) }
    }
}

/// Both sides of a pair.
pub(super) struct Pair<'a> {
    pub expected: &'a Expected,
    pub expected_name: &'a Name<'a>,
    pub seen: &'a Seen,
    pub seen_name: &'a Name<'a>,
    pub fit: &'a Fit,
}

/// All vetoes against a pair. What names say is not questioned where the owner declared the pair.
pub(super) fn vetoes(pair: &Pair, declared: bool, lexicon: &Lexicon) -> Vec<Veto> {
    let mut vetoes = Vec::new();
    if !declared {
        by_names(pair, lexicon, &mut vetoes);
    }
    by_values(pair, lexicon, &mut vetoes);
    vetoes
}

fn by_names(pair: &Pair, lexicon: &Lexicon, vetoes: &mut Vec<Veto>) {
    let (one, other) = (&pair.expected_name.meaning, &pair.seen_name.meaning);
    if let ([left], [right]) = (one.readings.as_slice(), other.readings.as_slice()) {
        let extra = differing(&left.qualifiers, &right.qualifiers);
        if !extra.is_empty() {
            let words: Vec<&str> = extra.iter().map(|id| lexicon.entry(*id).id.as_str()).collect();
            vetoes.push(Veto::new(Rule::V1, format!("qualifier {}", words.join(", "))));
        }
        if left.negated != right.negated {
            vetoes.push(Veto::new(Rule::V2, "one is the negation of the other"));
        } else if let Some((a, b)) = opposite(left, right, lexicon) {
            vetoes.push(Veto::new(
                Rule::V2,
                format!("{} is the opposite of {}", lexicon.entry(a).id, lexicon.entry(b).id),
            ));
        }
    }
    let (here, there) = (&one.units, &other.units);
    let shown = |unit: &String, profile: Option<&Profile>| profile.is_some_and(|profile| profile.units.contains(unit));
    let missing_here =
        there.iter().filter(|unit| !here.contains(unit)).find(|unit| !shown(unit, pair.expected.profile.as_ref()));
    let missing_there =
        here.iter().filter(|unit| !there.contains(unit)).find(|unit| !shown(unit, Some(&pair.seen.profile)));
    if let Some(unit) = missing_here.or(missing_there) {
        vetoes.push(Veto::new(Rule::V3, format!("unit {unit} on one side only")));
    }
    let roles = (pair.expected_name.role(lexicon), pair.seen_name.role(lexicon));
    if let (Some(left), Some(right)) = roles
        && left != right
    {
        vetoes.push(Veto::new(Rule::V4, format!("{} is not {}", role_word(left), role_word(right))));
    }
}

fn by_values(pair: &Pair, lexicon: &Lexicon, vetoes: &mut Vec<Veto>) {
    let seen = &pair.seen.profile;
    let remembered = pair.expected.profile.as_ref();
    let nested = |kind: Kind| matches!(kind, Kind::List | Kind::Map);
    let was_nested = remembered.map(|profile| profile.kind()).filter(|kind| *kind != Kind::Empty);
    let needs_plain = pair.expected.implied_type.is_some();
    match (was_nested, seen.kind()) {
        (Some(before), now) if now != Kind::Empty && (nested(before) || nested(now)) && before != now => {
            vetoes.push(Veto::new(Rule::V5, "a single value against a list or an object"));
        }
        (None, now) if nested(now) && needs_plain => {
            vetoes.push(Veto::new(Rule::V5, "a list or an object where the code needs one value"));
        }
        _ => {
            if let Fit::Contradicts(why) = pair.fit {
                vetoes.push(Veto::new(Rule::V4, *why));
            }
        }
    }
    if let Some(remembered) = remembered {
        let both_show = !remembered.units.is_empty() && !seen.units.is_empty();
        if both_show && remembered.units != seen.units {
            let text = format!("the values were in {}, now in {}", remembered.units.join(", "), seen.units.join(", "));
            vetoes.push(Veto::new(Rule::V3, text));
        }
        let identifies =
            [pair.expected_name, pair.seen_name].iter().all(|name| name.role(lexicon) == Some(Role::Identifier));
        let counts = [pair.expected_name, pair.seen_name].iter().all(|name| name.role(lexicon) == Some(Role::Quantity));
        if let Some(text) = moved(remembered, seen, identifies, counts) {
            vetoes.push(Veto::new(Rule::V6, text));
        }
        if let Some(text) = emptier(remembered, seen) {
            vetoes.push(Veto::new(Rule::V7, text));
        }
    }
    let becomes_number = matches!(pair.expected.implied_type, Some(ImpliedType::Int | ImpliedType::Float))
        || remembered.is_some_and(|profile| profile.kind() == Kind::Number);
    if seen.leading_zeros && becomes_number && !remembered.is_some_and(|profile| profile.leading_zeros) {
        vetoes.push(Veto::new(Rule::V9, "text with leading zeros would become a number"));
    }
}

/// What changed of values that were accepted under a name.
pub(super) fn no_longer_fits(accepted: &Profile, now: &Profile) -> Option<String> {
    let (before, after) = (accepted.kind(), now.kind());
    if before != Kind::Empty && after != Kind::Empty && before != Kind::Mixed && before != after {
        return Some(format!("{before:?} became {after:?}").to_lowercase());
    }
    if !accepted.units.is_empty() && !now.units.is_empty() && accepted.units != now.units {
        return Some(format!("the values were in {}, now in {}", accepted.units.join(", "), now.units.join(", ")));
    }
    moved(accepted, now, accepted.id_like && now.id_like, false).or_else(|| emptier(accepted, now))
}

/// Entries on one side only.
fn differing(left: &[EntryId], right: &[EntryId]) -> Vec<EntryId> {
    let only = |one: &[EntryId], other: &[EntryId]| -> Vec<EntryId> {
        one.iter().copied().filter(|id| !other.contains(id)).collect()
    };
    let mut extra = only(left, right);
    extra.extend(only(right, left));
    extra
}

fn opposite(left: &Reading, right: &Reading, lexicon: &Lexicon) -> Option<(EntryId, EntryId)> {
    let mut pairs = left.concepts.iter().flat_map(|a| right.concepts.iter().map(|b| (*a, *b)));
    pairs.find(|(a, b)| a != b && lexicon.are_opposite(*a, *b))
}

/// Whether sizes or signs are no longer those that were remembered.
fn moved(remembered: &Profile, seen: &Profile, identifies: bool, counts: bool) -> Option<String> {
    let (before, now) = (remembered.number.as_ref()?, seen.number.as_ref()?);
    if now.negative && !before.negative && before.positive {
        return Some("values are newly negative".to_owned());
    }
    if identifies || remembered.counted_time.is_some() != seen.counted_time.is_some() {
        return None;
    }
    let ((low, middle, high), (new_low, new_middle, new_high)) = (before.powers?, now.powers?);
    if new_low > high || new_high < low {
        return Some(format!("powers of ten {low} to {high} became {new_low} to {new_high}"));
    }
    // Pieces have no smaller unit: a few rows of larger lots are no change of scale while the ends hardly move.
    let ends_stay = (low - new_low).abs() <= 1 && (high - new_high).abs() <= 1;
    if counts && before.integer_only && now.integer_only && ends_stay && (middle - new_middle).abs() == 2 {
        return None;
    }
    ((middle - new_middle).abs() >= 2).then(|| format!("the middle power of ten {middle} became {new_middle}"))
}

/// Whether a column is empty in more than twice the share that was remembered. A few rows cannot show a small share, so
/// at least one row more than was looked at is taken to be empty.
fn emptier(remembered: &Profile, seen: &Profile) -> Option<String> {
    if remembered.count == 0 {
        return None;
    }
    let rows = f64::from(1_u32 << (remembered.count - 1).min(20));
    let before = (f64::from(remembered.nulls) / 100.0).max(1.0 / (rows + 1.0));
    let now = f64::from(seen.nulls) / 100.0;
    (now > 2.0 * before).then(|| format!("empty in {} % of the rows, {} % before", seen.nulls, remembered.nulls))
}

fn role_word(role: Role) -> &'static str {
    match role {
        Role::Identifier => "an identifier",
        Role::Name => "a name",
        Role::Code => "a code",
        Role::Quantity => "a quantity",
        Role::Money => "money",
        Role::Rate => "a rate",
        Role::Date => "a date",
        Role::Flag => "a truth value",
        Role::Place => "a place",
        Role::Measure => "a measure",
        Role::Text => "text",
    }
}
