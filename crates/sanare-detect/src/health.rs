//! Signs of life: serving probes, pings, wrong answers, starts of a process (S8, S28, S54). They need no rule.

use std::collections::BTreeMap;

use sanare_core::service::moment::{MINUTE, SECOND};
use sanare_core::service::{Condition, IncidentKind, Moment};
use serde::{Deserialize, Serialize};

use crate::hold::{Change, Held, Hold, Sight};
use crate::reading::{Input, Reading};

/// Failures in a row that count.
const IN_A_ROW: u8 = 3;
/// Checks of its own that are told apart at one component.
const CHECKS: usize = 16;
/// How long a serving probe may fail.
const FAILING: u64 = 90 * SECOND;
/// How old a ping may be to say that something is alive.
const PING: u64 = 90 * SECOND;
/// Starts within the window that are a loop.
const STARTS: usize = 3;
const STARTS_WITHIN: u64 = 10 * MINUTE;

/// What a health signal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// A request on the path that users use.
    Serving,
    /// A request that only asks whether somebody is there.
    Ping,
    /// Whether the right instance answers.
    Instance,
    /// Whether the served version is the registry's.
    ServedVersion,
    /// Whether the service has its model.
    ModelLoaded,
    /// A probe of something that the service needs.
    Dependency,
    /// What the service says of itself.
    Own,
}

impl Sign {
    /// Whether it is told at every interval: who answered is told only when somebody did, and that a model is loaded only when
    /// it is.
    pub fn is_regular(self) -> bool {
        !matches!(self, Self::Instance | Self::ServedVersion | Self::ModelLoaded)
    }
}

/// What is known of one component's life.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Life {
    serving: Run,
    instance: Run,
    version: Run,
    model: Run,
    dependency: Run,
    /// What the service says of itself, check by check; those beyond the limit are one.
    own: BTreeMap<String, Run>,
    ping: Option<(u64, bool)>,
    held: Vec<(IncidentKind, Held)>,
    starts: Vec<u64>,
}

/// Answers in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Run {
    fails: u8,
    passes: u8,
    since: u64,
}

/// A condition that changed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beat {
    /// What opens or clears.
    pub kind: IncidentKind,
    /// The change.
    pub change: Change,
}

impl Run {
    fn take(&mut self, at: Moment, passes: Option<bool>) {
        match passes {
            Some(true) => *self = Self { fails: 0, passes: self.passes.saturating_add(1), since: 0 },
            Some(false) => {
                let since = if self.fails == 0 { at.micros() } else { self.since };
                *self = Self { fails: self.fails.saturating_add(1), passes: 0, since };
            }
            None => self.passes = 0,
        }
    }

    fn sight(self, at: Moment, fails: u8, passes: u8) -> Sight {
        let long = self.fails > 1 && at.micros().saturating_sub(self.since) >= FAILING;
        match self {
            _ if self.fails >= fails || (long && fails == IN_A_ROW) => Sight::Bad,
            _ if self.passes >= passes => Sight::Good,
            _ => Sight::Between,
        }
    }
}

impl Life {
    /// Takes an answer: a reading of 1 passes, any other number fails, none is an answer that could not be had.
    /// `check` names what the service says of itself.
    pub fn step(&mut self, sign: Sign, check: &str, input: Input) -> Vec<Beat> {
        let Input::Reading(reading) = input else {
            // Late answers decide nothing, and without answers nobody knows: what is ill stays ill.
            return Vec::new();
        };
        let (at, passes) = (reading.at(), passes(reading));
        let once = 1;
        let (run, fails, kind) = match sign {
            Sign::Serving => (&mut self.serving, IN_A_ROW, IncidentKind::Unreachable),
            Sign::Ping => {
                self.ping = passes.map(|passes| (at.micros(), passes)).or(self.ping);
                return Vec::new();
            }
            Sign::Instance => (&mut self.instance, IN_A_ROW, IncidentKind::HalfAlive),
            Sign::ServedVersion => (&mut self.version, once, IncidentKind::WrongModelVersion),
            Sign::ModelLoaded => (&mut self.model, once, IncidentKind::ModelLoadFailed),
            Sign::Dependency => (&mut self.dependency, IN_A_ROW, IncidentKind::DependencyDown),
            Sign::Own => {
                let room = self.own.contains_key(check) || self.own.len() < CHECKS;
                let run = self.own.entry(if room { check } else { "" }.to_owned()).or_default();
                (run, IN_A_ROW, IncidentKind::HalfAlive)
            }
        };
        run.take(at, passes);
        // A service that has loaded its model says so once.
        let enough = if sign == Sign::ModelLoaded { once } else { IN_A_ROW };
        let sight = if passes.is_none() { Sight::Unknown } else { run.sight(at, fails, enough) };
        if sign != Sign::Serving {
            return self.turn(kind, at, self.joined(kind, sight)).into_iter().collect();
        }
        self.serve(at, sight)
    }

    /// A serving probe that fails while the ping passes is half of a life; without a ping that passes it is none.
    fn serve(&mut self, at: Moment, sight: Sight) -> Vec<Beat> {
        let pings = self.ping.is_some_and(|(then, passes)| passes && at.micros().saturating_sub(then) <= PING);
        let (unreachable, half) = match sight {
            Sight::Bad if pings => (Sight::Between, Sight::Bad),
            Sight::Bad => (Sight::Bad, Sight::Between),
            other => (other, other),
        };
        let half = self.joined(IncidentKind::HalfAlive, half);
        let beats =
            [self.turn(IncidentKind::Unreachable, at, unreachable), self.turn(IncidentKind::HalfAlive, at, half)];
        beats.into_iter().flatten().collect()
    }

    /// Half a life has three signs, and is whole when all three are well.
    fn joined(&self, kind: IncidentKind, sight: Sight) -> Sight {
        if kind != IncidentKind::HalfAlive || sight != Sight::Good {
            return sight;
        }
        let unwell = |run: &Run| run.fails.max(run.passes) > 0 && run.passes < IN_A_ROW;
        let ill = [&self.serving, &self.instance].into_iter().chain(self.own.values()).any(unwell);
        if ill { Sight::Between } else { Sight::Good }
    }

    /// The process was seen with another start time than before.
    pub fn start(&mut self, at: Moment) -> Option<Beat> {
        self.starts.retain(|start| at.micros().saturating_sub(*start) < STARTS_WITHIN);
        if self.starts.last().is_none_or(|last| *last < at.micros()) {
            self.starts.push(at.micros());
        }
        let spare = self.starts.len().saturating_sub(STARTS);
        self.starts.drain(..spare);
        let looping = self.starts.len() >= STARTS;
        let sight = if looping { Sight::Bad } else { Sight::Between };
        self.turn(IncidentKind::CrashLoop, at, sight)
    }

    /// Time passed: a loop has ended when nothing has started for its window.
    pub fn tick(&mut self, now: Moment) -> Option<Beat> {
        let end = self.starts.last()?.saturating_add(STARTS_WITHIN);
        if now.micros() < end {
            return None;
        }
        self.starts.clear();
        self.turn(IncidentKind::CrashLoop, Moment::from_micros(end), Sight::Good)
    }

    /// Where a kind stands.
    pub fn condition(&self, kind: IncidentKind) -> Condition {
        let held = self.held.iter().find(|(known, _)| *known == kind);
        held.map_or(Condition::Cleared, |(_, held)| held.condition())
    }

    fn turn(&mut self, kind: IncidentKind, at: Moment, sight: Sight) -> Option<Beat> {
        let place = match self.held.iter().position(|(known, _)| *known == kind) {
            Some(place) => place,
            None if sight == Sight::Bad => {
                self.held.push((kind, Held::default()));
                self.held.len() - 1
            }
            None => return None,
        };
        let (_, held) = self.held.get_mut(place)?;
        let change = Hold { pending: 0, keep: 0 }.step(held, at, sight, 0)?;
        Some(Beat { kind, change })
    }
}

fn passes(reading: Reading) -> Option<bool> {
    reading.value().map(|value| value == 1.0)
}

#[cfg(test)]
mod tests {
    use sanare_core::service::Moment;
    use sanare_core::service::moment::SECOND;

    use super::{Life, Sign};
    use crate::reading::{Input, Reading};

    /// Answers every 15 s: a letter a sign (s serving, g ping, i instance, v version, m model, d dependency, o and p own, b a
    /// start), upper case where it fails, `?` for no answer of the serving probe. What is within a pair of blanks comes at
    /// one moment.
    fn check(answers: &str) -> Vec<String> {
        let mut life = Life::default();
        let mut told = Vec::new();
        for (place, moment) in answers.split_whitespace().enumerate() {
            let at = Moment::from_micros(1_000_000 * SECOND + place as u64 * 15 * SECOND);
            for letter in moment.chars() {
                let sign = match letter.to_ascii_lowercase() {
                    's' | '?' => Sign::Serving,
                    'g' => Sign::Ping,
                    'i' => Sign::Instance,
                    'v' => Sign::ServedVersion,
                    'm' => Sign::ModelLoaded,
                    'd' => Sign::Dependency,
                    _ => Sign::Own,
                };
                let value = if letter == '?' { f64::NAN } else { f64::from(u8::from(letter.is_lowercase())) };
                let beats = match letter {
                    'b' => life.start(at).into_iter().collect(),
                    '-' => life.tick(at).into_iter().collect(),
                    '.' => Vec::new(),
                    _ => {
                        let name = letter.to_ascii_lowercase().to_string();
                        life.step(sign, &name, Input::Reading(Reading::new(at, value)))
                    }
                };
                told.extend(beats.iter().map(|beat| format!("{place} {} {}", beat.kind, beat.change.to)));
            }
        }
        told
    }

    #[test]
    fn each_kind_opens_and_its_near_miss_does_not() {
        assert_eq!(check("S S S"), ["2 unreachable firing"]);
        assert_eq!(check("S S s S S s"), Vec::<String>::new());
        assert_eq!(check("gS gS gS"), ["2 half_alive firing"], "the ping passes");
        assert_eq!(check("GS GS GS"), ["2 unreachable firing"], "it does not");
        assert_eq!(check("g . . . . . . . S S S"), ["10 unreachable firing"], "the ping is old");
        assert_eq!(check("I I I"), ["2 half_alive firing"], "another instance answers");
        assert_eq!(check("O O O"), ["2 half_alive firing"], "it says so itself");
        assert_eq!(check("V"), ["0 wrong_model_version firing"]);
        assert_eq!(check("M"), ["0 model_load_failed firing"]);
        assert_eq!(check("M . m"), ["0 model_load_failed firing", "2 model_load_failed cleared"], "it says so once");
        assert_eq!(check("Op Op Op"), ["2 half_alive firing"], "another check that passes hides nothing");
        assert_eq!(check("O P O p P"), Vec::<String>::new(), "nor do two that fail in turn make three");
        assert_eq!(
            check("Op Op Op p p p op op op"),
            ["2 half_alive firing", "8 half_alive cleared"],
            "each of them has to be well"
        );
        assert_eq!(check("D D D"), ["2 dependency_down firing"]);
        assert_eq!(check("D D d"), Vec::<String>::new());
        assert_eq!(check("G G G G"), Vec::<String>::new(), "a ping alone is nobody's service");
    }

    #[test]
    fn ninety_seconds_count_where_answers_are_rare() {
        assert_eq!(check("S . . . . . S"), ["6 unreachable firing"]);
        assert_eq!(check("S . . . . S"), Vec::<String>::new());
    }

    #[test]
    fn it_clears_after_three_good_answers_and_never_without() {
        assert_eq!(check("S S S s s s"), ["2 unreachable firing", "5 unreachable cleared"]);
        assert_eq!(check("S S S s s ? s s"), ["2 unreachable firing"], "an answer that could not be had is not good");
        assert_eq!(check("S S S s s ? s s s"), ["2 unreachable firing", "8 unreachable cleared"]);
        assert_eq!(check("S S S . . . ."), ["2 unreachable firing"]);
        assert_eq!(check("gS gS gS gs gs gs"), ["2 half_alive firing", "5 half_alive cleared"]);
        assert_eq!(check("sI sI sI si si si"), ["2 half_alive firing", "5 half_alive cleared"]);
        assert_eq!(check("sI sI sI sI"), ["2 half_alive firing"], "serving well is not enough");
        assert_eq!(check("V v v v"), ["0 wrong_model_version firing", "3 wrong_model_version cleared"]);
    }

    #[test]
    fn three_starts_in_ten_minutes_are_a_loop() {
        assert_eq!(check("b b b"), ["2 crash_loop firing"]);
        assert_eq!(check("b b"), Vec::<String>::new());
        let (gap, rest) = (". ".repeat(39), "- ".repeat(40));
        assert_eq!(check(&format!("b {gap}b b")), Vec::<String>::new(), "ten minutes apart");
        assert_eq!(check(&format!("b b b {rest}")), ["2 crash_loop firing", "42 crash_loop cleared"]);
    }
}
