//! The hands against a real system: files, processes, the kernel.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, clippy::disallowed_methods)]

mod apply;
mod crash;
mod folder;
mod once;
mod project;
#[cfg(target_os = "linux")]
mod refused;
mod task;
#[cfg(target_os = "linux")]
mod commands;
#[cfg(target_os = "linux")]
mod trial;
