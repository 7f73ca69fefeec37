//! Heads of the ledger: signed, compared with those that were kept elsewhere, and the key that signs them (S117).

use std::io::Error;
use std::path::Path;

use sanare_core::id::Id;
use sanare_core::ledger::{ChainHead, Entry, Heads, SYSTEM};
use sanare_core::port::{Clock, Keeper, Store, StoreFault};
use sanare_core::redact::Redactor;
use sanare_core::service::Text;
use sanare_effects::head_key::{HeadKey, is_signed, place};
use serde_json::{Value as Json, json};

use crate::wire::person;

/// Records that name keys of the store.
const MADE: &str = "key_made";
const ROTATED: &str = "key_rotated";
/// Records that are read at once.
const TOGETHER: usize = 1_000;

/// Why nothing is signed.
#[derive(Debug, thiserror::Error)]
pub enum NotSigned {
    /// The key cannot be used.
    #[error("the key of the ledger's heads: {0}")]
    Key(#[from] Error),
    /// A reason is needed.
    #[error("a reason is needed")]
    NoReason,
    /// The store has no ledger that is looked after.
    #[error("this store has no heads")]
    NoKeeper,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

/// Why a ledger is not the one that heads tell of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Differs {
    /// It is not signed by whoever it names.
    #[error("the signature does not fit: it was changed, or is of another key")]
    Signature,
    /// The key is another than the one that was asked for.
    #[error("it is signed with another key than the one given")]
    OtherKey,
    /// This store never had that key.
    #[error("it is signed with a key that this store never had")]
    UnknownKey,
    /// Another store's.
    #[error("it is a head of another store")]
    OtherStore,
    /// Records are gone.
    #[error(
        "records of the chain `{chain}` are gone from record {from} on: the head is record {had}, and the chain ends before it"
    )]
    Cut {
        /// The chain.
        chain: String,
        /// The first that is gone.
        from: u64,
        /// The newest that there was.
        had: u64,
    },
    /// The chain is another.
    #[error("record {place} of the chain `{chain}` is another than the one in the head: the chain was made anew")]
    Other {
        /// The chain.
        chain: String,
        /// The record.
        place: u64,
    },
}

/// What a head that a ledger still has does not vouch for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Holds {
    /// When the head was signed, in milliseconds since 1970.
    pub at: u64,
    /// Records that are newer than it.
    pub newer: u64,
}

/// The heads of all chains now, signed with the store's key, which is made at its first use.
///
/// # Errors
/// [`NotSigned`].
pub fn sign(store: &dyn Store, path: &Path, clock: &dyn Clock) -> Result<Heads, NotSigned> {
    let keeper = store.keeper().ok_or(NotSigned::NoKeeper)?;
    let key = key(store, path, clock)?;
    let mut heads = Heads::new(keeper.store_id()?, clock.now(), keeper.heads()?, key.public());
    heads.sign = key.sign(&heads.text());
    Ok(heads)
}

/// The store's key. One that was made and not yet told of is told of now.
fn key(store: &dyn Store, path: &Path, clock: &dyn Clock) -> Result<HeadKey, NotSigned> {
    let path = place(path);
    finish_rotation(store, &path)?;
    let key = match HeadKey::read(&path)? {
        Some(key) => key,
        None => match HeadKey::make(&path) {
            // Another process was faster.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                HeadKey::read(&path)?.ok_or_else(|| Error::other("the key went away"))?
            }
            other => other?,
        },
    };
    if !keys(store)?.contains(&key.public()) {
        note(store, clock, MADE, &json!({ "signer": key.public(), "by": person::current().name }))?;
    }
    Ok(key)
}

/// Gives the store another key; the old one's last signature is over the new one. Heads of the old key stay true.
///
/// # Errors
/// [`NotSigned`]; then the old key is in use.
pub fn rotate(store: &dyn Store, path: &Path, clock: &dyn Clock, reason: &str) -> Result<String, NotSigned> {
    let reason = Text::<300>::of(reason);
    if reason.is_empty() {
        return Err(NotSigned::NoReason);
    }
    let old = key(store, path, clock)?;
    let path = place(path);
    let next = path.with_extension("key.new");
    let new = HeadKey::make(&next)?.public();
    let payload = json!({
        "from": old.public(), "signer": new, "sign": old.sign(&new), "by": person::current().name, "reason": reason,
    });
    if let Err(fault) = note(store, clock, ROTATED, &payload) {
        let _ = std::fs::remove_file(&next);
        return Err(fault.into());
    }
    std::fs::rename(&next, &path)?;
    Ok(new)
}

/// A key that was told of and not put in place is put there; one that was not told of never was.
fn finish_rotation(store: &dyn Store, path: &Path) -> Result<(), NotSigned> {
    let next = path.with_extension("key.new");
    if let Some(new) = HeadKey::read(&next)? {
        match keys(store)?.contains(&new.public()) {
            true => std::fs::rename(&next, path)?,
            false => std::fs::remove_file(&next)?,
        }
    }
    Ok(())
}

/// Public halves of the keys that the store has had. Not under `key`: what stands there is taken for a secret.
fn keys(store: &dyn Store) -> Result<Vec<String>, StoreFault> {
    let (mut found, mut seq) = (Vec::new(), 0);
    loop {
        let records = store.ledger_after(seq, TOGETHER)?;
        let Some(last) = records.last() else { return Ok(found) };
        seq = last.seq;
        for record in records.iter().filter(|one| one.chain == SYSTEM && [MADE, ROTATED].contains(&one.step.as_str())) {
            found.extend(record.json()["signer"].as_str().map(str::to_owned));
        }
    }
}

fn note(store: &dyn Store, clock: &dyn Clock, step: &str, payload: &Json) -> Result<(), StoreFault> {
    let payload = Redactor::standard().json(payload);
    let entry = Entry {
        incident: Id::new("key", clock.now(), clock.chance()),
        step: step.to_owned(),
        at: clock.now(),
        payload,
    };
    store.chain(&entry).map(drop)
}

/// Whether a ledger, which holds, is the one that heads tell of. `key` is the public half that they must be signed with,
/// where whoever asks has it from elsewhere.
///
/// # Errors
/// [`StoreFault`].
pub fn compare(store: &dyn Store, noted: &Heads, key: Option<&str>) -> Result<Result<Holds, Differs>, StoreFault> {
    let none = || StoreFault::Unusable("this store has no heads".to_owned());
    let keeper = store.keeper().ok_or_else(none)?;
    if !is_signed(&noted.text(), &noted.key, &noted.sign) {
        return Ok(Err(Differs::Signature));
    }
    if key.is_some_and(|key| key != noted.key) {
        return Ok(Err(Differs::OtherKey));
    }
    if noted.store != keeper.store_id()? {
        return Ok(Err(Differs::OtherStore));
    }
    let now = keeper.heads()?;
    let newest = |chain: &str| now.iter().find(|head| head.chain == chain).map_or(0, |head| head.place);
    for head in &noted.heads {
        if let Err(differs) = compare_chain(keeper, head, newest(&head.chain))? {
            return Ok(Err(differs));
        }
    }
    // Last, since the record that names the key may be what was cut.
    if key.is_none() && !keys(store)?.contains(&noted.key) {
        return Ok(Err(Differs::UnknownKey));
    }
    let then: u64 = noted.heads.iter().map(|head| head.place).sum();
    let newer = now.iter().map(|head| head.place).sum::<u64>().saturating_sub(then);
    Ok(Ok(Holds { at: noted.at, newer }))
}

fn compare_chain(keeper: &dyn Keeper, noted: &ChainHead, newest: u64) -> Result<Result<(), Differs>, StoreFault> {
    let (chain, place) = (noted.chain.clone(), noted.place);
    let sealed = keeper
        .seals()?
        .into_iter()
        .filter(|seal| seal.head.chain == chain && seal.head.place >= place)
        .min_by_key(|seal| seal.head.place);
    let found = keeper.hash_at(&chain, place)?;
    let found =
        found.or_else(|| sealed.as_ref().filter(|seal| seal.head.place == place).map(|seal| seal.head.hash.clone()));
    Ok(match found {
        Some(hash) if hash == noted.hash => Ok(()),
        Some(_) => Err(Differs::Other { chain, place }),
        // Pruned since: what follows the seal names its hash.
        None if sealed.is_some() => Ok(()),
        None => Err(Differs::Cut { chain, from: newest + 1, had: place }),
    })
}
