//! Moments: microseconds since 1970 in UTC, read and written as RFC 3339 (S2).

use serde::{Deserialize, Serialize};

use super::invalid::Invalid;

/// A moment in UTC, from 1970 to the end of 9999.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Moment(u64);

/// The last microsecond of 9999.
const LAST: u64 = 253_402_300_799_999_999;

/// A second in microseconds.
pub const SECOND: u64 = 1_000_000;
/// A minute in microseconds.
pub const MINUTE: u64 = 60 * SECOND;
/// An hour in microseconds.
pub const HOUR: u64 = 60 * MINUTE;
/// A day in microseconds.
pub const DAY: u64 = 24 * HOUR;

impl Moment {
    /// From microseconds since 1970; what lies behind 9999 is its end.
    pub fn from_micros(micros: u64) -> Self {
        Self(micros.min(LAST))
    }

    /// From milliseconds since 1970, as the clock port gives them.
    pub fn from_millis(millis: u64) -> Self {
        Self::from_micros(millis.saturating_mul(1_000))
    }

    /// Microseconds since 1970.
    pub fn micros(self) -> u64 {
        self.0
    }

    /// Milliseconds since 1970, rounded down.
    pub fn millis(self) -> u64 {
        self.0 / 1_000
    }

    /// So many microseconds later.
    #[must_use]
    pub fn plus(self, micros: u64) -> Self {
        Self::from_micros(self.0.saturating_add(micros))
    }

    /// So many microseconds earlier, 1970 at the earliest.
    #[must_use]
    pub fn minus(self, micros: u64) -> Self {
        Self(self.0.saturating_sub(micros))
    }

    /// Microseconds from `earlier` to this; 0 if it is not earlier.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Reads RFC 3339 with an offset; nanoseconds are cut to microseconds.
    ///
    /// # Errors
    /// [`Invalid`] for the field `time`: no offset, a second 60, a year outside of 1970 to 9999, anything else.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        read(text).map_err(|why| Invalid::quoting("time", text, why))
    }
}

fn read(text: &str) -> Result<Moment, &'static str> {
    const FORM: &str = "write such as 2026-01-31T12:00:00Z";
    let bytes = text.as_bytes();
    if bytes.len() > 40 || !text.is_ascii() {
        return Err(FORM);
    }
    let digits = |from: usize, length: usize| -> Option<u64> {
        let part = bytes.get(from..from + length)?;
        part.iter()
            .all(u8::is_ascii_digit)
            .then(|| part.iter().fold(0_u64, |number, digit| number * 10 + u64::from(digit - b'0')))
    };
    let is = |at: usize, wanted: &[u8]| bytes.get(at).is_some_and(|byte| wanted.contains(byte));
    let (Some(year), Some(month), Some(day), Some(hour), Some(minute), Some(second)) =
        (digits(0, 4), digits(5, 2), digits(8, 2), digits(11, 2), digits(14, 2), digits(17, 2))
    else {
        return Err(FORM);
    };
    let marks = is(4, b"-") && is(7, b"-") && is(10, b"Tt ") && is(13, b":") && is(16, b":");
    if !marks {
        return Err(FORM);
    }
    let mut at = 19;
    let mut micros = 0;
    if is(at, b".") {
        let start = at + 1;
        at = start + bytes.iter().skip(start).take_while(|byte| byte.is_ascii_digit()).count();
        let length = at - start;
        if !(1..=9).contains(&length) {
            return Err("a fraction has 1 to 9 digits");
        }
        let fraction = digits(start, length).unwrap_or(0) * 10_u64.pow(9 - u32::try_from(length).unwrap_or(9));
        micros = fraction / 1_000;
    }
    let offset = match bytes.get(at..) {
        Some(b"Z" | b"z") => 0,
        Some([sign @ (b'+' | b'-'), ..]) if bytes.len() == at + 6 && is(at + 3, b":") => {
            let (Some(hours), Some(minutes)) = (digits(at + 1, 2), digits(at + 4, 2)) else { return Err(FORM) };
            if hours > 23 || minutes > 59 {
                return Err("an offset goes to 23:59");
            }
            let minutes = i64::try_from(hours * 60 + minutes).unwrap_or(0);
            if *sign == b'-' { -minutes } else { minutes }
        }
        Some([]) => return Err("a time needs an offset, such as Z"),
        _ => return Err(FORM),
    };
    if !(1..=12).contains(&month) || day < 1 || day > days_in(year, month) {
        return Err("there is no such day");
    }
    if hour > 23 || minute > 59 || second > 59 {
        return Err("there is no such time of day");
    }
    if year < 1970 {
        return Err("years go from 1970 to 9999");
    }
    let minutes = days_since_1970(year, month, day) * 1_440 + hour * 60 + minute;
    let minutes = i64::try_from(minutes).unwrap_or(i64::MAX).checked_sub(offset).filter(|minutes| *minutes >= 0);
    let minutes = minutes.and_then(|minutes| u64::try_from(minutes).ok()).ok_or("years go from 1970 to 9999")?;
    let total = minutes * MINUTE + second * SECOND + micros;
    if total > LAST { Err("years go from 1970 to 9999") } else { Ok(Moment(total)) }
}

fn leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + u64::from(leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    let before = year - 1;
    let leaps = |years: u64| years / 4 - years / 100 + years / 400;
    let years = (year - 1970) * 365 + leaps(before) - leaps(1969);
    years + (1..month).map(|month| days_in(year, month)).sum::<u64>() + day - 1
}

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (mut days, rest) = (self.0 / DAY, self.0 % DAY);
        let mut year = 1970;
        while days >= 365 + u64::from(leap(year)) {
            days -= 365 + u64::from(leap(year));
            year += 1;
        }
        let mut month = 1;
        while days >= days_in(year, month) {
            days -= days_in(year, month);
            month += 1;
        }
        let (hour, minute, second) = (rest / HOUR, rest / MINUTE % 60, rest / SECOND % 60);
        write!(f, "{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}.{:06}Z", days + 1, rest % SECOND)
    }
}

impl TryFrom<String> for Moment {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        Self::parse(&text)
    }
}

impl From<Moment> for String {
    fn from(moment: Moment) -> Self {
        moment.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{LAST, Moment};

    fn check(text: &str) -> String {
        match Moment::parse(text) {
            Ok(moment) => moment.to_string(),
            Err(invalid) => invalid.reason.rsplit("; ").next().unwrap_or_default().to_owned(),
        }
    }

    #[test]
    fn times_have_fixed_answers() {
        assert_eq!(check("1970-01-01T00:00:00Z"), "1970-01-01T00:00:00.000000Z");
        assert_eq!(check("2024-02-29T23:59:59.123456789+01:30"), "2024-02-29T22:29:59.123456Z");
        assert_eq!(check("2026-11-30 17:10:50.5z"), "2026-11-30T17:10:50.500000Z");
        assert_eq!(check("9999-12-31T23:59:59.999999Z"), "9999-12-31T23:59:59.999999Z");
        let refused = [
            ("2026-11-30T17:10:50", "a time needs an offset, such as Z"),
            ("0001-01-01T00:00:00Z", "years go from 1970 to 9999"),
            ("10000-01-01T00:00:00Z", "write such as 2026-01-31T12:00:00Z"),
            ("2026-11-30T17:10:60Z", "there is no such time of day"),
            ("2026-11-30T17:10:50+25:00", "an offset goes to 23:59"),
            ("2026-02-29T17:10:50Z", "there is no such day"),
            ("1970-01-01T00:00:00+00:01", "years go from 1970 to 9999"),
            ("9999-12-31T23:59:59-00:01", "years go from 1970 to 9999"),
            ("2026-11-30T17:10:50.Z", "a fraction has 1 to 9 digits"),
            ("", "write such as 2026-01-31T12:00:00Z"),
            ("２026-11-30T17:10:50Z", "write such as 2026-01-31T12:00:00Z"),
        ];
        for (text, answer) in refused {
            assert_eq!(check(text), answer, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]
        #[test]
        fn what_is_written_is_read_back(micros in 0..=LAST) {
            let moment = Moment::from_micros(micros);
            prop_assert_eq!(Moment::parse(&moment.to_string()), Ok(moment));
        }

        #[test]
        fn no_text_panics(text in "[0-9TZ:.+-]{0,30}") {
            let _ = Moment::parse(&text);
        }
    }
}
