//! Figures of what was detected, decided, done and healed (S115), from the records of incidents alone. What the records do
//! not carry is absent, and never zero.

use std::collections::BTreeMap;

use serde::Serialize;

use super::action::Action;
use super::diagnosis::Diagnosis;
use super::incident::Incident;
use super::kind::IncidentKind;
use super::moment::Moment;
use super::name::Application;
use super::word::{ClosedBy, IncidentFlag, VerificationOutcome};
use crate::ledger::Record;
use crate::outcome::Outcome;

/// Times of one sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Times {
    /// How many are known.
    pub known: usize,
    /// Milliseconds: the median, the lower of two.
    pub median_ms: u64,
    /// Milliseconds: the longest.
    pub longest_ms: u64,
}

impl Times {
    fn of(mut all: Vec<u64>) -> Option<Self> {
        all.sort_unstable();
        let (median, longest) = (all.get(all.len().saturating_sub(1) / 2)?, all.last()?);
        Some(Self { known: all.len(), median_ms: *median, longest_ms: *longest })
    }
}

/// Incidents of one service and kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IncidentFigures {
    /// The service.
    pub application: Application,
    /// What was wrong.
    pub kind: IncidentKind,
    /// Incidents.
    pub incidents: usize,
    /// Those whose run goes on, or that were only played through.
    pub open: usize,
    /// Those that an act healed, verified.
    pub healed: usize,
    /// Those that passed; no act is credited with them.
    pub healed_by_itself: usize,
    /// Those whose act was taken back.
    pub undone: usize,
    /// Those that a person has or had.
    pub escalated: usize,
    /// Those in which policy refused what was proposed.
    pub refused: usize,
    /// Times that one fell ill again within 30 minutes of an act that was said to have healed it.
    pub false_heals: usize,
    /// Those that a person called a false alarm.
    pub false_alarms: usize,
    /// The share that an act healed of those that ended; absent where none has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub healed_share: Option<f64>,
    /// From the first bad reading to the incident.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detect: Option<Times>,
    /// From the incident to its first diagnosis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnose: Option<Times>,
    /// From a proposal to leave to act, or to the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decide: Option<Times>,
    /// From a question to its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<Times>,
    /// From the incident to the symptom's end, where an act healed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recover: Option<Times>,
}

/// Acts of one service, kind of incident, action and agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ActFigures {
    /// The service.
    pub application: Application,
    /// What was wrong.
    pub kind: IncidentKind,
    /// What was done.
    pub action: Action,
    /// Who proposed it; absent where the records do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Acts that were begun.
    pub begun: usize,
    /// Those that were verified as having helped.
    pub recovered: usize,
    /// Those that had not helped, made it worse, or surely changed nothing.
    pub failed: usize,
    /// Those of which nobody knows whether they helped.
    pub not_known: usize,
    /// Those that were taken back.
    pub undone: usize,
    /// From the start of the call to its effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub act: Option<Times>,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// By service and kind.
    pub incidents: Vec<IncidentFigures>,
    /// By service, kind, action and agent.
    pub acts: Vec<ActFigures>,
    /// How often a model failed, by service and type of failure; a later success takes none away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agent_failures: Vec<FailureFigures>,
}

/// Failures of agents of one type in one service.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailureFigures {
    /// The service.
    pub application: Application,
    /// The type; never a provider's own words.
    pub failure: String,
    /// How often.
    pub count: usize,
}

#[derive(Default)]
struct Collected {
    incidents: Vec<(Option<Outcome>, Option<ClosedBy>)>,
    false_heals: usize,
    false_alarms: usize,
    times: BTreeMap<&'static str, Vec<u64>>,
}

impl Collected {
    fn time(&mut self, what: &'static str, from: Option<u64>, to: Option<u64>) {
        if let (Some(from), Some(to)) = (from, to)
            && let Some(lasted) = to.checked_sub(from)
        {
            self.times.entry(what).or_default().push(lasted);
        }
    }
}

#[derive(Default)]
struct Acts {
    outcomes: Vec<Option<VerificationOutcome>>,
    undone: usize,
    times: Vec<u64>,
}

type ActKey = (Application, IncidentKind, Action, Option<String>);

/// Figures of some incidents, each with its records.
pub fn figures(all: &[(Incident, Vec<Record>)]) -> Figures {
    let mut kinds: BTreeMap<(Application, IncidentKind), Collected> = BTreeMap::new();
    let mut acts: BTreeMap<ActKey, Acts> = BTreeMap::new();
    let mut failures: BTreeMap<(Application, String), usize> = BTreeMap::new();
    for (incident, records) in all {
        for failure in records.iter().filter_map(failed) {
            *failures.entry((incident.application.clone(), failure)).or_default() += 1;
        }
        let key = (incident.application.clone(), incident.kind);
        collect(kinds.entry(key).or_default(), incident, records);
        collect_acts(&mut acts, incident, records);
    }
    let failures =
        failures.into_iter().map(|((application, failure), count)| FailureFigures { application, failure, count });
    Figures {
        incidents: kinds.into_iter().map(told).collect(),
        acts: acts.into_iter().map(told_acts).collect(),
        agent_failures: failures.collect(),
    }
}

/// How an agent failed, where a record says that one did: another answered in its place, or nobody.
fn failed(record: &Record) -> Option<String> {
    let payload = record.json();
    let failure = match record.step.as_str() {
        "diagnosed" => &payload["diagnosis"]["failure"],
        "agent_failed" => &payload["failure"],
        _ => return None,
    };
    failure.as_str().map(str::to_owned)
}

fn collect(into: &mut Collected, incident: &Incident, records: &[Record]) {
    let played = incident.is(IncidentFlag::DryRun);
    let outcome = incident.outcome.filter(|_| !played);
    into.incidents.push((outcome, incident.closed_by));
    into.false_alarms += usize::from(incident.is(IncidentFlag::FalseAlarm));
    let first = |step: &str| records.iter().find(|one| one.step == step);
    let opened = first("opened").map(|one| one.at);
    let since = first("opened").and_then(|one| serde_json::from_value::<Moment>(one.json()["since"].clone()).ok());
    into.time("detect", since.map(Moment::millis), opened);
    into.time("diagnose", opened, first("diagnosed").map(|one| one.at));
    let healed = outcome == Some(Outcome::Healed) && incident.closed_by == Some(ClosedBy::Action);
    into.time("recover", opened.filter(|_| healed), incident.cleared.map(Moment::millis));
    let (mut proposed, mut asked, mut healed_by_act) = (None, None, false);
    for record in records {
        match record.step.as_str() {
            "proposed" => (proposed, asked) = (Some(record.at), None),
            "waiting" => {
                into.time("decide", proposed.take(), Some(record.at));
                asked = Some(record.at);
            }
            // A no ends the wait as a yes does; one of two answers does not.
            "answered" if record.json()["state"] != "waiting" => into.time("wait", asked.take(), Some(record.at)),
            "approved" => {
                into.time("decide", proposed.take(), Some(record.at));
                into.time("wait", asked.take(), Some(record.at));
            }
            "closed" => healed_by_act = record.json()["closed_by"] == "action",
            "reopened" => into.false_heals += usize::from(std::mem::take(&mut healed_by_act)),
            _ => {}
        }
    }
}

fn collect_acts(into: &mut BTreeMap<ActKey, Acts>, incident: &Incident, records: &[Record]) {
    let agent_at = |place: usize| {
        let before = records.get(..place).unwrap_or_default();
        let proposed = before.iter().rposition(|one| one.step == "proposed")?;
        let of = |one: &Record| serde_json::from_value::<Diagnosis>(one.json()["diagnosis"].clone()).ok();
        let by_person = records.get(proposed).and_then(of);
        let diagnosed = || before.get(..proposed)?.iter().rfind(|one| one.step == "diagnosed").and_then(of);
        by_person.or_else(diagnosed).map(|diagnosis| diagnosis.agent.figure_key())
    };
    for (place, record) in records.iter().enumerate().filter(|(_, one)| one.step == "started") {
        let payload = record.json();
        let receipt = payload["receipt"].as_str().unwrap_or_default().to_owned();
        // Taking back is told of the act that is taken back; the same act begun again is one act.
        let Some(action) = payload["action"].as_str().and_then(|word| Action::parse(word).ok()) else { continue };
        if payload["again"] == true {
            continue;
        }
        let later = records.get(place..).unwrap_or_default();
        let effect = later.iter().find(|one| one.step == "effect" && one.json()["receipt"] == receipt.as_str());
        let key = (incident.application.clone(), incident.kind, action, agent_at(place));
        let acts = into.entry(key).or_default();
        acts.times.extend(effect.and_then(|effect| effect.at.checked_sub(record.at)));
        let of = |one: &&super::attempt::Attempt| one.receipt_id.as_ref().is_some_and(|id| id.as_str() == receipt);
        acts.outcomes.push(incident.attempts.iter().rfind(of).map(|one| one.outcome));
        let undone = |one: &&Record| {
            one.step == "started"
                && one.json()["undo_of"] == receipt.as_str()
                && taken_back(later, &one.json()["receipt"])
        };
        acts.undone += usize::from(later.iter().any(|one| undone(&one)));
    }
}

fn taken_back(later: &[Record], receipt: &serde_json::Value) -> bool {
    later.iter().any(|one| {
        let json = one.json();
        one.step == "effect" && json["receipt"] == *receipt && json["effect"] == "done"
    })
}

fn told(((application, kind), mut all): ((Application, IncidentKind), Collected)) -> IncidentFigures {
    let count = |is: &dyn Fn(Outcome, Option<ClosedBy>) -> bool| {
        all.incidents.iter().filter(|(outcome, by)| outcome.is_some_and(|outcome| is(outcome, *by))).count()
    };
    let healed = count(&|outcome, by| outcome == Outcome::Healed && by == Some(ClosedBy::Action));
    let healed_by_itself = count(&|outcome, by| outcome == Outcome::Healed && by != Some(ClosedBy::Action));
    let [undone, escalated, refused] = [Outcome::RolledBack, Outcome::Escalated, Outcome::Refused]
        .map(|wanted| count(&|outcome, _| outcome == wanted));
    let ended = healed + healed_by_itself + undone + escalated + refused;
    let incidents = all.incidents.len();
    let mut times = |what| all.times.remove(what).and_then(Times::of);
    IncidentFigures {
        application,
        kind,
        incidents,
        open: incidents - ended,
        healed,
        healed_by_itself,
        undone,
        escalated,
        refused,
        false_heals: all.false_heals,
        false_alarms: all.false_alarms,
        healed_share: (ended > 0).then(|| share(healed, ended)),
        detect: times("detect"),
        diagnose: times("diagnose"),
        decide: times("decide"),
        wait: times("wait"),
        recover: times("recover"),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of incidents are far below 2^53")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

fn told_acts(((application, kind, action, agent), all): (ActKey, Acts)) -> ActFigures {
    use VerificationOutcome::{Inconclusive, NotRecovered, NotVerified, Recovered, Worse};
    let count = |wanted: &[VerificationOutcome]| {
        all.outcomes.iter().filter(|one| one.is_some_and(|one| wanted.contains(&one))).count()
    };
    ActFigures {
        application,
        kind,
        action,
        agent,
        begun: all.outcomes.len(),
        recovered: count(&[Recovered]),
        failed: count(&[NotRecovered, Worse]),
        not_known: count(&[Inconclusive, NotVerified]),
        undone: all.undone,
        act: Times::of(all.times),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::figures;
    use crate::id::Id;
    use crate::ledger::{ChainHead, Entry, Record, SYSTEM};
    use crate::outcome::Outcome;
    use crate::redact::Redactor;
    use crate::service::diagnosis::tests::diagnosis;
    use crate::service::incident::Incident;
    use crate::service::kind::IncidentKind;
    use crate::service::moment::Moment;
    use crate::service::name::{Application, Component};
    use crate::service::word::{ClosedBy, Effect, IncidentFlag, VerificationOutcome};
    use crate::service::{Action, Attempt, Text};

    /// Records by the second at which they were made.
    fn records(all: &[(u64, &str, Json)]) -> Vec<Record> {
        let mut records: Vec<Record> = Vec::new();
        for (second, step, payload) in all {
            let entry = Entry {
                incident: Id::from_text("inc_1"),
                step: (*step).to_owned(),
                at: second * 1_000,
                payload: Redactor::standard().json(payload),
            };
            let head = records.last().map_or(ChainHead::none(SYSTEM), Record::head);
            records.push(Record::after(&head, records.len() as u64 + 1, &entry));
        }
        records
    }

    fn at(second: u64) -> Moment {
        Moment::from_millis(second * 1_000)
    }

    fn incident(outcome: Option<Outcome>, closed_by: Option<ClosedBy>) -> Incident {
        let fraud = Application::parse("fraud").expect("a name");
        let kind = IncidentKind::LatencyHigh;
        let mut incident = Incident::open(Id::from_text("inc_1"), fraud, Component::default(), kind, None, at(100));
        (incident.outcome, incident.closed_by) = (outcome, closed_by);
        incident
    }

    fn attempt(receipt: &str, outcome: VerificationOutcome) -> Attempt {
        Attempt {
            number: 1,
            action: Action::ReloadModel,
            outcome,
            summary: Text::of("tried"),
            effect: Some(Effect::Done),
            receipt_id: Some(Id::from_text(receipt)),
            diagnostic: None,
            at: at(300),
        }
    }

    /// An act that healed it: first bad reading at 70, opened at 100, diagnosed at 103, asked 107 to 167, called 170 to 172,
    /// cleared at 200, closed at 500.
    fn healed() -> (Incident, Vec<Record>) {
        let mut incident = incident(Some(Outcome::Healed), Some(ClosedBy::Action));
        incident.cleared = Some(at(200));
        incident.attempts = vec![attempt("rct_1", VerificationOutcome::Recovered)];
        let records = records(&[
            (100, "opened", json!({ "since": at(70) })),
            (103, "diagnosed", json!({ "diagnosis": diagnosis() })),
            (104, "proposed", json!({})),
            (107, "waiting", json!({})),
            (167, "approved", json!({})),
            (170, "started", json!({ "receipt": "rct_1", "action": "reload_model" })),
            (172, "effect", json!({ "receipt": "rct_1", "effect": "done" })),
            (500, "closed", json!({ "closed_by": "action" })),
        ]);
        (incident, records)
    }

    fn told(all: &[(Incident, Vec<Record>)]) -> (Json, Vec<Json>) {
        let figures = figures(all);
        assert_eq!(figures.incidents.len(), 1);
        (json!(figures.incidents[0]), figures.acts.iter().map(|one| json!(one)).collect())
    }

    #[test]
    fn every_figure_of_an_incident_that_an_act_healed() {
        let (incident, acts) = told(&[healed()]);
        let once = |millis: u64| json!({ "known": 1, "median_ms": millis, "longest_ms": millis });
        assert_eq!(
            incident,
            json!({ "application": "fraud", "kind": "latency_high", "incidents": 1, "open": 0, "healed": 1,
                "healed_by_itself": 0, "undone": 0, "escalated": 0, "refused": 0, "false_heals": 0, "false_alarms": 0,
                "healed_share": 1.0, "detect": once(30_000), "diagnose": once(3_000), "decide": once(3_000),
                "wait": once(60_000), "recover": once(100_000) })
        );
        assert_eq!(acts.len(), 1);
        assert_eq!((&acts[0]["begun"], &acts[0]["recovered"], &acts[0]["failed"]), (&json!(1), &json!(1), &json!(0)));
        assert_eq!((&acts[0]["agent"], &acts[0]["act"]), (&json!(diagnosis().agent.figure_key()), &once(2_000)));
    }

    #[test]
    fn what_passes_by_itself_is_no_act_s_merit_and_what_is_not_recorded_is_absent() {
        let mut alone =
            (incident(Some(Outcome::Healed), Some(ClosedBy::Itself)), records(&[(100, "opened", json!({}))]));
        alone.0.cleared = Some(at(160));
        let (one, acts) = told(&[alone]);
        assert_eq!(
            (&one["healed"], &one["healed_by_itself"], &one["healed_share"]),
            (&json!(0), &json!(1), &json!(0.0))
        );
        for absent in ["detect", "diagnose", "decide", "wait", "recover"] {
            assert_eq!(one.get(absent), None, "{absent}");
        }
        assert!(acts.is_empty());
        // One that goes on has no share yet.
        let (one, _) = told(&[(incident(None, None), Vec::new())]);
        assert_eq!((&one["open"], one.get("healed_share")), (&json!(1), None));
    }

    #[test]
    fn an_answer_is_an_answer_whatever_it_says() {
        let asked = [(100, "opened", json!({})), (104, "proposed", json!({})), (107, "waiting", json!({}))];
        let waited = |answers: &[(u64, &str, Json)]| {
            let all = records(&[asked.as_slice(), answers].concat());
            told(&[(incident(Some(Outcome::Escalated), None), all)]).0.get("wait").cloned()
        };
        let minute = Some(json!({ "known": 1, "median_ms": 60_000, "longest_ms": 60_000 }));
        assert_eq!(waited(&[(167, "answered", json!({ "state": "denied" }))]), minute);
        // One of two has said yes: it goes on waiting.
        assert_eq!(waited(&[(120, "answered", json!({ "state": "waiting" })), (167, "approved", json!({}))]), minute);
        assert_eq!(waited(&[(1_907, "escalating", json!({ "cause": "expired" }))]), None, "nobody answered");
    }

    #[test]
    fn failures_of_agents_are_counted_by_type_whatever_came_later() {
        let fallback = |failure: &str| json!({ "diagnosis": { "failure": failure } });
        let first = records(&[
            (100, "diagnosed", fallback("timeout")),
            (110, "diagnosed", fallback("timeout")),
            (120, "agent_failed", json!({ "failure": "panicked" })),
            (130, "diagnosed", json!({ "diagnosis": diagnosis() })),
        ]);
        let second = records(&[(200, "diagnosed", fallback("timeout"))]);
        let told = figures(&[(incident(None, None), first), (incident(None, None), second), healed()]);
        let counts: Vec<(&str, usize)> =
            told.agent_failures.iter().map(|one| (one.failure.as_str(), one.count)).collect();
        assert_eq!(counts, [("panicked", 1), ("timeout", 3)]);
    }

    #[test]
    fn relapses_false_alarms_undone_acts_and_dry_runs() {
        let mut relapse = healed();
        relapse.1 =
            [relapse.1, records(&[(900, "reopened", json!({})), (950, "closed", json!({ "closed_by": null }))])]
                .concat();
        (relapse.0.outcome, relapse.0.closed_by) = (Some(Outcome::Escalated), None);
        relapse.0.attempts[0].outcome = VerificationOutcome::NotRecovered;
        let mut alarm = (incident(Some(Outcome::Escalated), Some(ClosedBy::Person)), Vec::new());
        alarm.0.flags.insert(IncidentFlag::FalseAlarm);
        let mut undone = healed();
        undone.0.outcome = Some(Outcome::RolledBack);
        undone.0.attempts[0].outcome = VerificationOutcome::Worse;
        undone.1.extend(records(&[
            (300, "started", json!({ "receipt": "rct_2", "undo_of": "rct_1" })),
            (301, "effect", json!({ "receipt": "rct_2", "effect": "done" })),
        ]));
        let mut played = (incident(Some(Outcome::Refused), None), Vec::new());
        played.0.flags.insert(IncidentFlag::DryRun);
        let (one, acts) = told(&[relapse, alarm, undone, played]);
        let counts = ["incidents", "open", "healed", "undone", "escalated", "refused", "false_heals", "false_alarms"];
        let counts: Vec<u64> = counts.iter().filter_map(|name| one[name].as_u64()).collect();
        assert_eq!(counts, [4, 1, 0, 1, 2, 0, 1, 1]);
        assert_eq!(one.get("recover"), None, "no act healed it in the end");
        let counts = ["begun", "recovered", "failed", "not_known", "undone"];
        let counts: Vec<u64> = counts.iter().filter_map(|name| acts[0][name].as_u64()).collect();
        assert_eq!((acts.len(), counts), (1, vec![2, 0, 2, 0, 1]));
    }
}
