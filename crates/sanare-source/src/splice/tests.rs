//! Splicing: what moves and what does not.
