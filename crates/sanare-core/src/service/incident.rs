//! Incidents of services, and those of code healing as the same type (S9, S48).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::attempt::Attempt;
use super::invalid::Invalid;
use super::kind::IncidentKind;
use super::moment::Moment;
use super::name::{Application, Component};
use super::text::Text;
use super::word::{ClosedBy, Condition, IncidentFlag, Severity, Status, StepName, words};
use crate::hash::Digest;
use crate::id::Id;
use crate::outcome::Outcome;

/// Evidence of one incident, at most.
pub const EVIDENCE: usize = 200;

/// Something that is wrong with an application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Incident {
    /// `inc_…`.
    pub id: Id,
    /// The service.
    pub application: Application,
    /// The part of it.
    pub component: Component,
    /// What is wrong.
    pub kind: IncidentKind,
    /// How bad it is.
    pub severity: Severity,
    /// Equal symptoms share it; one open incident has it.
    pub fingerprint: Digest,
    /// One sentence, composed by us from fields.
    pub summary: Text,
    /// How the symptom stands.
    pub condition: Condition,
    /// Where its run is.
    pub step: StepName,
    /// Its readings: first, worst, newest.
    pub evidence: Vec<Evidence>,
    /// When it was opened.
    pub opened: Moment,
    /// When it last changed.
    pub updated: Moment,
    /// When the symptom cleared.
    pub cleared: Option<Moment>,
    /// When its run ended.
    pub closed: Option<Moment>,
    /// How its run ended.
    pub outcome: Option<Outcome>,
    /// Who or what ended it.
    pub closed_by: Option<ClosedBy>,
    /// What was tried.
    pub attempts: Vec<Attempt>,
    /// What marks it.
    pub flags: BTreeSet<IncidentFlag>,
    /// The incident that explains it, so that it does not run.
    pub inhibited_by: Option<Id>,
    /// The group that shares one escalation.
    pub group: Option<Id>,
    /// What belongs to it elsewhere.
    pub links: Vec<Link>,
}

/// A reading that belongs to an incident.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The observation.
    pub observation: Id,
    /// How far out of bounds it is, by the detector's own measure; 0 for not at all.
    pub badness: f64,
}

words! {
    /// What a link of an incident leads to.
    LinkKind("link") {
        /// Code healing's incident of the same failure.
        CodeIncident = "code_incident",
        /// The incident before it, of the same fingerprint.
        Earlier = "earlier",
        /// The incident that it is part of.
        PartOf = "part_of",
    }
}

/// Something that belongs to an incident elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// What it leads to.
    pub kind: LinkKind,
    /// Its id there.
    pub id: Id,
}

/// How an incident stands, by condition and step; a person's closing ends it whatever fires.
pub fn status(condition: Condition, step: StepName, closed_by: Option<ClosedBy>) -> Status {
    match (step, condition) {
        (StepName::Closed, _) if closed_by == Some(ClosedBy::Person) => Status::Closed,
        (StepName::Closed, Condition::Firing | Condition::Clearing) => Status::HandedOver,
        (StepName::Closed, Condition::Pending | Condition::Cleared) => Status::Closed,
        _ => Status::Open,
    }
}

/// The digest that equal symptoms share: never of texts or values. `labels` are those that the rule names.
pub fn fingerprint(
    application: &Application,
    kind: IncidentKind,
    component: &Component,
    labels: &[(&str, &str)],
) -> Digest {
    let mut parts: Vec<&[u8]> =
        vec![b"sanare-s1", application.as_str().as_bytes(), kind.word().as_bytes(), component.as_str().as_bytes()];
    for (key, value) in labels {
        parts.extend([key.as_bytes(), value.as_bytes()]);
    }
    Digest::of_parts(&parts)
}

impl Incident {
    /// A new incident of a firing symptom.
    pub fn open(
        id: Id,
        application: Application,
        component: Component,
        kind: IncidentKind,
        severity: Option<Severity>,
        at: Moment,
    ) -> Self {
        let fingerprint = fingerprint(&application, kind, &component, &[]);
        let summary = Text::of(&format!("{application}/{component}: {}", kind.line().opens));
        Self {
            id,
            application,
            component,
            kind,
            severity: severity.unwrap_or(kind.line().severity),
            fingerprint,
            summary,
            condition: Condition::Firing,
            step: StepName::Opened,
            evidence: Vec::new(),
            opened: at,
            updated: at,
            cleared: None,
            closed: None,
            outcome: None,
            closed_by: None,
            attempts: Vec::new(),
            flags: BTreeSet::new(),
            inhibited_by: None,
            group: None,
            links: Vec::new(),
        }
    }

    /// Code healing's incident in the lists of the service half: the same failure, and linked to its own record.
    ///
    /// # Errors
    /// [`Invalid`] when the project's name has nothing that an application's can have.
    pub fn of_code(code: &crate::incident::Incident) -> Result<Self, Invalid> {
        let application = Application::of_project(&code.project)?;
        let at = Moment::from_millis(code.opened_at);
        let mut incident =
            Self::open(code.id.clone(), application, Component::default(), IncidentKind::CodeException, None, at);
        incident.fingerprint = code.fingerprint.clone();
        incident.summary = Text::of(&format!("{} in `{}` ({}:{})", code.error, code.function, code.path, code.line));
        incident.links.push(Link { kind: LinkKind::CodeIncident, id: code.id.clone() });
        Ok(incident)
    }

    /// Code healing's record of the same failure, if this is one of its incidents.
    pub fn code_incident(&self) -> Option<&Id> {
        self.links.iter().find(|link| link.kind == LinkKind::CodeIncident).map(|link| &link.id)
    }

    /// How it stands.
    pub fn status(&self) -> Status {
        status(self.condition, self.step, self.closed_by)
    }

    /// Whether it has this mark.
    pub fn is(&self, flag: IncidentFlag) -> bool {
        self.flags.contains(&flag)
    }

    /// Adds a reading. Of more than 200 the first, the worst and the newest stay.
    pub fn add_evidence(&mut self, evidence: Evidence) {
        if self.evidence.iter().any(|known| known.observation == evidence.observation) {
            return;
        }
        self.evidence.push(evidence);
        while self.evidence.len() > EVIDENCE {
            let worst = self.worst();
            // The first stays; of the others the oldest that is not the worst goes.
            let place = (1..self.evidence.len()).find(|place| Some(*place) != worst).unwrap_or(1);
            self.evidence.remove(place);
        }
    }

    /// The place of the worst reading, the first of equals.
    pub fn worst(&self) -> Option<usize> {
        let mut worst: Option<(usize, f64)> = None;
        for (place, evidence) in self.evidence.iter().enumerate() {
            if worst.is_none_or(|(_, badness)| evidence.badness > badness) {
                worst = Some((place, evidence.badness));
            }
        }
        worst.map(|(place, _)| place)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{EVIDENCE, Evidence, Incident, fingerprint, status};
    use crate::hash::Digest;
    use crate::id::Id;
    use crate::service::kind::IncidentKind;
    use crate::service::moment::Moment;
    use crate::service::name::{Application, Component};
    use crate::service::word::{ClosedBy, Condition, StepName};

    pub(crate) fn incident(kind: IncidentKind) -> Incident {
        let application = Application::parse("fraud").expect("a name");
        let at = Moment::parse("2026-11-30T12:00:00Z").expect("a time");
        Incident::open(Id::new("inc", 1, 1), application, Component::default(), kind, None, at)
    }

    #[test]
    fn every_pair_of_condition_and_step_has_a_status() {
        let mut table = String::new();
        for step in StepName::ALL {
            let words: Vec<&str> =
                Condition::ALL.iter().map(|condition| status(*condition, *step, None).word()).collect();
            table.push_str(&format!("{step}: {}\n", words.join(" ")));
        }
        let open = StepName::ALL.iter().filter(|step| **step != StepName::Closed);
        let expected: String = open.map(|step| format!("{step}: open open open open\n")).collect();
        assert_eq!(table, format!("{expected}closed: closed handed_over handed_over closed\n"));
        let person = Some(ClosedBy::Person);
        assert_eq!(status(Condition::Firing, StepName::Closed, person).word(), "closed");
        assert_eq!(status(Condition::Firing, StepName::Waiting, person).word(), "open");
    }

    #[test]
    fn the_first_the_worst_and_the_newest_stay() {
        let mut incident = incident(IncidentKind::LatencyHigh);
        for number in 0..1_000_u32 {
            let badness = if number == 300 { 9.0 } else { f64::from(number % 7) };
            incident.add_evidence(Evidence { observation: Id::from_text(format!("obs_{number}")), badness });
        }
        let ids: Vec<&str> = incident.evidence.iter().map(|evidence| evidence.observation.as_str()).collect();
        assert_eq!(ids.len(), EVIDENCE);
        assert_eq!((ids[0], ids[1], ids[2], ids[199]), ("obs_0", "obs_300", "obs_802", "obs_999"));
        incident.add_evidence(Evidence { observation: Id::from_text("obs_999"), badness: 1.0 });
        assert_eq!(incident.evidence.len(), EVIDENCE, "no reading twice");
    }

    #[test]
    fn a_fingerprint_is_of_names_alone() {
        let (fraud, churn) = (Application::parse("fraud").expect("name"), Application::parse("churn").expect("name"));
        let component = Component::default();
        let of = |application: &Application, kind| fingerprint(application, kind, &component, &[]);
        assert_eq!(of(&fraud, IncidentKind::LatencyHigh), of(&fraud, IncidentKind::LatencyHigh));
        assert_ne!(of(&fraud, IncidentKind::LatencyHigh), of(&churn, IncidentKind::LatencyHigh));
        assert_ne!(of(&fraud, IncidentKind::LatencyHigh), of(&fraud, IncidentKind::ErrorRateHigh));
        let labelled = fingerprint(&fraud, IncidentKind::LatencyHigh, &component, &[("host", "a")]);
        assert_ne!(of(&fraud, IncidentKind::LatencyHigh), labelled);
    }

    #[test]
    fn code_healing_s_incidents_are_of_the_same_type() {
        let code = crate::incident::Incident {
            id: Id::new("inc", 5, 5),
            fingerprint: Digest::of(b"x"),
            project: "Nightly Job".to_owned(),
            path: "job.py".to_owned(),
            function: "load".to_owned(),
            line: 12,
            error: "KeyError".to_owned(),
            code: String::new(),
            process: String::new(),
            opened_at: 1_000,
            rules: crate::incident::Rules::default(),
        };
        let incident = Incident::of_code(&code).expect("a name");
        assert_eq!(incident.kind, IncidentKind::CodeException);
        assert_eq!(incident.code_incident(), Some(&code.id));
        assert_eq!(incident.fingerprint, code.fingerprint);
        assert_eq!(incident.summary.as_str(), "KeyError in `load` (job.py:12)");
        let read: Incident = serde_json::from_value(serde_json::to_value(&incident).expect("json")).expect("read");
        assert_eq!(read, incident);
        assert!(Incident::of_code(&crate::incident::Incident { project: "?".to_owned(), ..code }).is_err());
    }
}
