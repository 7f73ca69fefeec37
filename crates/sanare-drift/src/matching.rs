//! Which seen field is which expected field: identity, support, vetoes, one-to-one, or a refusal (C54 to C59).

mod assign;
mod evidence;
mod name;
mod near;
mod report;
mod settle;
mod systematic;
mod veto;

use crate::lexicon::Lexicon;
use crate::problem::{Mapping, Refusal};
use crate::profile::Profile;

/// A field that was there before, or that the code reads.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// Name or path.
    pub name: String,
    /// Whether the code reads it.
    pub needed: bool,
    /// What its values looked like, if remembered.
    pub profile: Option<Profile>,
    /// Its place among the remembered fields.
    pub position: Option<usize>,
    /// What the code makes of it.
    pub implied_type: Option<ImpliedType>,
}

/// What the code's conversions make of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImpliedType {
    /// `int(...)`.
    Int,
    /// `float(...)`, `Decimal(...)`, arithmetic.
    Float,
    /// `strptime`, `fromisoformat`, `to_datetime`.
    Date,
    /// A text method or text comparison.
    Text,
    /// Compared with truth values.
    Flag,
}

/// A field of the new data.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Name or path.
    pub name: String,
    /// What its values look like.
    pub profile: Profile,
    /// Its place.
    pub position: usize,
}

/// What else bears on the decision.
#[derive(Clone, Copy, Debug)]
pub struct MatchContext<'a> {
    /// The words known.
    pub lexicon: &'a Lexicon,
    /// Aliases of the contract: expected, seen.
    pub contract_aliases: &'a [(String, String)],
    /// Mappings accepted before, those whose profile still fits.
    pub lockfile: &'a [Mapping],
    /// Whether `expected` and `seen` are all the fields that one record has.
    pub closed_record: bool,
}

/// Links that only values can show, for callers that hold recorded calls or declared equations.
#[derive(Clone, Debug, Default)]
pub struct ValueLinks {
    /// Expected and seen fields of which at least 90 % of 20 or more distinct id-like values are the same (I6).
    pub overlaps: Vec<(String, String)>,
    /// Expected and seen fields for which alone a declared equation holds on at least 99 % of 20 or more rows (I7).
    pub equations: Vec<(String, String)>,
}

/// The most names that are mapped at once (C55, clause 6).
pub const MOST_NAMES: usize = 20;

/// The most columns that are looked at (C55, clause 6).
pub const MOST_COLUMNS: usize = 2_000;

/// Why values are no longer what a mapping was accepted on: sizes, signs, units, or empty more often.
pub fn no_longer_fits(accepted: &Profile, now: &Profile) -> Option<String> {
    veto::no_longer_fits(accepted, now)
}

/// Maps each needed field that is not there under its own name to a seen field.
///
/// `expected` holds all remembered names and all names that the code reads. Names that are there map to themselves and
/// are not returned. Whether the edit works on every row (clause 5 of C55) is for the caller to see.
///
/// # Errors
/// A refusal with the whole reasoning, when one of them cannot be mapped.
pub fn match_fields(expected: &[Expected], seen: &[Seen], context: &MatchContext) -> Result<Vec<Mapping>, Refusal> {
    match_with_links(expected, seen, context, &ValueLinks::default())
}

/// Like [`match_fields`], with links shown by values.
///
/// # Errors
/// See [`match_fields`].
pub fn match_with_links(
    expected: &[Expected],
    seen: &[Seen],
    context: &MatchContext,
    links: &ValueLinks,
) -> Result<Vec<Mapping>, Refusal> {
    assign::Table::of(expected, seen, context, links)?.decide()
}
