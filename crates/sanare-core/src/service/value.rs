//! What an observation can say, by its kind; nothing else is a value (S5).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::invalid::{Invalid, quoted};
use super::moment::Moment;
use super::name::Version;
use super::profile::{self, Profile};
use super::text::Text;
use super::word::{Health, ObservationKind};

/// The value of an observation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObservedValue {
    /// A number of the service; `None` where none arrived that is finite.
    Metric(Option<f64>),
    /// A number of the machine; likewise.
    Resource(Option<f64>),
    /// The answer of a check.
    Health {
        /// What it says.
        status: Health,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<Text>,
    },
    /// How often a pattern was logged.
    LogSignal(LogCount),
    /// How good predictions were.
    PredictionQuality(Quality),
    /// A sketch of data.
    Drift(Box<Profile>),
    /// Another version went live.
    Deployment {
        /// What was live; unknown for the first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Version>,
        /// What is live now.
        after: Version,
    },
}

/// Templates of lines that a count keeps, at most.
pub const TEMPLATES: usize = 20;

/// How often a pattern was logged, and what the lines looked like. Without templates it is written as the count alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "WrittenCount", into = "WrittenCount")]
pub struct LogCount {
    /// Lines.
    pub count: u64,
    /// Masked lines, at most [`TEMPLATES`].
    pub templates: Vec<Text>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WrittenCount {
    Bare(u64),
    Full { count: u64, templates: Vec<Text> },
}

impl From<WrittenCount> for LogCount {
    fn from(written: WrittenCount) -> Self {
        match written {
            WrittenCount::Bare(count) => Self { count, templates: Vec::new() },
            WrittenCount::Full { count, mut templates } => {
                templates.truncate(TEMPLATES);
                Self { count, templates }
            }
        }
    }
}

impl From<LogCount> for WrittenCount {
    fn from(counted: LogCount) -> Self {
        match counted {
            LogCount { count, templates } if templates.is_empty() => Self::Bare(count),
            LogCount { count, templates } => Self::Full { count, templates },
        }
    }
}

/// A quality with what it rests on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// The number, such as an AUC.
    pub value: f64,
    /// Labelled samples.
    pub samples: u64,
    /// Begin of the window of labels.
    pub from: Moment,
    /// Its end.
    pub to: Moment,
    /// Half the width of its 95 % interval, where the sender knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half: Option<f64>,
    /// Samples of the positive class, for an area under the curve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positives: Option<u64>,
    /// The standard deviation of one sample, for a mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
}

impl ObservedValue {
    /// The value that JSON holds for a kind. `null` is a number that was not finite.
    ///
    /// # Errors
    /// [`Invalid`] for anything that is no value of the kind.
    pub fn read(kind: ObservationKind, json: &Json) -> Result<Self, Invalid> {
        match kind {
            ObservationKind::Metric => number(json).map(Self::Metric),
            ObservationKind::Resource => number(json).map(Self::Resource),
            ObservationKind::Health => health(json),
            ObservationKind::LogSignal => {
                let counted = json.as_u64().map(|count| LogCount { count, templates: Vec::new() });
                counted.map(Self::LogSignal).ok_or_else(|| wrong(json, "a count is a whole number from 0"))
            }
            ObservationKind::PredictionQuality => quality(json).map(Self::PredictionQuality),
            ObservationKind::Drift => {
                if json.to_string().len() > profile::BYTES {
                    return Err(Invalid::new("value", "is a profile of more than 256 KiB"));
                }
                let read = serde_json::from_value::<Profile>(json.clone());
                read.map(|profile| Self::Drift(Box::new(profile)))
                    .map_err(|error| Invalid::new("value", format!("is no profile: {}", quoted(&error.to_string()))))
            }
            ObservationKind::Deployment => deployment(json),
        }
    }

    /// A metric from a float; what is not finite is kept as nothing (S32), and -0 is 0.
    pub fn metric(number: f64) -> Self {
        Self::Metric(finite(number))
    }

    /// The kind that it belongs to.
    pub fn kind(&self) -> ObservationKind {
        match self {
            Self::Metric(_) => ObservationKind::Metric,
            Self::Resource(_) => ObservationKind::Resource,
            Self::Health { .. } => ObservationKind::Health,
            Self::LogSignal(_) => ObservationKind::LogSignal,
            Self::PredictionQuality(_) => ObservationKind::PredictionQuality,
            Self::Drift(_) => ObservationKind::Drift,
            Self::Deployment { .. } => ObservationKind::Deployment,
        }
    }

    /// The number in it, for detectors; `None` where there is none.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Metric(number) | Self::Resource(number) => *number,
            #[expect(clippy::cast_precision_loss, reason = "a count of log lines in 10 s is far below 2^53")]
            Self::LogSignal(counted) => Some(counted.count as f64),
            Self::PredictionQuality(quality) => Some(quality.value),
            Self::Health { status: Health::Pass, .. } => Some(1.0),
            Self::Health { status: Health::Fail, .. } => Some(0.0),
            Self::Health { .. } | Self::Drift(_) | Self::Deployment { .. } => None,
        }
    }

    /// Whether a number was expected and none that is finite arrived.
    pub fn is_non_finite(&self) -> bool {
        matches!(self, Self::Metric(None) | Self::Resource(None))
    }
}

fn finite(number: f64) -> Option<f64> {
    // Adding 0 makes 0 of -0 and leaves every other number alone.
    number.is_finite().then_some(number + 0.0)
}

fn wrong(json: &Json, form: &str) -> Invalid {
    Invalid::quoting("value", &json.to_string(), form)
}

fn number(json: &Json) -> Result<Option<f64>, Invalid> {
    match json {
        Json::Null => Ok(None),
        Json::Number(number) => number
            .as_f64()
            .filter(|number| number.is_finite())
            .map(finite)
            .ok_or_else(|| wrong(json, "a number fits into 64-bit floating point")),
        other => Err(wrong(other, "it is a number")),
    }
}

fn health(json: &Json) -> Result<ObservedValue, Invalid> {
    match json {
        Json::String(word) => Ok(ObservedValue::Health { status: Health::parse(word)?, detail: None }),
        Json::Object(map) => {
            only(map, &["status", "detail"])?;
            let status = Health::parse(map.get("status").and_then(Json::as_str).unwrap_or_default())?;
            let detail = match map.get("detail") {
                None | Some(Json::Null) => None,
                Some(Json::String(text)) => Some(Text::of(text)),
                Some(other) => return Err(wrong(other, "a detail is a text")),
            };
            Ok(ObservedValue::Health { status, detail })
        }
        other => Err(wrong(other, "it is pass, fail or unknown, alone or with a detail")),
    }
}

fn quality(json: &Json) -> Result<Quality, Invalid> {
    let map = object(json)?;
    only(map, &["value", "samples", "from", "to", "half", "positives", "deviation"])?;
    let value = map.get("value").map_or(Ok(None), number)?.ok_or_else(|| Invalid::new("value.value", "is missing"))?;
    let samples = map.get("samples").and_then(Json::as_u64);
    let samples = samples.ok_or_else(|| Invalid::new("value.samples", "is a whole number from 0"))?;
    let time = |key: &str| -> Result<Moment, Invalid> {
        let text = map.get(key).and_then(Json::as_str).unwrap_or_default();
        Moment::parse(text).map_err(|invalid| Invalid::new(format!("value.{key}"), invalid.reason))
    };
    let (from, to) = (time("from")?, time("to")?);
    if to < from {
        return Err(Invalid::new("value.to", "lies before `from`"));
    }
    let width = |key: &str| match map.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(json) => match number(json) {
            Ok(Some(width)) if width >= 0.0 => Ok(Some(width)),
            _ => Err(Invalid::new(format!("value.{key}"), "is a number from 0")),
        },
    };
    let positives = match map.get("positives") {
        None | Some(Json::Null) => None,
        Some(json) => match json.as_u64().filter(|positives| *positives <= samples) {
            Some(positives) => Some(positives),
            None => return Err(Invalid::new("value.positives", "is a whole number up to the samples")),
        },
    };
    Ok(Quality { value, samples, from, to, half: width("half")?, positives, deviation: width("deviation")? })
}

fn deployment(json: &Json) -> Result<ObservedValue, Invalid> {
    let map = object(json)?;
    only(map, &["before", "after"])?;
    let version = |key: &str| -> Result<Option<Version>, Invalid> {
        match map.get(key) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) => Version::parse(text.as_str())
                .map(Some)
                .map_err(|invalid| Invalid::new(format!("value.{key}"), invalid.reason)),
            Some(other) => Err(wrong(other, "a version is a text")),
        }
    };
    let after = version("after")?.ok_or_else(|| Invalid::new("value.after", "is missing"))?;
    Ok(ObservedValue::Deployment { before: version("before")?, after })
}

fn object(json: &Json) -> Result<&Map<String, Json>, Invalid> {
    json.as_object().ok_or_else(|| wrong(json, "it is an object"))
}

/// Refuses keys of our own format that we do not know.
pub(super) fn only(map: &Map<String, Json>, known: &[&str]) -> Result<(), Invalid> {
    match map.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(Invalid::quoting("field", key, &format!("one of {}", known.join(", ")))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::ObservedValue;
    use crate::service::word::ObservationKind;

    fn check(kind: &str, text: &str) -> String {
        let Ok(json) = serde_json::from_str::<Json>(text) else { return "no JSON".to_owned() };
        match ObservedValue::read(ObservationKind::parse(kind).expect("a kind"), &json) {
            Ok(value) => serde_json::to_string(&value).expect("json"),
            Err(invalid) => format!("refused {}", invalid.field),
        }
    }

    #[test]
    fn odd_values_have_fixed_answers() {
        let metric = [
            ("1", r#"{"metric":1.0}"#),
            ("-0.0", r#"{"metric":0.0}"#),
            ("5e-324", r#"{"metric":5e-324}"#),
            ("null", r#"{"metric":null}"#),
            ("true", "refused value"),
            (r#""1e3""#, "refused value"),
            ("[1]", "refused value"),
            ("{}", "refused value"),
            ("1e400", "no JSON"),
        ];
        for (text, answer) in metric {
            assert_eq!(check("metric", text), answer, "{text}");
        }
        let megabyte = format!("\"{}\"", "x".repeat(1 << 20));
        assert_eq!(check("metric", &megabyte), "refused value");
        let kept = check("health", &format!(r#"{{"status":"fail","detail":{megabyte}}}"#));
        assert!(kept.len() < 400, "{kept}");
    }

    #[test]
    fn every_kind_has_its_own_form() {
        assert_eq!(check("resource", "0.5"), r#"{"resource":0.5}"#);
        assert_eq!(check("health", r#""pass""#), r#"{"health":{"status":"pass"}}"#);
        assert_eq!(check("health", r#""ok""#), "refused health");
        assert_eq!(check("health", r#"{"status":"fail","x":1}"#), "refused field");
        assert_eq!(check("log_signal", "3"), r#"{"log_signal":3}"#);
        assert_eq!(check("log_signal", "-1"), "refused value");
        assert_eq!(check("log_signal", "1.5"), "refused value");
        let window = r#""from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z""#;
        assert!(check("prediction_quality", &format!(r#"{{"value":0.8,"samples":10,{window}}}"#)).contains("0.8"));
        assert_eq!(check("prediction_quality", &format!(r#"{{"value":0.8,{window}}}"#)), "refused value.samples");
        let with =
            |more: &str| check("prediction_quality", &format!(r#"{{"value":0.8,"samples":10,{window},{more}}}"#));
        assert!(with(r#""half":0.05,"positives":4,"deviation":null"#).ends_with(r#""half":0.05,"positives":4}}"#));
        assert_eq!(with(r#""positives":11"#), "refused value.positives");
        assert_eq!(with(r#""half":-0.1"#), "refused value.half");
        assert_eq!(with(r#""deviation":"wide""#), "refused value.deviation");
        assert_eq!(check("prediction_quality", &format!(r#"{{"samples":1,{window}}}"#)), "refused value.value");
        assert_eq!(
            check("deployment", r#"{"before":"41","after":"42"}"#),
            r#"{"deployment":{"before":"41","after":"42"}}"#
        );
        assert_eq!(check("deployment", r#"{"before":"41"}"#), "refused value.after");
        assert_eq!(check("deployment", r#"{"after":"4 2"}"#), "refused value.after");
        assert_eq!(check("drift", "{}"), "refused value");
    }

    #[test]
    fn what_is_not_finite_is_nothing() {
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(ObservedValue::metric(odd).is_non_finite());
            assert_eq!(json!(ObservedValue::metric(odd)), json!({ "metric": null }));
        }
        assert_eq!(ObservedValue::metric(2.5).number(), Some(2.5));
    }
}
