//! The stages, one a file, in running order.

pub(crate) mod gather;
pub(crate) mod diagnose;
pub(crate) mod propose;
pub(crate) mod judge;
pub(crate) mod check;
pub(crate) mod examine;
pub(crate) mod approve;
pub(crate) mod wait;
pub(crate) mod prepare;
pub(crate) mod act;
pub(crate) mod follow;
pub(crate) mod verify;
pub(crate) mod undo;
pub(crate) mod tell;
