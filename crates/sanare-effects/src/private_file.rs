//! Files that are the owner's alone: made once, never over another.

use std::io::Write as _;
use std::path::Path;

/// Writes a file that must not be there yet, readable by the owner alone, and makes its folder if need be.
///
/// # Errors
/// Whatever the system says; a half-written file is taken away again.
pub fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    let written = file.write_all(bytes);
    if written.is_err() {
        let _ = std::fs::remove_file(path);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::write_new;

    #[test]
    fn it_is_made_once() -> std::io::Result<()> {
        let folder = std::env::temp_dir().join(format!("sanare-private-{}", std::process::id()));
        let path = folder.join("deep").join("a.json");
        write_new(&path, b"one")?;
        assert!(write_new(&path, b"two").is_err());
        assert_eq!(std::fs::read(&path)?, b"one");
        std::fs::remove_dir_all(&folder)?;
        Ok(())
    }
}
