//! Reading and writing Python: what a target function reads, and the text of its repair.

pub mod object_path;
pub mod object_reads;

pub(crate) mod object_eval;
pub(crate) mod object_walk;
