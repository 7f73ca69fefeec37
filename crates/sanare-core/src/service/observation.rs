//! Observations: what a sender says, and what is stored of it once a door has let it in (S4).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::invalid::Invalid;
use super::moment::{DAY, MINUTE, Moment};
use super::name::{Application, Component, Labels, Signal, Source};
use super::value::{ObservedValue, only};
use super::word::{Flag, ObservationKind, Trust};
use crate::hash::Digest;
use crate::id::Id;
use crate::ledger::v1::canonical;
use crate::redact::Redactor;

/// One reading, as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// `obs_…`.
    pub id: Id,
    /// Its place among all, set when it is committed; 0 before.
    pub sequence: u64,
    /// The service.
    pub application: Application,
    /// The part of it.
    pub component: Component,
    /// The series.
    pub signal: Signal,
    /// What it says; its kind is the value's.
    pub value: ObservedValue,
    /// Unit of the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// When it was true.
    pub event_time: Moment,
    /// When it came to us.
    pub arrival_time: Moment,
    /// The door it came through.
    pub source: Source,
    /// The sender's own id, or one made from the content; unique with application and source.
    pub source_id: String,
    /// The sender's labels.
    #[serde(default)]
    pub labels: Labels,
    /// Whether its texts are ours.
    pub trust: Trust,
    /// What intake noticed.
    #[serde(default)]
    pub flags: BTreeSet<Flag>,
}

/// What a sender may say; checked by [`Observation::accept`].
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The service.
    pub application: Application,
    /// The part of it.
    pub component: Component,
    /// The series.
    pub signal: Signal,
    /// What it says.
    pub value: ObservedValue,
    /// Unit of the number, at most 16 characters.
    pub unit: Option<String>,
    /// When it was true; the arrival where the sender does not say.
    pub event_time: Option<Moment>,
    /// The sender's own id, at most 128 characters.
    pub source_id: Option<String>,
    /// Labels.
    pub labels: Labels,
}

/// What the door adds.
#[derive(Clone, Debug, PartialEq)]
pub struct Stamp {
    /// The new observation's id.
    pub id: Id,
    /// Now, by our clock.
    pub arrival: Moment,
    /// The door's configured name.
    pub source: Source,
    /// Whether its senders are ours.
    pub trust: Trust,
}

/// The source of what configured checks say: it is made when an incident asks, and never comes by itself.
pub const CHECKS: &str = "diagnostic";

const FIELDS: [&str; 9] =
    ["application", "component", "signal", "kind", "value", "unit", "event_time", "source_id", "labels"];

impl Draft {
    /// A draft of the necessary parts.
    pub fn new(application: Application, signal: Signal, value: ObservedValue) -> Self {
        Self {
            application,
            component: Component::default(),
            signal,
            value,
            unit: None,
            event_time: None,
            source_id: None,
            labels: Labels::default(),
        }
    }

    /// Reads our own JSON form; `kind` is `metric` where it is absent.
    ///
    /// # Errors
    /// [`Invalid`] for the first field that is wrong, or that a sender may not set.
    pub fn from_json(json: &Json) -> Result<Self, Invalid> {
        let map = json.as_object().ok_or_else(|| Invalid::new("observation", "is an object"))?;
        only(map, &FIELDS)?;
        let text = |key: &str| -> Result<Option<&str>, Invalid> {
            match map.get(key) {
                None | Some(Json::Null) => Ok(None),
                Some(Json::String(text)) => Ok(Some(text)),
                Some(_) => Err(Invalid::new(key, "is a text")),
            }
        };
        let needed = |key: &str| text(key)?.ok_or_else(|| Invalid::new(key, "is missing"));
        let kind = text("kind")?.map_or(Ok(ObservationKind::Metric), ObservationKind::parse)?;
        let labels = match map.get("labels") {
            None | Some(Json::Null) => BTreeMap::new(),
            Some(labels) => serde_json::from_value::<BTreeMap<String, String>>(labels.clone())
                .map_err(|_| Invalid::new("labels", "is an object of texts"))?,
        };
        let event_time = match text("event_time")? {
            Some(text) => Some(Moment::parse(text).map_err(|invalid| Invalid::new("event_time", invalid.reason))?),
            None => None,
        };
        Ok(Self {
            application: Application::parse(needed("application")?)?,
            component: text("component")?.map_or(Ok(Component::default()), Component::parse)?,
            signal: Signal::parse(needed("signal")?)?,
            value: ObservedValue::read(kind, map.get("value").ok_or_else(|| Invalid::new("value", "is missing"))?)?,
            unit: text("unit")?.map(str::to_owned),
            event_time,
            source_id: text("source_id")?.map(str::to_owned),
            labels: Labels::new(labels)?,
        })
    }

    /// The content that makes two sendings of one id the same (S19).
    fn content(&self, source: &Source) -> Digest {
        let content = json!({
            "application": self.application, "component": self.component, "signal": self.signal, "value": self.value,
            "unit": self.unit, "event_time": self.event_time, "labels": self.labels, "source": source,
        });
        Digest::of(canonical(&content).as_bytes())
    }
}

impl Observation {
    /// Lets a draft in. Over 24 h ahead of our clock it is refused; over 5 min ahead it proves no freshness; over 24 h
    /// old it is only stored (S31). What needs a signal's watermark (`late`, `out_of_order`) is set later.
    ///
    /// # Errors
    /// [`Invalid`] for the field that is out of bounds.
    pub fn accept(draft: Draft, stamp: Stamp) -> Result<Self, Invalid> {
        if let Some(unit) = &draft.unit
            && (unit.trim().is_empty() || unit.chars().count() > 16 || unit.chars().any(char::is_control))
        {
            return Err(Invalid::quoting("unit", unit, "1 to 16 characters"));
        }
        if let Some(id) = &draft.source_id
            && (id.trim().is_empty() || id.chars().count() > 128 || id.chars().any(char::is_control))
        {
            return Err(Invalid::quoting("source_id", id, "1 to 128 characters"));
        }
        let event_time = draft.event_time.unwrap_or(stamp.arrival);
        if event_time.since(stamp.arrival) > DAY {
            return Err(Invalid::quoting("event_time", &event_time.to_string(), "it lies over a day ahead"));
        }
        let mut flags = BTreeSet::new();
        if event_time.since(stamp.arrival) > 5 * MINUTE {
            flags.insert(Flag::Future);
        }
        if stamp.arrival.since(event_time) > DAY {
            flags.insert(Flag::Backfill);
        }
        if draft.value.is_non_finite() {
            flags.insert(Flag::NonFinite);
        }
        let made = || match draft.event_time {
            // Two readings without a time of their own are two, however equal they are.
            // The time stands first: what comes in its order lies side by side in a store's index.
            Some(at) => {
                let content = draft.content(&stamp.source);
                format!("{:016x}-{}", at.micros(), content.as_str().get(..32).unwrap_or_default())
            }
            None => stamp.id.as_str().to_owned(),
        };
        Ok(Self {
            source_id: draft.source_id.as_deref().map(unsecret).unwrap_or_else(made),
            id: stamp.id,
            sequence: 0,
            application: draft.application,
            component: draft.component,
            signal: draft.signal,
            value: draft.value,
            unit: draft.unit,
            event_time,
            arrival_time: stamp.arrival,
            source: stamp.source,
            labels: draft.labels.redacted(),
            trust: stamp.trust,
            flags,
        })
    }

    /// What the sender said, as one digest: the same id with another one is a conflict (S19).
    pub fn content(&self) -> Digest {
        let content = json!({
            "component": self.component, "signal": self.signal, "value": self.value, "unit": self.unit,
            "event_time": self.event_time, "labels": self.labels,
        });
        Digest::of(canonical(&content).as_bytes())
    }

    /// Its kind.
    pub fn kind(&self) -> ObservationKind {
        self.value.kind()
    }

    /// Whether it can show that a signal is fresh: it is neither late nor ahead nor made by us, and its age is known.
    pub fn proves_freshness(&self) -> bool {
        const NOT: [Flag; 5] = [Flag::Late, Flag::Future, Flag::Backfill, Flag::Missing, Flag::FreshnessUnknown];
        !NOT.iter().any(|flag| self.flags.contains(flag))
    }
}

/// A sender's own id, or its digest where it holds a secret: what is sent again is the same one still.
fn unsecret(id: &str) -> String {
    match Redactor::standard().text(id).as_str() == id {
        true => id.to_owned(),
        false => format!("redacted-{}", Digest::of(id.as_bytes()).short()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::{Draft, Observation, Stamp};
    use crate::id::Id;
    use crate::service::moment::Moment;
    use crate::service::name::{Labels, Source};
    use crate::service::word::Trust;

    fn stamp() -> Stamp {
        Stamp {
            id: Id::new("obs", 1, 2),
            arrival: Moment::parse("2026-11-30T12:00:00Z").expect("a time"),
            source: Source::parse("client").expect("a name"),
            trust: Trust::Own,
        }
    }

    fn accept(json: &Json) -> Result<Observation, String> {
        let draft = Draft::from_json(json).map_err(|invalid| invalid.field)?;
        Observation::accept(draft, stamp()).map_err(|invalid| invalid.field)
    }

    /// The good draft with one more or other field: its flags, or the field that is refused.
    fn check(key: &str, value: Json) -> String {
        let mut json = json!({ "application": "fraud", "signal": "p99", "value": 5 });
        json[key] = value;
        match accept(&json) {
            Ok(seen) => seen.flags.iter().map(|flag| flag.word()).collect::<Vec<_>>().join(" "),
            Err(field) => format!("refused {field}"),
        }
    }

    #[test]
    fn every_field_is_checked() {
        assert_eq!(check("value", json!(5)), "");
        assert_eq!(check("value", Json::Null), "non_finite");
        for own in ["sequence", "trust", "arrival_time", "flags", "id", "source", "extra"] {
            assert_eq!(check(own, json!(1)), "refused field", "{own}");
        }
        assert_eq!(check("kind", json!("metrics")), "refused kind");
        assert_eq!(check("application", Json::Null), "refused application");
        assert_eq!(check("application", json!(5)), "refused application");
        assert_eq!(check("application", json!("  ")), "refused application");
        assert_eq!(check("component", json!("a/b")), "refused component");
        assert_eq!(check("signal", json!("")), "refused signal");
        assert_eq!(check("unit", json!("x".repeat(17))), "refused unit");
        assert_eq!(check("unit", json!("x".repeat(16))), "");
        assert_eq!(check("source_id", json!("x".repeat(129))), "refused source_id");
        assert_eq!(check("source_id", json!("x".repeat(128))), "");
        assert_eq!(check("labels", json!(["a"])), "refused labels");
        assert_eq!(check("labels", json!({ "a": 1 })), "refused labels");
        assert_eq!(check("event_time", json!("2026-11-30T12:00:00")), "refused event_time");
    }

    #[test]
    fn times_ahead_and_behind() {
        assert_eq!(check("event_time", json!("2026-11-30T12:05:00Z")), "");
        assert_eq!(check("event_time", json!("2026-11-30T12:05:00.000001Z")), "future");
        assert_eq!(check("event_time", json!("2026-12-01T12:00:00Z")), "future");
        assert_eq!(check("event_time", json!("2026-12-01T12:00:00.000001Z")), "refused event_time");
        assert_eq!(check("event_time", json!("2026-11-29T12:00:00Z")), "");
        assert_eq!(check("event_time", json!("2026-11-29T11:59:59Z")), "backfill");
    }

    #[test]
    fn every_field_survives_json_and_an_id_is_made_from_the_content() {
        let json = json!({ "application": "fraud", "component": "api", "signal": "p99", "kind": "resource", "value": 0.5,
            "unit": "ms", "event_time": "2026-11-30T11:59:00Z", "labels": { "host": "a" } });
        let (one, two) = (accept(&json).expect("good"), accept(&json).expect("good"));
        assert_eq!(one.source_id, two.source_id);
        let mut other = json.clone();
        other["value"] = json!(0.6);
        assert_ne!(accept(&other).expect("good").source_id, one.source_id);
        let read: Observation = serde_json::from_value(serde_json::to_value(&one).expect("json")).expect("read");
        assert_eq!(read, one);
        assert!(one.proves_freshness());
    }

    /// A secret in a label or in the sender's own id is in nothing that is kept, and what is sent again is known all the same.
    #[test]
    fn no_secret_is_in_labels_or_ids() {
        let token = "ghp_WiL9dv4wtfUQ1VQ3OZRkt4aQng5VP2pv9O5y";
        let labels = |pairs: &[(&str, &str)]| {
            let owned = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            Labels::new(owned.collect()).expect("they are good")
        };
        let of = |labels: Labels, id: &str| {
            let value = crate::service::ObservedValue::metric(1.0);
            let application = crate::service::Application::parse("fraud").expect("a name");
            let signal = crate::service::Signal::parse("p99").expect("a name");
            let draft = super::Draft {
                labels,
                source_id: Some(id.to_owned()),
                ..super::Draft::new(application, signal, value)
            };
            Observation::accept(draft, stamp()).expect("it is good")
        };
        let secret =
            labels(&[("why", &format!("cannot use {token}")), ("password", "Tr0ub4dor&3xyz"), ("model", "fraud-v7")]);
        let (one, two) = (of(secret.clone(), token), of(secret, token));
        let kept = serde_json::to_string(&one).expect("it is JSON");
        assert!(!kept.contains(token) && !kept.contains("Tr0ub4dor"), "{kept}");
        assert_eq!((one.labels.get("model"), &one.source_id), (Some("fraud-v7"), &two.source_id));
        assert_eq!(one.labels, two.labels);
        let plain = labels(&[("region", "eu-central-1"), ("path", "/v1/score"), ("host", "fraud-7f9c4d-x2x8q")]);
        let kept = of(plain.clone(), "2026-12-01T01:00:00Z/fraud/17");
        assert_eq!((kept.labels, kept.source_id.as_str()), (plain, "2026-12-01T01:00:00Z/fraud/17"));
    }
}
