//! Python source as a value: parse it, find a function, splice bytes, and judge a candidate without running it.
//!
//! The only room that knows the parser (ruff's crates, pinned exactly). What does not live here: reading files, running
//! code, deciding which repair is right.

pub mod edit;
pub mod parse;

pub use ruff_python_ast as ast;
pub use ruff_text_size as size;
