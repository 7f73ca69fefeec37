//! Undoing: function and file go back to what they were; then the next attempt, or the end.

use sanare_core::outcome::Reason;
use sanare_core::receipt::ReceiptState;
use sanare_core::step::{Escalating, Step, Undoing};

use crate::run::{Fault, Progress, World};
use crate::stage::close;

/// Takes the repair back.
pub(crate) fn undo(undoing: Undoing, world: &mut World<'_>, progress: &mut Progress) -> Result<Step, Fault> {
    if progress.swapped {
        world.subject.unswap()?;
        progress.swapped = false;
    }
    if progress.written
        && let Some(receipt) = &progress.receipt
    {
        if let Err(fault) = world.target.restore(receipt) {
            let detail = format!("the repair could not be taken back: {fault}");
            return Ok(Step::Escalating(Escalating { reason: Reason::WorldChanged, detail }));
        }
        progress.written = false;
    }
    progress.applied = None;
    progress.report = sanare_core::gate::GateReport::default();
    if let Some(receipt) = &mut progress.receipt {
        receipt.state = ReceiptState::Undone;
    }
    match undoing.next {
        Some(diagnosed) => Ok(Step::Diagnosed(diagnosed)),
        None => Ok(close::rolled_back(undoing.reason, undoing.detail, Vec::new())),
    }
}
