//! One to one: which pairs are accepted, under every clause of C55.

use super::evidence::{self, Fit, Identity};
use super::name::Name;
use super::report::Failure;
use super::settle::{self, Languages};
use super::veto::{self, Pair, Rule, Veto};
use super::{Expected, MOST_COLUMNS, MOST_NAMES, MatchContext, Seen, ValueLinks, near, report, systematic};
use crate::problem::{Mapping, Refusal, Tier};

/// Everything that is weighed.
pub(super) struct Table<'a> {
    pub expected: &'a [Expected],
    pub seen: &'a [Seen],
    pub expected_names: Vec<Name<'a>>,
    pub seen_names: Vec<Name<'a>>,
    pub context: &'a MatchContext<'a>,
    /// Expected fields that are not there under their own name.
    pub missing: Vec<usize>,
    /// Seen fields that are not an expected name and not mapped already.
    pub open: Vec<usize>,
    /// What speaks for and against each pair of a missing and an open field that has an identity.
    pub edges: Vec<Edge>,
}

/// A pair with an identity.
pub(super) struct Edge {
    pub expected: usize,
    pub seen: usize,
    pub identity: Identity,
    pub support: Vec<String>,
    pub vetoes: Vec<Veto>,
    /// Whether a marked term in it was settled; true where none is.
    pub settled: bool,
}

impl Edge {
    fn is_clean(&self) -> bool {
        self.vetoes.is_empty() && self.settled
    }
}

impl<'a> Table<'a> {
    pub fn of(
        expected: &'a [Expected],
        seen: &'a [Seen],
        context: &'a MatchContext<'a>,
        links: &ValueLinks,
    ) -> Result<Self, Refusal> {
        let there = |name: &str| seen.iter().any(|field| field.name == name);
        let missing: Vec<usize> = (0..expected.len()).filter(|at| !there(&expected[*at].name)).collect();
        let needed = missing.iter().filter(|at| expected[**at].needed).count();
        if needed > MOST_NAMES || seen.len() > MOST_COLUMNS || expected.len() > MOST_COLUMNS {
            return Err(report::too_much(needed, seen.len()));
        }
        let open: Vec<usize> =
            (0..seen.len()).filter(|at| !expected.iter().any(|field| field.name == seen[*at].name)).collect();
        let mut table = Self {
            expected,
            seen,
            expected_names: expected.iter().map(|field| Name::of(&field.name, context.lexicon)).collect(),
            seen_names: seen.iter().map(|field| Name::of(&field.name, context.lexicon)).collect(),
            context,
            missing,
            open,
            edges: Vec::new(),
        };
        if needed > 0 {
            table.find_edges(links);
        }
        Ok(table)
    }

    /// The mappings of all needed fields, or the refusal.
    pub fn decide(mut self) -> Result<Vec<Mapping>, Refusal> {
        let needed: Vec<usize> = self.missing.iter().copied().filter(|at| self.expected[*at].needed).collect();
        if needed.is_empty() {
            return Ok(Vec::new());
        }
        self.support_from_neighbours();
        let mut judged: Vec<(usize, Result<usize, Failure>)> =
            self.missing.iter().map(|at| (*at, self.judge(*at))).collect();
        if judged.iter().any(|(at, found)| self.expected[*at].needed && found.is_err()) {
            self.accept_near(&mut judged);
        }
        let mut mappings = Vec::new();
        for (at, found) in &judged {
            if let (true, Ok(edge)) = (self.expected[*at].needed, found) {
                mappings.push(self.mapping(&self.edges[*edge]));
            }
        }
        if mappings.len() == needed.len() {
            return Ok(mappings);
        }
        Err(report::refusal(&self, judged.into_iter().filter(|(at, _)| self.expected[*at].needed).collect()))
    }

    fn mapping(&self, edge: &Edge) -> Mapping {
        let mut evidence = vec![edge.identity.text.clone()];
        evidence.extend(edge.support.iter().cloned());
        Mapping {
            expected: self.expected[edge.expected].name.clone(),
            seen: self.seen[edge.seen].name.clone(),
            evidence,
            tier: edge.identity.tier,
        }
    }

    fn find_edges(&mut self, links: &ValueLinks) {
        let mut edges = Vec::new();
        for &expected in &self.missing {
            for &seen in &self.open {
                let identity =
                    evidence::identity(&self.expected_names[expected], &self.seen_names[seen], self.context, links);
                if let Some(identity) = identity {
                    edges.push(self.edge(expected, seen, identity));
                }
            }
        }
        let common =
            systematic::pairs(&self.expected_names, &self.missing, &self.seen_names, &self.open, self.context.lexicon);
        for pair in common {
            if edges.iter().any(|edge| edge.expected == pair.expected || edge.seen == pair.seen) {
                continue;
            }
            let said = if pair.added { "came to" } else { "left" };
            let identity = Identity {
                text: format!("I3 the same name; `{}` {said} every such name", pair.words),
                tier: Tier::B,
                needs_support: true,
                declared: false,
                unsettled: None,
                languages: 0,
            };
            edges.push(self.edge(pair.expected, pair.seen, identity));
        }
        self.edges = edges;
        self.settle_marked();
    }

    fn edge(&self, expected: usize, seen: usize, identity: Identity) -> Edge {
        let (vetoes, fit) = self.weigh(expected, seen, identity.declared);
        let mut support = Vec::new();
        if let Fit::Fits(text) = fit {
            support.push(text.to_owned());
        }
        if evidence::same_parent(&self.expected_names[expected], &self.seen_names[seen]) {
            support.push("S the same parent path".to_owned());
        }
        let settled = identity.unsettled.is_none();
        Edge { expected, seen, identity, support, vetoes, settled }
    }

    /// Vetoes and fit of any pair, with an identity or without.
    pub fn weigh(&self, expected: usize, seen: usize, declared: bool) -> (Vec<Veto>, Fit) {
        let lexicon = self.context.lexicon;
        let name = &self.expected_names[expected];
        let fit = evidence::fit(&self.expected[expected], name, &self.seen[seen], lexicon);
        let pair = Pair {
            expected: &self.expected[expected],
            expected_name: name,
            seen: &self.seen[seen],
            seen_name: &self.seen_names[seen],
            fit: &fit,
        };
        let vetoes = veto::vetoes(&pair, declared, lexicon);
        (vetoes, fit)
    }

    /// Marked terms count where the other headers settle language and role; pairs settled otherwise are dropped.
    fn settle_marked(&mut self) {
        if self.edges.iter().all(|edge| edge.settled) {
            return;
        }
        let lexicon = self.context.lexicon;
        let (before, now) = (Languages::of(&self.expected_names), Languages::of(&self.seen_names));
        let mapped = |side: fn(&Edge) -> usize| -> Vec<usize> {
            self.edges.iter().filter(|edge| edge.is_clean()).map(side).collect()
        };
        let expected_mapped: Vec<&str> =
            mapped(|edge| edge.expected).into_iter().map(|at| self.expected_names[at].text).collect();
        let seen_mapped: Vec<&str> = mapped(|edge| edge.seen).into_iter().map(|at| self.seen_names[at].text).collect();
        let mut settled = Vec::new();
        for edge in &self.edges {
            let Some((expected_at, seen_at)) = edge.identity.unsettled else {
                settled.push(true);
                continue;
            };
            let (expected, seen) = (&self.expected_names[edge.expected], &self.seen_names[edge.seen]);
            let expected_counts = expected_at.is_none_or(|at| {
                let values = self.expected[edge.expected].profile.as_ref();
                settle::counts(expected, at, before.settled(expected.text, &expected_mapped), values, lexicon)
            });
            let seen_counts = seen_at.is_none_or(|at| {
                let values = Some(&self.seen[edge.seen].profile);
                settle::counts(seen, at, now.settled(seen.text, &seen_mapped), values, lexicon)
            });
            settled.push(expected_counts && seen_counts);
        }
        for (edge, settled) in self.edges.iter_mut().zip(settled) {
            edge.settled = settled;
            if settled && edge.identity.unsettled.is_some() {
                edge.identity.text.push_str(", settled by the other headers");
            }
        }
    }

    /// Support that other pairs give: a sibling understood in the same language, or mapped neighbours on both sides.
    fn support_from_neighbours(&mut self) {
        let any = crate::lexicon::ANY_LANGUAGE;
        let mut found: Vec<Vec<String>> = vec![Vec::new(); self.edges.len()];
        for (at, edge) in self.edges.iter().enumerate() {
            let sibling = self.edges.iter().any(|other| {
                other.expected != edge.expected
                    && other.seen != edge.seen
                    && other.is_clean()
                    && other.identity.languages != any
                    && edge.identity.languages != any
                    && other.identity.languages & edge.identity.languages != 0
            });
            if sibling {
                found[at].push("S a sibling in the same language".to_owned());
            }
            if self.between_mapped(edge) {
                found[at].push("S the same place between mapped neighbours".to_owned());
            }
        }
        for (edge, found) in self.edges.iter_mut().zip(found) {
            edge.support.extend(found);
        }
    }

    /// Whether the fields before and after are the same ones on both sides.
    fn between_mapped(&self, edge: &Edge) -> bool {
        let Some(place) = self.expected[edge.expected].position else { return false };
        let seen_place = self.seen[edge.seen].position;
        let neighbour = |step: isize| {
            let before = self.expected.iter().position(|field| field.position == place.checked_add_signed(step));
            let now = self.seen.iter().position(|field| Some(field.position) == seen_place.checked_add_signed(step));
            match (before, now) {
                (Some(before), Some(now)) => {
                    self.expected[before].name == self.seen[now].name
                        || self
                            .edges
                            .iter()
                            .any(|other| other.expected == before && other.seen == now && other.is_clean())
                }
                _ => false,
            }
        };
        neighbour(-1) && neighbour(1)
    }

    /// The edge under which a missing field is accepted, or which clause it fails.
    fn judge(&self, expected: usize) -> Result<usize, Failure> {
        let edges: Vec<usize> = (0..self.edges.len()).filter(|at| self.edges[*at].expected == expected).collect();
        let [only] = edges[..] else {
            return Err(if edges.is_empty() { Failure::NoIdentity } else { self.several(&edges) });
        };
        let edge = &self.edges[only];
        if !edge.vetoes.is_empty() {
            return Err(Failure::Vetoed(edge.vetoes[0].rule));
        }
        if !edge.settled {
            return Err(Failure::Unsettled);
        }
        if edge.identity.needs_support && edge.support.is_empty() {
            return Err(Failure::NoSupport);
        }
        if self.is_wanted_twice(edge) {
            return Err(Failure::WantedTwice);
        }
        Ok(only)
    }

    fn several(&self, edges: &[usize]) -> Failure {
        let vetoed = edges.iter().any(|at| !self.edges[*at].vetoes.is_empty());
        let clean = edges.iter().any(|at| self.edges[*at].is_clean());
        match (vetoed, clean) {
            // V8: a field that would be it but for a veto keeps every other from taking its place.
            (true, true) => Failure::VetoedRival,
            _ => Failure::Several,
        }
    }

    /// Whether another expected field, there or missing, could be this seen field as well.
    fn is_wanted_twice(&self, edge: &Edge) -> bool {
        let missing = self.edges.iter().any(|other| other.seen == edge.seen && other.expected != edge.expected);
        missing
            || (0..self.expected.len()).any(|at| {
                at != edge.expected
                    && !self.missing.contains(&at)
                    && !edge.identity.declared
                    && self.expected_names[at].could_be(&self.seen_names[edge.seen], self.context.lexicon)
            })
    }

    /// Near links (I8): accepted together or not at all, when they complete a closed record one to one.
    fn accept_near(&mut self, judged: &mut [(usize, Result<usize, Failure>)]) {
        if !self.context.closed_record || self.expected.len() != self.seen.len() {
            return;
        }
        let taken: Vec<usize> =
            judged.iter().filter_map(|(_, found)| found.as_ref().ok()).map(|at| self.edges[*at].seen).collect();
        let free: Vec<usize> = self.open.iter().copied().filter(|seen| !taken.contains(seen)).collect();
        let mut links: Vec<(usize, usize, String, Vec<String>)> = Vec::new();
        for (expected, found) in judged.iter() {
            match found {
                Ok(_) => continue,
                Err(Failure::NoIdentity) => {}
                // What has an identity but cannot be accepted is not rescued by nearness.
                Err(_) => return,
            }
            let candidates: Vec<(usize, String, Fit)> = free
                .iter()
                .filter_map(|seen| {
                    let why =
                        near::near(&self.expected_names[*expected], &self.seen_names[*seen], self.context.lexicon)?;
                    let (vetoes, fit) = self.weigh(*expected, *seen, false);
                    vetoes.is_empty().then_some((*seen, why, fit))
                })
                .collect();
            let [(seen, why, Fit::Fits(support))] = candidates.as_slice() else { return };
            if links.iter().any(|(_, other, ..)| other == seen) {
                return;
            }
            links.push((
                *expected,
                *seen,
                why.clone(),
                vec![(*support).to_owned(), "S every other field of the record is there".to_owned()],
            ));
        }
        for (expected, seen, text, support) in links {
            let identity =
                Identity { text, tier: Tier::B, needs_support: true, declared: false, unsettled: None, languages: 0 };
            self.edges.push(Edge { expected, seen, identity, support, vetoes: Vec::new(), settled: true });
            if let Some((_, found)) = judged.iter_mut().find(|(at, _)| *at == expected) {
                *found = Ok(self.edges.len() - 1);
            }
        }
    }

    /// The strongest rule among vetoes, for the reason of a refusal.
    pub fn is_about_scale(rule: Rule) -> bool {
        matches!(rule, Rule::V3 | Rule::V6)
    }
}
