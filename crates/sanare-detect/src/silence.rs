//! Silences and maintenance windows: recorded, and neither acted on nor told (S50).

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::{Time, Weekday};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use regex::{Regex, RegexBuilder};
use sanare_core::service::moment::DAY;
use sanare_core::service::silence::{Field, Matcher, Test};
use sanare_core::service::{Application, Component, IncidentKind, Invalid, Labels, Moment, Severity, Silence};

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

/// A matcher that can be asked.
#[derive(Clone, Debug)]
struct Look {
    field: Field,
    test: Ready,
}

#[derive(Clone, Debug)]
enum Ready {
    Equals(String),
    OneOf(BTreeSet<String>),
    Matches(Regex),
}

impl Look {
    fn of(matcher: &Matcher) -> Result<Self, Invalid> {
        let test = match &matcher.test {
            Test::Equals(text) => Ready::Equals(text.clone()),
            Test::OneOf(texts) => Ready::OneOf(texts.clone()),
            Test::Matches(pattern) => Ready::Matches(whole(pattern)?),
        };
        Ok(Self { field: matcher.field.clone(), test })
    }

    fn holds(&self, seen: Seen<'_>) -> bool {
        let text = match &self.field {
            Field::Application => seen.application.as_str(),
            Field::Component => seen.component.as_str(),
            Field::Kind => seen.kind.word(),
            Field::Severity => seen.severity.word(),
            Field::Label(name) => seen.labels.get(name).unwrap_or_default(),
        };
        match &self.test {
            Ready::Equals(wanted) => text == wanted,
            Ready::OneOf(wanted) => wanted.contains(text),
            Ready::Matches(pattern) => pattern.is_match(text),
        }
    }
}

/// A pattern that has to cover the whole text. It runs in linear time. What it is made of is looked at alone first, so
/// that no bracket of it can close ours.
fn whole(pattern: &str) -> Result<Regex, Invalid> {
    let wrong = |_| Invalid::quoting("matches", pattern, "it is no regular expression");
    RegexBuilder::new(pattern).size_limit(1 << 20).build().map_err(wrong)?;
    RegexBuilder::new(&format!("^(?:{pattern})$")).size_limit(1 << 20).build().map_err(wrong)
}

/// A silence that was checked.
#[derive(Clone, Debug)]
pub struct Hush {
    silence: Silence,
    looks: Vec<Look>,
}

impl Hush {
    /// Checks a silence.
    ///
    /// # Errors
    /// [`Invalid`] for an end before the start, more than 30 days, no reason, no author, no matcher without `all` or one
    /// beside it, or a bad pattern.
    pub fn new(silence: Silence) -> Result<Self, Invalid> {
        if silence.end <= silence.start {
            return Err(Invalid::new("end", "is not after the start"));
        }
        if silence.end.since(silence.start) > LONGEST {
            return Err(Invalid::new("end", "is over 30 days after the start"));
        }
        if silence.reason.as_str().chars().count() < REASON {
            return Err(Invalid::new("reason", "is under 5 characters"));
        }
        if silence.author.trim().is_empty() {
            return Err(Invalid::new("author", "is blank"));
        }
        Self::ready(silence)
    }

    /// One that was checked when it was made, and perhaps ended since.
    ///
    /// # Errors
    /// [`Invalid`] for matchers that are none.
    pub fn ready(silence: Silence) -> Result<Self, Invalid> {
        let looks = looks(&silence.matchers, silence.all)?;
        Ok(Self { silence, looks })
    }

    /// Until when an incident is silenced by it, if it is now.
    pub fn covers(&self, seen: Seen<'_>, now: Moment) -> Option<Moment> {
        (self.silence.is_on(now) && self.looks.iter().all(|look| look.holds(seen))).then_some(self.silence.end)
    }

    /// What was asked for.
    pub fn silence(&self) -> &Silence {
        &self.silence
    }
}

fn looks(matchers: &[Matcher], all: bool) -> Result<Vec<Look>, Invalid> {
    match (matchers.is_empty(), all) {
        (true, false) => Err(Invalid::new("matchers", "are none; a silence of everything needs `--all`")),
        (false, true) => Err(Invalid::new("matchers", "stand beside `--all`; one of the two is meant")),
        _ => matchers.iter().map(Look::of).collect(),
    }
}

/// What is silenced now.
#[derive(Clone, Debug, Default)]
pub struct Quiet {
    /// Silences.
    pub silences: Vec<Hush>,
    /// Windows that come again.
    pub windows: Vec<Maintenance>,
}

impl Quiet {
    /// Whether anything of it looks at labels.
    pub fn looks_at_labels(&self) -> bool {
        let looks = self.silences.iter().flat_map(|one| &one.looks);
        let mut looks = looks.chain(self.windows.iter().flat_map(|one| &one.looks));
        looks.any(|look| matches!(look.field, Field::Label(_)))
    }

    /// Whether an incident is silenced now, by anything.
    pub fn covers(&self, seen: Seen<'_>, now: Moment) -> bool {
        self.silences.iter().any(|one| one.covers(seen, now).is_some())
            || self.windows.iter().any(|one| one.covers(seen, now))
    }
}

/// A window of maintenance that comes every week.
#[derive(Clone, Debug)]
pub struct Maintenance {
    looks: Vec<Look>,
    days: Vec<Weekday>,
    from: Time,
    to: Time,
    zone: TimeZone,
}

impl Maintenance {
    /// A window from one time of day to another, on the days on which it begins; the end may lie on the next day. Without
    /// a matcher it is for everything.
    ///
    /// # Errors
    /// [`Invalid`] for no day or a wrong one, a time that is none, an empty window, or a zone that nobody knows.
    pub fn new(matchers: &[Matcher], days: &[&str], from: &str, to: &str, zone: &str) -> Result<Self, Invalid> {
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
        Ok(Self { looks: looks(matchers, matchers.is_empty())?, days, from: start, to: end, zone })
    }

    /// Whether an incident is in maintenance now. By the clock on the wall: an hour that comes twice in autumn is in the
    /// window twice, one that is left out in spring is not.
    pub fn covers(&self, seen: Seen<'_>, now: Moment) -> bool {
        self.looks.iter().all(|look| look.holds(seen)) && self.is_open(now)
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

#[cfg(test)]
mod tests;
