//! Which incidents belong together, and which one explains another (S49).

use std::collections::{BTreeMap, BTreeSet};

use sanare_core::service::moment::MINUTE;
use sanare_core::service::{Application, Component, IncidentKind, Invalid, Moment};

/// Incidents of one application that open within this are one story.
const TOGETHER: u64 = MINUTE;

/// A component of an application.
pub type Part = (Application, Component);

/// An incident that is open, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ill {
    /// Where.
    pub part: Part,
    /// What.
    pub kind: IncidentKind,
    /// Since when.
    pub opened: Moment,
    /// Whether its condition is firing or clearing; what has cleared explains nothing.
    pub firing: bool,
}

/// Whose symptoms a cause silences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those of its own component.
    Component,
    /// Those of components that depend on it.
    Dependents,
}

/// A cause and the symptoms that it explains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inhibition {
    /// The cause.
    pub cause: IncidentKind,
    /// The symptoms.
    pub symptoms: BTreeSet<IncidentKind>,
    /// Where they are.
    pub scope: Scope,
}

/// All inhibitions, checked, and who depends on whom.
#[derive(Clone, Debug, Default)]
pub struct Causes {
    /// By symptom.
    by_symptom: BTreeMap<IncidentKind, Vec<(IncidentKind, Scope)>>,
    depends_on: BTreeMap<Part, BTreeSet<Part>>,
}

/// The inhibitions that need no rule.
pub fn built_in() -> Vec<Inhibition> {
    let symptoms = BTreeSet::from([
        IncidentKind::LatencyHigh,
        IncidentKind::ErrorRateHigh,
        IncidentKind::ThroughputCollapse,
        IncidentKind::SignalMissing,
    ]);
    let of = |cause, scope| Inhibition { cause, symptoms: symptoms.clone(), scope };
    vec![of(IncidentKind::Unreachable, Scope::Component), of(IncidentKind::DependencyDown, Scope::Dependents)]
}

impl Causes {
    /// The built-in inhibitions with an owner's own, and declared dependencies.
    ///
    /// # Errors
    /// [`Invalid`] for a cycle: an incident would silence what silences it.
    pub fn new(own: &[Inhibition], depends_on: BTreeMap<Part, BTreeSet<Part>>) -> Result<Self, Invalid> {
        let mut by_symptom: BTreeMap<IncidentKind, Vec<(IncidentKind, Scope)>> = BTreeMap::new();
        for inhibition in built_in().iter().chain(own) {
            for symptom in &inhibition.symptoms {
                let causes = by_symptom.entry(*symptom).or_default();
                if !causes.contains(&(inhibition.cause, inhibition.scope)) {
                    causes.push((inhibition.cause, inhibition.scope));
                }
            }
        }
        for kind in IncidentKind::ALL {
            if reaches(&by_symptom, *kind, *kind) {
                return Err(Invalid::new(
                    "inhibit",
                    format!("makes {kind} silence itself, by one rule or in a circle"),
                ));
            }
        }
        Ok(Self { by_symptom, depends_on })
    }

    /// Whether incidents of a kind may explain others.
    pub fn is_cause(&self, kind: IncidentKind) -> bool {
        self.by_symptom.values().flatten().any(|(cause, _)| *cause == kind)
    }

    /// For each incident the place of the firing one that inhibits it; of several the first in the list of rules.
    pub fn inhibited(&self, incidents: &[Ill]) -> Vec<Option<usize>> {
        let mut firing: BTreeMap<(&Part, IncidentKind), usize> = BTreeMap::new();
        for (place, ill) in incidents.iter().enumerate().filter(|(_, ill)| ill.firing) {
            firing.entry((&ill.part, ill.kind)).or_insert(place);
        }
        let cause_of = |ill: &Ill| {
            let causes = self.by_symptom.get(&ill.kind)?;
            causes.iter().find_map(|(cause, scope)| match scope {
                Scope::Component => firing.get(&(&ill.part, *cause)).copied(),
                Scope::Dependents => {
                    let mut parts = self.depends_on.get(&ill.part)?.iter();
                    parts.find_map(|part| firing.get(&(part, *cause)).copied())
                }
            })
        };
        incidents.iter().map(cause_of).collect()
    }

    /// For each incident the place of the first of its group: the one that the group's escalation is about. An incident
    /// that a firing one of a dependency explains is in that one's group; others of an application that open within a
    /// minute of the first are in its.
    pub fn groups(&self, incidents: &[Ill]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..incidents.len()).collect();
        order.sort_by_key(|place| incidents.get(*place).map(|ill| (ill.opened, ill.part.clone(), ill.kind)));
        let mut firsts: BTreeMap<&Application, (usize, Moment)> = BTreeMap::new();
        let mut heads: Vec<usize> = (0..incidents.len()).collect();
        for place in order {
            let Some(ill) = incidents.get(place) else { continue };
            let first = firsts.get(&ill.part.0).filter(|(_, opened)| ill.opened.since(*opened) <= TOGETHER);
            match first {
                Some((first, _)) => heads[place] = *first,
                None => drop(firsts.insert(&ill.part.0, (place, ill.opened))),
            }
        }
        // Of what depends on each other only a cause explains: that something else is firing there says nothing.
        let mut of_part: BTreeMap<&Part, Vec<usize>> = BTreeMap::new();
        for (place, ill) in incidents.iter().enumerate().filter(|(_, ill)| ill.firing && self.is_cause(ill.kind)) {
            of_part.entry(&ill.part).or_default().push(place);
        }
        let mut joined = heads.clone();
        for (place, ill) in incidents.iter().enumerate() {
            let explains = |cause: &&usize| {
                let own = |cause: &Ill| cause.part.0 == ill.part.0 && cause.kind != IncidentKind::DependencyDown;
                **cause != place && incidents.get(**cause).is_some_and(|cause| !own(cause))
            };
            let parts = self.depends_on.get(&ill.part).into_iter().flatten();
            let cause = parts.filter_map(|part| of_part.get(part)).flatten().find(explains);
            if let (Some(cause), Some(head)) = (cause, heads.get(place)) {
                let (of_cause, head) = (heads.get(*cause).copied().unwrap_or(*cause), *head);
                joined.iter_mut().filter(|at| **at == head).for_each(|at| *at = of_cause);
            }
        }
        joined
    }
}

fn reaches(causes: &BTreeMap<IncidentKind, Vec<(IncidentKind, Scope)>>, from: IncidentKind, to: IncidentKind) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(symptom) = open.pop() {
        for (cause, _) in causes.get(&symptom).into_iter().flatten() {
            if *cause == to {
                return true;
            }
            if seen.insert(*cause) {
                open.push(*cause);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use sanare_core::service::{Application, Component, IncidentKind, Moment};

    use super::{Causes, Ill, Inhibition, Part, Scope};

    fn part(name: &str) -> Part {
        (Application::parse(name).expect("a name"), Component::default())
    }

    /// `a` depends on `db`, and so does `b`.
    fn causes(own: &[Inhibition]) -> Causes {
        let on = || BTreeSet::from([part("db")]);
        Causes::new(own, BTreeMap::from([(part("a"), on()), (part("b"), on())])).expect("no cycle")
    }

    /// Incidents as `application kind second`, `!` behind for one that has cleared: each that is inhibited with its cause.
    fn check(incidents: &[&str]) -> Vec<String> {
        let ill: Vec<Ill> = incidents.iter().map(|text| read(text)).collect();
        let mut told: Vec<String> = Vec::new();
        for (place, cause) in causes(&[]).inhibited(&ill).iter().enumerate() {
            told.extend(cause.map(|cause| format!("{} by {}", words(incidents[place]), words(incidents[cause]))));
        }
        told.sort();
        told
    }

    fn words(text: &str) -> String {
        text.split(' ').take(2).collect::<Vec<_>>().join(" ")
    }

    fn read(text: &str) -> Ill {
        let words: Vec<&str> = text.split(' ').collect();
        let second: u64 = words[2].trim_end_matches('!').parse().expect("a number");
        Ill {
            part: part(words[0]),
            kind: IncidentKind::parse(words[1]).expect("a kind"),
            opened: Moment::from_millis(second * 1_000),
            firing: !text.ends_with('!'),
        }
    }

    fn orders(list: &[&'static str]) -> Vec<Vec<&'static str>> {
        if list.len() <= 1 {
            return vec![list.to_vec()];
        }
        let mut all = Vec::new();
        for (place, first) in list.iter().enumerate() {
            let rest: Vec<&'static str> =
                list.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, x)| *x).collect();
            all.extend(orders(&rest).into_iter().map(|tail| [vec![*first], tail].concat()));
        }
        all
    }

    #[test]
    fn causes_silence_their_symptoms_in_every_order_of_arrival() {
        let list =
            ["a unreachable 5", "a latency_high 0", "a error_rate_high 9", "b latency_high 0", "a quality_low 1"];
        for order in orders(&list) {
            assert_eq!(check(&order), ["a error_rate_high by a unreachable", "a latency_high by a unreachable"]);
        }
        let list =
            ["db dependency_down 5", "a latency_high 0", "b signal_missing 9", "db latency_high 0", "a unreachable 3"];
        for order in orders(&list) {
            let expected = ["a latency_high by db dependency_down", "b signal_missing by db dependency_down"];
            let own = "a latency_high by a unreachable";
            let found = check(&order);
            assert!(found == expected || found == [own, expected[1]], "{found:?}");
        }
    }

    #[test]
    fn what_has_cleared_releases() {
        assert_eq!(check(&["a unreachable 0", "a latency_high 1"]).len(), 1);
        assert_eq!(check(&["a unreachable 0!", "a latency_high 1"]).len(), 0);
    }

    #[test]
    fn cycles_are_refused() {
        let of = |cause, symptom, scope| Inhibition { cause, symptoms: BTreeSet::from([symptom]), scope };
        let new = |own: &[Inhibition]| Causes::new(own, BTreeMap::new()).err().map(|invalid| invalid.field);
        let circle = of(IncidentKind::LatencyHigh, IncidentKind::Unreachable, Scope::Component);
        assert_eq!(new(&[circle]).as_deref(), Some("inhibit"));
        let itself = of(IncidentKind::InputDrift, IncidentKind::InputDrift, Scope::Dependents);
        assert_eq!(new(&[itself]).as_deref(), Some("inhibit"));
        let long = [
            of(IncidentKind::LatencyHigh, IncidentKind::InputDrift, Scope::Component),
            of(IncidentKind::InputDrift, IncidentKind::QualityLow, Scope::Component),
            of(IncidentKind::QualityLow, IncidentKind::Unreachable, Scope::Component),
        ];
        assert_eq!(new(&long).as_deref(), Some("inhibit"));
        assert_eq!(new(&long[..2]), None);
    }

    #[test]
    fn incidents_of_a_minute_and_of_a_cause_are_one_group() {
        let groups = |incidents: &[&str]| {
            let ill: Vec<Ill> = incidents.iter().map(|text| read(text)).collect();
            causes(&[]).groups(&ill)
        };
        assert_eq!(groups(&["a latency_high 0", "a error_rate_high 60", "a quality_low 61"]), [0, 0, 2]);
        assert_eq!(groups(&["a error_rate_high 60", "a latency_high 0"]), [1, 1], "the first in time is the head");
        assert_eq!(groups(&["a latency_high 0", "b latency_high 0"]), [0, 1], "two applications are two stories");
        assert_eq!(groups(&["a latency_high 0", "db dependency_down 300", "b unreachable 600"]), [1, 1, 1]);
        assert_eq!(groups(&["a latency_high 0", "db dependency_down 300!"]), [0, 1]);
        assert_eq!(groups(&["db model_stale 0", "a unreachable 600"]), [0, 1], "what is stale there explains nothing");
        assert_eq!(groups(&["a unreachable 0", "a quality_low 600"]), [0, 1], "ten minutes later is another story");
    }

    /// The bar is 100 ms for 10,000 incidents and 100 rules; here the number of look-ups is what counts, the bench has the
    /// time.
    #[test]
    fn ten_thousand_incidents_and_a_hundred_rules() {
        let kinds = IncidentKind::ALL;
        let later = |cause: usize| kinds.iter().skip(cause + 1).copied().collect::<BTreeSet<_>>();
        let mut own: Vec<Inhibition> = Vec::new();
        for number in 0..100 {
            let cause = 11 + number % 8;
            own.push(Inhibition { cause: kinds[cause], symptoms: later(cause), scope: Scope::Component });
        }
        let causes = causes(&own);
        let ill: Vec<Ill> = (0..10_000)
            .map(|number| Ill {
                part: part(&format!("app-{}", number / 8)),
                kind: kinds[11 + number % 8],
                opened: Moment::from_millis(number as u64),
                firing: true,
            })
            .collect();
        let inhibited = causes.inhibited(&ill);
        assert_eq!(inhibited.iter().filter(|cause| cause.is_none()).count(), 1_250, "one cause an application");
        assert_eq!(inhibited[1], Some(0));
    }
}
