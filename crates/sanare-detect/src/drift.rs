//! Drift: sketches of data against a reference, column by column, and when that is an incident (S43, S44).

pub mod statistics;
pub mod unit;
pub mod reference;
pub mod compare;
pub mod judge;
pub mod schema;
