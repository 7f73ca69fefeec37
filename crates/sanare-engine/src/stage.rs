//! The stages, one file each: each takes the step it needs and returns the next.

pub(crate) mod apply;
pub(crate) mod approve;
pub(crate) mod check;
pub(crate) mod close;
pub(crate) mod confirm;
pub(crate) mod diagnose;
pub(crate) mod gather;
pub(crate) mod judge;
pub(crate) mod prepare;
pub(crate) mod propose;
pub(crate) mod undo;
