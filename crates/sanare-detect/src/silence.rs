//! Silences and maintenance windows: recorded, and neither acted on nor told (S50).

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::{Time, Weekday};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use regex::{Regex, RegexBuilder};
use sanare_core::service::moment::DAY;
use sanare_core::service::{Application, Component, IncidentKind, Invalid, Labels, Moment, Severity, StepName};

/// The longest silence.
const LONGEST: u64 = 30 * DAY;
/// Characters of a reason.
const REASON: usize = 5;

/// What an incident is seen by here.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Where.
    pub application: &'a Application,
    /// Which part.
    pub component: &'a Component,
    /// What.
    pub kind: IncidentKind,
    /// How bad.
    pub severity: Severity,
    /// Labels of what opened it.
    pub labels: &'a Labels,
}

/// What of an incident a matcher looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// The application's name.
    Application,
    /// The component's.
    Component,
    /// The kind's word.
    Kind,
    /// The severity's word.
    Severity,
    /// A label; an absent one is empty.
    Label(String),
}

/// How a matcher compares.
#[derive(Clone, Debug)]
pub enum Test {
    /// With one text.
    Equals(String),
    /// With several.
    OneOf(BTreeSet<String>),
    /// With a pattern that has to cover the whole.
    Matches(Regex),
}

/// One condition; all of a list have to hold.
#[derive(Clone, Debug)]
pub struct Matcher {
    /// What is looked at.
    pub field: Field,
    /// How.
    pub test: Test,
}

impl Test {
    /// A pattern that has to cover the whole text. It runs in linear time.
    ///
    /// # Errors
    /// [`Invalid`] for what is no pattern.
    pub fn pattern(pattern: &str) -> Result<Self, Invalid> {
        let whole = RegexBuilder::new(&format!("^(?:{pattern})$")).size_limit(1 << 20).build();
        whole.map(Self::Matches).map_err(|_| Invalid::quoting("matches", pattern, "it is no regular expression"))
    }

    fn holds(&self, text: &str) -> bool {
        match self {
            Self::Equals(wanted) => text == wanted,
            Self::OneOf(wanted) => wanted.contains(text),
            Self::Matches(pattern) => pattern.is_match(text),
        }
    }
}

impl Matcher {
    fn holds(&self, seen: Seen<'_>) -> bool {
        let text = match &self.field {
            Field::Application => seen.application.as_str(),
            Field::Component => seen.component.as_str(),
            Field::Kind => seen.kind.word(),
            Field::Severity => seen.severity.word(),
            Field::Label(name) => seen.labels.get(name).unwrap_or_default(),
        };
        self.test.holds(text)
    }
}

/// A silence as it is asked for.
#[derive(Clone, Debug)]
pub struct Draft {
    /// All have to hold.
    pub matchers: Vec<Matcher>,
    /// Who wants it.
    pub author: String,
    /// Why, in at least five characters.
    pub reason: String,
    /// From when.
    pub start: Moment,
    /// Until when; at most 30 days later.
    pub end: Moment,
    /// Whether a silence of everything is meant.
    pub all: bool,
}

/// A silence.
#[derive(Clone, Debug)]
pub struct Silence(Draft);

impl Silence {
    /// Checks a silence.
    ///
    /// # Errors
    /// [`Invalid`] for an end before the start, more than 30 days, no reason, no author, or no matcher without `all`.
    pub fn new(draft: Draft) -> Result<Self, Invalid> {
        if draft.end <= draft.start {
            return Err(Invalid::new("end", "is not after the start"));
        }
        if draft.end.since(draft.start) > LONGEST {
            return Err(Invalid::new("end", "is over 30 days after the start"));
        }
        if draft.reason.trim().chars().count() < REASON {
            return Err(Invalid::new("reason", "is under 5 characters"));
        }
        if draft.author.trim().is_empty() {
            return Err(Invalid::new("author", "is blank"));
        }
        if draft.matchers.is_empty() && !draft.all {
            return Err(Invalid::new("matchers", "are none; a silence of everything needs `--all`"));
        }
        Ok(Self(draft))
    }

    /// Until when an incident is silenced by it, if it is now.
    pub fn covers(&self, seen: Seen<'_>, now: Moment) -> Option<Moment> {
        let within = self.0.start <= now && now < self.0.end;
        (within && self.0.matchers.iter().all(|matcher| matcher.holds(seen))).then_some(self.0.end)
    }

    /// What was asked for.
    pub fn draft(&self) -> &Draft {
        &self.0
    }

    /// Ends it now.
    #[must_use]
    pub fn ended(mut self, now: Moment) -> Self {
        self.0.end = self.0.end.min(now);
        self
    }
}

/// A window of maintenance that comes every week.
#[derive(Clone, Debug)]
pub struct Maintenance {
    matchers: Vec<Matcher>,
    days: Vec<Weekday>,
    from: Time,
    to: Time,
    zone: TimeZone,
}

impl Maintenance {
    /// A window from one time of day to another, on the days on which it begins; the end may lie on the next day.
    ///
    /// # Errors
    /// [`Invalid`] for no day or a wrong one, a time that is none, an empty window, or a zone that nobody knows.
    pub fn new(matchers: Vec<Matcher>, days: &[&str], from: &str, to: &str, zone: &str) -> Result<Self, Invalid> {
        let day = |text: &&str| match *text {
            "Mon" => Ok(Weekday::Monday),
            "Tue" => Ok(Weekday::Tuesday),
            "Wed" => Ok(Weekday::Wednesday),
            "Thu" => Ok(Weekday::Thursday),
            "Fri" => Ok(Weekday::Friday),
            "Sat" => Ok(Weekday::Saturday),
            "Sun" => Ok(Weekday::Sunday),
            other => Err(Invalid::quoting("days", other, "one of Mon, Tue, Wed, Thu, Fri, Sat, Sun")),
        };
        let days: Vec<Weekday> = days.iter().map(day).collect::<Result<_, _>>()?;
        if days.is_empty() {
            return Err(Invalid::new("days", "are none"));
        }
        let (start, end) = (time("from", from)?, time("to", to)?);
        if start == end {
            return Err(Invalid::new("to", "is the same as `from`"));
        }
        let found = TimeZoneDatabase::bundled().get(zone);
        let zone =
            found.map_err(|_| Invalid::quoting("zone", zone, "a name of the IANA list, such as Europe/Brussels"))?;
        Ok(Self { matchers, days, from: start, to: end, zone })
    }

    /// Whether an incident is in maintenance now. By the clock on the wall: an hour that comes twice in autumn is in the
    /// window twice, one that is left out in spring is not.
    pub fn covers(&self, seen: Seen<'_>, now: Moment) -> bool {
        self.matchers.iter().all(|matcher| matcher.holds(seen)) && self.is_open(now)
    }

    fn is_open(&self, now: Moment) -> bool {
        let micros = i64::try_from(now.micros()).unwrap_or(i64::MAX);
        let Ok(timestamp) = Timestamp::from_microsecond(micros) else { return false };
        let local = self.zone.to_datetime(timestamp);
        let (day, time) = (local.weekday(), local.time());
        let on = |day: Weekday| self.days.contains(&day);
        if self.from < self.to {
            return on(day) && self.from <= time && time < self.to;
        }
        (on(day) && self.from <= time) || (on(day.previous()) && time < self.to)
    }
}

fn time(field: &str, text: &str) -> Result<Time, Invalid> {
    let wrong = || Invalid::quoting(field, text, "a time of day such as 08:30");
    let (hour, minute) = text.split_once(':').ok_or_else(wrong)?;
    if hour.len() != 2 || minute.len() != 2 {
        return Err(wrong());
    }
    let number = |text: &str| text.parse::<i8>().map_err(|_| wrong());
    Time::new(number(hour)?, number(minute)?, 0, 0).map_err(|_| wrong())
}

/// Whether a run at this step stands still while its incident is silenced. Past `approved` only the stop switch does that.
pub fn holds(step: StepName) -> bool {
    step < StepName::Prepared
}

/// Whatever follows a silence begins with fresh evidence: a run that was held goes back to where it takes it.
pub fn resumes_at(step: StepName) -> StepName {
    if step > StepName::Evident && holds(step) { StepName::Opened } else { step }
}

#[cfg(test)]
mod tests;
