//! The fence round files, made by the parent as one descriptor: read these paths, write that folder, nothing else.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, Scope,
};

/// The kernel's version of Landlock; 0 without.
#[expect(unsafe_code, reason = "the version has no safe counterpart in the standard library")]
pub(super) fn abi() -> u32 {
    const VERSION: u32 = 1;
    // SAFETY: with this flag the call reads nothing.
    let answer = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION) };
    u32::try_from(answer).unwrap_or_default()
}

/// Makes the fence; everything that this kernel can fence is asked for, and no silent weakening is accepted.
/// `commands`: what may be read may be run too, and with `network` connections are left free.
pub(super) fn fence(
    abi: u32,
    read: &[PathBuf],
    write: &Path,
    commands: bool,
    network: bool,
) -> Result<Option<OwnedFd>, RulesetError> {
    let abi = ABI::from(i32::try_from(abi).unwrap_or_default()).min(ABI::V7);
    let mut ruleset =
        Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(AccessFs::from_all(abi))?;
    if abi >= ABI::V4 && !network {
        ruleset = ruleset.handle_access(AccessNet::from_all(abi))?;
    }
    if abi >= ABI::V6 {
        ruleset = ruleset.scope(if network { Scope::Signal.into() } else { Scope::from_all(abi) })?;
    }
    let run = if commands { AccessFs::Execute.into() } else { landlock::BitFlags::EMPTY };
    let mut fence = ruleset.create()?;
    for path in read {
        // What went away since it was listed cannot be read anyway.
        let Ok(opened) = PathFd::new(path) else { continue };
        let access = if path.is_dir() { AccessFs::ReadFile | AccessFs::ReadDir } else { AccessFs::ReadFile.into() };
        fence = fence.add_rule(PathBeneath::new(opened, access | run))?;
    }
    if let Ok(null) = PathFd::new("/dev/null") {
        fence = fence.add_rule(PathBeneath::new(null, (AccessFs::from_file(abi)) & !AccessFs::Execute))?;
    }
    if let Ok(folder) = PathFd::new(write) {
        let devices = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::MakeSock | AccessFs::Execute;
        fence = fence.add_rule(PathBeneath::new(folder, (AccessFs::from_all(abi) & !devices) | run))?;
    }
    Ok(fence.into())
}
