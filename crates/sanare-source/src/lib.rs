//! Python source as a value: parse it, find a function, splice bytes, and judge a candidate without running it.
//!
//! The only room that knows the parser (ruff's crates, pinned exactly). What does not live here: reading files, running
//! code, deciding which repair is right.

mod candidate;
mod check;
mod code;
mod constant;
pub mod edit;
mod flow;
mod lens;
mod lists;
pub mod literal;
mod module;
pub mod parse;
mod reach;
pub mod rename;
mod same;
mod script;
mod splice;
mod vet;

pub use candidate::flatten;
pub use ruff_python_ast as ast;
pub use ruff_text_size as size;
pub use same::same_code;
pub use splice::{SpliceError, Spliced, splice};
pub use vet::{SeenLiteral, VetContext, vet, vet_all};
