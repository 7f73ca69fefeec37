//! Approved to prepared: the world is looked at once more, then the receipt is made durable before the act.

use sanare_core::approval::Approved;
use sanare_core::incident::Write;
use sanare_core::outcome::Reason;
use sanare_core::receipt::ReceiptState;
use sanare_core::step::{Checked, Prepared, Step};

use crate::run::{Case, Fault, Progress, World};
use crate::stage::{approve, close, judge};

/// How often a candidate is placed anew because another part of the file changed meanwhile.
const REPLACED: u32 = 5;

/// Checks the approval's binding again and writes the receipt (with this step's record).
pub(crate) fn prepare(
    approved: Approved<Checked>,
    case: &Case<'_>,
    world: &mut World<'_>,
    progress: &mut Progress,
) -> Result<Step, Fault> {
    let declined = approved.inner().proposed.diagnosed.declined.clone();
    if world.target.stopped() {
        return Ok(close::refused(Reason::Policy, "the stop switch is set".to_owned(), declined));
    }
    let in_file = case.incident.rules.write == Write::File;
    if in_file && world.target.digest_now().as_ref() != Some(&approved.inner().binding.before) {
        return Ok(place_anew(approved.inner(), case, world, progress));
    }
    if !progress.paid
        && let Some(name) = world.store.spend(case.budgets, world.clock.now())?
    {
        return Ok(close::refused(Reason::BudgetSpent, format!("the budget `{name}` is spent"), declined));
    }
    progress.paid = true;
    if !in_file {
        return Ok(Step::Prepared(Prepared { approved }));
    }
    progress.receipt = approve::receipt(approved.inner(), case, world, ReceiptState::Open);
    Ok(match progress.receipt {
        Some(_) => Step::Prepared(Prepared { approved }),
        None => {
            close::refused(Reason::SourceChanged, "the repair does not fit into the file any more".to_owned(), declined)
        }
    })
}

/// The file is another one now. Where the function is as it was (another function of the file was repaired or taken
/// back meanwhile), the candidate goes through the gates again on the file of today; else this is the end.
pub(crate) fn place_anew(checked: &Checked, case: &Case<'_>, world: &mut World<'_>, progress: &mut Progress) -> Step {
    let proposed = checked.proposed.clone();
    progress.replaced += 1;
    if progress.replaced <= REPLACED && world.target.moved_on() {
        return judge::judge(proposed, case, world);
    }
    let detail = "the file changed while the repair was made".to_owned();
    close::refused(Reason::SourceChanged, detail, proposed.diagnosed.declined)
}
