//! All that an agent sees of an incident, frozen: what is in it, what is not, and its digest (S55–S57).

use serde::{Deserialize, Serialize};

use super::action::Action;
use super::attempt::Attempt;
use super::incident::{EVIDENCE, Incident};
use super::invalid::Invalid;
use super::moment::{HOUR, Moment};
use super::name::Version;
use super::observation::Observation;
use super::text::Output;
use super::value::ObservedValue;
use super::word::words;
use crate::hash::Digest;
use crate::ledger::v1::canonical;

/// Recent observations of a context, at most.
pub const RECENT: usize = 50;
/// How far back a change counts as the cause of a symptom.
const CHANGE: u64 = HOUR;

/// The frozen picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Context(Parts);

/// What a context is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parts {
    /// The incident, with its attempts.
    pub incident: Incident,
    /// Its evidence: readings of the application.
    pub evidence: Vec<Observation>,
    /// What may be proposed.
    pub available_actions: Vec<Action>,
    /// Other recent readings of the application, oldest first.
    pub recent_observations: Vec<Observation>,
    /// What configured checks said.
    pub diagnostics: Vec<DiagnosticOutput>,
    /// Which version was live when, oldest first.
    pub version_history: Vec<LiveSpan>,
    /// What the registry says of what is served.
    pub registry: Option<RegistryView>,
    /// When it was frozen.
    pub at: Moment,
}

/// What a configured check said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiagnosticOutput {
    /// Its configured id.
    pub name: String,
    /// When it ran.
    pub at: Moment,
    /// Whether it ended as it should.
    pub succeeded: bool,
    /// What it wrote.
    pub output: Output,
}

/// A version and the time for which it was live.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiveSpan {
    /// Which.
    pub version: Version,
    /// From when.
    pub from: Moment,
    /// Until when; nothing for the one that is live.
    pub to: Option<Moment>,
    /// Who moved it there.
    pub moved_by: MovedBy,
    /// What is known of it from then.
    pub standing: Standing,
}

words! {
    /// Who made a version live.
    MovedBy("moved_by") {
        /// We did.
        Sanare = "sanare",
        /// Somebody else.
        Others = "others",
    }
}

words! {
    /// What a version is known as.
    Standing("standing") {
        /// Nothing is known.
        Unknown = "unknown",
        /// It passed a window while live, was live long enough without trouble, or a person says so.
        Good = "good",
        /// It was rolled back from.
        Bad = "bad",
    }
}

/// Registry and service side by side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RegistryView {
    /// What the alias names.
    pub alias_version: Option<Version>,
    /// Whether the registry has that version, ready to be loaded.
    pub alias_ready: bool,
    /// What answers.
    pub served_version: Option<Version>,
    /// Whether the registry knows that one.
    pub served_known: bool,
}

words! {
    /// What an agent may or may not be given.
    Supply("supply") {
        /// The incident itself.
        Incident = "incident",
        /// Its readings.
        Evidence = "evidence",
        /// What may be proposed.
        AvailableActions = "available_actions",
        /// What was tried.
        PreviousAttempts = "previous_attempts",
        /// Other readings.
        RecentObservations = "recent_observations",
        /// What checks said.
        Diagnostics = "diagnostics",
        /// Which version was live when.
        VersionHistory = "version_history",
        /// What the registry says of what is served.
        RegistryState = "registry_state",
        /// The service's logs.
        RawErrorLogs = "raw_error_logs",
        /// What a model was made of.
        ModelAndDataVersions = "model_and_data_versions",
        /// What a request or a prediction held.
        RequestContents = "request_contents",
        /// The service's code.
        SourceCode = "source_code",
        /// How the service and Sanare are set up.
        Configuration = "configuration",
        /// Everything about other applications.
        OtherApplications = "other_applications",
    }
}

/// The newest span of a version history and whether its version went live recently before a moment.
fn recent_change(history: &[LiveSpan], before: Moment) -> Option<&LiveSpan> {
    // The first version of a history is no change: nothing is known of what was before it.
    let newest = history.iter().skip(1).rfind(|span| span.from <= before)?;
    (before.since(newest.from) <= CHANGE).then_some(newest)
}

impl Context {
    /// Checks and freezes.
    ///
    /// # Errors
    /// [`Invalid`] with the part that is wrong.
    pub fn new(mut parts: Parts) -> Result<Self, Invalid> {
        parts.available_actions.sort_unstable();
        parts.available_actions.dedup();
        if parts.available_actions.is_empty() {
            return Err(Invalid::new("available_actions", "is empty"));
        }
        if parts.evidence.len() > EVIDENCE {
            return Err(Invalid::new("evidence", format!("has more than {EVIDENCE} readings")));
        }
        if parts.recent_observations.len() > RECENT {
            return Err(Invalid::new("recent_observations", format!("has more than {RECENT} readings")));
        }
        for (field, list) in [("evidence", &parts.evidence), ("recent_observations", &parts.recent_observations)] {
            if list.iter().any(|seen| seen.application != parts.incident.application) {
                return Err(Invalid::new(field, "has a reading of another application"));
            }
        }
        Ok(Self(parts))
    }

    /// The digest of all of it: diagnosis, verdict, approval and receipt carry it.
    pub fn digest(&self) -> Digest {
        let json = serde_json::to_value(&self.0).unwrap_or_default();
        Digest::of(canonical(&json).as_bytes())
    }

    /// What was tried.
    pub fn previous_attempts(&self) -> &[Attempt] {
        &self.0.incident.attempts
    }

    /// What it holds, with how many of each.
    pub fn supplied(&self) -> Vec<(Supply, usize)> {
        let counts = [
            (Supply::Incident, 1),
            (Supply::Evidence, self.evidence.len()),
            (Supply::AvailableActions, self.available_actions.len()),
            (Supply::PreviousAttempts, self.previous_attempts().len()),
            (Supply::RecentObservations, self.recent_observations.len()),
            (Supply::Diagnostics, self.diagnostics.len()),
            (Supply::VersionHistory, self.version_history.len()),
            (Supply::RegistryState, usize::from(self.registry.is_some())),
        ];
        counts.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    /// What it does not hold.
    pub fn not_supplied(&self) -> Vec<Supply> {
        let supplied = self.supplied();
        Supply::ALL.iter().copied().filter(|one| !supplied.iter().any(|(known, _)| known == one)).collect()
    }

    /// Whether a deployment or model change lies in the 60 min before the incident opened (S8).
    pub fn changed(&self) -> bool {
        let opened = self.incident.opened;
        let deployed = |seen: &&Observation| {
            let change =
                matches!(&seen.value, ObservedValue::Deployment { before, after } if before.as_ref() != Some(after));
            change && seen.event_time <= opened && opened.since(seen.event_time) <= CHANGE
        };
        recent_change(&self.version_history, opened).is_some()
            || self.evidence.iter().chain(&self.recent_observations).any(|seen| deployed(&seen))
    }

    /// Whether the registry names a version that it has, ready to be loaded.
    pub fn registry_right(&self) -> bool {
        self.registry.as_ref().is_some_and(|view| view.alias_version.is_some() && view.alias_ready)
    }
}

impl std::ops::Deref for Context {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl TryFrom<Parts> for Context {
    type Error = Invalid;

    fn try_from(parts: Parts) -> Result<Self, Invalid> {
        Self::new(parts)
    }
}

impl From<Context> for Parts {
    fn from(context: Context) -> Self {
        context.0
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Context, DiagnosticOutput, LiveSpan, MovedBy, Parts, RegistryView, Standing, Supply};
    use crate::id::Id;
    use crate::service::action::Action;
    use crate::service::attempt;
    use crate::service::incident;
    use crate::service::kind::IncidentKind;
    use crate::service::moment::{MINUTE, Moment};
    use crate::service::name::{Application, Signal, Source, Version};
    use crate::service::observation::{Draft, Observation, Stamp};
    use crate::service::value::ObservedValue;
    use crate::service::word::{Effect, Flag, Trust};

    pub(crate) fn reading(number: u64, application: &str, value: ObservedValue) -> Observation {
        let application = Application::parse(application).expect("a name");
        let draft = Draft::new(application, Signal::parse("latency_p99_ms").expect("a name"), value);
        let arrival = Moment::parse("2026-11-30T12:00:00Z").expect("a time").minus(number * MINUTE);
        let source = Source::parse("client").expect("a name");
        let stamp = Stamp { id: Id::new("obs", number, 1), arrival, source, trust: Trust::Own };
        Observation::accept(draft, stamp).expect("good")
    }

    pub(crate) fn parts(kind: IncidentKind) -> Parts {
        let incident = incident::tests::incident(kind);
        Parts {
            at: incident.opened,
            incident,
            evidence: vec![reading(1, "fraud", ObservedValue::metric(900.0))],
            available_actions: Action::ALL.to_vec(),
            recent_observations: Vec::new(),
            diagnostics: Vec::new(),
            version_history: Vec::new(),
            registry: None,
        }
    }

    fn refused(change: impl FnOnce(&mut Parts)) -> String {
        let mut parts = parts(IncidentKind::LatencyHigh);
        change(&mut parts);
        Context::new(parts).map_or_else(|invalid| invalid.field, |_| "good".to_owned())
    }

    #[test]
    fn bad_parts_are_refused() {
        assert_eq!(refused(|_| {}), "good");
        assert_eq!(refused(|parts| parts.available_actions.clear()), "available_actions");
        let many = |count: u64| (0..count).map(|n| reading(n, "fraud", ObservedValue::metric(1.0))).collect();
        assert_eq!(refused(|parts| parts.recent_observations = many(50)), "good");
        assert_eq!(refused(|parts| parts.recent_observations = many(51)), "recent_observations");
        assert_eq!(refused(|parts| parts.evidence = many(201)), "evidence");
        let foreign = vec![reading(1, "churn", ObservedValue::metric(1.0))];
        assert_eq!(refused(|parts| parts.recent_observations.clone_from(&foreign)), "recent_observations");
        assert_eq!(refused(|parts| parts.evidence.clone_from(&foreign)), "evidence");
        let mut json = serde_json::to_value(parts(IncidentKind::LatencyHigh)).expect("json");
        json["available_actions"] = serde_json::json!(["restart everything"]);
        assert!(serde_json::from_value::<Context>(json).is_err());
    }

    #[test]
    fn supplied_is_what_it_holds_and_the_rest_is_not_supplied() {
        let context = Context::new(parts(IncidentKind::LatencyHigh)).expect("good");
        let supplied = context.supplied();
        let missing = context.not_supplied();
        assert_eq!(supplied.len() + missing.len(), Supply::ALL.len());
        assert!(supplied.iter().all(|(one, count)| !missing.contains(one) && *count > 0));
        assert!(missing.contains(&Supply::RawErrorLogs) && missing.contains(&Supply::ModelAndDataVersions));
        assert!(missing.contains(&Supply::RecentObservations) && supplied.contains(&(Supply::Evidence, 1)));
    }

    /// Whatever a context holds: the two lists are disjoint, complete, and what they say is what is there.
    #[test]
    fn both_lists_are_what_any_context_holds() {
        let none_or_two = |present: bool| if present { 2 } else { 0 };
        for mask in 0..64_u32 {
            let has = |bit: u32| mask >> bit & 1 == 1;
            let mut parts = parts(IncidentKind::LatencyHigh);
            let many = |from: u64, count: u64| {
                (from..from + count).map(|n| reading(n, "fraud", ObservedValue::metric(1.0))).collect::<Vec<_>>()
            };
            parts.evidence = many(1, none_or_two(has(0)));
            parts.recent_observations = many(10, none_or_two(has(1)));
            parts.incident.attempts =
                (0..none_or_two(has(2))).map(|_| attempt::tests::attempt(Action::ReloadModel, None)).collect();
            let output = DiagnosticOutput {
                name: "threads".to_owned(),
                at: parts.at,
                succeeded: true,
                output: crate::service::text::Text::of("x"),
            };
            parts.diagnostics = vec![output; if has(3) { 2 } else { 0 }];
            let span = LiveSpan {
                version: Version::parse("41").expect("a version"),
                from: parts.at,
                to: None,
                moved_by: MovedBy::Others,
                standing: Standing::Unknown,
            };
            parts.version_history = vec![span; if has(4) { 2 } else { 0 }];
            parts.registry = has(5).then(RegistryView::default);
            let context = Context::new(parts).expect("good");
            let (supplied, missing) = (context.supplied(), context.not_supplied());
            let expected = [
                (Supply::Evidence, 0, 2),
                (Supply::RecentObservations, 1, 2),
                (Supply::PreviousAttempts, 2, 2),
                (Supply::Diagnostics, 3, 2),
                (Supply::VersionHistory, 4, 2),
                (Supply::RegistryState, 5, 1),
            ];
            for (supply, bit, count) in expected {
                assert_eq!(supplied.contains(&(supply, count)), has(bit), "{mask} {supply:?}");
                assert_eq!(missing.contains(&supply), !has(bit), "{mask} {supply:?}");
            }
            for supply in Supply::ALL {
                let here = supplied.iter().any(|(known, _)| known == supply);
                assert!(here != missing.contains(supply), "{mask} {supply:?}");
            }
        }
    }

    #[test]
    fn one_change_of_anything_is_another_digest() {
        let digest = |change: fn(&mut Parts)| {
            let mut parts = parts(IncidentKind::LatencyHigh);
            parts.recent_observations =
                vec![reading(2, "fraud", ObservedValue::metric(1.0)), reading(3, "fraud", ObservedValue::metric(2.0))];
            change(&mut parts);
            Context::new(parts).expect("good").digest()
        };
        let plain = digest(|_| {});
        assert_eq!(plain, digest(|parts| parts.available_actions.reverse()), "the actions are a set");
        let changes: [fn(&mut Parts); 6] = [
            |parts| parts.evidence[0].value = ObservedValue::metric(901.0),
            |parts| parts.evidence[0].flags.extend([Flag::Late]),
            |parts| parts.recent_observations.reverse(),
            |parts| parts.incident.attempts.push(attempt::tests::attempt(Action::ReloadModel, Some(Effect::Done))),
            |parts| parts.available_actions.truncate(7),
            |parts| parts.at = parts.at.plus(1),
        ];
        let mut digests: Vec<_> = changes.into_iter().map(digest).collect();
        digests.push(plain);
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), 7);
    }

    #[test]
    fn a_change_counts_for_an_hour_and_only_before() {
        let span = |version: &str, minutes_before: u64| LiveSpan {
            version: Version::parse(version).expect("a version"),
            from: incident::tests::incident(IncidentKind::LatencyHigh).opened.minus(minutes_before * MINUTE),
            to: None,
            moved_by: MovedBy::Others,
            standing: Standing::Unknown,
        };
        let changed = |history: Vec<LiveSpan>| {
            let parts = Parts { version_history: history, ..parts(IncidentKind::LatencyHigh) };
            Context::new(parts).expect("good").changed()
        };
        assert!(!changed(vec![]) && !changed(vec![span("41", 10)]), "the first version is no change");
        assert!(changed(vec![span("41", 900), span("42", 60)]));
        assert!(!changed(vec![span("41", 900), span("42", 61)]));
        let deployed = |minutes: u64, before: &str| {
            let version = |text: &str| Version::parse(text).expect("a version");
            let value = ObservedValue::Deployment { before: Some(version(before)), after: version("42") };
            let parts = Parts {
                recent_observations: vec![reading(minutes, "fraud", value)],
                ..parts(IncidentKind::LatencyHigh)
            };
            Context::new(parts).expect("good").changed()
        };
        assert!(deployed(59, "41") && !deployed(61, "41") && !deployed(5, "42"));
    }
}
