//! The key that signs a ledger's heads: Ed25519, in a file beside the store that nobody else can read (S117).

use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Result, Write as _};
use std::path::{Path, PathBuf};

use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

use crate::private_file::write_new;

/// Bytes of a key's file that are read; PKCS #8 of Ed25519 has 85.
const MOST: u64 = 1_024;

/// A key.
pub struct HeadKey(Ed25519KeyPair);

impl HeadKey {
    /// The key in this file; `None` where there is no such file.
    ///
    /// # Errors
    /// When it cannot be read, is no key, or others may read it.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        let file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        #[cfg(unix)]
        if std::os::unix::fs::PermissionsExt::mode(&file.metadata()?.permissions()) & 0o077 != 0 {
            return Err(Error::new(ErrorKind::PermissionDenied, "others may read the key"));
        }
        let mut bytes = Vec::new();
        file.take(MOST).read_to_end(&mut bytes)?;
        Self::of(&bytes).map(Some)
    }

    /// A new key in a new file, on the disk when this returns.
    ///
    /// # Errors
    /// When there is a file already, or it cannot be written.
    pub fn make(path: &Path) -> Result<Self> {
        let none = |_| Error::other("there is no randomness");
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(none)?;
        write_new(path, document.as_ref())?;
        File::open(path)?.sync_all()?;
        Self::of(document.as_ref())
    }

    fn of(bytes: &[u8]) -> Result<Self> {
        let pair = Ed25519KeyPair::from_pkcs8(bytes);
        pair.map(Self).map_err(|_| Error::new(ErrorKind::InvalidData, "the file is no Ed25519 key"))
    }

    /// The public half, as hex digits.
    pub fn public(&self) -> String {
        hex(self.0.public_key().as_ref())
    }

    /// A signature, as hex digits.
    pub fn sign(&self, text: &str) -> String {
        hex(self.0.sign(text.as_bytes()).as_ref())
    }
}

impl std::fmt::Debug for HeadKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("HeadKey").field(&self.public()).finish()
    }
}

/// Whether this is the signature of a text by the key with this public half; both as hex digits.
pub fn is_signed(text: &str, key: &str, sign: &str) -> bool {
    let (Some(key), Some(sign)) = (bytes(key), bytes(sign)) else { return false };
    UnparsedPublicKey::new(&ED25519, key).verify(text.as_bytes(), &sign).is_ok()
}

/// Where the key of a store is.
pub fn place(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(".key");
    PathBuf::from(name)
}

/// Writes a file that others may read over the one that is there, whole or not at all.
///
/// # Errors
/// Whatever the system says; then the old one is as it was.
pub fn replace(path: &Path, text: &str) -> Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    let mut file = File::create(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&new, path)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = hex.chars().map(|digit| digit.to_digit(16)).collect::<Option<_>>()?;
    let whole = digits.len().is_multiple_of(2).then_some(digits)?;
    whole.chunks_exact(2).map(|pair| u8::try_from(pair.first()? * 16 + pair.get(1)?).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::{HeadKey, is_signed, place};
    use crate::private_file::write_new;

    #[test]
    fn a_key_is_made_once_signs_and_is_nobody_elses() -> std::io::Result<()> {
        let folder = std::env::temp_dir().join(format!("sanare-head-{}", std::process::id()));
        let path = place(&folder.join("store.db"));
        assert!(HeadKey::read(&path)?.is_none());
        let key = HeadKey::make(&path)?;
        assert!(HeadKey::make(&path).is_err(), "a key is never written over");
        let again = HeadKey::read(&path)?.map(|key| key.public());
        assert_eq!(again, Some(key.public()));
        let sign = key.sign("text");
        assert!(is_signed("text", &key.public(), &sign));
        let other = HeadKey::make(&folder.join("other"))?.public();
        for (text, public, sign) in
            [("texT", &key.public(), &sign), ("text", &other, &sign), ("text", &key.public(), &other)]
        {
            assert!(!is_signed(text, public, sign));
        }
        assert!(!is_signed("text", "", "é") && !is_signed("text", "zz", &sign));
        write_new(&folder.join("none"), b"no key")?;
        assert!(HeadKey::read(&folder.join("none")).is_err());
        #[cfg(unix)]
        {
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o640))?;
            assert!(HeadKey::read(&path).is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied));
        }
        std::fs::remove_dir_all(&folder)
    }
}
