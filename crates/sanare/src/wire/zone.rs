//! The clock of a named zone, from the system's own tables.

use std::path::Path;

/// Minutes east of UTC in a zone such as `Europe/Brussels` at a moment (milliseconds since 1970); `None` when the system
/// has no table for it, or one that ended before the moment without a rule for what follows.
pub fn offset_of(zone: &str, at: u64) -> Option<i64> {
    let plain = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-_".contains(&b));
    if !zone.split('/').all(plain) {
        return None;
    }
    let folders = ["/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo"];
    let bytes = folders.iter().find_map(|folder| std::fs::read(Path::new(folder).join(zone)).ok())?;
    offset_in(&bytes, i64::try_from(at / 1_000).ok()?)
}

/// The offset at a moment, from the bytes of a table (RFC 9636).
fn offset_in(bytes: &[u8], at: i64) -> Option<i64> {
    let first = Header::read(bytes, 0)?;
    // The second part has times of 64 bits, and the rule for what follows behind it.
    let start = HEADER + first.length(4);
    let header = Header::read(bytes, start)?;
    let times = start + HEADER;
    let kinds = times + header.times * 8;
    let types = kinds + header.times;
    let time = |index: usize| {
        let bytes: [u8; 8] = bytes.get(times + index * 8..)?.get(..8)?.try_into().ok()?;
        Some(i64::from_be_bytes(bytes))
    };
    let seconds = |kind: usize| {
        let bytes: [u8; 4] = bytes.get(types + kind * 6..)?.get(..4)?.try_into().ok()?;
        Some(i64::from(i32::from_be_bytes(bytes)))
    };
    let passed = (0..header.times).take_while(|index| time(*index).is_some_and(|time| time <= at)).count();
    if passed == header.times {
        let footer = bytes.get(start + HEADER + header.length(8)..)?;
        let footer = std::str::from_utf8(footer).ok()?.trim_matches('\n');
        return match footer.is_empty() {
            false => rule::offset(footer, at),
            true if header.times == 0 => seconds(0).map(|seconds| seconds / 60),
            true => None,
        };
    }
    let kind = if passed == 0 { 0 } else { usize::from(*bytes.get(kinds + passed - 1)?) };
    seconds(kind).map(|seconds| seconds / 60)
}

const HEADER: usize = 44;

/// The six counts of a part.
struct Header {
    times: usize,
    counts: [usize; 6],
}

impl Header {
    fn read(bytes: &[u8], at: usize) -> Option<Self> {
        let head = bytes.get(at..at + HEADER)?;
        if head.get(..4)? != b"TZif" || *head.get(4)? < b'2' {
            return None;
        }
        let mut counts = [0; 6];
        for (index, count) in counts.iter_mut().enumerate() {
            let number: [u8; 4] = head.get(20 + index * 4..24 + index * 4)?.try_into().ok()?;
            *count = usize::try_from(u32::from_be_bytes(number)).ok()?;
        }
        let [_, _, _, times, ..] = counts;
        Some(Self { times, counts })
    }

    /// Bytes of the part behind the header, with times of so many bytes.
    fn length(&self, size: usize) -> usize {
        let [universal, standard, leaps, times, types, letters] = self.counts;
        times * size + times + types * 6 + letters + leaps * (size + 4) + standard + universal
    }
}

/// The rule behind a table, such as `CET-1CEST,M3.5.0,M10.5.0/3`.
mod rule {
    /// Minutes east of UTC at a moment.
    pub(super) fn offset(text: &str, at: i64) -> Option<i64> {
        let (standard, rest) = named(text)?;
        if rest.is_empty() {
            return Some(standard / 60);
        }
        let (after_name, summer) = match rest.find(',') {
            Some(comma) => (rest.get(comma + 1..)?, rest.get(..comma)?),
            None => return None,
        };
        let summer = match named(summer) {
            Some((offset, "")) => offset,
            _ => standard + 3_600,
        };
        let (begin, end) = after_name.split_once(',')?;
        let year = year_of(at + standard);
        let (begin, end) = (moment(begin, year)? - standard, moment(end, year)? - summer);
        let in_summer = if begin < end { (begin..end).contains(&at) } else { !(end..begin).contains(&at) };
        Some(if in_summer { summer } else { standard } / 60)
    }

    /// Offset east of UTC in seconds behind a name, and the rest.
    fn named(text: &str) -> Option<(i64, &str)> {
        let behind = match text.strip_prefix('<') {
            Some(quoted) => quoted.get(quoted.find('>')? + 1..)?,
            None => text.trim_start_matches(|symbol: char| symbol.is_ascii_alphabetic()),
        };
        let length = behind.find(|symbol: char| !(symbol.is_ascii_digit() || "+-:".contains(symbol)));
        let (number, rest) = behind.split_at(length.unwrap_or(behind.len()));
        // The text counts hours west.
        Some((-seconds(number)?, rest))
    }

    fn seconds(text: &str) -> Option<i64> {
        let (sign, text) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let mut total = 0;
        for (part, factor) in text.split(':').zip([3_600, 60, 1]) {
            total += part.parse::<i64>().ok()? * factor;
        }
        Some(sign * total)
    }

    /// Local seconds since 1970 of a change in a year: month, week (5 is the last), weekday, hour.
    fn moment(text: &str, year: i64) -> Option<i64> {
        let (day, time) = text.split_once('/').unwrap_or((text, "2"));
        let mut parts = day.strip_prefix('M')?.split('.').map(|part| part.parse::<i64>().ok());
        let (month, week, weekday) = (parts.next()??, parts.next()??, parts.next()??);
        let first = days(year, month);
        // 1 January 1970 was a Thursday, the fourth day of a week that begins on Sunday with 0.
        let lead = (weekday - (first + 4)).rem_euclid(7);
        let next = if month == 12 { days(year + 1, 1) } else { days(year, month + 1) };
        let mut day = first + lead + 7 * (week - 1);
        while day >= next {
            day -= 7;
        }
        Some(day * 86_400 + seconds(time)?)
    }

    /// Days from 1970 to the first of a month.
    fn days(year: i64, month: i64) -> i64 {
        let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
        let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
        era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + (153 * month + 2) / 5 - 719_468
    }

    fn year_of(at: i64) -> i64 {
        let mut year = 1970 + at.div_euclid(31_556_952);
        while days(year + 1, 1) * 86_400 <= at {
            year += 1;
        }
        while days(year, 1) * 86_400 > at {
            year -= 1;
        }
        year
    }

    #[cfg(test)]
    mod tests {
        use super::offset;

        #[test]
        fn summer_time_begins_and_ends_on_its_minute() {
            let brussels = "CET-1CEST,M3.5.0,M10.5.0/3";
            // 31 March 2030 and 27 October 2030, 01:00 UTC.
            for (at, expected) in [(1_901_149_199, 60), (1_901_149_200, 120), (1_919_293_199, 120), (1_919_293_200, 60)]
            {
                assert_eq!(offset(brussels, at), Some(expected), "{at}");
            }
            assert_eq!(offset("<+0545>-5:45", 0), Some(345));
            // The south: summer passes the turn of the year.
            assert_eq!(offset("AEST-10AEDT,M10.1.0,M4.1.0/3", 1_893_456_000), Some(660));
            assert_eq!(offset("AEST-10AEDT,M10.1.0,M4.1.0/3", 1_909_094_400), Some(600));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::offset_of;

    #[test]
    fn the_systems_own_tables() {
        if !std::path::Path::new("/usr/share/zoneinfo/Europe/Brussels").exists() {
            eprintln!("skipped: this system has no zone tables");
            return;
        }
        assert_eq!(offset_of("Europe/Brussels", 1_704_128_400_000), Some(60));
        assert_eq!(offset_of("Europe/Brussels", 1_720_000_000_000), Some(120));
        assert_eq!(offset_of("Europe/Brussels", 1_901_149_200_000), Some(120));
        assert_eq!(offset_of("Europe/Nowhere", 0), None);
        assert_eq!(offset_of("../../etc/passwd", 0), None);
    }
}
