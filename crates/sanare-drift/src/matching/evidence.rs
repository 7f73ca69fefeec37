//! Identity (I1 to I5) and support (S): what speaks for a seen field being an expected one.

use super::name::Name;
use super::{Expected, ImpliedType, MatchContext, Seen, ValueLinks};
use crate::lexicon::{Lexicon, Meaning, Reading, Role};
use crate::problem::Tier;
use crate::profile::{Distinct, Kind, Profile};

/// Why a seen field is an expected one.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    /// Rule and reason, such as `I4 concept amount`.
    pub text: String,
    pub tier: Tier,
    /// Whether support is needed as well.
    pub needs_support: bool,
    /// Whether the owner or the lockfile says so: then names are not questioned.
    pub declared: bool,
    /// A reading of a marked term that other headers have to settle: of the expected name, of the seen name.
    pub unsettled: Option<(Option<usize>, Option<usize>)>,
    /// The languages in which the seen name was understood, for I4.
    pub languages: u32,
}

/// The identity of a pair by names, declarations or values, without near links.
pub(super) fn identity(expected: &Name, seen: &Name, context: &MatchContext, links: &ValueLinks) -> Option<Identity> {
    let declared = |text: &str| Identity {
        text: text.to_owned(),
        tier: Tier::A,
        needs_support: false,
        declared: true,
        unsettled: None,
        languages: 0,
    };
    let linked = |list: &[(String, String)]| list.iter().any(|(one, other)| one == expected.text && other == seen.text);
    if linked(context.contract_aliases) {
        return Some(declared("I1 alias in the contract"));
    }
    if context.lockfile.iter().any(|entry| entry.expected == expected.text && entry.seen == seen.text) {
        return Some(declared("I2 mapping in the lockfile"));
    }
    let by_name = Identity { declared: false, ..declared("I3 equal canonical name") };
    if expected.has_words_of(seen) {
        // A dropped noise word such as `field` might have meant something.
        return Some(Identity { needs_support: expected.canonical.noise != seen.canonical.noise, ..by_name });
    }
    let weaker = Identity { tier: Tier::B, needs_support: true, ..by_name };
    if expected.is_reordered(seen, context.lexicon) {
        return Some(Identity { text: "I5 the same words in another order".to_owned(), ..weaker });
    }
    if let Some(found) = concept_identity(expected, seen, context.lexicon) {
        return Some(found);
    }
    if down_the_table(expected.text).is_some() && down_the_table(expected.text) == down_the_table(seen.text) {
        let text = "I3 the same dimension down a table of two".to_owned();
        return Some(Identity { text, needs_support: false, ..weaker });
    }
    let by_values = Identity { needs_support: false, ..weaker };
    if linked(&links.overlaps) {
        return Some(Identity { text: "I6 the same identifying values".to_owned(), ..by_values });
    }
    linked(&links.equations).then(|| Identity { text: "I7 a declared equation holds".to_owned(), ..by_values })
}

/// The same concepts with equal qualifiers (I4), or by a word of the owner's (I1).
fn concept_identity(expected: &Name, seen: &Name, lexicon: &Lexicon) -> Option<Identity> {
    let (before, now) = (&expected.meaning, &seen.meaning);
    if before.leftovers != now.leftovers || is_turned_round(&before.units, &now.units) {
        return None;
    }
    let (at, other_at) = expected.agreeing(seen, lexicon).next()?;
    let (one, other) = (&before.readings[at], &now.readings[other_at]);
    let open =
        |meaning: &Meaning, reading: &Reading, at: usize| (meaning.readings.len() > 1 || reading.marked).then_some(at);
    let unsettled = (open(before, one, at), open(now, other, other_at));
    let owner = one.owner || other.owner;
    let what = lexicon.describe(one);
    Some(Identity {
        text: if owner { format!("I1 word of the owner's lexicon, {what}") } else { format!("I4 concept {what}") },
        tier: if owner { Tier::A } else { Tier::B },
        needs_support: !owner,
        declared: false,
        unsettled: (unsettled != (None, None)).then_some(unsettled),
        languages: other.languages,
    })
}

/// `geo` of `geo\\time`, which names what goes down and what goes across a table.
fn down_the_table(name: &str) -> Option<String> {
    let (down, across) = name.split_once('\\')?;
    let plain = !down.trim().is_empty() && !across.trim().is_empty() && !across.contains('\\');
    plain.then(|| crate::names::canonical(down).key())
}

/// Whether the same units stand in another order, as in `rate usd eur`.
fn is_turned_round(one: &[String], other: &[String]) -> bool {
    one != other && one.len() == other.len() && one.iter().all(|unit| other.contains(unit))
}

/// Whether the values are what the expected field needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// They are.
    Fits(&'static str),
    /// Nothing says so, nothing speaks against it.
    Silent,
    /// They are not.
    Contradicts(&'static str),
}

/// Whether the seen values fit: what was remembered, else what the code makes of them, else what the name says.
pub(super) fn fit(expected: &Expected, name: &Name, seen: &Seen, lexicon: &Lexicon) -> Fit {
    let kind = seen.profile.kind();
    if kind == Kind::Empty {
        return Fit::Silent;
    }
    let implied = expected.implied_type.map(|implied| fits_implied(implied, &seen.profile));
    if let Some(contradiction @ Fit::Contradicts(_)) = implied {
        return contradiction;
    }
    let remembered = expected.profile.as_ref().filter(|profile| profile.kind() != Kind::Empty);
    if let Some(remembered) = remembered {
        return match fits_remembered(remembered, &seen.profile) {
            Fit::Silent => implied.unwrap_or(Fit::Silent),
            found => found,
        };
    }
    match implied {
        Some(Fit::Silent) | None => name.role(lexicon).map_or(Fit::Silent, |role| fits_role(role, &seen.profile)),
        Some(found) => found,
    }
}

fn fits_implied(implied: ImpliedType, seen: &Profile) -> Fit {
    let kind = seen.kind();
    match implied {
        ImpliedType::Int | ImpliedType::Float => match kind {
            Kind::Number => Fit::Fits("S the values are numbers"),
            Kind::Flag if seen.type_name == "bool" => Fit::Silent,
            Kind::Text if seen.mostly_numbers => Fit::Fits("S most values are numbers"),
            Kind::Text if seen.leading_zeros => Fit::Silent,
            Kind::Mixed => Fit::Silent,
            Kind::Flag => Fit::Silent,
            _ => Fit::Contradicts("the values are no numbers"),
        },
        ImpliedType::Date => match kind {
            Kind::Date => Fit::Fits("S the values are dates"),
            Kind::Number if seen.counted_time.is_some() => Fit::Fits("S the values count time"),
            Kind::Mixed => Fit::Silent,
            _ => Fit::Contradicts("the values are no dates"),
        },
        ImpliedType::Text => match kind {
            Kind::Text | Kind::Date | Kind::Flag if seen.type_name == "str" => Fit::Fits("S the values are text"),
            Kind::List | Kind::Map => Fit::Contradicts("the values are no text"),
            _ => Fit::Silent,
        },
        ImpliedType::Flag => match kind {
            Kind::Flag => Fit::Fits("S the values are truth values"),
            Kind::Number | Kind::Text | Kind::Mixed => Fit::Silent,
            _ => Fit::Contradicts("the values are no truth values"),
        },
    }
}

fn fits_remembered(remembered: &Profile, seen: &Profile) -> Fit {
    let binary = |profile: &Profile| profile.flag.is_some() || profile.type_name == "bool";
    match (remembered.kind(), seen.kind()) {
        (Kind::Mixed, _) | (_, Kind::Mixed) => Fit::Silent,
        (Kind::Number, Kind::Number) => Fit::Fits("S numbers as before"),
        (Kind::Date, Kind::Date) => Fit::Fits("S dates as before"),
        (Kind::Flag, Kind::Flag) => Fit::Fits("S truth values as before"),
        (Kind::List, Kind::List) => Fit::Fits("S a list as before"),
        (Kind::Map, Kind::Map) => Fit::Fits("S an object as before"),
        (Kind::Text, Kind::Text) => {
            if remembered.validator.is_some() && remembered.validator == seen.validator {
                return Fit::Fits("S the values are of the same sort as before");
            }
            if remembered.validator.is_some() && seen.validator.is_some() {
                return Fit::Contradicts("the values are of another sort");
            }
            Fit::Fits("S text as before")
        }
        _ if binary(remembered) && binary(seen) => Fit::Fits("S truth values as before"),
        (Kind::Number, Kind::Text) if seen.mostly_numbers => Fit::Fits("S most values are numbers"),
        (Kind::Number, Kind::Text) if seen.leading_zeros => Fit::Silent,
        (Kind::Text, Kind::Number) if remembered.mostly_numbers => Fit::Fits("S numbers as before"),
        (Kind::Number | Kind::Date, Kind::Number | Kind::Date) => {
            if remembered.may_be_date() && seen.may_be_date() {
                Fit::Fits("S times as before")
            } else {
                Fit::Contradicts("dates and numbers are not the same")
            }
        }
        (Kind::Flag, _) | (_, Kind::Flag) => Fit::Silent,
        (Kind::Text, Kind::Date) | (Kind::Date, Kind::Text) => {
            Fit::Contradicts("dates and other text are not the same")
        }
        (Kind::Number, Kind::Text) | (Kind::Text, Kind::Number) => {
            Fit::Contradicts("numbers and text are not the same")
        }
        _ => Fit::Contradicts("the values are built differently"),
    }
}

fn fits_role(role: Role, seen: &Profile) -> Fit {
    let kind = seen.kind();
    match (role, kind) {
        (Role::Money | Role::Quantity | Role::Rate | Role::Measure, Kind::Number) => {
            Fit::Fits("S numbers, as the name says")
        }
        (Role::Money | Role::Quantity | Role::Rate | Role::Measure, Kind::Text) if seen.mostly_numbers => {
            Fit::Fits("S mostly numbers, as the name says")
        }
        (Role::Date, Kind::Date) => Fit::Fits("S dates, as the name says"),
        (Role::Date, Kind::Number) if seen.counted_time.is_some() => Fit::Fits("S times, as the name says"),
        (Role::Flag, Kind::Flag) => Fit::Fits("S truth values, as the name says"),
        (Role::Name | Role::Text | Role::Place, Kind::Text) => Fit::Fits("S text, as the name says"),
        (Role::Code, Kind::Text) if seen.distinct != Distinct::All || seen.length <= 4 => {
            Fit::Fits("S codes, as the name says")
        }
        (Role::Identifier, Kind::Text | Kind::Number) if seen.id_like || seen.distinct == Distinct::All => {
            Fit::Fits("S all different, as the name says")
        }
        (Role::Money | Role::Quantity | Role::Rate, Kind::Date | Kind::List | Kind::Map) => {
            Fit::Contradicts("the values are no numbers")
        }
        (Role::Date, Kind::List | Kind::Map) => Fit::Contradicts("the values are no dates"),
        (Role::Name, Kind::Number | Kind::Date) => Fit::Contradicts("the values are no names"),
        _ => Fit::Silent,
    }
}

/// Support from the names alone: the same parent path.
pub(super) fn same_parent(expected: &Name, seen: &Name) -> bool {
    expected.parent().is_some() && expected.parent() == seen.parent()
}
