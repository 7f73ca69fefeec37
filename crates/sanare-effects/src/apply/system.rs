//! The few questions to the system that the standard library does not ask.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// What the system says about writing to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Granted,
    Denied,
    ReadOnlyFileSystem,
}

/// Whom new files belong to.
pub(super) struct Identity {
    pub(super) user: u32,
    pub(super) groups: Vec<u32>,
}

#[expect(unsafe_code, reason = "faccessat has no safe counterpart in the standard library")]
pub(super) fn may_write(path: &Path) -> Access {
    let Ok(name) = CString::new(path.as_os_str().as_bytes()) else { return Access::Denied };
    // SAFETY: `name` is a NUL-terminated string that outlives the call.
    let answer = unsafe { libc::faccessat(libc::AT_FDCWD, name.as_ptr(), libc::W_OK, libc::AT_EACCESS) };
    if answer == 0 {
        return Access::Granted;
    }
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::EROFS) => Access::ReadOnlyFileSystem,
        Some(libc::ETXTBSY) => Access::Granted,
        _ => Access::Denied,
    }
}

#[expect(unsafe_code, reason = "user and group ids have no safe counterpart in the standard library")]
pub(super) fn identity() -> Identity {
    // SAFETY: these calls take no pointers and cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    let mut groups = vec![0; 1024];
    // SAFETY: the buffer holds as many entries as the call is told.
    let count = unsafe { libc::getgroups(1024, groups.as_mut_ptr()) };
    groups.truncate(usize::try_from(count).unwrap_or_default());
    groups.push(group);
    Identity { user, groups }
}

/// True when this file system or system cannot swap two names.
pub(super) fn cannot_exchange(fault: &std::io::Error) -> bool {
    fault.kind() == std::io::ErrorKind::Unsupported
        || matches!(fault.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS | libc::ENOTSUP))
}

/// True when this process or the system has too many files open.
pub(super) fn system_limit(fault: &std::io::Error) -> bool {
    matches!(fault.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

#[cfg(target_os = "linux")]
pub(super) use linux::{copy_attributes, drop_other_attributes, exchange, is_immutable, is_mount_point, is_network};

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::{CStr, CString};
    use std::fs::File;
    use std::os::fd::AsRawFd as _;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::Path;

    /// Swaps two names in one step, so that what was there can still be looked at, and put back.
    #[expect(unsafe_code, reason = "renameat2 has no safe counterpart in the standard library")]
    pub(in crate::apply) fn exchange(one: &Path, two: &Path) -> std::io::Result<()> {
        let (one, two) = (CString::new(one.as_os_str().as_bytes())?, CString::new(two.as_os_str().as_bytes())?);
        // SAFETY: both names are NUL-terminated strings that outlive the call.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_renameat2,
                libc::AT_FDCWD,
                one.as_ptr(),
                libc::AT_FDCWD,
                two.as_ptr(),
                libc::RENAME_EXCHANGE,
            )
        };
        if answer == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    }

    /// True for a file or folder marked immutable or append-only.
    #[expect(unsafe_code, reason = "ioctl has no safe counterpart in the standard library")]
    pub(in crate::apply) fn is_immutable(path: &Path) -> bool {
        const IMMUTABLE: libc::c_long = 0x10;
        const APPEND_ONLY: libc::c_long = 0x20;
        let Ok(file) = File::open(path) else { return false };
        let mut flags: libc::c_long = 0;
        // SAFETY: the request writes at most a long to the address of one.
        let answer = unsafe { libc::ioctl(file.as_raw_fd(), libc::FS_IOC_GETFLAGS, &raw mut flags) };
        answer == 0 && flags & (IMMUTABLE | APPEND_ONLY) != 0
    }

    /// True when the file is mounted over its name (a file given to a container, say).
    pub(in crate::apply) fn is_mount_point(path: &Path, folder: &Path) -> bool {
        matches!((mount_of(path), mount_of(folder)), (Some(one), Some(other)) if one != other)
    }

    #[expect(unsafe_code, reason = "statx has no safe counterpart in the standard library")]
    fn mount_of(path: &Path) -> Option<u64> {
        let name = CString::new(path.as_os_str().as_bytes()).ok()?;
        // SAFETY: all-zero bytes are a valid statx.
        let mut found: libc::statx = unsafe { std::mem::zeroed() };
        // SAFETY: the name is NUL-terminated and the answer is written to a whole statx.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_statx,
                libc::AT_FDCWD,
                name.as_ptr(),
                libc::AT_SYMLINK_NOFOLLOW,
                libc::STATX_MNT_ID,
                &raw mut found,
            )
        };
        (answer == 0 && found.stx_mask & libc::STATX_MNT_ID != 0).then_some(found.stx_mnt_id)
    }

    /// True for file systems that another machine may write at the same time.
    #[expect(unsafe_code, reason = "statfs has no safe counterpart in the standard library")]
    pub(in crate::apply) fn is_network(folder: &File) -> bool {
        const SHARED: [i64; 8] =
            [0x6969, 0xFF53_4D42, 0xFE53_4D42, 0x517B, 0x6573_5546, 0x0102_1997, 0x00C3_6400, 0x5346_414F];
        // SAFETY: all-zero bytes are a valid statfs.
        let mut found: libc::statfs = unsafe { std::mem::zeroed() };
        // SAFETY: the descriptor is open and the answer is written to a whole statfs.
        let answer = unsafe { libc::fstatfs(folder.as_raw_fd(), &raw mut found) };
        answer != 0 || SHARED.contains(&(found.f_type as i64 & 0xFFFF_FFFF))
    }

    /// Copies extended attributes (access lists among them); the error names the one that could not be kept.
    pub(in crate::apply) fn copy_attributes(from: &File, to: &File) -> Result<(), (String, std::io::Error)> {
        for name in attribute_names(from)? {
            // Measurements of the old content: the system makes new ones.
            if matches!(name.to_bytes(), b"security.ima" | b"security.evm") {
                continue;
            }
            let keep = || {
                let wanted = attribute(from, &name)?;
                if attribute(to, &name).is_ok_and(|found| found == wanted) {
                    Ok(())
                } else {
                    set_attribute(to, &name, &wanted)
                }
            };
            keep().map_err(|fault| named(&name, fault))?;
        }
        Ok(())
    }

    /// Removes what a new file got from its folder and the old file does not have (an inherited access list, say).
    pub(in crate::apply) fn drop_other_attributes(old: &File, new: &File) -> Result<(), (String, std::io::Error)> {
        let wanted = attribute_names(old)?;
        for name in attribute_names(new)? {
            // Labels under `security.` are the system's to give.
            if !wanted.contains(&name) && !name.to_bytes().starts_with(b"security.") {
                remove_attribute(new, &name).map_err(|fault| named(&name, fault))?;
            }
        }
        Ok(())
    }

    fn named(name: &CStr, fault: std::io::Error) -> (String, std::io::Error) {
        (name.to_string_lossy().into_owned(), fault)
    }

    #[expect(unsafe_code, reason = "extended attributes have no safe counterpart in the standard library")]
    fn attribute_names(file: &File) -> Result<Vec<CString>, (String, std::io::Error)> {
        // SAFETY: the buffer is as long as the call is told.
        let names =
            grow(|buffer| unsafe { libc::flistxattr(file.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) });
        match names {
            Ok(names) => {
                let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
                Ok(names.filter_map(|name| CString::new(name).ok()).collect())
            }
            Err(fault) if matches!(fault.raw_os_error(), Some(libc::ENOTSUP | libc::ENOSYS)) => Ok(Vec::new()),
            Err(fault) => Err(("list of attributes".to_owned(), fault)),
        }
    }

    #[expect(unsafe_code, reason = "extended attributes have no safe counterpart in the standard library")]
    fn attribute(file: &File, name: &CStr) -> std::io::Result<Vec<u8>> {
        // SAFETY: the name is NUL-terminated and the buffer as long as the call is told.
        grow(|buffer| unsafe {
            libc::fgetxattr(file.as_raw_fd(), name.as_ptr(), buffer.as_mut_ptr().cast(), buffer.len())
        })
    }

    #[expect(unsafe_code, reason = "extended attributes have no safe counterpart in the standard library")]
    fn set_attribute(file: &File, name: &CStr, value: &[u8]) -> std::io::Result<()> {
        // SAFETY: the name is NUL-terminated and the value as long as the call is told.
        let answer = unsafe { libc::fsetxattr(file.as_raw_fd(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) };
        if answer == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    }

    #[expect(unsafe_code, reason = "extended attributes have no safe counterpart in the standard library")]
    fn remove_attribute(file: &File, name: &CStr) -> std::io::Result<()> {
        // SAFETY: the name is NUL-terminated.
        let answer = unsafe { libc::fremovexattr(file.as_raw_fd(), name.as_ptr()) };
        if answer == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    }

    fn grow(read: impl Fn(&mut [u8]) -> isize) -> std::io::Result<Vec<u8>> {
        // The system keeps neither names nor values beyond 64 KiB.
        let mut buffer = vec![0; 64 * 1024];
        let length = read(&mut buffer);
        if length < 0 {
            return Err(std::io::Error::last_os_error());
        }
        buffer.truncate(usize::try_from(length).unwrap_or_default());
        Ok(buffer)
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) use elsewhere::{
    copy_attributes, drop_other_attributes, exchange, is_immutable, is_mount_point, is_network,
};

/// What other systems answer: nothing is known, and the plain rename is used.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::fs::File;
    use std::path::Path;

    pub(in crate::apply) fn exchange(_: &Path, _: &Path) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    pub(in crate::apply) fn is_immutable(_: &Path) -> bool {
        false
    }

    pub(in crate::apply) fn is_mount_point(_: &Path, _: &Path) -> bool {
        false
    }

    pub(in crate::apply) fn is_network(_: &File) -> bool {
        true
    }

    pub(in crate::apply) fn copy_attributes(_: &File, _: &File) -> Result<(), (String, std::io::Error)> {
        Ok(())
    }

    pub(in crate::apply) fn drop_other_attributes(_: &File, _: &File) -> Result<(), (String, std::io::Error)> {
        Ok(())
    }
}
