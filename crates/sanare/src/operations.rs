//! What every front offers, one file an operation.

pub mod answer;
pub mod bench;
pub mod confirm;
pub mod capture;
pub mod diff;
pub mod doctor;
pub mod evidence;
pub mod explain;
pub mod forget;
pub mod heal;
pub mod incidents;
pub mod ledger;
pub mod migrate;
pub mod policy;
pub mod recover;
pub mod redact;
pub mod remember;
pub mod replay;
pub mod retry;
pub mod revert;
pub mod save_patch;
pub mod show;
pub mod stop;
pub mod store;
pub mod verify_ledger;
pub mod vet;
