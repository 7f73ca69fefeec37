//! What came in by each door of each service, and what became of it (S35).

use std::collections::BTreeMap;

use sanare_core::service::{Application, Moment};
use serde::{Deserialize, Serialize};

/// Doors of applications that have an account of their own; what comes by more is counted together.
const MOST: usize = 1_000;
/// The name under which the rest is counted.
const OTHERS: &str = "(others)";

/// What came in by one door. Received is the sum of all others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// Readings that came.
    pub received: u64,
    /// Stored.
    pub accepted: u64,
    /// There already, with the same content.
    pub duplicate: u64,
    /// Not taken, by reason: the field that is wrong, `conflict` for a sender's id that means another reading, and
    /// `too_many_signals`.
    pub refused: BTreeMap<String, u64>,
    /// When one came last.
    pub last: Option<Moment>,
}

/// What came in by a door of a service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Intake {
    /// The service.
    pub application: String,
    /// The door.
    pub source: String,
    /// What came.
    #[serde(flatten)]
    pub account: Account,
}

/// What became of one reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate<'a> {
    Accepted,
    Duplicate,
    Refused(&'a str),
}

/// All accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Accounts(BTreeMap<String, BTreeMap<String, Account>>);

impl Accounts {
    /// Counts a reading that came at a moment.
    pub fn count(&mut self, application: &Application, source: &str, fate: Fate<'_>, at: Moment) {
        let account = self.account(application.as_str(), source);
        account.received += 1;
        account.last = account.last.max(Some(at));
        match fate {
            Fate::Accepted => account.accepted += 1,
            Fate::Duplicate => account.duplicate += 1,
            Fate::Refused(reason) => match account.refused.get_mut(reason) {
                Some(count) => *count += 1,
                None => drop(account.refused.insert(reason.to_owned(), 1)),
            },
        }
    }

    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: &Self) {
        for (application, source, more) in other.each() {
            let account = self.account(application, source);
            account.received += more.received;
            account.accepted += more.accepted;
            account.duplicate += more.duplicate;
            account.last = account.last.max(more.last);
            for (reason, count) in &more.refused {
                *account.refused.entry(reason.clone()).or_default() += count;
            }
        }
    }

    /// A service is forgotten.
    pub fn forget(&mut self, application: &Application) {
        self.0.remove(application.as_str());
    }

    /// All of them, by service and door.
    pub fn all(&self) -> Vec<Intake> {
        let intake = |(application, source, account): (&String, &String, &Account)| Intake {
            application: application.clone(),
            source: source.clone(),
            account: account.clone(),
        };
        self.each().map(intake).collect()
    }

    fn each(&self) -> impl Iterator<Item = (&String, &String, &Account)> {
        self.0.iter().flat_map(|(application, doors)| doors.iter().map(move |(door, one)| (application, door, one)))
    }

    fn account(&mut self, application: &str, source: &str) -> &mut Account {
        let known = self.0.get(application).is_some_and(|doors| doors.contains_key(source));
        let full = !known && self.0.values().map(BTreeMap::len).sum::<usize>() >= MOST;
        let application = if full { OTHERS } else { application };
        self.0.entry(application.to_owned()).or_default().entry(source.to_owned()).or_default()
    }
}

#[cfg(test)]
mod tests {
    use sanare_core::service::{Application, Moment};

    use super::{Accounts, Fate, MOST};

    #[test]
    fn accounts_add_up_and_are_bounded() {
        let (mut one, mut other) = (Accounts::default(), Accounts::default());
        for number in 0..3_000_u64 {
            let fate = match number % 3 {
                0 => Fate::Accepted,
                1 => Fate::Duplicate,
                _ => Fate::Refused("unit"),
            };
            let application = Application::parse(format!("app-{number}")).expect("a name");
            let accounts = if number % 2 == 0 { &mut one } else { &mut other };
            accounts.count(&application, "client", fate, Moment::from_micros(number));
        }
        one.add(&other);
        let all = one.all();
        assert_eq!(all.len(), MOST + 1);
        let sum = |of: fn(&super::Account) -> u64| all.iter().map(|intake| of(&intake.account)).sum::<u64>();
        let refused = sum(|one| one.refused.values().sum());
        assert_eq!((sum(|one| one.received), refused), (3_000, 1_000));
        assert_eq!(sum(|one| one.accepted) + sum(|one| one.duplicate) + refused, 3_000);
        assert_eq!(all[0].application, "(others)");
        assert_eq!(all[0].account.last, Some(Moment::from_micros(2_999)));
    }
}
