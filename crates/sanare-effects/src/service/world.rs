//! What the world says of an act that was begun: as before, as intended, neither, or nobody can tell (S91, S107).

use sanare_core::service::receipt::{Purpose, Receipt, WorldState};
use sanare_core::service::target::{Identity, Mark};
use sanare_core::service::verification::changes;

/// Compares a target as it is now with its receipt.
pub(super) fn compare(receipt: &Receipt, now: &Identity) -> WorldState {
    let (before, intended) = (&receipt.before, &receipt.intended);
    // Where no alias stood before an act, there is none, and what is served says all.
    let has_alias = [before, now].iter().any(|identity| identity.get(Mark::AliasVersion).is_some());
    let shown_by = |mark| match (mark, receipt.key.purpose) {
        (Mark::AliasVersion, Purpose::Act) if !has_alias => Mark::ServedVersion,
        _ => mark,
    };
    let marks: Vec<(Mark, &str)> = intended.marks().map(|(mark, value)| (shown_by(mark), value)).collect();
    if !marks.is_empty() {
        let known = marks.iter().all(|(mark, _)| now.get(*mark).is_some());
        if !known {
            return WorldState::CannotTell;
        }
        let arrived = marks.iter().all(|(mark, value)| now.get(*mark) == Some(value));
        let unmoved = marks.iter().all(|(mark, _)| now.get(*mark) == before.get(*mark));
        return match (arrived, unmoved) {
            // What was so before shows nothing.
            (true, true) => WorldState::CannotTell,
            (true, false) => WorldState::After,
            (false, true) => WorldState::Before,
            (false, false) => WorldState::Neither,
        };
    }
    let readable =
        changes(receipt.key.action).iter().filter(|mark| now.get(**mark).is_some() && before.get(**mark).is_some());
    let readable: Vec<&Mark> = readable.collect();
    if readable.is_empty() || receipt.key.purpose == Purpose::Undo {
        return WorldState::CannotTell;
    }
    match readable.iter().any(|mark| now.differs(before, **mark)) {
        true => WorldState::After,
        false => WorldState::Before,
    }
}
