//! Checked to approved, waiting or closed: policy with the gate report.

use sanare_core::incident::{Mode, Write};
use sanare_core::outcome::Reason;
use sanare_core::policy::{Verdict, permit};
use sanare_core::port::target::Placed;
use sanare_core::receipt::{Receipt, ReceiptState};
use sanare_core::step::{Checked, Step, Waiting};

use crate::run::{Case, Progress, World};
use crate::stage::{close, judge};

/// Lets it through, asks, or refuses.
pub(crate) fn approve(checked: Checked, case: &Case<'_>, world: &World<'_>, progress: &mut Progress) -> Step {
    progress.checked = Some(checked.clone());
    let situation = judge::situation(&checked.proposed, case, world, Some(&checked.diff));
    if case.incident.rules.mode == Mode::DryRun {
        let decision = sanare_core::policy::decide(&situation, &checked.report);
        let would = match decision.verdict {
            Verdict::Permit => "would have been applied".to_owned(),
            Verdict::Ask => format!("would have waited for a person: {}", decision.because()),
            Verdict::Refuse => format!("would have been refused: {}", decision.because()),
        };
        let detail = format!("dry run: the repair passed its gates and {would}");
        return close::refused(Reason::Policy, detail, checked.proposed.diagnosed.declined);
    }
    match permit(&situation, checked) {
        Ok(approved) => Step::Approved(approved),
        Err((checked, decision)) if decision.verdict == Verdict::Ask => {
            // A repair of the running function alone is nothing that another process could apply.
            if case.incident.rules.write == Write::File {
                progress.receipt = receipt(&checked, case, world, ReceiptState::Planned);
            }
            let expires_at = world.clock.now().saturating_add(case.incident.rules.approval_expires_ms);
            Step::Waiting(Waiting { checked, decision, expires_at })
        }
        Err((checked, decision)) => {
            let detail = format!("policy refuses: {}", decision.because());
            close::refused(Reason::Policy, detail, checked.proposed.diagnosed.declined)
        }
    }
}

/// The receipt of a checked candidate; `None` when it does not fit into the file any more.
pub(crate) fn receipt(checked: &Checked, case: &Case<'_>, world: &World<'_>, state: ReceiptState) -> Option<Receipt> {
    let placed: Placed = world.target.place(&checked.proposed.candidate).ok()?;
    (placed.before == checked.binding.before && placed.after == checked.binding.after).then(|| Receipt {
        incident: case.incident.id.clone(),
        path: world.target.path().to_owned(),
        function: case.incident.function.clone(),
        fingerprint: case.incident.fingerprint.as_str().to_owned(),
        code: case.incident.code.clone(),
        text: placed.text,
        before: placed.before,
        after: placed.after,
        original: placed.original,
        replacement: placed.replacement,
        start: placed.start,
        state,
        at: world.clock.now(),
    })
}
