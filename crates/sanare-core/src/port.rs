//! Ports: what the engine asks of the world, as small traits. Each has a real adapter in another room and a scripted twin
//! in [`scripted`].

pub mod clock;
pub mod keeper;
pub mod model;
pub mod proposer;
pub mod scripted;
pub mod seal;
pub mod store;
pub mod subject;
pub mod target;
pub mod verifier;

pub use clock::Clock;
pub use keeper::{Erased, Item, Keeper, Keeping, NotErased, Sort, Tidied};
pub use model::{CallFault, Incoming, ModelPort};
pub use proposer::{Ask, Proposer};
pub use seal::Seal;
pub use store::{Store, StoreFault};
pub use subject::{Ran, RanState, Subject, SubjectFault};
pub use target::{Target, TargetFault};
pub use verifier::{Verified, Verifier};
