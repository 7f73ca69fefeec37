//! Gate 3: the candidate says something new.

use super::Look;
use crate::same::{same_code, same_functions};
use crate::vet::Case;

/// **changed**: beyond comments, layout, docstring, log lines and names of locals.
pub(super) fn changed(case: &Case<'_>) -> Look {
    if same_functions(case.old.code.function, case.new.code.function) {
        return Look::Failed(vec!["it does what the old body did".to_owned()]);
    }
    Look::Passed
}

/// **not_rejected_before**: it is not one of the candidates that this incident has seen.
pub(super) fn not_rejected_before(case: &Case<'_>) -> Look {
    if case.context.rejected_before.is_empty() {
        return Look::Skipped("nothing was rejected before".to_owned());
    }
    let new = case.new_source.text();
    if case.context.rejected_before.iter().any(|old| same_code(old, new)) {
        return Look::Failed(vec!["it says what a rejected candidate said".to_owned()]);
    }
    Look::Passed
}
