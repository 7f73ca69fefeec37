//! Error budgets: a ratio of bad to all whose budget burns too fast over a long and a short window at once (S38).
//!
//! Factors and windows are those of the "multiwindow, multi-burn-rate" alerts of the SRE workbook, chapter 5.

use sanare_core::service::moment::{DAY, HOUR, MINUTE};
use sanare_core::service::{Condition, Invalid, Moment, Severity};
use serde::{Deserialize, Serialize};

use crate::hold::{Change, Held, Hold, Sight};
use crate::reading::{Input, Reading};
use crate::window::growth;

/// Requests in the short window below which nothing is said.
const FEW: u64 = 50;

/// One line of the table: how fast the budget may burn over which windows.
struct Pace {
    factor: f64,
    long: u64,
    short: u64,
    /// Width of the buckets that the windows are counted in.
    bucket: u64,
    severity: Severity,
}

const PACES: [Pace; 3] = [
    Pace { factor: 14.4, long: HOUR, short: 5 * MINUTE, bucket: MINUTE, severity: Severity::Critical },
    Pace { factor: 6.0, long: 6 * HOUR, short: 30 * MINUTE, bucket: 5 * MINUTE, severity: Severity::High },
    Pace { factor: 1.0, long: 3 * DAY, short: 6 * HOUR, bucket: HOUR, severity: Severity::Low },
];

/// What the readings of a ratio are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Counters that only grow, and start again at 0 with their process.
    Counter,
    /// Counts since the reading before.
    Count,
}

/// Which half of a ratio a reading belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Failed requests.
    Bad,
    /// All requests.
    All,
}

/// An objective and how its ratio is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    objective: f64,
    form: Form,
    keep: u64,
}

/// The counts of one ratio.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Burn {
    bad: Option<f64>,
    all: Option<f64>,
    tiers: [Tier; 3],
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Tier {
    held: Held,
    /// Number of the newest bucket since 1970.
    newest: u64,
    /// Bad and all of each bucket, the newest last.
    buckets: Vec<(u64, u64)>,
}

/// How fast a budget burns over one pair of windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pacing {
    /// Under 50 requests in the short window: it does not say.
    TooFew,
    /// So many times too fast: over the long and the short window.
    Times(f64, f64),
}

/// A pace whose condition changed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Burning {
    /// The change.
    pub change: Change,
    /// The severity of the pace.
    pub severity: Severity,
    /// How many times too fast over the short window; none when the signal went missing.
    pub times: Option<f64>,
}

impl Budget {
    /// A budget for an objective such as 0.999.
    ///
    /// # Errors
    /// [`Invalid`] for an objective outside of 0 to 1, both ends left out.
    pub fn new(objective: f64, form: Form) -> Result<Self, Invalid> {
        if !(objective > 0.0 && objective < 1.0) {
            return Err(Invalid::new("objective", "is a share between 0 and 1, such as 0.999"));
        }
        Ok(Self { objective, form, keep: 5 * MINUTE })
    }

    /// Takes one input of one half of the ratio. What the budget says is judged when the number of all requests is read.
    pub fn step(&self, burn: &mut Burn, half: Half, input: Input) -> Vec<Burning> {
        match input {
            Input::Reading(reading) => self.read(burn, half, reading),
            // Counters are differences of neighbours: what comes late is already in the next difference.
            Input::Late(_) => Vec::new(),
            Input::Missing(at) => {
                let mut changes = Vec::new();
                for (pace, tier) in PACES.iter().zip(&mut burn.tiers) {
                    if let Some(change) = Hold::missing(&mut tier.held, at) {
                        changes.push(Burning { change, severity: pace.severity, times: None });
                    }
                }
                changes
            }
        }
    }

    fn read(&self, burn: &mut Burn, half: Half, reading: Reading) -> Vec<Burning> {
        let Some(value) = reading.value().filter(|value| *value >= 0.0) else { return Vec::new() };
        let last = match half {
            Half::Bad => &mut burn.bad,
            Half::All => &mut burn.all,
        };
        let grown = match (self.form, last.replace(value)) {
            (Form::Count, _) => value,
            (Form::Counter, Some(before)) => growth(before, value),
            (Form::Counter, None) => 0.0,
        };
        for (pace, tier) in PACES.iter().zip(&mut burn.tiers) {
            tier.add(pace, reading.at(), half, grown as u64);
        }
        if half == Half::Bad { Vec::new() } else { self.judge(burn, reading.at()) }
    }

    fn judge(&self, burn: &mut Burn, at: Moment) -> Vec<Burning> {
        let mut changes = Vec::new();
        for (pace, tier) in PACES.iter().zip(&mut burn.tiers) {
            let pacing = tier.pacing(pace, self.objective);
            let (sight, times) = match pacing {
                Pacing::TooFew => (Sight::Unknown, None),
                Pacing::Times(long, short) if long > pace.factor && short > pace.factor => (Sight::Bad, Some(short)),
                Pacing::Times(_, short) if short > pace.factor => (Sight::Between, Some(short)),
                Pacing::Times(_, short) => (Sight::Good, Some(short)),
            };
            let hold = Hold { pending: 0, keep: self.keep };
            if let Some(change) = hold.step(&mut tier.held, at, sight, 0) {
                changes.push(Burning { change, severity: pace.severity, times });
            }
        }
        changes
    }

    /// How fast the budget burns, by pace.
    pub fn pacing(&self, burn: &Burn) -> [Pacing; 3] {
        let mut pacing = [Pacing::TooFew; 3];
        for ((pace, tier), place) in PACES.iter().zip(&burn.tiers).zip(&mut pacing) {
            *place = tier.pacing(pace, self.objective);
        }
        pacing
    }
}

impl Burn {
    /// The worst pace that fires.
    pub fn severity(&self) -> Option<Severity> {
        let ill = PACES.iter().zip(&self.tiers).filter(|(_, tier)| tier.held.is_ill());
        ill.map(|(pace, _)| pace.severity).max()
    }

    /// Its condition as a whole: that of the pace that is worst off.
    pub fn condition(&self) -> Condition {
        let order = [Condition::Firing, Condition::Clearing, Condition::Pending];
        let is = |wanted: &Condition| self.tiers.iter().any(|tier| tier.held.condition() == *wanted);
        order.into_iter().find(is).unwrap_or(Condition::Cleared)
    }
}

impl Tier {
    fn add(&mut self, pace: &Pace, at: Moment, half: Half, grown: u64) {
        let number = at.micros() / pace.bucket;
        let most = usize::try_from(pace.long / pace.bucket).unwrap_or(0);
        if self.buckets.is_empty() || number >= self.newest.saturating_add(most as u64) {
            self.buckets = vec![(0, 0)];
            self.newest = number;
        }
        while self.newest < number {
            self.newest += 1;
            self.buckets.push((0, 0));
        }
        let spare = self.buckets.len().saturating_sub(most);
        self.buckets.drain(..spare);
        let back = usize::try_from(self.newest.saturating_sub(number)).unwrap_or(usize::MAX);
        let place = self.buckets.len().checked_sub(1).and_then(|last| last.checked_sub(back));
        if let Some((bad, all)) = place.and_then(|place| self.buckets.get_mut(place)) {
            let count = if half == Half::Bad { bad } else { all };
            *count = count.saturating_add(grown);
        }
    }

    fn pacing(&self, pace: &Pace, objective: f64) -> Pacing {
        let sum = |length: u64| {
            let count = usize::try_from(length / pace.bucket).unwrap_or(0);
            let add = |(bad, all): (u64, u64), bucket: &(u64, u64)| {
                (bad.saturating_add(bucket.0), all.saturating_add(bucket.1))
            };
            self.buckets.iter().rev().take(count).fold((0, 0), add)
        };
        let times = |(bad, all): (u64, u64)| bad.min(all) as f64 / all as f64 / (1.0 - objective);
        let (long, short) = (sum(pace.long), sum(pace.short));
        if short.1 < FEW { Pacing::TooFew } else { Pacing::Times(times(long), times(short)) }
    }
}

#[cfg(test)]
mod tests {
    use sanare_core::service::moment::{DAY, HOUR, MINUTE};
    use sanare_core::service::{Condition, Moment, Severity};

    use super::{Budget, Burn, Form, Half, Pacing};
    use crate::reading::{Input, Reading};

    const START: u64 = 20_000 * DAY;

    /// Traffic of so many requests a minute, of which this share fails, for so long; counters are told once a minute.
    fn run(budget: &Budget, burn: &mut Burn, from: u64, length: u64, per_minute: f64, share: f64) -> Vec<Severity> {
        let mut fired = Vec::new();
        let (mut bad, mut all) = (burn.bad.unwrap_or(0.0), burn.all.unwrap_or(0.0));
        for minute in 0..length / MINUTE {
            let at = Moment::from_micros(START + from + minute * MINUTE);
            bad += per_minute * share;
            all += per_minute;
            budget.step(burn, Half::Bad, Input::Reading(Reading::new(at, bad)));
            let changes = budget.step(burn, Half::All, Input::Reading(Reading::new(at, all)));
            let firing = changes.iter().filter(|burning| burning.change.to == Condition::Firing);
            fired.extend(firing.map(|burning| burning.severity));
        }
        fired
    }

    fn check(length: u64, per_minute: f64, factor: f64) -> Vec<Severity> {
        let budget = Budget::new(0.999, Form::Counter).expect("a budget");
        let mut fired = run(&budget, &mut Burn::default(), 0, length, per_minute, factor * 0.001);
        fired.sort();
        fired
    }

    #[test]
    fn each_pace_fires_just_over_its_factor_and_not_just_under() {
        use Severity::{Critical, High, Low};
        assert_eq!(check(DAY, 100_000.0, 14.6), [Low, High, Critical]);
        assert_eq!(check(DAY, 100_000.0, 14.2), [Low, High]);
        assert_eq!(check(DAY, 100_000.0, 6.2), [Low, High]);
        assert_eq!(check(DAY, 100_000.0, 5.8), [Low]);
        assert_eq!(check(4 * DAY, 100_000.0, 1.02), [Low]);
        assert_eq!(check(4 * DAY, 100_000.0, 0.98), []);
    }

    #[test]
    fn a_short_burst_needs_both_windows() {
        let budget = Budget::new(0.999, Form::Counter).expect("a budget");
        let mut burn = Burn::default();
        assert_eq!(run(&budget, &mut burn, 0, 2 * HOUR, 10_000.0, 0.0), []);
        // Two minutes at 40 times burn five minutes' budget 16 times and the hour's 1.3 times.
        assert_eq!(run(&budget, &mut burn, 2 * HOUR, 2 * MINUTE, 10_000.0, 0.04), []);
    }

    #[test]
    fn little_traffic_says_nothing() {
        assert_eq!(check(DAY, 0.0, 1_000.0), []);
        assert_eq!(check(MINUTE, 1.0, 1_000.0), [], "1 of 1 failed");
        assert_eq!(check(4 * MINUTE, 12.0, 1_000.0), [], "48 in five minutes");
        let budget = Budget::new(0.999, Form::Counter).expect("a budget");
        let mut burn = Burn::default();
        run(&budget, &mut burn, 0, 5 * MINUTE, 9.0, 0.0);
        assert_eq!(budget.pacing(&burn)[0], Pacing::TooFew);
    }

    #[test]
    fn a_counter_that_starts_again_is_no_burst() {
        let budget = Budget::new(0.99, Form::Counter).expect("a budget");
        let mut burn = Burn::default();
        assert_eq!(run(&budget, &mut burn, 0, HOUR, 10_000.0, 0.001), []);
        // The process that counts failures starts again; what it had counted is not counted twice.
        for (half, value) in [(Half::Bad, 2.0), (Half::All, 610_000.0)] {
            let reading = Reading::new(Moment::from_micros(START + HOUR), value);
            assert_eq!(budget.step(&mut burn, half, Input::Reading(reading)), []);
        }
        let Pacing::Times(_, short) = budget.pacing(&burn)[0] else { panic!("enough requests") };
        assert!((0.08..0.11).contains(&short), "{short}");
    }

    #[test]
    fn without_the_number_of_all_requests_nothing_fires() {
        let budget = Budget::new(0.999, Form::Count).expect("a budget");
        let mut burn = Burn::default();
        for minute in 0..600 {
            let reading = Reading::new(Moment::from_micros(START + minute * MINUTE), 100.0);
            assert_eq!(budget.step(&mut burn, Half::Bad, Input::Reading(reading)), []);
        }
        assert_eq!(burn.condition(), Condition::Cleared);
    }

    #[test]
    fn it_clears_with_traffic_and_never_without() {
        let budget = Budget::new(0.999, Form::Counter).expect("a budget");
        let mut burn = Burn::default();
        run(&budget, &mut burn, 0, 10 * MINUTE, 10_000.0, 0.5);
        assert_eq!(burn.severity(), Some(Severity::Critical));
        run(&budget, &mut burn, 10 * MINUTE, 60 * MINUTE, 1.0, 0.0);
        assert_eq!(burn.condition(), Condition::Firing, "too few requests clear nothing");
        let mut burn_of_traffic = burn.clone();
        run(&budget, &mut burn_of_traffic, 70 * MINUTE, 4 * DAY, 10_000.0, 0.0);
        assert_eq!(burn_of_traffic.condition(), Condition::Cleared);
    }

    #[test]
    fn its_state_is_bounded() {
        let budget = Budget::new(0.999, Form::Count).expect("a budget");
        let mut burn = Burn::default();
        for minute in 0..(4 * DAY / MINUTE) {
            for half in [Half::Bad, Half::All] {
                let reading = Reading::new(Moment::from_micros(START + minute * MINUTE), 4e6);
                budget.step(&mut burn, half, Input::Reading(reading));
            }
        }
        let bytes = postcard::to_allocvec(&burn).expect("bytes").len();
        assert!(bytes <= 4_096, "{bytes}");
        for objective in [0.0, 1.0, -0.5, f64::NAN] {
            assert!(Budget::new(objective, Form::Count).is_err(), "{objective}");
        }
    }
}
