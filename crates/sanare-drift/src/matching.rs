//! Which seen field is which expected field: identity, support, vetoes, one-to-one, or a refusal (C54 to C59).

use sanare_core::outcome::Reason;

use crate::lexicon::Lexicon;
use crate::names;
use crate::problem::{Mapping, Refusal, Tier};
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

/// Maps each needed field that is not there under its own name to a seen field.
///
/// # Errors
/// A refusal with the whole reasoning, when one of them cannot be mapped.
pub fn match_fields(expected: &[Expected], seen: &[Seen], _context: &MatchContext) -> Result<Vec<Mapping>, Refusal> {
    let there = |name: &str| seen.iter().any(|field| field.name == name);
    let mut mappings = Vec::new();
    for field in expected.iter().filter(|field| field.needed && !there(&field.name)) {
        let alike: Vec<&Seen> = seen
            .iter()
            .filter(|other| names::same(&field.name, &other.name) && !expected.iter().any(|one| one.name == other.name))
            .collect();
        let [one] = alike[..] else {
            return Err(Refusal {
                reason: if alike.is_empty() { Reason::MissingField } else { Reason::Ambiguous },
                summary: format!("`{}` is not in the data", field.name),
                fields: Vec::new(),
                hint: String::new(),
            });
        };
        mappings.push(Mapping {
            expected: field.name.clone(),
            seen: one.name.clone(),
            evidence: vec!["I3 equal canonical name".to_owned()],
            tier: Tier::A,
        });
    }
    Ok(mappings)
}
