//! Policy of services: every rule is asked, the strictest verdict wins, and rules only make stricter (S94 to S96, S98).

pub mod case;
pub mod cases;
pub mod numbers;
pub mod rules;
#[cfg(test)]
mod tests;

pub use case::Case;
pub use numbers::Numbers;
use serde::{Deserialize, Serialize};

use super::action::Action;
use crate::policy::{Decision, Fired, Policy, Verdict};

/// A built-in rule.
#[derive(Debug)]
pub struct BuiltIn {
    /// Its name in records.
    pub id: &'static str,
    /// What would have to be otherwise for it not to fire.
    pub lifts: &'static str,
    /// Whether it holds for run_diagnostic too, which changes nothing.
    pub framework: bool,
    /// What it says of a case, with the values in words.
    pub fires: fn(&Case, &Numbers) -> Option<(Verdict, String)>,
    /// A firing one and one at the border, at least; each starts from the sound case.
    pub examples: &'static [Example],
}

/// A change of the sound case, and what the rule says then.
#[derive(Debug)]
pub struct Example {
    /// The change.
    pub change: fn(&mut Case, &mut Numbers),
    /// The verdict, if the rule fires.
    pub says: Option<Verdict>,
}

/// A rule as it stands on a case, for people (S98).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explained {
    /// Its id.
    pub rule: String,
    /// What it says, if it fires.
    pub verdict: Option<Verdict>,
    /// The values, in words.
    pub because: String,
    /// What would have to be otherwise; empty for an owner's rule that does not fire.
    pub lifts: String,
}

/// The verdict on a case. Escalating and waiting are never judged: a person must always be reachable.
pub fn judge(case: &Case, numbers: &Numbers, policy: &Policy) -> Decision {
    let mut fired: Vec<Fired> = built_in(case, numbers, policy)
        .filter_map(|(rule, said)| {
            let (verdict, because) = said?;
            Some(Fired { rule: rule.id.to_owned(), verdict, because })
        })
        .collect();
    fired.extend(policy.fired(&case.facts(policy)));
    Decision::strictest(fired)
}

/// Every rule on a case: what it says, and what would have to be otherwise.
pub fn explain(case: &Case, numbers: &Numbers, policy: &Policy) -> Vec<Explained> {
    let mut out: Vec<Explained> = built_in(case, numbers, policy)
        .map(|(rule, said)| {
            let (verdict, because) = said.map_or((None, String::new()), |(verdict, because)| (Some(verdict), because));
            Explained { rule: rule.id.to_owned(), verdict, because, lifts: rule.lifts.to_owned() }
        })
        .collect();
    let own = policy.fired(&case.facts(policy));
    for rule in policy.file().iter().flat_map(|file| &file.rules) {
        let fired = own.iter().find(|fired| fired.rule == rule.id);
        out.push(Explained {
            rule: rule.id.clone(),
            verdict: fired.map(|fired| fired.verdict),
            because: fired.map(|fired| fired.because.clone()).unwrap_or_default(),
            lifts: fired.map(|_| "a condition of the owner's rule must not hold".to_owned()).unwrap_or_default(),
        });
    }
    out
}

fn built_in<'a>(
    case: &'a Case,
    numbers: &'a Numbers,
    policy: &'a Policy,
) -> impl Iterator<Item = (&'static BuiltIn, Option<(Verdict, String)>)> + 'a {
    let mut case = case.clone();
    if let Some(why) = policy.trouble() {
        case.policy_trouble = Some(why.to_owned());
    }
    let framework = case.action.is_framework();
    let unjudged = matches!(case.action, Action::Escalate | Action::NoAction);
    rules::ALL.iter().map(move |rule| {
        let asked = !unjudged && (!framework || rule.framework);
        (rule, asked.then(|| (rule.fires)(&case, numbers)).flatten())
    })
}
