//! The offline repair engine: what worked before against what failed now, and the smallest edit that serves both.
//!
//! What does not live here: reading files, running code, deciding whether a repair is applied. Same input, same output.

pub mod problem;
pub mod profile;
pub mod shape;

pub mod date;
pub mod lexicon;
pub mod lockfile;
pub mod matching;
pub mod names;
pub mod number;
pub mod values;

pub mod code;
pub mod engine;
pub mod kind;
pub mod library;
pub mod object_shape;
pub mod table;
pub mod twin;
