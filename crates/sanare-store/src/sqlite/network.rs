//! File systems of a network, on which SQLite's locks and its shared log do not hold between machines (S121).

use std::path::Path;

use sanare_core::port::StoreFault;

/// Their names as Linux lists them in `mountinfo`, with and without `fuse.` before. One that is not named here is not recognised;
/// `9p`, `virtiofs`, `overlay` and `fuse` alone are what a container or a virtual machine has of its own host's disk.
const NAMES: [&str; 29] = [
    "afs",
    "beegfs",
    "blobfuse",
    "blobfuse2",
    "ceph",
    "cifs",
    "coda",
    "curlftpfs",
    "davfs",
    "davfs2",
    "gcsfuse",
    "glusterfs",
    "gvfsd-fuse",
    "juicefs",
    "lustre",
    "ncp",
    "ncpfs",
    "nfs",
    "nfs4",
    "orangefs",
    "pvfs2",
    "rclone",
    "s3fs",
    "smb2",
    "smb3",
    "smbfs",
    "smbnetfs",
    "sshfs",
    "weka",
];

/// Refuses a place on a file system that is recognised as one of a network; elsewhere than on Linux none is.
///
/// # Errors
/// [`StoreFault::Unusable`], before anything is made or opened there.
pub(super) fn refuse(path: &Path) -> Result<(), StoreFault> {
    let Some(mounts) = mounts() else { return Ok(()) };
    // What is not there yet will be on the file system of the nearest folder that is.
    let Ok(whole) = std::path::absolute(path) else { return Ok(()) };
    let Some(there) = whole.ancestors().find_map(|place| place.canonicalize().ok()) else { return Ok(()) };
    match of_network(&mounts, &there) {
        Some(name) => Err(StoreFault::Unusable(format!(
            "{}: it is on the network file system `{name}`, where locks do not hold: name a local file in `store.path`",
            path.display()
        ))),
        None => Ok(()),
    }
}

#[cfg(not(test))]
fn mounts() -> Option<String> {
    std::fs::read_to_string("/proc/self/mountinfo").ok()
}

#[cfg(test)]
fn mounts() -> Option<String> {
    tests::MOUNTED.with_borrow(|mounts| Some(mounts.clone()))
}

/// The name of a network's file system that a place without links is on, as the lines of `mountinfo` say (proc(5): the
/// fifth field is where it is mounted, the first after ` - ` its type); of several on one place the last counts.
fn of_network(mounts: &str, place: &Path) -> Option<String> {
    let mounted = mounts.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let (at, name) = (before.split(' ').nth(4)?, after.split(' ').next()?);
        let at = at.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\");
        place.starts_with(&at).then(|| (Path::new(&at).components().count(), name))
    });
    let (_, name) = mounted.max_by_key(|(depth, _)| *depth)?;
    NAMES.contains(&name.strip_prefix("fuse.").unwrap_or(name)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::path::Path;

    use sanare_core::port::StoreFault;

    use super::of_network;
    use crate::Sqlite;

    thread_local! {
        /// What is mounted, as this thread sees it.
        pub(super) static MOUNTED: RefCell<String> = const { RefCell::new(String::new()) };
    }

    #[test]
    fn a_store_is_neither_made_nor_opened_there() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().canonicalize().unwrap();
        let mount = |kind: &str| {
            let line = format!(
                "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 21 0:40 / {} rw - {kind} far:/x rw\n",
                place.display()
            );
            MOUNTED.set(line);
        };
        let path = place.join("deep/.sanare/store.db");
        for kind in ["nfs4", "cifs", "ceph", "glusterfs", "lustre", "fuse.sshfs", "fuse.glusterfs", "smb3"] {
            mount(kind);
            match Sqlite::open(&path) {
                Err(StoreFault::Unusable(why)) => assert!(why.contains(kind) && why.contains("store.path"), "{why}"),
                other => panic!("{kind}: {other:?}"),
            }
            assert!(!place.join("deep").exists(), "{kind}");
        }
        for kind in ["ext4", "9p", "virtiofs", "overlay", "tmpfs", "fuse", "fuse.fuse-overlayfs", "fuseblk"] {
            mount(kind);
            let own = place.join(kind).join("store.db");
            assert!(Sqlite::open(&own).is_ok(), "{kind}");
        }
        // One that was made before it was mounted so is not opened either.
        mount("ext4");
        drop(Sqlite::open(&path).unwrap());
        mount("nfs");
        assert!(matches!(Sqlite::open_existing(&path), Err(StoreFault::Unusable(_))));
    }

    const MOUNTS: &str = "\
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 21 0:40 / /home rw - nfs4 server:/home rw
31 30 8:2 / /home/ann/local rw - xfs /dev/sdb rw
32 21 0:41 / /mnt/a\\040share rw shared:3 - cifs //server/share rw
33 21 0:42 / /over rw - nfs server:/over rw
34 33 0:43 / /over rw - tmpfs tmpfs rw
35 21 0:44 / /far rw - fuse.sshfs ann@far: rw
";

    #[test]
    fn the_innermost_and_last_mount_tells() {
        let told = |place: &str| of_network(MOUNTS, Path::new(place));
        for (place, expected) in [
            ("/srv/store.db", None),
            ("/home/ann/.sanare", Some("nfs4")),
            ("/home/ann/local/.sanare", None),
            ("/homes/ann", None),
            ("/mnt/a share/x", Some("cifs")),
            ("/over/x", None),
            ("/far", Some("fuse.sshfs")),
        ] {
            assert_eq!(told(place).as_deref(), expected, "{place}");
        }
        assert_eq!(of_network("no such lines\n", Path::new("/")), None);
    }
}
