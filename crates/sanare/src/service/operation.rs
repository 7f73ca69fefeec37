//! What every door offers of service healing, one file an operation.

mod approvals;
mod check;
mod detect;
mod explain;
mod incidents;
mod intake;
mod mark_good;
mod model_history;
mod observe;
mod people;
mod registry_history;
mod reload;
mod report;
mod silence;
mod simulate;
mod stop;
mod targets;
mod undelivered;
mod verify_ledger;

pub use approvals::{Asked, NotAnswered};
pub use check::{Checked, checked};
pub use detect::{Detected, NotReplayed, WouldOpen};
pub use explain::word;
pub use incidents::NotFound;
pub use mark_good::NotMarked;
pub use observe::NotObserved;
pub use people::NotByPerson;
pub use registry_history::Told;
pub(super) use registry_history::write_down;
pub(super) use reload::Watched;
pub use reload::{Changed, NotReloaded};
pub use silence::{Hushed, NotLifted, NotSilenced};
pub use simulate::{NotSimulated, Simulated, simulate};
pub use stop::NotStarted;
pub use targets::Target;
pub use undelivered::Undelivered;
