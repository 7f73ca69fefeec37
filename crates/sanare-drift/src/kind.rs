//! The kinds of drift (C61), one file each, in the fixed order of layers (C62).

use sanare_source::ast::StmtFunctionDef;
use sanare_source::parse::Source;

use crate::problem::{Answer, Problem};

/// One kind of drift: what it is called and what it says to a problem.
pub struct Kind {
    /// Its name in records, the file's name.
    pub name: &'static str,
    /// Its answer: nothing if the problem is not of this kind.
    pub answer: fn(&Subject) -> Option<Answer>,
}

/// A problem with its source parsed and its target found.
pub struct Subject<'a> {
    /// The problem.
    pub problem: &'a Problem,
    /// The module.
    pub source: &'a Source,
    /// The one function that may change.
    pub target: &'a StmtFunctionDef,
}

/// Every kind, in the order in which layers are laid: the first answer counts.
pub const ALL: &[Kind] = &[];
