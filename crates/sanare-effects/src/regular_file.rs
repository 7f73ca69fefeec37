//! Reading files: regular ones alone. Opening a pipe, or reading a terminal or an endless device, would hold up the program
//! for as long as nobody writes; whatever stands under a name now was not there when the name was learnt.

use std::fs::File;
use std::io::{Error, ErrorKind, Read as _};
use std::path::Path;

/// Opens a regular file, links followed.
///
/// # Errors
/// Whatever the system says; `InvalidInput` for what is no regular file.
pub fn open(path: &Path) -> std::io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    // A pipe without a writer opens at once, and is then seen to be one.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(Error::new(ErrorKind::InvalidInput, "it is no regular file")),
    }
}

/// The bytes of a regular file.
///
/// # Errors
/// As [`open`].
pub fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a regular file.
///
/// # Errors
/// As [`open`]; `InvalidData` for what is no UTF-8.
pub fn read_to_string(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[cfg(unix)]
    #[test]
    #[expect(unsafe_code, reason = "mkfifo has no counterpart in the standard library")]
    fn pipes_folders_and_devices_are_refused_at_once() {
        let folder = std::env::temp_dir().join(format!("sanare-regular-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let pipe = folder.join("pipe");
        let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
        // SAFETY: the name is a string that ends, and lives until the call returns.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        for path in [pipe.as_path(), &folder, Path::new("/dev/zero")] {
            assert!(super::read(path).is_err(), "{}", path.display());
        }
        crate::private_file::write_new(&folder.join("text"), b"abc").unwrap();
        assert_eq!(super::read_to_string(&folder.join("text")).unwrap(), "abc");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
