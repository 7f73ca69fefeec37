//! Hands: the user's source files and key, the sandbox and the processes that run in it, and what acts on services.
//!
//! What does not live here: SQL, Python objects, and any decision about which repair is right.

pub mod apply;
pub mod head_key;
pub mod model;
pub mod hangup;
pub mod private_file;
pub mod process;
pub mod project;
pub mod regular_file;
pub mod sandbox;
pub mod seal;
pub mod service;
pub mod source_file;
pub mod task;
pub mod trial;
#[cfg(unix)]
pub mod work_tree;
