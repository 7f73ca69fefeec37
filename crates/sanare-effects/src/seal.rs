//! A key of the user's and what it seals: ChaCha20-Poly1305 under a key that lies outside of every project.
//!
//! The cipher is ring's, which is here for TLS already. Nonces are 96 random bits: at a few hundred sealings a day one
//! repeats after longer than any key is used (RFC 8439, section 4, leaves their choice to the user).

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use sanare_core::port::{Seal, StoreFault};

use crate::private_file::write_new;

const KEY: usize = 32;

/// The key in a file, made at its first use; looked at no earlier.
pub struct UserKey {
    path: Option<PathBuf>,
    /// A folder in which the key must not lie: a copy of the project would carry it along.
    outside: Option<PathBuf>,
    keys: OnceLock<Result<Keys, String>>,
}

struct Keys {
    seal: LessSafeKey,
    mark: hmac::Key,
}

impl UserKey {
    /// The key in this file, which must lie outside of that folder. Without a path there is no key.
    pub fn new(path: Option<PathBuf>, outside: Option<&Path>) -> Self {
        Self { path, outside: outside.map(Path::to_path_buf), keys: OnceLock::new() }
    }

    fn keys(&self) -> Result<&Keys, StoreFault> {
        let keys = self.keys.get_or_init(|| {
            let path = self.path.as_deref().ok_or("this user has no folder for it")?;
            if self.outside.as_deref().is_some_and(|folder| path.starts_with(folder)) {
                return Err(format!("`{}` lies inside the project", path.display()));
            }
            let bytes = read_or_make(path).map_err(|error| format!("`{}`: {error}", path.display()))?;
            Keys::of(&bytes).ok_or_else(|| format!("`{}` is no key", path.display()))
        });
        keys.as_ref().map_err(|why| StoreFault::Sealed(why.clone()))
    }
}

impl std::fmt::Debug for UserKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserKey").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Keys {
    /// Two keys out of one, so that a mark tells nothing about what is sealed.
    fn of(bytes: &[u8]) -> Option<Self> {
        let whole = hmac::Key::new(hmac::HMAC_SHA256, bytes);
        let part = |label: &str| hmac::sign(&whole, label.as_bytes());
        let seal = UnboundKey::new(&CHACHA20_POLY1305, part("sanare seal 1").as_ref()).ok()?;
        let mark = hmac::Key::new(hmac::HMAC_SHA256, part("sanare mark 1").as_ref());
        (bytes.len() == KEY).then(|| Self { seal: LessSafeKey::new(seal), mark })
    }
}

impl Seal for UserKey {
    fn seal(&self, about: &str, plain: &[u8]) -> Result<Vec<u8>, StoreFault> {
        let keys = self.keys()?;
        let trouble = |_| StoreFault::Sealed("the system gives no random numbers".to_owned());
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(trouble)?;
        let mut body = plain.to_vec();
        let about = Aad::from(about.as_bytes());
        keys.seal.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), about, &mut body).map_err(trouble)?;
        Ok([nonce.as_slice(), &body].concat())
    }

    fn open(&self, about: &str, sealed: &[u8]) -> Result<Vec<u8>, StoreFault> {
        let keys = self.keys()?;
        let other = || StoreFault::Sealed("it was sealed with another key, or altered since".to_owned());
        let (nonce, body) = sealed.split_at_checked(NONCE_LEN).ok_or_else(other)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| other())?;
        let mut body = body.to_vec();
        let plain = keys.seal.open_in_place(nonce, Aad::from(about.as_bytes()), &mut body).map_err(|_| other())?;
        Ok(plain.to_vec())
    }

    fn mark(&self, about: &str, plain: &[u8]) -> Result<String, StoreFault> {
        let mut context = hmac::Context::with_key(&self.keys()?.mark);
        context.update(&(about.len() as u64).to_be_bytes());
        context.update(about.as_bytes());
        context.update(plain);
        Ok(context.sign().as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// A key's bytes, made by the system's chance where there is none yet. Of two processes that make it at once the second reads
/// what the first made.
///
/// # Errors
/// Whatever the system says.
pub fn read_or_make(path: &Path) -> std::io::Result<Vec<u8>> {
    match read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        other => return other,
    }
    let mut bytes = [0; KEY];
    SystemRandom::new().fill(&mut bytes).map_err(|_| std::io::Error::other("the system gives no random numbers"))?;
    let folder = path.parent().unwrap_or(path);
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)?;
    // Whole or not at all under its name: a link takes the place only if nothing is there.
    let new = folder.join(format!(".key-{}-{}", std::process::id(), hex(&bytes[..8])));
    write_new(&new, &bytes)?;
    let placed = std::fs::hard_link(&new, path);
    let removed = std::fs::remove_file(&new);
    match placed {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => removed.and_then(|()| read(path)),
    }
}

fn hex(bytes: &[u8]) -> String {
    // The first bytes of a key are no name for a file: only their digest may be seen.
    ring::digest::digest(&ring::digest::SHA256, bytes)
        .as_ref()
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A key that others may read or write is none.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        if std::fs::metadata(path)?.mode() & 0o077 != 0 {
            return Err(std::io::Error::other("other users may read it"));
        }
    }
    std::fs::read(path)
}

#[cfg(test)]
mod tests {
    use sanare_core::port::{Seal as _, StoreFault};

    use super::UserKey;

    fn folder(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("sanare-seal-{name}-{}", std::process::id()))
    }

    #[test]
    fn what_is_sealed_opens_under_its_key_and_name_alone() {
        let home = folder("one");
        let key = UserKey::new(Some(home.join("key")), Some(&home.join("project")));
        let sealed = key.seal("a", b"4111 secret").unwrap();
        assert!(!sealed.windows(6).any(|part| part == b"secret"));
        assert_ne!(sealed, key.seal("a", b"4111 secret").unwrap());
        // Another process of the same user.
        let again = UserKey::new(Some(home.join("key")), None);
        assert_eq!(again.open("a", &sealed).unwrap(), b"4111 secret");
        assert_eq!(again.mark("a", b"x").unwrap(), key.mark("a", b"x").unwrap());
        assert_ne!(again.mark("a", b"x").unwrap(), key.mark("b", b"x").unwrap());
        assert!(again.open("b", &sealed).is_err());
        for place in 0..sealed.len() {
            let mut altered = sealed.clone();
            altered[place] ^= 1;
            assert!(again.open("a", &altered).is_err(), "{place}");
        }
        let other = UserKey::new(Some(home.join("other")), None);
        assert!(matches!(other.open("a", &sealed), Err(StoreFault::Sealed(_))));
        std::fs::remove_dir_all(&home).unwrap();
    }

    #[test]
    fn without_a_good_key_nothing_is_sealed() {
        let home = folder("two");
        std::fs::create_dir_all(&home).unwrap();
        let inside = UserKey::new(Some(home.join("key")), Some(&home));
        assert!(matches!(inside.seal("a", b"x"), Err(StoreFault::Sealed(_))));
        assert!(matches!(UserKey::new(None, None).seal("a", b"x"), Err(StoreFault::Sealed(_))));
        crate::private_file::write_new(&home.join("short"), b"short").unwrap();
        assert!(UserKey::new(Some(home.join("short")), None).seal("a", b"x").is_err());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let key = UserKey::new(Some(home.join("open")), None);
            key.seal("a", b"x").unwrap();
            std::fs::set_permissions(home.join("open"), std::fs::Permissions::from_mode(0o644)).unwrap();
            assert!(UserKey::new(Some(home.join("open")), None).seal("a", b"x").is_err());
        }
        std::fs::remove_dir_all(&home).unwrap();
    }
}
