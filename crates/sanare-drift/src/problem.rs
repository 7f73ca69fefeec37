//! What the engine is given and what it answers. Values in, values out: no file, clock, network or chance.

use std::sync::Arc;

pub use sanare_core::evidence::{Argument, Failure, FileView, Frame};
use sanare_core::outcome::Reason;
pub use sanare_core::proposal::Tier;
use serde::{Deserialize, Serialize};

use crate::lexicon::Lexicon;

/// A failure to repair: the code, what it was called with, how it failed, what worked before.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    /// The text of the module as it stands now (layers accepted so far included), newlines as in the file.
    pub source: String,
    /// Qualified name of the target, the one function that may be edited.
    pub function: String,
    /// The first line of the target's `def`, to tell two of the same name apart; 0 if unknown.
    pub first_line: usize,
    /// How it failed this time.
    pub failure: Failure,
    /// The arguments of the failing call, by parameter name, in order.
    pub arguments: Vec<Argument>,
    /// Shapes of arguments that worked, newest first (see [`crate::shape`]).
    pub remembered: Vec<crate::shape::CallShape>,
    /// Entries of the lockfile that hold for the target (I2).
    pub accepted: Vec<crate::lockfile::Entry>,
    /// Words of the owner's beside the standard ones (I1).
    pub words: Words,
    /// What the interpreter that runs the code has.
    pub runtime: Runtime,
}

/// What names mean: the lexicon with the owner's own entries, and the aliases of his contract.
#[derive(Clone, Debug, Default)]
pub struct Words {
    lexicon: Option<Arc<Lexicon>>,
    aliases: Vec<(String, String)>,
}

impl Words {
    /// The standard words, or a lexicon with the owner's entries, and pairs of expected and seen names.
    pub fn of(lexicon: Option<Arc<Lexicon>>, aliases: Vec<(String, String)>) -> Self {
        Self { lexicon, aliases }
    }

    /// The lexicon.
    pub fn lexicon(&self) -> &Lexicon {
        self.lexicon.as_deref().unwrap_or_else(|| Lexicon::standard())
    }

    /// Aliases of the contract: expected, seen.
    pub fn aliases(&self) -> &[(String, String)] {
        &self.aliases
    }
}

/// Facts about the interpreter: plain data, collected by the caller.
#[derive(Clone, Debug, Default)]
pub struct Runtime {
    /// Major and minor version.
    pub python: (u8, u8),
    /// Version of each distribution that the module imports and that is installed (`pandas` → `2.2.3`).
    pub versions: Vec<(String, String)>,
    /// Dotted members that were asked for (see the library table's questions) and whether they exist now.
    pub members: Vec<(String, bool)>,
}

/// The answer: the next layer of a repair, a refusal, or that nothing here is for this engine.
#[derive(Clone, Debug)]
pub enum Answer {
    /// One layer: the source with it, to be tried; its next failure feeds the next layer.
    Layer(Layer),
    /// Refused, with the whole reasoning.
    Refused(Refusal),
}

/// One accepted layer of a repair.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The kind of drift (file name in `kind/`), such as `header_renamed`.
    pub kind: String,
    /// The module's new text. Only the target function differs.
    pub source: String,
    /// Tier of its weakest part (C57).
    pub tier: Tier,
    /// Accepted mappings, for the lockfile and the record.
    pub mappings: Vec<Mapping>,
    /// What changed in the data, one sentence for people.
    pub summary: String,
    /// Evidence for it, one line each.
    pub evidence: Vec<String>,
    /// What the values of mapped columns look like, by seen name; for the lockfile.
    pub profiles: Vec<(String, crate::profile::Profile)>,
}

/// `expected` is now called `seen`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// The name or dotted path that the code reads.
    pub expected: String,
    /// The name or dotted path in the new data.
    pub seen: String,
    /// Evidence and rule ids, such as `I4 concept amount`.
    pub evidence: Vec<String>,
    /// Its tier.
    pub tier: Tier,
}

/// Why nothing was proposed (C59).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refusal {
    /// The reason code.
    pub reason: Reason,
    /// One sentence for people: what was looked for, what was found.
    pub summary: String,
    /// For each needed field: ranked candidates, evidence for and against, the veto that fired.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldReport>,
    /// What would settle it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hint: String,
}

/// What was weighed for one expected field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldReport {
    /// The expected name or path.
    pub expected: String,
    /// Candidates, best first, at most five.
    pub candidates: Vec<Candidate>,
    /// The clause of C55 that was not met, in words.
    pub unmet: String,
}

/// One candidate for an expected field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Its name or path in the new data.
    pub seen: String,
    /// Evidence for it, with rule ids (`I4 …`, `S type fits`).
    pub evidence: Vec<String>,
    /// Vetoes that fired, with rule ids (`V1 qualifier refund`).
    pub vetoes: Vec<String>,
}
