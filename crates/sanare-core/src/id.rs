//! Time-ordered ids: a kind, then a ULID (26 characters of Crockford base 32; 48 bits of time, 80 of chance).
//!
//! Source of the form: the ULID specification. Time and chance come from the caller, since core has neither.

use serde::{Deserialize, Serialize};

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// An id such as `inc_01JDX…`: unique, and sorted by the time it was made.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Id(String);

impl Id {
    /// Makes an id of `kind` (`inc`, `cap`, `pat`, `rec`) from milliseconds since 1970 and 80 bits of chance.
    pub fn new(kind: &str, millis: u64, chance: u128) -> Self {
        let bits = (u128::from(millis & 0xFFFF_FFFF_FFFF) << 80) | (chance & ((1 << 80) - 1));
        let mut text = String::with_capacity(kind.len() + 27);
        text.push_str(kind);
        text.push('_');
        for place in (0..26).rev() {
            let five = usize::try_from((bits >> (place * 5)) & 31).unwrap_or(0);
            text.push(char::from(ALPHABET.get(five).copied().unwrap_or(b'0')));
        }
        Self(text)
    }

    /// Takes an id that was written before; its form is not judged.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Id;

    #[test]
    fn ids_sort_by_time_and_keep_their_length() {
        let early = Id::new("inc", 1, u128::MAX);
        let late = Id::new("inc", 2, 0);
        assert!(early < late);
        assert_eq!(late.as_str().len(), 30);
    }
}
