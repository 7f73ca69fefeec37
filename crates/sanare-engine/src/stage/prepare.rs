//! Approved to prepared: the world is looked at once more, then the receipt is made durable before the act.

use sanare_core::approval::Approved;
use sanare_core::incident::Write;
use sanare_core::outcome::Reason;
use sanare_core::receipt::ReceiptState;
use sanare_core::step::{Checked, Prepared, Step};

use crate::run::{Case, Progress, World};
use crate::stage::{approve, close};

/// Checks the approval's binding again and writes the receipt (with this step's record).
pub(crate) fn prepare(
    approved: Approved<Checked>,
    case: &Case<'_>,
    world: &World<'_>,
    progress: &mut Progress,
) -> Step {
    let declined = approved.inner().proposed.diagnosed.declined.clone();
    if world.target.stopped() {
        return close::refused(Reason::Policy, "the stop switch is set".to_owned(), declined);
    }
    if case.incident.rules.write == Write::Memory {
        return Step::Prepared(Prepared { approved });
    }
    if world.target.digest_now().as_ref() != Some(&approved.inner().binding.before) {
        return close::refused(
            Reason::SourceChanged,
            "the file changed while the repair was made".to_owned(),
            declined,
        );
    }
    progress.receipt = approve::receipt(approved.inner(), case, world, ReceiptState::Open);
    match progress.receipt {
        Some(_) => Step::Prepared(Prepared { approved }),
        None => {
            close::refused(Reason::SourceChanged, "the repair does not fit into the file any more".to_owned(), declined)
        }
    }
}
