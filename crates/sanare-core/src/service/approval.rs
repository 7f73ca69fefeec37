//! What a person is asked, by whom it may be answered, and how it ends (S100 to S102).

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::moment::Moment;
use super::proposal::Proposal;
use super::text::Text;
use super::word::{ApprovalState, words};
use super::{GateReport, Invalid};
use crate::hash::Digest;
use crate::id::Id;
use crate::ledger::v1::canonical;
use crate::policy::Fired;

/// What an approval covers: if any of it changes, the approval is void.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// The incident.
    pub incident: Id,
    /// The attempt, from 1.
    pub attempt: u32,
    /// Digest of the proposal: action, target, params, undo and all.
    pub proposal: Digest,
    /// Hash of the policy file.
    pub policy: Digest,
    /// Hash of the configuration.
    pub configuration: Digest,
    /// The snapshot that it rests on.
    pub evidence: Digest,
    /// Digest of the gate report.
    pub gates: Digest,
}

impl Binding {
    /// The binding of a proposal.
    pub fn of(
        proposal: &Proposal,
        attempt: u32,
        policy: Digest,
        configuration: Digest,
        evidence: Digest,
        gates: &GateReport,
    ) -> Self {
        let of = |json: serde_json::Value| Digest::of(canonical(&json).as_bytes());
        Self {
            incident: proposal.incident_id.clone(),
            attempt,
            proposal: of(json!(proposal)),
            policy,
            configuration,
            evidence,
            gates: of(json!(gates)),
        }
    }

    /// The first part in which another one differs, for people; nothing where they are the same.
    pub fn changed(&self, now: &Self) -> Option<&'static str> {
        let parts = [
            (self.incident != now.incident || self.attempt != now.attempt, "it is another attempt"),
            (self.configuration != now.configuration, "the configuration has changed"),
            (self.policy != now.policy, "the policy has changed"),
            (self.evidence != now.evidence, "the evidence has changed"),
            (self.proposal != now.proposal, "the proposal has changed"),
            (self.gates != now.gates, "what the gates said has changed"),
        ];
        parts.into_iter().find(|(changed, _)| *changed).map(|(_, told)| told)
    }

    /// One digest over all of it: what an answer names.
    pub fn digest(&self) -> Digest {
        Digest::of(canonical(&json!(self)).as_bytes())
    }
}

/// Somebody who asks for something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Principal {
    /// The account's name.
    pub name: String,
    /// Its groups.
    pub groups: Vec<String>,
    /// Whether it is a person's; a machine's token cannot approve.
    pub person: bool,
}

words! {
    /// What a person answers.
    Decision("decision") {
        /// Do it.
        Approve = "approve",
        /// Do not.
        Deny = "deny",
    }
}

/// One person's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Who.
    pub principal: Principal,
    /// What.
    pub decision: Decision,
    /// Their words.
    pub comment: Text,
    /// When.
    pub at: Moment,
}

/// A question to people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// `apr_…`.
    pub id: Id,
    /// What it covers.
    pub binding: Binding,
    /// The proposal.
    pub proposal: Proposal,
    /// Why policy asks; only what is shown here is covered.
    pub reasons: Vec<Fired>,
    /// When it was asked.
    pub asked_at: Moment,
    /// Until when an answer, and the act, count.
    pub expires_at: Moment,
    /// How many different persons are needed.
    pub count: u32,
    /// Accounts and `group:NAME` that may answer; an empty list is nobody.
    pub approvers: Vec<String>,
    /// Who proposed it, where that was a person: they may not approve.
    pub proposed_by: Option<String>,
    /// The answers, in order.
    pub answers: Vec<Answer>,
    /// How it stands.
    pub state: ApprovalState,
    /// When and why it ended.
    pub ended: Option<(Moment, Text)>,
}

/// Why an answer does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCounted {
    /// It ended before.
    #[error("the approval is {state} already: {why}")]
    Ended {
        /// How it stands.
        state: ApprovalState,
        /// Who or what ended it.
        why: String,
    },
    /// It was shown otherwise than it stands.
    #[error("what was shown is not what is asked; look again")]
    Stale,
    /// Not by this account.
    #[error("{0}")]
    NotAllowed(&'static str),
}

impl Approval {
    /// Takes an answer. The same answer of the same person again is the same answer.
    ///
    /// # Errors
    /// [`NotCounted`]; then nothing changed, unless its time was over: then it is expired.
    pub fn answer(&mut self, answer: Answer, shown: &Digest) -> Result<ApprovalState, NotCounted> {
        let same = |known: &Answer| known.principal.name == answer.principal.name && known.decision == answer.decision;
        if self.answers.iter().any(same) {
            return Ok(self.state);
        }
        self.expire(answer.at);
        if self.state != ApprovalState::Waiting {
            return Err(self.over());
        }
        if *shown != self.binding.digest() {
            return Err(NotCounted::Stale);
        }
        self.may_answer(&answer.principal, &self.approvers).map_err(NotCounted::NotAllowed)?;
        let (at, decision) = (answer.at, answer.decision);
        let name = answer.principal.name.clone();
        self.answers.push(answer);
        if decision == Decision::Deny {
            self.end(ApprovalState::Denied, &format!("{name} said no"), at);
        } else if self.approved_by().count() >= self.count.max(1) as usize {
            self.state = ApprovalState::Granted;
        }
        Ok(self.state)
    }

    /// Whether somebody on this list may answer.
    fn may_answer(&self, principal: &Principal, approvers: &[String]) -> Result<(), &'static str> {
        if !principal.person {
            return Err("only persons approve");
        }
        if self.proposed_by.as_deref() == Some(principal.name.as_str()) {
            return Err("who proposed it may not approve it");
        }
        let listed = approvers.iter().any(|one| match one.strip_prefix("group:") {
            Some(group) => principal.groups.iter().any(|own| own == group),
            None => *one == principal.name,
        });
        if listed { Ok(()) } else { Err("this account is not among the approvers") }
    }

    fn approved_by(&self) -> impl Iterator<Item = &Principal> {
        self.answers.iter().filter(|one| one.decision == Decision::Approve).map(|one| &one.principal)
    }

    /// Whether it may be acted on now: granted, in time, and still by enough people of the list as it is now.
    ///
    /// # Errors
    /// Why not.
    pub fn holds(&self, approvers: &[String], now: Moment) -> Result<(), String> {
        if self.state != ApprovalState::Granted {
            return Err(format!("the approval is {}", self.state));
        }
        if now >= self.expires_at {
            return Err("the approval has expired".to_owned());
        }
        let left = self.approved_by().filter(|principal| self.may_answer(principal, approvers).is_ok()).count();
        if left < self.count.max(1) as usize {
            return Err("who approved is not among the approvers any more".to_owned());
        }
        Ok(())
    }

    /// Ends it if its time is over; whether it did.
    pub fn expire(&mut self, now: Moment) -> bool {
        let due = matches!(self.state, ApprovalState::Waiting | ApprovalState::Granted) && now >= self.expires_at;
        if due {
            self.end(ApprovalState::Expired, "nobody acted on it in time", now);
        }
        due
    }

    /// Ends it because what it was about has changed; whether it did.
    pub fn void(&mut self, why: &str, now: Moment) -> bool {
        let open = matches!(self.state, ApprovalState::Waiting | ApprovalState::Granted);
        if open {
            self.end(ApprovalState::Voided, why, now);
        }
        open
    }

    /// Marks that a receipt was started on it.
    ///
    /// # Errors
    /// [`Invalid`] unless it is granted.
    pub fn mark_used(&mut self, now: Moment) -> Result<(), Invalid> {
        if self.state != ApprovalState::Granted {
            return Err(Invalid::new("approval", format!("is {}", self.state)));
        }
        self.end(ApprovalState::Used, "a receipt was started on it", now);
        Ok(())
    }

    fn end(&mut self, state: ApprovalState, why: &str, now: Moment) {
        self.state = state;
        self.ended = Some((now, Text::of(why)));
    }

    fn over(&self) -> NotCounted {
        let why = self.ended.as_ref().map(|(at, why)| format!("{why}, {at}"));
        let granted = || self.answers.last().map(|one| format!("{}, {}", one.principal.name, one.at));
        NotCounted::Ended { state: self.state, why: why.or_else(granted).unwrap_or_default() }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::{Answer, Approval, Binding, Decision, Principal};
    use crate::hash::Digest;
    use crate::id::Id;
    use crate::service::action::Action;
    use crate::service::declaration::Undo;
    use crate::service::moment::Moment;
    use crate::service::proposal::{Params, Proposal};
    use crate::service::target::TargetKey;
    use crate::service::text::Text;
    use crate::service::word::ApprovalState;
    use crate::service::{GateCheck, GateReport};

    pub(crate) fn proposal() -> Proposal {
        Proposal {
            id: Id::new("pro", 1, 1),
            incident_id: Id::new("inc", 1, 1),
            diagnosis_id: Id::new("dia", 1, 1),
            action: Action::ReloadModel,
            target: TargetKey::parse("command:fraud/reload").ok(),
            params: Params::Empty,
            rationale: Text::of("the artefact is damaged"),
            expected_outcome: Text::of("it answers"),
            undo: Undo::None,
        }
    }

    fn binding(attempt: u32, change: impl FnOnce(&mut Proposal), policy: &[u8], gates: &GateReport) -> Binding {
        let mut proposal = proposal();
        change(&mut proposal);
        Binding::of(&proposal, attempt, Digest::of(policy), Digest::of(b"c"), Digest::of(b"e"), gates)
    }

    fn asked(count: u32) -> Approval {
        Approval {
            id: Id::new("apr", 1, 1),
            binding: binding(1, |_| {}, b"p", &GateReport::default()),
            proposal: proposal(),
            reasons: Vec::new(),
            asked_at: Moment::from_micros(0),
            expires_at: Moment::from_micros(100),
            count,
            approvers: vec!["ann".to_owned(), "group:mlops".to_owned()],
            proposed_by: Some("eve".to_owned()),
            answers: Vec::new(),
            state: ApprovalState::Waiting,
            ended: None,
        }
    }

    fn answer(name: &str, decision: Decision, at: u64) -> Answer {
        let groups = if ["bob", "eve", "robot"].contains(&name) { vec!["mlops".to_owned()] } else { Vec::new() };
        let principal = Principal { name: name.to_owned(), groups, person: name != "robot" };
        Answer { principal, decision, comment: Text::of(""), at: Moment::from_micros(at) }
    }

    fn check(approval: &mut Approval, name: &str, decision: Decision, at: u64) -> String {
        let shown = approval.binding.digest();
        approval.answer(answer(name, decision, at), &shown).map_or_else(|no| no.to_string(), |state| state.to_string())
    }

    #[test]
    fn one_part_changed_is_another_digest() {
        let gates = GateReport { checks: vec![GateCheck::passed("available", "reachable")] };
        let none = GateReport::default();
        let mut digests = vec![
            binding(1, |_| {}, b"p", &none).digest(),
            binding(2, |_| {}, b"p", &none).digest(),
            binding(1, |_| {}, b"q", &none).digest(),
            binding(1, |_| {}, b"p", &gates).digest(),
            binding(1, |one| one.action = Action::RestartComponent, b"p", &none).digest(),
            binding(1, |one| one.target = TargetKey::parse("command:fraud/other").ok(), b"p", &none).digest(),
            binding(1, |one| one.params = Params::Diagnostic { name: "x".to_owned() }, b"p", &none).digest(),
            binding(1, |one| one.undo = Undo::MoveBack, b"p", &none).digest(),
            binding(1, |one| one.incident_id = Id::new("inc", 2, 2), b"p", &none).digest(),
        ];
        let of = |configuration: &[u8], evidence: &[u8]| {
            Binding::of(&proposal(), 1, Digest::of(b"p"), Digest::of(configuration), Digest::of(evidence), &none)
                .digest()
        };
        digests.extend([of(b"x", b"e"), of(b"c", b"x")]);
        let made = |policy: &[u8], configuration: &[u8], evidence: &[u8], gates: &GateReport, attempt| {
            let of = Digest::of;
            Binding::of(&proposal(), attempt, of(policy), of(configuration), of(evidence), gates)
        };
        let first = made(b"p", b"c", b"e", &none, 1);
        let told = |now: Binding| first.changed(&now).unwrap_or("nothing");
        assert_eq!(told(made(b"p", b"c", b"e", &none, 1)), "nothing");
        assert_eq!(told(made(b"q", b"c", b"e", &none, 1)), "the policy has changed");
        assert_eq!(told(made(b"p", b"x", b"e", &none, 1)), "the configuration has changed");
        assert_eq!(told(made(b"p", b"c", b"x", &none, 1)), "the evidence has changed");
        assert_eq!(told(made(b"p", b"c", b"e", &gates, 1)), "what the gates said has changed");
        assert_eq!(told(made(b"p", b"c", b"e", &none, 2)), "it is another attempt");
        let other = binding(1, |one| one.undo = Undo::MoveBack, b"p", &none);
        assert_eq!(binding(1, |_| {}, b"p", &none).changed(&other), Some("the proposal has changed"));
        let all = digests.len();
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), all);
    }

    #[test]
    fn who_may_answer() {
        use Decision::{Approve, Deny};
        assert_eq!(check(&mut asked(1), "ann", Approve, 1), "granted");
        assert_eq!(check(&mut asked(1), "bob", Approve, 1), "granted", "by group");
        assert_eq!(check(&mut asked(1), "cat", Approve, 1), "this account is not among the approvers");
        assert_eq!(check(&mut asked(1), "robot", Approve, 1), "only persons approve");
        assert_eq!(check(&mut asked(1), "eve", Approve, 1), "who proposed it may not approve it");
        let mut nobody = Approval { approvers: Vec::new(), ..asked(1) };
        assert_eq!(check(&mut nobody, "ann", Approve, 1), "this account is not among the approvers");
        let mut two = asked(2);
        assert_eq!(check(&mut two, "ann", Approve, 1), "waiting");
        assert_eq!(check(&mut two, "ann", Approve, 2), "waiting", "the same person twice is one");
        assert_eq!(check(&mut two, "bob", Approve, 3), "granted");
        assert!(check(&mut two, "bob", Deny, 4).starts_with("the approval is granted already: bob"));
        assert_eq!(check(&mut asked(1), "ann", Deny, 1), "denied");
        assert!(check(&mut asked(1), "ann", Approve, 100).starts_with("the approval is expired already"));
        let mut stale = asked(1);
        let shown = Digest::of(b"another page");
        assert_eq!(stale.answer(answer("ann", Approve, 1), &shown), Err(super::NotCounted::Stale));
        assert_eq!(stale.state, ApprovalState::Waiting);
    }

    #[test]
    fn a_grant_holds_in_time_and_by_the_list_of_now() {
        let mut approval = asked(1);
        check(&mut approval, "ann", Decision::Approve, 1);
        let at = Moment::from_micros;
        let list = approval.approvers.clone();
        assert_eq!(approval.holds(&list, at(99)), Ok(()));
        assert!(approval.holds(&list, at(100)).is_err(), "at its expiry it is over");
        assert!(approval.holds(&["bob".to_owned()], at(99)).is_err(), "removed after granting");
        approval.mark_used(at(50)).expect("granted");
        assert!(approval.holds(&list, at(60)).is_err(), "single use");
        assert!(approval.mark_used(at(60)).is_err());
    }

    #[test]
    fn every_state_and_event() {
        let states = |change: &dyn Fn(&mut Approval)| -> String {
            let all = ApprovalState::ALL.iter().map(|state| {
                let mut approval = Approval { state: *state, ..asked(1) };
                change(&mut approval);
                approval.state.word()
            });
            all.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(states(&|_| {}), "waiting granted used denied expired voided");
        let yes = states(&|one| drop(check(one, "ann", Decision::Approve, 1)));
        assert_eq!(yes, "granted granted used denied expired voided");
        let no = states(&|one| drop(check(one, "ann", Decision::Deny, 1)));
        assert_eq!(no, "denied granted used denied expired voided");
        let late = states(&|one| {
            one.expire(Moment::from_micros(100));
        });
        assert_eq!(late, "expired expired used denied expired voided");
        let void = states(&|one| {
            one.void("cleared", Moment::from_micros(1));
        });
        assert_eq!(void, "voided voided used denied expired voided");
        let used = states(&|one| drop(one.mark_used(Moment::from_micros(1))));
        assert_eq!(used, "waiting used used denied expired voided");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]
        /// Whoever answers what and when: a grant has enough different listed persons, in time, and nobody said no.
        #[test]
        fn a_grant_is_always_earned(
            answers in prop::collection::vec((0..5_usize, any::<bool>(), 0..130_u64), 0..8), count in 1..=2_u32,
        ) {
            let mut approval = asked(count);
            for (who, yes, at) in answers {
                let name = ["ann", "bob", "cat", "eve", "robot"][who];
                let decision = if yes { Decision::Approve } else { Decision::Deny };
                drop(check(&mut approval, name, decision, at));
            }
            if approval.state == ApprovalState::Granted {
                let mut names: Vec<&str> = approval.approved_by().map(|one| one.name.as_str()).collect();
                names.sort_unstable();
                names.dedup();
                prop_assert!(names.len() >= count as usize);
                prop_assert!(names.iter().all(|name| ["ann", "bob"].contains(name)));
                prop_assert!(approval.answers.iter().all(|one| one.at < approval.expires_at));
                prop_assert!(approval.answers.iter().all(|one| one.decision == Decision::Approve));
            }
        }
    }
}
