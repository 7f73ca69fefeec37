//! Near meanings (I8), which count in a closed record only.

use super::name::Name;
use crate::lexicon::{Lexicon, Reading, Role};

/// Why two names are near, or nothing.
pub(super) fn near(expected: &Name, seen: &Name, lexicon: &Lexicon) -> Option<String> {
    let (one, other) = (&expected.meaning, &seen.meaning);
    if one.leftovers != other.leftovers || one.units != other.units {
        return None;
    }
    let ([left], [right]) = (one.readings.as_slice(), other.readings.as_slice()) else { return None };
    let same_rest = left.negated == right.negated && left.flag == right.flag && left.qualifiers == right.qualifiers;
    let role = lexicon.role(left)?;
    if !same_rest || lexicon.role(right) != Some(role) {
        return None;
    }
    linked(left, right, lexicon)
        .or_else(|| context_dropped(left, right, role))
        .or_else(|| head_dropped(left, right, lexicon))
}

/// The one concept is near the other, all else is equal.
fn linked(left: &Reading, right: &Reading, lexicon: &Lexicon) -> Option<String> {
    if left.contexts != right.contexts {
        return None;
    }
    // `order count` and `order quantity` are not near, though count and quantity are.
    let ([a], [b]) = (left.concepts.as_slice(), right.concepts.as_slice()) else { return None };
    lexicon.are_near(*a, *b).then(|| format!("I8 {} is near {}", lexicon.entry(*a).id, lexicon.entry(*b).id))
}

/// One date says that it is the date of the record (`observation date`), the other is just the date.
fn context_dropped(left: &Reading, right: &Reading, role: Role) -> Option<String> {
    let one_sided = left.contexts.is_empty() != right.contexts.is_empty();
    (role == Role::Date && one_sided && left.concepts == right.concepts)
        .then(|| "I8 the date of the record, with and without saying so".to_owned())
}

/// `customer` and `customer name` say the same thing where both are names.
fn head_dropped(left: &Reading, right: &Reading, lexicon: &Lexicon) -> Option<String> {
    if left.contexts != right.contexts {
        return None;
    }
    let (short, long) = if left.concepts.len() < right.concepts.len() { (left, right) } else { (right, left) };
    let [entity] = short.concepts.as_slice() else { return None };
    let [first, head] = long.concepts.as_slice() else { return None };
    let whole = first == entity && lexicon.entry(*head).head && !lexicon.entry(*entity).head;
    let same_role = lexicon.entry(*head).role == lexicon.entry(*entity).role;
    (whole && same_role)
        .then(|| format!("I8 {} with and without {}", lexicon.entry(*entity).id, lexicon.entry(*head).id))
}
