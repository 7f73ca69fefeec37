//! Hours of the week in a zone: `Mon-Fri 18:00-08:00 Europe/Brussels`.

/// Part of each week. One that passes midnight belongs to the day on which it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// One flag a day, Monday first.
    days: [bool; 7],
    /// Minutes after midnight.
    from: i64,
    /// Minutes after midnight; at or before `from` it is on the next day.
    to: i64,
    /// `UTC`, an offset such as `+02:00`, or a name such as `Europe/Brussels`.
    zone: String,
}

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const DAY: i64 = 24 * 60;

impl Window {
    /// Reads `[DAYS] HH:MM-HH:MM [ZONE]`; without days it is every day, without a zone UTC.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| format!("`{text}`: {what}; write such as `Mon-Fri 18:00-08:00 Europe/Brussels`");
        let mut parts: Vec<&str> = text.split_whitespace().collect();
        let days = match parts.first() {
            Some(first) if !first.starts_with(|symbol: char| symbol.is_ascii_digit()) => {
                let days = days(first).ok_or_else(|| wrong("the days cannot be read"))?;
                parts.remove(0);
                days
            }
            _ => [true; 7],
        };
        let (Some(hours), zone) = (parts.first(), parts.get(1).copied().unwrap_or("UTC")) else {
            return Err(wrong("the hours are missing"));
        };
        if parts.len() > 2 {
            return Err(wrong("there is too much in it"));
        }
        let (from, to) = hours.split_once('-').ok_or_else(|| wrong("the hours need a beginning and an end"))?;
        let (Some(from), Some(to)) = (minutes(from), minutes(to)) else {
            return Err(wrong("the hours cannot be read"));
        };
        Ok(Self { days, from, to, zone: zone.to_owned() })
    }

    /// The zone as written.
    pub fn zone(&self) -> &str {
        &self.zone
    }

    /// Whether a moment (milliseconds since 1970, UTC) is in it, in a zone that is so many minutes east of UTC.
    pub fn contains(&self, at: u64, offset: i64) -> bool {
        let minute = i64::try_from(at / 60_000).unwrap_or(i64::MAX / 2).saturating_add(offset);
        let (day, minute) = (minute.div_euclid(DAY), minute.rem_euclid(DAY));
        let on = |day: i64| {
            // 1 January 1970 was a Thursday.
            let index = usize::try_from((day + 3).rem_euclid(7)).unwrap_or(0);
            self.days.get(index).copied().unwrap_or(false)
        };
        if self.from < self.to {
            return on(day) && (self.from..self.to).contains(&minute);
        }
        (on(day) && minute >= self.from) || (on(day - 1) && minute < self.to)
    }
}

/// Minutes east of UTC that a zone names by itself; `None` for a place, whose clock the caller has to ask.
pub fn fixed_offset(zone: &str) -> Option<i64> {
    if matches!(zone, "UTC" | "Z") {
        return Some(0);
    }
    let (sign, rest) = match zone.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':').unwrap_or((rest, "00"));
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    ((0..=15).contains(&hours) && (0..60).contains(&minutes)).then_some(sign * (hours * 60 + minutes))
}

fn days(text: &str) -> Option<[bool; 7]> {
    let index = |name: &str| DAYS.iter().position(|day| name.eq_ignore_ascii_case(day));
    let mut days = [false; 7];
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (index(first)?, index(last)?);
        let mut at = first;
        loop {
            *days.get_mut(at)? = true;
            if at == last {
                break;
            }
            at = (at + 1) % 7;
        }
    }
    Some(days)
}

fn minutes(text: &str) -> Option<i64> {
    let (hours, minutes) = text.split_once(':')?;
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    ((0..24).contains(&hours) && (0..60).contains(&minutes) || (hours, minutes) == (24, 0))
        .then_some(hours * 60 + minutes)
}

#[cfg(test)]
mod tests {
    use super::{Window, fixed_offset};

    /// Milliseconds of a day of January 2024 (the 1st was a Monday) at an hour, UTC.
    fn at(day: u64, hour: u64) -> u64 {
        1_704_067_200_000 + ((day - 1) * 24 + hour) * 3_600_000
    }

    fn check(text: &str, offset: i64, moment: u64, expected: bool) {
        let window = Window::parse(text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(window.contains(moment, offset), expected, "{text} at {moment}");
    }

    #[test]
    fn nights_belong_to_the_day_on_which_they_begin() {
        let nights = "Mon-Fri 18:00-08:00";
        check(nights, 0, at(1, 18), true);
        check(nights, 0, at(1, 17), false);
        check(nights, 0, at(2, 7), true);
        check(nights, 0, at(2, 8), false);
        check(nights, 0, at(1, 7), false);
        check(nights, 0, at(6, 7), true);
        check(nights, 0, at(6, 18), false);
    }

    #[test]
    fn days_wrap_zones_shift_and_whole_days_are_whole() {
        check("Sat-Mon 00:00-24:00", 0, at(1, 23), true);
        check("Sat-Mon 00:00-24:00", 0, at(2, 0), false);
        check("09:00-17:00 +02:00", 120, at(3, 7), true);
        check("09:00-17:00 +02:00", 120, at(3, 15), false);
        check("Mon 00:00-24:00 -05:00", -300, at(2, 4), true);
    }

    #[test]
    fn what_cannot_be_read_says_so() {
        for text in ["", "Mon-Fri", "Mun 08:00-09:00", "25:00-26:00", "8-9", "Mon 08:00-09:00 UTC more"] {
            assert!(Window::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn zones_that_need_no_table() {
        assert_eq!(fixed_offset("UTC"), Some(0));
        assert_eq!(fixed_offset("-03:30"), Some(-210));
        assert_eq!(fixed_offset("Europe/Brussels"), None);
    }
}
