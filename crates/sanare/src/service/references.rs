//! References of profiles: read from their files when a healer begins, learned from rows by who has them (S43 to S45).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sanare_core::model::setup::KeyPlace;
use sanare_core::service::config::{ColumnSettings, DriftSettings, SecretRef};
use sanare_core::service::profile::{self, Sketch};
use sanare_core::service::{Application, Invalid, Profile, Signal, Version};
use sanare_detect::bank::DriftFor;
use sanare_detect::drift::judge::DriftRule;
use sanare_detect::drift::reference::{Cells, Named, learn_with, word_key};
use sanare_detect::drift::schema::{Expected, Schema};
use sanare_effects::{private_file, regular_file, seal};
use serde::{Deserialize, Serialize};

use super::setup::Setup;

/// The form of the file.
const FORMAT: u32 = 1;
/// Bytes of the file, at most: a profile and a little around it.
const FILE: usize = profile::BYTES + 4_096;
/// What is hashed to see whether two keys are the same.
const SAME_KEY: &str = "the key of a reference";

/// A reference as its file holds it. It holds no value of any row: words are hashed, of numbers there are bins.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    format: u32,
    /// What the key makes of a known word.
    key: String,
    profile: Profile,
}

/// A reference, with the key by which its words are hashed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reference {
    pub drift: DriftFor,
    /// The key, or why there is none.
    pub key: Result<Vec<u8>, String>,
}

/// All of them.
pub(super) type References = BTreeMap<(Application, Signal), Arc<Reference>>;

impl Reference {
    /// Whether a profile was counted against this one, and no earlier version of it.
    pub fn is_of(&self, profile: &Profile) -> bool {
        (&profile.reference, profile.reference_version)
            == (&self.drift.reference.reference, self.drift.reference.reference_version)
    }
}

/// What was learned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Learned {
    /// The file.
    pub file: PathBuf,
    /// The version that it has now.
    pub version: u32,
    /// Rows that it was learned from.
    pub rows: u64,
    /// Columns.
    pub columns: usize,
}

/// Why nothing was learned.
#[derive(Debug, thiserror::Error)]
pub enum NotLearned {
    /// No such signal is configured.
    #[error("there is no [[service.{0}.drift]] with the signal `{1}`")]
    Unknown(Application, Signal),
    /// The rows, or what is expected of them, make no reference.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The key or the file cannot be used.
    #[error("{}: {why}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

/// The reference of a signal, if it has been learned.
///
/// # Errors
/// [`Invalid`] for a file that cannot be read, or settings that do not fit it.
pub(super) fn read(
    setup: &Setup,
    application: &Application,
    settings: &DriftSettings,
) -> Result<Option<DriftFor>, Invalid> {
    let Some(Written { profile, .. }) = file(&setup.path(&settings.reference))? else { return Ok(None) };
    for name in &settings.important {
        if !profile.columns.iter().any(|column| column.name == *name) {
            return Err(Invalid::quoting("important", name, "the reference has no such column"));
        }
    }
    let schema = schema(settings, &profile)?;
    if let Some(name) = schema.as_ref().and_then(|schema| schema.blurred(&profile)) {
        let why = "its bins cannot tell what lies outside of `min` and `max`; learn the reference again";
        return Err(Invalid::quoting("column", name, why));
    }
    Ok(Some(DriftFor {
        application: application.clone(),
        signal: settings.signal.clone(),
        reference: profile,
        rule: DriftRule { important: settings.important.iter().cloned().collect() },
        schema,
    }))
}

/// References that detectors were given, with their keys.
pub(super) fn with_keys(setup: &Setup, drifts: &[DriftFor]) -> References {
    let mut all = References::new();
    for drift in drifts {
        let service = setup.configuration.services.get(&drift.application);
        let settings = service.and_then(|service| service.drifts.iter().find(|one| one.signal == drift.signal));
        let Some(settings) = settings else { continue };
        let key = key(setup, settings).map_err(|error| error.to_string()).and_then(|key| {
            let written = file(&setup.path(&settings.reference)).map_err(|invalid| invalid.to_string())?;
            match written.is_some_and(|written| written.key == word_key(&key, SAME_KEY)) {
                true => Ok(key),
                false => Err("the reference was learned with another key".to_owned()),
            }
        });
        let reference = Reference { drift: drift.clone(), key };
        all.insert((drift.application.clone(), drift.signal.clone()), Arc::new(reference));
    }
    all
}

impl Setup {
    /// Learns the reference of a signal from rows, and writes its file; an earlier one is replaced by its next version. A
    /// healer reads it when it begins, and at a reload.
    ///
    /// # Errors
    /// [`NotLearned`]; then the file is as it was.
    pub fn learn(
        &self,
        application: &Application,
        signal: &Signal,
        model_version: Option<Version>,
        columns: &[Cells],
    ) -> Result<Learned, NotLearned> {
        let service = self.configuration.services.get(application);
        let settings = service.and_then(|service| service.drifts.iter().find(|one| one.signal == *signal));
        let settings = settings.ok_or_else(|| NotLearned::Unknown(application.clone(), signal.clone()))?;
        let path = self.path(&settings.reference);
        let before = file(&path)?;
        let version = before.map_or(1, |written| written.profile.reference_version.saturating_add(1));
        let key = key(self, settings)?;
        let named = Named { name: signal.to_string(), version, model_version };
        let profile = learn_with(&named, &key, columns, &cuts(settings))?;
        // What is expected has to fit it, or the next healer would refuse the file.
        schema(settings, &profile)?;
        let learned = Learned { file: path.clone(), version, rows: profile.rows, columns: profile.columns.len() };
        let written = Written { format: FORMAT, key: word_key(&key, SAME_KEY), profile };
        let text = serde_json::to_string(&written).map_err(|error| not_written(&path, &error))?;
        if text.len() > FILE {
            return Err(Invalid::new("columns", "make a profile of more than 256 KiB").into());
        }
        let new = path.with_extension(format!("new-{}", std::process::id()));
        private_file::write_new(&new, text.as_bytes()).map_err(|error| not_written(&new, &error))?;
        std::fs::rename(&new, &path).map_err(|error| {
            drop(std::fs::remove_file(&new));
            not_written(&path, &error)
        })?;
        Ok(learned)
    }
}

fn not_written(path: &Path, why: &dyn std::fmt::Display) -> NotLearned {
    NotLearned::File { path: path.to_path_buf(), why: why.to_string() }
}

fn file(path: &Path) -> Result<Option<Written>, Invalid> {
    let bad = |why: String| Invalid::new("reference", format!("{} {why}", path.display()));
    let bytes = match regular_file::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| bad(format!("cannot be read: {error}")))?,
    };
    if bytes.len() > FILE {
        return Err(bad("is no reference: it is larger than one can be".to_owned()));
    }
    let written: Written = serde_json::from_slice(&bytes).map_err(|error| bad(format!("is no reference: {error}")))?;
    if written.format != FORMAT {
        return Err(bad(format!("has format {}; this version knows {FORMAT}", written.format)));
    }
    Ok(Some(written))
}

fn key(setup: &Setup, settings: &DriftSettings) -> Result<Vec<u8>, NotLearned> {
    let place = match &settings.key {
        None => {
            let path = setup.store().with_file_name("profile.key");
            return seal::read_or_make(&path).map_err(|error| not_written(&path, &error));
        }
        Some(SecretRef::Env(name)) => KeyPlace::Variable(name.clone()),
        Some(SecretRef::File(path)) => KeyPlace::File(setup.path(path).display().to_string()),
    };
    match sanare_effects::model::key::key_of(&place) {
        Ok(Some(key)) => Ok(key.into_bytes()),
        Ok(None) => Err(Invalid::new("key", "is nowhere").into()),
        Err(fault) => Err(Invalid::new("key", fault.to_string()).into()),
    }
}

/// Where bins have to begin so that ranges can be told.
fn cuts(settings: &DriftSettings) -> BTreeMap<String, Vec<f64>> {
    let ends = |column: &ColumnSettings| column.min.into_iter().chain(column.max).collect();
    settings.columns.iter().map(|(name, column)| (name.clone(), ends(column))).collect()
}

/// What is expected: of every column as the reference shows it, where its owner confirms that, and of single ones as they
/// are configured.
fn schema(settings: &DriftSettings, profile: &Profile) -> Result<Option<Schema>, Invalid> {
    let learned = Schema::learn(profile);
    let mut schema = Schema { columns: BTreeMap::new() };
    if settings.confirmed {
        schema.columns.clone_from(&learned.columns);
    }
    for (name, column) in &settings.columns {
        let known = profile.columns.iter().find(|one| one.name == *name).zip(learned.columns.get(name));
        let Some((sketched, shown)) = known else {
            return Err(Invalid::quoting("column", name, "the reference has no such column"));
        };
        let numbers = matches!(sketched.sketch, Sketch::Numbers { .. });
        if !numbers && (column.min.is_some() || column.max.is_some()) {
            return Err(Invalid::quoting("column", name, "it holds words, which have no `min` and `max`"));
        }
        if numbers && column.closed.is_some() {
            return Err(Invalid::quoting("column", name, "it holds numbers, and `closed` is about words"));
        }
        let (least, largest) = shown.range.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let range = numbers.then(|| (column.min.unwrap_or(least), column.max.unwrap_or(largest)));
        let expected = Expected {
            nullable: column.nullable.unwrap_or(shown.nullable),
            range: range.or(shown.range),
            closed: column.closed.unwrap_or(shown.closed),
        };
        schema.columns.insert(name.clone(), expected);
    }
    Ok((!schema.columns.is_empty()).then_some(schema))
}
