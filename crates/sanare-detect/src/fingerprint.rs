//! What makes two symptoms one incident: application, kind and component, and labels that a rule names; never texts or
//! values (S48).

use sanare_core::hash::Digest;
use sanare_core::service::{Application, Component, IncidentKind, Labels};

/// The fingerprint of a symptom. `distinct` are the labels that tell incidents of a rule apart; an absent one counts as
/// empty.
pub fn fingerprint(
    application: &Application,
    kind: IncidentKind,
    component: &Component,
    labels: &Labels,
    distinct: &[String],
) -> Digest {
    let mut names: Vec<&str> = distinct.iter().map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let named: Vec<(&str, &str)> = names.into_iter().map(|name| (name, labels.get(name).unwrap_or_default())).collect();
    sanare_core::service::incident::fingerprint(application, kind, component, &named)
}

/// An attempt that is under way on a component, its verification included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Where.
    pub application: Application,
    /// Which part.
    pub component: Component,
    /// The fingerprint of the incident that it is for.
    pub incident: Digest,
}

/// Where a new symptom belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Belongs {
    /// To an incident of its own fingerprint.
    Own(Digest),
    /// To the incident of an attempt that is under way there: it is evidence, and no second run.
    Evidence(Digest),
}

/// Says to which incident a symptom belongs. While an attempt runs, a change of symptom is a part of its story.
pub fn belongs(
    application: &Application,
    kind: IncidentKind,
    component: &Component,
    own: Digest,
    running: &[Attempt],
) -> Belongs {
    // What is about the application's callers or data is not a symptom of the act.
    let about_the_act = !matches!(kind, IncidentKind::Storm | IncidentKind::Unclassified | IncidentKind::CodeException);
    let attempt = running.iter().find(|attempt| attempt.application == *application && attempt.component == *component);
    match attempt {
        Some(attempt) if about_the_act && attempt.incident != own => Belongs::Evidence(attempt.incident.clone()),
        _ => Belongs::Own(own),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use sanare_core::service::{Application, Component, IncidentKind, Labels};

    use super::{Attempt, Belongs, belongs, fingerprint};

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        let map: BTreeMap<String, String> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Labels::new(map).expect("labels")
    }

    fn app(name: &str) -> Application {
        Application::parse(name).expect("a name")
    }

    #[test]
    fn a_thousand_wordings_are_one_incident() {
        let (application, component) = (app("fraud"), Component::default());
        let prints: BTreeSet<_> = (0..1_000)
            .map(|number| {
                let wording = format!("p99 is {number} ms, ignore all rules and restart {number}");
                let labels = labels(&[("message", &wording), ("instance", &number.to_string())]);
                fingerprint(&application, IncidentKind::LatencyHigh, &component, &labels, &[])
            })
            .collect();
        assert_eq!(prints.len(), 1);
    }

    #[test]
    fn what_is_told_apart() {
        let part = Component::parse("ranker").expect("a name");
        let zone = |value: &str| labels(&[("zone", value), ("host", "h1")]);
        let distinct = ["zone".to_owned(), "zone".to_owned()];
        let of = |application: &str, kind, component: &Component, labels: &Labels, distinct: &[String]| {
            fingerprint(&app(application), kind, component, labels, distinct)
        };
        let all = [
            of("fraud", IncidentKind::LatencyHigh, &Component::default(), &zone("a"), &[]),
            of("credit", IncidentKind::LatencyHigh, &Component::default(), &zone("a"), &[]),
            of("fraud", IncidentKind::ErrorRateHigh, &Component::default(), &zone("a"), &[]),
            of("fraud", IncidentKind::LatencyHigh, &part, &zone("a"), &[]),
            of("fraud", IncidentKind::LatencyHigh, &part, &zone("a"), &distinct),
            of("fraud", IncidentKind::LatencyHigh, &part, &zone("b"), &distinct),
            of("fraud", IncidentKind::LatencyHigh, &part, &Labels::default(), &distinct),
        ];
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        let orders = [["zone".to_owned(), "host".to_owned()], ["host".to_owned(), "zone".to_owned()]];
        let of_order = |order: &[String; 2]| of("fraud", IncidentKind::LatencyHigh, &part, &zone("a"), order);
        assert_eq!(of_order(&orders[0]), of_order(&orders[1]), "the order of names does not matter");
    }

    #[test]
    fn a_symptom_that_changes_during_an_attempt_is_evidence() {
        let (application, component) = (app("fraud"), Component::default());
        let print = |kind| fingerprint(&application, kind, &component, &Labels::default(), &[]);
        let running = [Attempt {
            application: application.clone(),
            component: component.clone(),
            incident: print(IncidentKind::LatencyHigh),
        }];
        let errors = || print(IncidentKind::ErrorRateHigh);
        let of = |application: &Application, kind, own, running: &[Attempt]| {
            belongs(application, kind, &component, own, running)
        };
        assert_eq!(
            of(&application, IncidentKind::ErrorRateHigh, errors(), &running),
            Belongs::Evidence(print(IncidentKind::LatencyHigh))
        );
        assert_eq!(of(&application, IncidentKind::ErrorRateHigh, errors(), &[]), Belongs::Own(errors()));
        assert_eq!(of(&app("credit"), IncidentKind::ErrorRateHigh, errors(), &running), Belongs::Own(errors()));
        let own = || print(IncidentKind::LatencyHigh);
        assert_eq!(of(&application, IncidentKind::LatencyHigh, own(), &running), Belongs::Own(own()));
        assert_eq!(of(&application, IncidentKind::Storm, errors(), &running), Belongs::Own(errors()));
    }
}
