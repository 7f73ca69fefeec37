//! What a service reports, from within its own process: each call takes its place in a queue and returns (S14 to S17).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sanare_core::port::Clock;
use sanare_core::service::value::Quality;
use sanare_core::service::{
    Action, Application, Component, Draft, Health, Invalid, Labels, Moment, ObservationKind, ObservedValue, Profile,
    Signal, Text, Version,
};
use sanare_detect::drift::compare::compare;
use sanare_detect::drift::reference::Cells;

use super::gather::Rows;
use super::hands::{Capability, Function};
use super::healer::{Healer, locked};
use super::logs::{self, Counter};
use super::queue::{Queue, Stats};
use super::references::{Reference, References};

/// What may be set for a client.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The part of the service.
    pub component: Component,
    /// Labels of every reading.
    pub labels: Labels,
}

/// A service, as it reports of itself. Cheap to clone; every call returns at once.
#[derive(Clone, Debug)]
pub struct Service {
    reporter: Arc<Reporter>,
    healer: Healer,
}

/// The part of a client that the healer asks for what was measured.
pub(super) struct Reporter {
    application: Application,
    options: Options,
    queue: Arc<Queue>,
    clock: Arc<dyn Clock + Send + Sync>,
    paths: Mutex<BTreeMap<String, Path>>,
    references: Arc<Mutex<Arc<References>>>,
    rows: Rows,
    logs: Vec<Counter>,
    /// What this program said last of which version is live.
    live: Mutex<Option<Version>>,
    /// When the last reading was taken, in microseconds.
    last: AtomicU64,
}

/// What was measured of a path since it was last sent.
#[derive(Debug, Default)]
struct Path {
    requests: u64,
    errors: u64,
    /// Seconds, at most so many.
    latencies: Vec<f64>,
}

/// Latencies that are kept of a path between two sendings; of more, each takes the place of an earlier one.
const LATENCIES: usize = 1_000;

/// Microseconds by which readings may run ahead of the clock.
const SAME_INSTANT: u64 = 1_000_000;

/// More of a reading than its number.
#[derive(Clone, Debug, Default)]
pub struct More {
    /// Its unit.
    pub unit: Option<String>,
    /// When it was true; now if absent.
    pub at: Option<Moment>,
    /// Labels beside those of the service.
    pub labels: Labels,
    /// The sender's own id.
    pub id: Option<String>,
}

impl Service {
    pub(super) fn new(
        application: Application,
        options: Options,
        queue: Arc<Queue>,
        clock: Arc<dyn Clock + Send + Sync>,
        references: Arc<Mutex<Arc<References>>>,
        healer: Healer,
    ) -> Self {
        let (paths, rows, live, last) = (Mutex::default(), Rows::default(), Mutex::default(), AtomicU64::new(0));
        let logs = Counter::of_program(&healer.setup(), &application);
        let reporter = Reporter { application, options, queue, clock, paths, references, rows, logs, live, last };
        Self { reporter: Arc::new(reporter), healer }
    }

    pub(super) fn reporter(&self) -> &Arc<Reporter> {
        &self.reporter
    }

    /// Its name.
    pub fn application(&self) -> &Application {
        &self.reporter.application
    }

    /// Reports a number; one that is not finite is an arrival without a value.
    pub fn observe(&self, signal: &Signal, number: f64) {
        self.report(signal, ObservedValue::metric(number), More::default());
    }

    /// Reports a value of any kind.
    pub fn report(&self, signal: &Signal, value: ObservedValue, more: More) {
        self.reporter.report(signal, value, more);
    }

    /// Reports a value as JSON holds it; one that cannot be used is counted.
    ///
    /// # Errors
    /// [`Invalid`]; the caller decides whether anybody hears of it.
    pub fn report_json(
        &self,
        signal: &Signal,
        kind: ObservationKind,
        json: &serde_json::Value,
        more: More,
    ) -> Result<(), Invalid> {
        match ObservedValue::read(kind, json) {
            Ok(value) => self.reporter.take(signal, value, more),
            Err(invalid) => {
                self.reporter.queue.refuse();
                Err(invalid)
            }
        }
    }

    /// Counts a value that could not even be read.
    pub fn refuse(&self) {
        self.reporter.queue.refuse();
    }

    /// Reports what a check says.
    pub fn health(&self, signal: &Signal, status: Health, detail: Option<&str>) {
        let detail = detail.map(Text::of);
        self.report(signal, ObservedValue::Health { status, detail }, More::default());
    }

    /// Reports how good predictions were.
    pub fn quality(&self, signal: &Signal, quality: Quality) {
        self.report(signal, ObservedValue::PredictionQuality(quality), More::default());
    }

    /// Reports a sketch of data.
    ///
    /// # Errors
    /// [`Invalid`] for one of another reference than is known here; it is counted.
    pub fn profile(&self, signal: &Signal, profile: Profile) -> Result<(), Invalid> {
        self.reporter.take(signal, ObservedValue::Drift(Box::new(profile)), More::default())
    }

    /// Takes rows of features and predictions, column by column. They stay in this process: once there are 10,000 of them,
    /// or an hour has passed, their counts are sent as one profile.
    ///
    /// # Errors
    /// [`Invalid`] where no reference of the signal is known, the rows are not of its model version, or they are no
    /// table; they are counted as one refused value.
    pub fn rows(&self, signal: &Signal, columns: Vec<Cells>) -> Result<(), Invalid> {
        let reporter = &self.reporter;
        let taken = reporter.reference(signal).and_then(|reference| reporter.rows.put(signal, &reference, columns));
        taken.inspect_err(|_| reporter.queue.refuse())
    }

    /// Reports that a version is live now.
    ///
    /// # Errors
    /// [`Invalid`], never: the signal's name is ours.
    pub fn deployed(&self, before: Option<Version>, after: Version) -> Result<(), Invalid> {
        *locked(&self.reporter.live) = Some(after.clone());
        self.report(&Signal::parse("deployed")?, ObservedValue::Deployment { before, after }, More::default());
        Ok(())
    }

    /// Takes a line that the program logs: it is counted by the patterns that are configured without a file, every ten
    /// seconds.
    ///
    /// # Errors
    /// [`Invalid`] where there is no such pattern; it is counted as a refused value.
    pub fn log(&self, line: &str) -> Result<(), Invalid> {
        let reporter = &self.reporter;
        if reporter.logs.is_empty() {
            reporter.queue.refuse();
            let name = reporter.application.as_str();
            return Err(Invalid::quoting("log", name, "it has no pattern for what the program itself logs"));
        }
        let line = logs::start(line);
        reporter.logs.iter().for_each(|counter| counter.take(line));
        Ok(())
    }

    /// Takes one request on a path that users use: how long it took, and whether it failed. Sent as four numbers for each
    /// interval: `serving_requests`, `serving_errors`, `serving_error_share`, `serving_latency_p99_ms`.
    pub fn served(&self, path: &str, took: Duration, failed: bool) {
        self.reporter.served(path, took, failed);
    }

    /// Lets the healer call a function of this program as an action on this service (S16).
    ///
    /// # Errors
    /// [`Invalid`] for an action that needs none, a declaration that contradicts itself, or a target that is configured
    /// with another adapter.
    pub fn capability(&self, action: Action, function: Arc<Function>, capability: Capability) -> Result<(), Invalid> {
        self.healer.capability(
            &self.reporter.application,
            &self.reporter.options.component,
            action,
            function,
            capability,
        )
    }

    /// What became of the calls of all clients of this healer, and how many rows this one has gathered.
    pub fn stats(&self) -> Stats {
        Stats { rows: self.reporter.rows.held(), ..self.reporter.queue.stats() }
    }

    /// Waits until what is queued is stored, at most so long; whether it is. Somebody has to run the healer meanwhile.
    pub fn close(&self, timeout: Duration) -> bool {
        self.reporter.send(true);
        let end = Instant::now() + timeout;
        while self.reporter.queue.stats().queued > 0 {
            if Instant::now() >= end {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }
}

impl Reporter {
    /// Reports what may be reported.
    fn take(&self, signal: &Signal, value: ObservedValue, more: More) -> Result<(), Invalid> {
        if let ObservedValue::Drift(profile) = &value
            && let Err(invalid) = self.reference(signal).and_then(|known| compare(&known.drift.reference, profile))
        {
            self.queue.refuse();
            return Err(invalid);
        }
        if let ObservedValue::Deployment { after, .. } = &value {
            *locked(&self.live) = Some(after.clone());
        }
        self.report(signal, value, more);
        Ok(())
    }

    /// The reference of a signal, which is of the version that is live.
    fn reference(&self, signal: &Signal) -> Result<Arc<Reference>, Invalid> {
        let known = self.known(signal);
        let known = known.ok_or_else(|| {
            Invalid::quoting("reference", signal.as_str(), "no reference of this signal has been learned and read")
        })?;
        if let Err(why) = &known.key {
            return Err(Invalid::new("key", why.clone()));
        }
        let bound = known.drift.reference.model_version.as_ref();
        match (bound, locked(&self.live).as_ref()) {
            (Some(bound), Some(live)) if bound != live => {
                let why = format!("{live} is live, and the reference is of {bound}: learn one of this version");
                Err(Invalid::new("model_version", why))
            }
            _ => Ok(known),
        }
    }

    /// The reference of a signal, as it was read last.
    fn known(&self, signal: &Signal) -> Option<Arc<Reference>> {
        locked(&self.references).get(&(self.application.clone(), signal.clone())).cloned()
    }

    fn report(&self, signal: &Signal, value: ObservedValue, more: More) {
        let labels = match more.labels.iter().next() {
            None => Ok(self.options.labels.clone()),
            Some(_) => {
                let own = self.options.labels.iter().chain(more.labels.iter());
                Labels::new(own.map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
            }
        };
        let Ok(labels) = labels else { return self.queue.refuse() };
        let mut draft = Draft::new(self.application.clone(), signal.clone(), value);
        draft.component.clone_from(&self.options.component);
        draft.labels = labels;
        draft.unit = more.unit;
        draft.source_id = more.id;
        draft.event_time = Some(match more.at {
            Some(at) => at,
            None => {
                let now = Moment::from_millis(self.clock.now());
                if self.clock.is_broken() {
                    // Nobody knows when this was true.
                    return self.queue.refuse();
                }
                self.after_the_last(now)
            }
        });
        self.queue.put(draft);
    }

    /// The clock tells milliseconds, in which a program may report many readings: each is a microsecond later than the one
    /// before, so that none is taken for another that is told twice.
    fn after_the_last(&self, now: Moment) -> Moment {
        let later = |last: u64| match last.checked_sub(now.micros()) {
            // What lies further ahead was said by a clock that has gone back since.
            Some(ahead) if ahead < SAME_INSTANT => last + 1,
            _ => now.micros(),
        };
        let next = |last| Some(later(last));
        let last = self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).unwrap_or_default();
        Moment::from_micros(later(last))
    }

    fn served(&self, path: &str, took: Duration, failed: bool) {
        let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        let known = match paths.get_mut(path) {
            Some(known) => known,
            None => paths.entry(path.to_owned()).or_default(),
        };
        known.requests += 1;
        known.errors += u64::from(failed);
        let seconds = took.as_secs_f64();
        if known.latencies.len() < LATENCIES {
            known.latencies.push(seconds);
        } else if let Some(place) = usize::try_from(known.requests).ok().map(|number| number % LATENCIES)
            && let Some(older) = known.latencies.get_mut(place)
        {
            *older = seconds;
        }
    }

    /// Sends what was measured of the paths, and profiles that are due. `ending`: nothing comes after this.
    pub(super) fn send(&self, ending: bool) {
        self.send_paths();
        let now = Moment::from_millis(self.clock.now());
        if !self.clock.is_broken() {
            self.logs
                .iter()
                .filter_map(|counter| counter.ended(&self.application, now))
                .for_each(|it| self.queue.put(it));
        }
        for (signal, profile) in self.rows.beat(now, ending, |signal| self.known(signal)) {
            match profile {
                Ok(profile) => self.report(&signal, ObservedValue::Drift(Box::new(profile)), More::default()),
                Err(_) => self.queue.refuse(),
            }
        }
    }

    /// Sends what was measured of the paths since the last time. A path without requests says so, and nothing else.
    fn send_paths(&self) {
        let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        for (path, measured) in paths.iter_mut() {
            let Path { requests, errors, mut latencies } = std::mem::take(measured);
            let labels = Labels::new(BTreeMap::from([("path".to_owned(), path.clone())])).unwrap_or_default();
            let send = |name: &str, number: f64, unit: Option<&str>| {
                let more = More { labels: labels.clone(), unit: unit.map(str::to_owned), ..More::default() };
                if let Ok(signal) = Signal::parse(name) {
                    self.report(&signal, ObservedValue::metric(number), more);
                }
            };
            send("serving_requests", count(requests), None);
            send("serving_errors", count(errors), None);
            if requests > 0 {
                send("serving_error_share", count(errors) / count(requests), None);
                latencies.sort_by(f64::total_cmp);
                let place = (latencies.len() * 99).div_ceil(100).saturating_sub(1);
                send("serving_latency_p99_ms", latencies.get(place).copied().unwrap_or_default() * 1_000.0, Some("ms"));
            }
        }
    }
}

impl std::fmt::Debug for Reporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reporter").field("application", &self.application).finish_non_exhaustive()
    }
}

#[expect(clippy::cast_precision_loss, reason = "requests of one interval are far below 2^53")]
fn count(number: u64) -> f64 {
    number as f64
}
