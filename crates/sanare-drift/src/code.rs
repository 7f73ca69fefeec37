//! Reading and writing Python: what a target function reads, and the text of its repair.

pub mod object_path;
pub mod object_reads;

pub(crate) mod object_eval;
pub(crate) mod object_walk;

pub(crate) mod object_field;
pub(crate) mod object_complete;
pub(crate) mod object_fit;
pub(crate) mod object_place;
pub(crate) mod object_veto;
pub(crate) mod object_view;
pub(crate) mod object_write;
