//! Evident to diagnosed, or closed: failures that are not the code's are recorded and never repaired (C26).

use sanare_core::incident::{Mode, Write};
use sanare_core::outcome::Reason;
use sanare_core::step::{Diagnosed, Step};

use crate::run::{Case, World};
use crate::stage::close;

/// Refuses what may not or cannot be repaired, before anything is paid for (C103).
pub(crate) fn diagnose(case: &Case<'_>, world: &World<'_>) -> Step {
    if let Some((reason, detail)) = &case.not_ours {
        return match reason {
            Reason::DependencyMissing => close::escalated(*reason, detail.clone()),
            _ => close::refused(*reason, detail.clone(), Vec::new()),
        };
    }
    if matches!(case.incident.rules.mode, Mode::Observe | Mode::Off) {
        return close::refused(Reason::Policy, "the mode is observe".to_owned(), Vec::new());
    }
    if let Some(why) = case.policy.trouble() {
        return close::refused(Reason::Policy, format!("the policy file cannot be used: {why}"), Vec::new());
    }
    if world.target.stopped() {
        return close::refused(Reason::Policy, "the stop switch is set".to_owned(), Vec::new());
    }
    if world.target.module().is_empty() {
        return close::refused(Reason::NoSource, Reason::NoSource.sentence().to_owned(), Vec::new());
    }
    if case.incident.rules.write == Write::File
        && let Some(why) = world.target.unwritable()
    {
        return close::refused(Reason::UnsupportedTarget, why, Vec::new());
    }
    Step::Diagnosed(Diagnosed { class: case.class.clone(), ..Diagnosed::default() })
}
