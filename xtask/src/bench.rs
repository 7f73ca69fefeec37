//! `cargo xtask bench`.
use crate::workshop::Workshop;
pub fn run(_workshop: &Workshop, _arguments: &[String]) -> anyhow::Result<bool> {
    anyhow::bail!("not yet")
}
