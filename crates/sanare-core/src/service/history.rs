//! Which version was live when, and which of them is known as good (S87).

use super::context::{LiveSpan, MovedBy, Standing};
use super::incident::Incident;
use super::moment::{DAY, Moment};
use super::name::Version;
use super::word::VerificationOutcome;

/// A version went live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WentLive {
    /// When.
    pub at: Moment,
    /// Which.
    pub version: Version,
    /// By whom.
    pub moved_by: MovedBy,
}

/// What a person says of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marked {
    /// When.
    pub at: Moment,
    /// Which.
    pub version: Version,
}

/// Spans in which versions were live, oldest first. A version is good once it passed a verification window while it was
/// live, was live for a day without an incident that taints it, or a person marked it. One that was rolled back from is
/// bad until a person marks it. `rolled_back` says from which version, and when.
pub fn spans(
    live: &[WentLive],
    incidents: &[Incident],
    rolled_back: &[Marked],
    marks: &[Marked],
    now: Moment,
) -> Vec<LiveSpan> {
    let mut live: Vec<&WentLive> = live.iter().collect();
    live.sort_by_key(|one| one.at);
    // The same version said again is no change.
    live.dedup_by(|next, before| next.version == before.version);
    let mut spans = Vec::new();
    for (place, one) in live.iter().enumerate() {
        let to = live.get(place + 1).map(|next| next.at);
        let end = to.unwrap_or(now);
        let newest = |list: &[Marked]| list.iter().filter(|mark| mark.version == one.version).map(|mark| mark.at).max();
        let (good, bad) = (newest(marks), newest(rolled_back));
        let standing = match (good, bad) {
            (Some(good), Some(bad)) if good > bad => Standing::Good,
            (_, Some(_)) => Standing::Bad,
            (Some(_), None) => Standing::Good,
            (None, None) if passed(incidents, one.at, end) || is_long(incidents, one.at, end) => Standing::Good,
            (None, None) => Standing::Unknown,
        };
        spans.push(LiveSpan { version: one.version.clone(), from: one.at, to, moved_by: one.moved_by, standing });
    }
    spans
}

/// Whether an act was verified while it was live.
fn passed(incidents: &[Incident], from: Moment, to: Moment) -> bool {
    let attempts = incidents.iter().flat_map(|incident| &incident.attempts);
    attempts
        .filter(|attempt| attempt.outcome == VerificationOutcome::Recovered)
        .any(|attempt| attempt.at > from && attempt.at <= to)
}

/// Whether it was live for a day without trouble that is the model's.
fn is_long(incidents: &[Incident], from: Moment, to: Moment) -> bool {
    let tainting = incidents.iter().filter(|incident| incident.kind.taints_version());
    let mut troubles: Vec<(Moment, Moment)> = tainting
        .map(|incident| (incident.opened, incident.cleared.or(incident.closed).unwrap_or(to)))
        .filter(|(opened, ended)| *opened < to && *ended > from)
        .collect();
    troubles.sort();
    let mut quiet_since = from;
    for (opened, ended) in troubles {
        if opened.since(quiet_since) >= DAY {
            return true;
        }
        quiet_since = quiet_since.max(ended);
    }
    to.since(quiet_since) >= DAY
}

#[cfg(test)]
mod tests {
    use super::{Marked, WentLive, spans};
    use crate::id::Id;
    use crate::service::context::MovedBy;
    use crate::service::incident::Incident;
    use crate::service::kind::IncidentKind;
    use crate::service::moment::{HOUR, Moment};
    use crate::service::name::{Application, Component, Version};

    fn at(hour: u64) -> Moment {
        Moment::from_micros(1_000_000 * HOUR / 1_000 + hour * HOUR)
    }

    fn version(text: &str) -> Version {
        Version::parse(text).expect("a version")
    }

    fn ill(kind: IncidentKind, from: u64, to: u64) -> Incident {
        let fraud = Application::parse("fraud").expect("a name");
        let mut incident =
            Incident::open(Id::new("inc", 1, u128::from(from)), fraud, Component::default(), kind, None, at(from));
        incident.cleared = Some(at(to));
        incident
    }

    /// Versions by the hour at which they went live; hour 100 is now.
    fn check(live: &[(u64, &str)], incidents: &[Incident], back: &[(u64, &str)], marks: &[(u64, &str)]) -> String {
        let went =
            |(hour, text): &(u64, &str)| WentLive { at: at(*hour), version: version(text), moved_by: MovedBy::Others };
        let mark = |(hour, text): &(u64, &str)| Marked { at: at(*hour), version: version(text) };
        let live: Vec<WentLive> = live.iter().map(went).collect();
        let back: Vec<Marked> = back.iter().map(mark).collect();
        let marks: Vec<Marked> = marks.iter().map(mark).collect();
        let spans = spans(&live, incidents, &back, &marks, at(100));
        spans.iter().map(|span| format!("{}:{}", span.version, span.standing)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_day_without_trouble_makes_a_version_good() {
        assert_eq!(check(&[(0, "1"), (24, "2")], &[], &[], &[]), "1:good 2:good");
        assert_eq!(check(&[(0, "1"), (23, "2"), (99, "3")], &[], &[], &[]), "1:unknown 2:good 3:unknown");
        assert_eq!(check(&[(90, "1")], &[], &[], &[]), "1:unknown", "the first version ever");
        assert_eq!(check(&[(99, "2"), (0, "1")], &[], &[], &[]), "1:good 2:unknown", "told in another order");
        assert_eq!(check(&[(0, "1"), (20, "1"), (30, "2")], &[], &[], &[]), "1:good 2:good", "told twice");
    }

    #[test]
    fn trouble_of_the_model_breaks_the_day_and_other_trouble_does_not() {
        let live = [(0, "1"), (30, "2")];
        assert_eq!(check(&live, &[ill(IncidentKind::QualityLow, 10, 12)], &[], &[]), "1:unknown 2:good");
        assert_eq!(check(&live, &[ill(IncidentKind::LatencyHigh, 10, 12)], &[], &[]), "1:good 2:good");
        assert_eq!(check(&live, &[ill(IncidentKind::QualityLow, 25, 26)], &[], &[]), "1:good 2:good", "after a day");
        assert_eq!(check(&live, &[ill(IncidentKind::QualityLow, 50, 99)], &[], &[]), "1:good 2:unknown");
    }

    #[test]
    fn what_was_rolled_back_from_is_bad_until_a_person_says_otherwise() {
        let live = [(0, "1"), (30, "2"), (60, "1")];
        assert_eq!(check(&live, &[], &[(60, "2")], &[]), "1:good 2:bad 1:good");
        assert_eq!(check(&live, &[], &[(60, "2")], &[(61, "2")]), "1:good 2:good 1:good");
        assert_eq!(check(&live, &[], &[(60, "2")], &[(59, "2")]), "1:good 2:bad 1:good");
        assert_eq!(check(&[(99, "1")], &[], &[], &[(99, "1")]), "1:good");
    }
}
