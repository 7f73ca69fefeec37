//! A bank as records: a key in JSON, a state of at most 4 KiB, and the sequence up to which observations are in it (S36).

use std::sync::Arc;

use sanare_core::service::Application;
use serde::{Deserialize, Serialize};

use super::series::{Path, SeriesState, SpotState};
use super::{Bank, BurnKey, DriftFor, Followed, Place, Series, Settings, Spot};
use crate::budget::Burn;
use crate::drift::judge::DriftWatch;
use crate::drift::schema::SchemaWatch;
use crate::health::{Life, Sign};
use crate::quality::QualityWatch;
use crate::threshold::Watch;

/// The form of the states; the first byte of each.
const VERSION: u8 = 2;

/// A bank that was saved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    /// Observations up to this sequence are in it; those after it are fed again.
    pub sequence: u64,
    /// Keys and states, by key.
    pub records: Vec<(String, Vec<u8>)>,
}

/// A record that cannot be read: of another version, or damaged. Detection then begins anew from what is stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a detector's state cannot be read: {0}")]
pub struct Unread(String);

/// What a record is of.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Key {
    Path(Series, Option<Sign>),
    Watch(Series, String),
    Quality(Series, String),
    Drift(Series, String),
    Spot(Spot),
    Life(Place),
    Burn(BurnKey),
}

impl Saved {
    /// Whether a record is of an application, by the record's key.
    pub fn is_of(key: &str, application: &Application) -> bool {
        serde_json::from_str::<Key>(key).is_ok_and(|key| key.application() == application)
    }
}

impl Key {
    fn application(&self) -> &Application {
        match self {
            Self::Path(series, _) | Self::Watch(series, _) | Self::Quality(series, _) | Self::Drift(series, _) => {
                &series.spot.application
            }
            Self::Spot(spot) => &spot.application,
            Self::Life((application, _)) | Self::Burn((application, ..)) => application,
        }
    }
}

/// A reference and its version: places of columns are those of one version.
fn drift_id(it: &DriftFor) -> String {
    format!("{}@{}", it.reference.reference, it.reference.reference_version)
}

impl Bank {
    /// Everything that it knows.
    pub fn save(&self) -> Saved {
        let mut saved = Saved { sequence: self.sequence, records: Vec::new() };
        for Followed { series, state, .. } in &self.series {
            saved.put(&Key::Path(series.clone(), state.sign), &state.path);
            for (place, watch) in &state.watches {
                let id = self.settings.rules.get(*place).map(|(_, rule)| rule.draft().id.clone());
                saved.put(&Key::Watch(series.clone(), id.unwrap_or_default()), watch);
            }
            for (place, watch) in &state.qualities {
                let id = self.settings.qualities.get(*place).map(|it| it.id.clone());
                saved.put(&Key::Quality(series.clone(), id.unwrap_or_default()), watch);
            }
            if let Some((place, drift, schema)) = &state.drift {
                let id = self.settings.drifts.get(*place).map(drift_id);
                saved.put(&Key::Drift(series.clone(), id.unwrap_or_default()), &(drift, schema));
            }
        }
        self.spots.iter().for_each(|(spot, state)| saved.put(&Key::Spot(spot.clone()), state));
        self.lives.iter().for_each(|(place, life)| saved.put(&Key::Life(place.clone()), life));
        self.burns.iter().for_each(|(key, burn)| saved.put(&Key::Burn(key.clone()), burn));
        saved.records.sort();
        saved
    }

    /// Forgets all that it knows of an application.
    ///
    /// # Errors
    /// [`Unread`]: never, what is read was written here.
    pub fn forget(&mut self, application: &Application) -> Result<(), Unread> {
        let mut saved = self.save();
        saved.records.retain(|(key, _)| !Saved::is_of(key, application));
        *self = Self::load(Arc::clone(&self.settings), &saved)?;
        Ok(())
    }

    /// A bank that goes on from where it was saved. What the settings no longer name is forgotten.
    ///
    /// # Errors
    /// [`Unread`] for a record of another version or a damaged one.
    pub fn load(settings: Arc<Settings>, saved: &Saved) -> Result<Self, Unread> {
        let mut bank = Self { sequence: saved.sequence, ..Self::new(settings) };
        let mut later = Vec::new();
        for (key, bytes) in &saved.records {
            let read: Key = serde_json::from_str(key).map_err(|error| Unread(error.to_string()))?;
            match read {
                Key::Path(series, sign) => {
                    // What a signal is about is for the settings to say, which may be others now.
                    let sign = sign.map(|_| bank.settings.sign_of(&series.spot.application, &series.spot.signal));
                    let at = bank.follow(series, sign);
                    if let Some(followed) = bank.series.get_mut(at) {
                        followed.state.path = state::<Path>(bytes)?;
                    }
                }
                Key::Spot(spot) => {
                    let at = bank.spot(&spot);
                    if let Some((_, known)) = bank.spots.get_mut(at) {
                        *known = state::<SpotState>(bytes)?;
                    }
                }
                Key::Life(place) => drop(bank.lives.insert(place, state::<Life>(bytes)?)),
                Key::Burn(key) => drop(bank.burns.insert(key, state::<Burn>(bytes)?)),
                other => later.push((other, bytes)),
            }
        }
        for (key, bytes) in later {
            bank.restore(key, bytes)?;
        }
        Ok(bank)
    }

    fn state_of(&mut self, series: &Series) -> Option<&mut SeriesState> {
        let at = *self.series_by_name.get(series)?;
        self.series.get_mut(at).map(|followed| &mut followed.state)
    }

    fn restore(&mut self, key: Key, bytes: &[u8]) -> Result<(), Unread> {
        let settings = Arc::clone(&self.settings);
        match key {
            Key::Watch(series, id) => {
                let watches = self.state_of(&series).map(|state| &mut state.watches);
                for (place, watch) in watches.into_iter().flatten() {
                    if settings.rules.get(*place).is_some_and(|(_, rule)| rule.draft().id == id) {
                        *watch = state::<Watch>(bytes)?;
                    }
                }
            }
            Key::Quality(series, id) => {
                let watches = self.state_of(&series).map(|state| &mut state.qualities);
                for (place, watch) in watches.into_iter().flatten() {
                    if settings.qualities.get(*place).is_some_and(|it| it.id == id) {
                        *watch = state::<QualityWatch>(bytes)?;
                    }
                }
            }
            Key::Drift(series, id) => {
                let drift = self.state_of(&series).and_then(|state| state.drift.as_mut());
                let name = id.rsplit_once('@').map_or(id.as_str(), |(name, _)| name);
                if let Some((place, drift, schema)) = drift
                    && let Some(it) = settings.drifts.get(*place).filter(|it| it.reference.reference == name)
                {
                    (*drift, *schema) = state::<(DriftWatch, SchemaWatch)>(bytes)?;
                    if id != drift_id(it) {
                        // What is ill stays ill until the new reference says otherwise; nothing is the second in a row.
                        drift.begin_anew();
                        schema.begin_anew();
                    }
                }
            }
            Key::Path(..) | Key::Spot(_) | Key::Life(_) | Key::Burn(_) => {}
        }
        Ok(())
    }
}

impl Saved {
    fn put(&mut self, key: &Key, state: &impl Serialize) {
        let mut bytes = vec![VERSION];
        // Neither can fail: keys are texts and maps of texts, states are plain values.
        if let (Ok(key), Ok(state)) = (serde_json::to_string(key), postcard::to_allocvec(state)) {
            bytes.extend(state);
            self.records.push((key, bytes));
        }
    }
}

fn state<'a, S: Deserialize<'a>>(bytes: &'a [u8]) -> Result<S, Unread> {
    match bytes.split_first() {
        Some((&VERSION, rest)) => postcard::from_bytes(rest).map_err(|error| Unread(error.to_string())),
        Some((version, _)) => Err(Unread(format!("version {version} is not {VERSION}"))),
        None => Err(Unread("it is empty".to_owned())),
    }
}
