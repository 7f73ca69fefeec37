//! What a person can do next about an incident that was handed over, as commands (S113).

use sanare_core::service::context::{LiveSpan, Standing};
use sanare_core::service::name::Version;
use sanare_core::service::step::Withheld;
use sanare_core::service::{Action, Effect, Incident};

use super::offer::NONE_GOOD;

/// The commands, by what is not offered and which versions were live when.
pub fn next(incident: &Incident, withheld: &[Withheld], versions: &[LiveSpan]) -> Vec<String> {
    let id = &incident.id;
    let mut commands = Vec::new();
    for attempt in incident.attempts.iter().filter(|one| one.effect == Some(Effect::Unknown)) {
        let receipt = attempt.receipt_id.as_ref().map(ToString::to_string).unwrap_or_default();
        commands.push(format!("sanare target settle {receipt} --as done|failed --reason …"));
    }
    let no_good = withheld.iter().any(|one| one.action == Action::RollbackModel && one.why.as_str() == NONE_GOOD);
    if let Some(version) = perhaps_good(versions).filter(|_| no_good) {
        commands.push(format!("sanare model mark-good {} {version} --reason …", incident.application));
    }
    commands.push(format!("sanare incident retry {id}"));
    let is_offered = |action: &&Action| !action.is_framework() && !withheld.iter().any(|one| one.action == **action);
    let offered: Vec<&str> = Action::ALL.iter().filter(is_offered).map(|action| action.word()).collect();
    if !offered.is_empty() {
        commands.push(format!("sanare propose {id} {} --reason …", offered.join("|")));
    }
    commands.push(format!("sanare incident close {id} --reason …"));
    commands
}

/// The newest version before the live one that nothing speaks against: a person may know that it was good.
fn perhaps_good(versions: &[LiveSpan]) -> Option<&Version> {
    let live = versions.iter().rfind(|span| span.to.is_none())?;
    let bad = |version: &Version| versions.iter().any(|one| one.version == *version && one.standing == Standing::Bad);
    versions.iter().rev().map(|span| &span.version).find(|version| **version != live.version && !bad(version))
}
