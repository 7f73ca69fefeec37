//! Compiled caches of the old text.
//!
//! Python trusts a cache when it names the source's size and the second of its last change. So the new file's time of
//! change is made at least one second later than the old one's, before the new file becomes visible: then no cache of
//! the old text fits, wherever it lies and even if another process is writing it just now. Removing the cache instead
//! would leave both of these holes, so only caches that Python never checks against the source are removed.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The time of change for a new file: now, but at least a whole second after the old file's.
pub(super) fn time_of_change(old: SystemTime, now: SystemTime) -> SystemTime {
    let next_second = whole_second(old) + Duration::from_secs(1);
    now.max(next_second)
}

fn whole_second(time: SystemTime) -> SystemTime {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_secs(since.as_secs())
}

/// Removes caches of this source that are never checked; the answer names those that could not be removed.
pub(super) fn remove_unchecked(source: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(stem)) = (source.parent(), source.file_stem().and_then(|stem| stem.to_str())) else {
        return Vec::new();
    };
    let Ok(entries) = std::fs::read_dir(folder.join("__pycache__")) else { return Vec::new() };
    let mut stale = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let belongs = name.strip_prefix(stem).is_some_and(|rest| rest.starts_with('.') && rest.ends_with(".pyc"));
        if belongs && is_unchecked(&path) && std::fs::remove_file(&path).is_err() {
            stale.push(path);
        }
    }
    stale
}

/// Bytes 4 to 8 hold flags: 1 for "by hash", 2 for "compare the hash with the source".
fn is_unchecked(cache: &Path) -> bool {
    use std::io::Read as _;
    let mut head = [0; 8];
    let read = std::fs::File::open(cache).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head.get(4..) == Some(&[1, 0, 0, 0])
}

#[cfg(test)]
mod tests {
    use super::time_of_change;
    use std::time::{Duration, SystemTime};

    #[test]
    fn always_a_later_second() {
        let at = |millis| SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
        assert_eq!(time_of_change(at(5_200), at(9_700)), at(9_700));
        assert_eq!(time_of_change(at(5_200), at(5_700)), at(6_000));
        assert_eq!(time_of_change(at(5_200), at(6_000)), at(6_000));
        assert_eq!(time_of_change(at(8_000), at(5_700)), at(9_000), "a clock that went back");
    }
}
