//! The static checks, one file each or a small family, joined here in the order in which they are asked.

mod abilities;
mod absence;
mod bounded;
mod changed;
mod closure;
mod constants;
mod cut;
mod defaults;
mod dispatch;
mod fence;
mod forbidden;
mod guards;
mod hidden;
mod imports;
mod kept;
mod logs;
mod patching;
mod paths;
mod phrases;
mod secrets;
mod seen;
mod swallow;
mod syntax;
mod walks;

use sanare_core::gate::Gate;

pub(crate) use fence::has_same_header;
pub(crate) use paths::path_roles;

use crate::vet::{Case, FenceCase, VetContext};

/// What a check saw.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Good.
    Passed,
    /// Nothing to look at, and why.
    Skipped(String),
    /// Not good; one sentence a finding.
    Failed(Vec<String>),
}

impl From<Vec<String>> for Look {
    fn from(findings: Vec<String>) -> Self {
        if findings.is_empty() { Self::Passed } else { Self::Failed(findings) }
    }
}

/// What a check needs.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    /// The candidate's text alone.
    Text(fn(&str, &VetContext) -> Look),
    /// The two functions and what stands around the new one.
    Fence(fn(&FenceCase<'_>) -> Look),
    /// Both functions laid out.
    Tree(fn(&Case<'_>) -> Look),
}

/// One check.
pub(crate) struct Unit {
    /// The gate it belongs to.
    pub gate: Gate,
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub work: Work,
}

const fn unit(gate: Gate, name: &'static str, work: Work) -> Unit {
    Unit { gate, name, work }
}

/// All static checks, cheap to dear.
pub(crate) const ALL: &[Unit] = &[
    unit(Gate::Syntax, "size", Work::Text(syntax::size)),
    unit(Gate::Syntax, "encodes", Work::Text(syntax::encodes)),
    unit(Gate::Syntax, "parses", Work::Text(syntax::parses)),
    unit(Gate::Syntax, "compiles", Work::Text(syntax::compiles)),
    unit(Gate::Fence, "one_function", Work::Fence(fence::one_function)),
    unit(Gate::Fence, "same_name", Work::Fence(fence::same_name)),
    unit(Gate::Fence, "same_kind", Work::Fence(fence::same_kind)),
    unit(Gate::Fence, "same_parameters", Work::Fence(fence::same_parameters)),
    unit(Gate::Fence, "same_return", Work::Fence(fence::same_return)),
    unit(Gate::Fence, "same_decorators", Work::Fence(fence::same_decorators)),
    unit(Gate::Fence, "same_free_variables", Work::Fence(closure::same_free_variables)),
    unit(Gate::Fence, "no_new_globals", Work::Fence(closure::no_new_globals)),
    unit(Gate::Fence, "docstring_kept", Work::Fence(fence::docstring_kept)),
    unit(Gate::Overfit, "changed", Work::Tree(changed::changed)),
    unit(Gate::Overfit, "not_rejected_before", Work::Tree(changed::not_rejected_before)),
    unit(Gate::Overfit, "no_swallow", Work::Tree(swallow::no_swallow)),
    unit(Gate::Overfit, "no_constant_result", Work::Tree(constants::no_constant_result)),
    unit(Gate::Overfit, "no_early_return", Work::Tree(constants::no_early_return)),
    unit(Gate::Overfit, "no_cut_result", Work::Tree(cut::no_cut_result)),
    unit(Gate::Overfit, "no_seen_literal", Work::Tree(seen::no_seen_literal)),
    unit(Gate::Overfit, "no_dispatch", Work::Tree(dispatch::no_dispatch)),
    unit(Gate::Overfit, "guards_kept", Work::Tree(guards::guards_kept)),
    unit(Gate::Overfit, "no_new_default", Work::Tree(defaults::no_new_default)),
    unit(Gate::Overfit, "no_shrink", Work::Tree(kept::no_shrink)),
    unit(Gate::Overfit, "old_path_kept", Work::Tree(kept::old_path_kept)),
    unit(Gate::Safety, "no_forbidden_names", Work::Tree(forbidden::no_forbidden_names)),
    unit(Gate::Safety, "no_dunder_walk", Work::Tree(walks::no_dunder_walk)),
    unit(Gate::Safety, "no_new_abilities", Work::Tree(abilities::no_new_abilities)),
    unit(Gate::Safety, "no_new_imports", Work::Tree(imports::no_new_imports)),
    unit(Gate::Safety, "no_patching", Work::Tree(patching::no_patching)),
    unit(Gate::Safety, "no_data_in_logs", Work::Tree(logs::no_data_in_logs)),
    unit(Gate::Safety, "no_hidden_text", Work::Tree(hidden::no_hidden_text)),
    unit(Gate::Safety, "no_instructions", Work::Tree(phrases::no_instructions)),
    unit(Gate::Safety, "no_new_secrets", Work::Tree(secrets::no_new_secrets)),
    unit(Gate::Safety, "bounded", Work::Tree(bounded::bounded)),
];

#[cfg(test)]
mod tests;
