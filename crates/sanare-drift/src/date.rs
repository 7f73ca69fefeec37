//! How the dates and times of a column are written, decided by elimination over all its values.

mod order;
mod written;

use crate::profile::Profile;
use order::{FieldOrder, OrderTest};
use written::{Fitting, Survey};

/// The one way that all values of a column are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// `strptime` formats; together they read every value, and each value has one of them only. The first is the one
    /// of the first value; more than one only where times are written shorter in some rows (no seconds, no fraction).
    pub formats: Vec<String>,
    /// What settled it, one line.
    pub because: String,
    /// Whether some values have blanks around them, to be stripped before `strptime`.
    pub stripped: bool,
    /// Whether the values carry a zone or offset.
    pub zone: bool,
}

/// Why the format is not decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// There is no value to judge by.
    NoValues,
    /// These values are dates in no known format (positions in the list; the first ones where it is most of them).
    NotDates(Vec<usize>),
    /// Day first and month first (or year first) both read every value: two of the formats.
    DayOrMonth(String, String),
    /// Two-digit years and nothing that says which century.
    Century,
    /// Seconds, milliseconds or microseconds since 1970: which (`s`, `ms`, `us`, `ns`).
    Epoch(String),
    /// Days since 1899-12-30, as a spreadsheet counts.
    ExcelSerial,
    /// The values carry a zone or offset and the old format had none, or the reverse.
    Zone(String),
    /// No single format reads all values.
    Mixed(String),
}

/// Decides the format of a column. Empty values and null words are to be left out by the caller.
///
/// # Errors
/// When no single reading survives.
pub fn decide(values: &[&str], old_format: Option<&str>, remembered: Option<&Profile>) -> Result<Decided, Undecided> {
    if values.is_empty() {
        return Err(Undecided::NoValues);
    }
    if let Some(counted) = counted(values) {
        return Err(counted);
    }
    let survey = Survey::of(values)?;
    let old = old_format.or_else(|| remembered.and_then(|profile| profile.only_date_format()));
    let (chosen, because) = choose(&survey, values, old)?;
    if chosen.two_digit_year {
        let old_has_two_digits = old.is_some_and(|format| format.contains("%y"));
        let old_in_window = remembered.is_some_and(|profile| profile.years_in_window);
        if !old_has_two_digits && !old_in_window {
            return Err(Undecided::Century);
        }
    }
    let mut formats: Vec<String> = Vec::new();
    for tail in &survey.tails {
        formats.push(format!("{}{}", chosen.format, tail.format));
    }
    let zone = survey.tails.iter().any(|tail| tail.zone.is_some());
    if let Some(old) = old {
        let literal_z = old.ends_with('Z') && !old.ends_with("%Z");
        let old_zone = old.contains("%z") || old.contains("%Z") || literal_z || old.ends_with(" UTC");
        if zone && !old_zone {
            return Err(Undecided::Zone("the values carry a zone, the old ones did not".to_owned()));
        }
        if old_zone && survey.tails.iter().any(|tail| tail.zone.is_none()) {
            return Err(Undecided::Zone("the old values carried a zone, these do not".to_owned()));
        }
        let aware = old.contains("%z") || old.contains("%Z");
        if zone && !aware {
            // The old format named UTC as plain text and made a time without zone: the new one must do the same.
            if survey.tails.iter().any(|tail| !matches!(tail.zone.as_deref(), Some("Z" | " UTC" | "UTC"))) {
                return Err(Undecided::Zone("the values carry offsets, the old ones were in UTC".to_owned()));
            }
            formats = survey.tails.iter().map(|tail| format!("{}{}", chosen.format, tail.literal())).collect();
        }
    } else if survey.tails.iter().any(|tail| tail.zone.is_some()) && survey.tails.iter().any(|tail| tail.zone.is_none())
    {
        return Err(Undecided::Mixed("some values carry a zone, others do not".to_owned()));
    }
    Ok(Decided { formats, because, stripped: survey.stripped, zone })
}

/// The formats that read every value, without a decision between day first and month first; for profiles.
pub(crate) fn fitting(values: &[&str]) -> Option<(Vec<String>, bool)> {
    if counted(values).is_some() {
        return None;
    }
    let survey = Survey::of(values).ok()?;
    let mut formats = Vec::new();
    for candidate in &survey.candidates {
        for tail in survey.tails.iter().take(4) {
            formats.push(format!("{}{}", candidate.format, tail.format));
        }
    }
    Some((formats, survey.years_in_window()))
}

/// The unit of values that count time: `s`, `ms`, `us`, `ns` since 1970, or `days` as a spreadsheet counts.
pub(crate) fn counted_unit(values: &[&str]) -> Option<String> {
    match counted(values)? {
        Undecided::Epoch(unit) => Some(unit),
        _ => Some("days".to_owned()),
    }
}

fn choose<'a>(survey: &'a Survey, values: &[&str], old: Option<&str>) -> Result<(&'a Fitting, String), Undecided> {
    if let [only] = survey.candidates.as_slice() {
        return Ok((only, format!("`{}` is the only format that reads every value", only.format)));
    }
    let [first, second, ..] = survey.candidates.as_slice() else {
        return Err(Undecided::Mixed("no format reads all values".to_owned()));
    };
    let test = OrderTest::of(survey, values);
    let undecided = || Err(Undecided::DayOrMonth(first.format.clone(), second.format.clone()));
    if let Some(old) = old.and_then(FieldOrder::of) {
        let carried: Vec<&Fitting> = survey
            .candidates
            .iter()
            .filter(|candidate| FieldOrder::of(&candidate.format).is_some_and(|new| new.carries(&old)))
            .collect();
        if let [one] = carried[..] {
            if test.settled().is_some_and(|other| other != one.format) {
                return undecided();
            }
            return Ok((one, "the order of day and month is that of the old format".to_owned()));
        }
    }
    if let Some(format) = test.settled()
        && let Some(one) = survey.candidates.iter().find(|candidate| candidate.format == format)
    {
        return Ok((one, format!("the rows are in order of time only under `{format}`")));
    }
    undecided()
}

/// Counts since an epoch, which are dates only by convention.
fn counted(values: &[&str]) -> Option<Undecided> {
    let digits = |text: &str| {
        let text = text.trim();
        let whole = text.split_once('.').map_or(text, |(whole, _)| whole);
        (text.bytes().all(|b| b.is_ascii_digit() || b == b'.') && !whole.is_empty())
            .then(|| whole.parse::<u64>().ok())
            .flatten()
    };
    let mut numbers = values.iter().map(|value| digits(value));
    let first = numbers.next()??;
    // From 1990 to 2100, in each unit.
    let (from, to) = (631_152_000_u64, 4_102_444_800_u64);
    let (name, factor) = [("s", 1), ("ms", 1_000), ("us", 1_000_000), ("ns", 1_000_000_000)]
        .into_iter()
        .find(|(_, factor)| (from * factor..to * factor).contains(&first))
        .unwrap_or(("", 0));
    if factor > 0 {
        let all = numbers.all(|number| number.is_some_and(|number| (from * factor..to * factor).contains(&number)));
        return all.then(|| Undecided::Epoch(name.to_owned()));
    }
    // From 1954 to 2064, as spreadsheets count days.
    let serial = |number: u64| (20_000..60_000).contains(&number);
    (serial(first) && numbers.all(|number| number.is_some_and(serial))).then_some(Undecided::ExcelSerial)
}

#[cfg(test)]
mod tests;
