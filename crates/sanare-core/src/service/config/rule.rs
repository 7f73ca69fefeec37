//! `[[service.NAME.rule]]`, `budget`, `quality` and `watch`: when a reading is bad (S37, S38, S46). What a detector makes
//! of them is checked by the detector itself.

use std::collections::BTreeMap;

use serde::Serialize;

use super::reader::Table;
use crate::service::invalid::Invalid;
use crate::service::kind::IncidentKind;
use crate::service::moment::DAY;
use crate::service::name::{Component, Signal};
use crate::service::word::{Severity, words};

/// The side on which a number is bad.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Bad when it is larger.
    Above(f64),
    /// Bad when it is smaller.
    Below(f64),
}

/// What of a window is compared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregate {
    /// The newest reading.
    Last,
    /// The mean.
    Mean,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// Growth of a counter per second.
    Rate,
    /// The number below which this share lies.
    Quantile(f64),
}

/// A threshold rule; times in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleSettings {
    /// Its name within the service.
    pub id: String,
    /// The component that it is about; any that sends the signal, if absent.
    pub component: Option<Component>,
    /// The signal.
    pub signal: Signal,
    /// Labels that a reading must carry.
    pub labels: BTreeMap<String, String>,
    /// The bound.
    pub bound: Bound,
    /// The bound that it has to be within to clear.
    pub clear: Option<f64>,
    /// How long it has to be bad.
    pub pending: Option<u64>,
    /// How long it has to be good.
    pub keep: Option<u64>,
    /// So many of so many readings.
    pub of: Option<(u8, u8)>,
    /// What is compared.
    pub aggregate: Aggregate,
    /// Over which window.
    pub window: Option<u64>,
    /// How often the signal is expected.
    pub every: Option<u64>,
    /// What it opens.
    pub kind: IncidentKind,
    /// How bad that is.
    pub severity: Option<Severity>,
    /// Labels whose values tell incidents apart.
    pub distinct: Vec<String>,
    /// Line of the file.
    #[serde(skip)]
    pub line: usize,
}

words! {
    /// What the readings of a ratio are.
    CountForm("form") {
        /// Counters that only grow.
        Counter = "counter",
        /// Counts since the reading before.
        Count = "count",
    }
}

/// An error budget.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BudgetSettings {
    /// Its name within the service.
    pub id: String,
    /// Failed requests.
    pub bad: Signal,
    /// All requests.
    pub all: Signal,
    /// The share that shall not fail, such as 0.99.
    pub objective: f64,
    /// What the readings are.
    pub form: CountForm,
    /// Line of the file.
    #[serde(skip)]
    pub line: usize,
}

words! {
    /// How the interval of a quality is found, where its sender does not tell it.
    QualityForm("form") {
        /// A share of the samples, such as accuracy.
        Share = "share",
        /// An area under the curve; a reading tells how many samples are positive.
        Auc = "auc",
        /// A mean, such as an error; a reading tells the deviation of one sample.
        Mean = "mean",
    }
}

/// A bound on a quality.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QualitySettings {
    /// Its name within the service.
    pub id: String,
    /// The quality's signal.
    pub signal: Signal,
    /// The bound.
    pub bound: Bound,
    /// How its interval is found.
    pub form: QualityForm,
    /// Line of the file.
    #[serde(skip)]
    pub line: usize,
}

pub(super) fn rule(mut table: Table<'_>) -> Option<RuleSettings> {
    let id = table.read("id", super::plain_name);
    let component = table.name::<Component>("component");
    let signal = table.name::<Signal>("signal");
    let labels = table.pairs("labels");
    let bound = bound(&mut table);
    let clear = table.number("clear");
    let [pending, keep, window, every] =
        ["for", "keep", "window", "every"].map(|key| table.duration(key, 1_000, 30 * DAY));
    let of = table.read("of", of);
    let aggregate = table.read("aggregate", aggregate).unwrap_or(Aggregate::Last);
    let kind = table.read("kind", kind);
    let severity = table.read("severity", Severity::parse);
    let distinct = table.texts("distinct", 8).unwrap_or_default();
    let id = table.needed("id", id);
    let signal = table.needed("signal", signal);
    let kind = table.needed("kind", kind);
    let line = table.line();
    table.finish();
    Some(RuleSettings {
        id: id?,
        component,
        signal: signal?,
        labels,
        bound: bound?,
        clear,
        pending,
        keep,
        of,
        aggregate,
        window,
        every,
        kind: kind?,
        severity,
        distinct,
        line,
    })
}

pub(super) fn budget(mut table: Table<'_>) -> Option<BudgetSettings> {
    let id = table.read("id", super::plain_name);
    let [bad, all] = ["bad", "all"].map(|key| {
        let signal = table.name::<Signal>(key);
        table.needed(key, signal)
    });
    let objective = table.number("objective");
    let form = table.read("form", CountForm::parse).unwrap_or(CountForm::Counter);
    let (id, objective) = (table.needed("id", id), table.needed("objective", objective));
    if bad.is_some() && bad == all {
        table.trouble("bad", "is the same signal as `all`", "");
    }
    let line = table.line();
    table.finish();
    Some(BudgetSettings { id: id?, bad: bad?, all: all?, objective: objective?, form, line })
}

pub(super) fn quality(mut table: Table<'_>) -> Option<QualitySettings> {
    let id = table.read("id", super::plain_name);
    let signal = table.name::<Signal>("signal");
    let bound = bound(&mut table);
    let form = table.read("form", QualityForm::parse).unwrap_or(QualityForm::Share);
    let (id, signal) = (table.needed("id", id), table.needed("signal", signal));
    let line = table.line();
    table.finish();
    Some(QualitySettings { id: id?, signal: signal?, bound: bound?, form, line })
}

fn bound(table: &mut Table<'_>) -> Option<Bound> {
    let (above, below) = (table.number("above"), table.number("below"));
    match (above, below) {
        (Some(bound), None) => Some(Bound::Above(bound)),
        (None, Some(bound)) => Some(Bound::Below(bound)),
        (Some(_), Some(_)) => {
            table.trouble("below", "stands beside `above`; a rule has one bound", "write a second rule");
            None
        }
        (None, None) => {
            if !table.has("above") && !table.has("below") {
                table.trouble("above", "is missing, and so is `below`", "");
            }
            None
        }
    }
}

/// A kind that detectors may open: incidents of code and storms have doors of their own.
pub(super) fn kind(word: &str) -> Result<IncidentKind, Invalid> {
    match IncidentKind::parse(word)? {
        IncidentKind::CodeException | IncidentKind::Storm => {
            Err(Invalid::quoting("kind", word, "no rule opens such an incident"))
        }
        kind => Ok(kind),
    }
}

fn of(text: &str) -> Result<(u8, u8), Invalid> {
    let numbers = text.split_once(" of ").and_then(|(bad, all)| Some((bad.parse().ok()?, all.parse().ok()?)));
    numbers.ok_or_else(|| Invalid::quoting("of", text, "such as \"3 of 5\""))
}

fn aggregate(text: &str) -> Result<Aggregate, Invalid> {
    Ok(match text {
        "last" => Aggregate::Last,
        "mean" => Aggregate::Mean,
        "max" => Aggregate::Max,
        "min" => Aggregate::Min,
        "rate" => Aggregate::Rate,
        other => {
            let share =
                other.strip_prefix('p').and_then(|digits| digits.parse::<f64>().ok()).map(|share| share / 100.0);
            let share = share.filter(|share| *share > 0.0 && *share < 1.0);
            Aggregate::Quantile(share.ok_or_else(|| {
                Invalid::quoting("aggregate", text, "one of last, mean, max, min, rate, or a quantile such as p99")
            })?)
        }
    })
}
