//! What formats one value, and then all values of a column, could have.

use super::Undecided;

/// One way to read the date part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fitting {
    /// `strptime` format of the date part.
    pub format: String,
    /// Which numbers of a value are year, month and day; a named month has no number.
    pub year: Option<usize>,
    /// See `year`.
    pub month: Option<usize>,
    /// See `year`.
    pub day: Option<usize>,
    /// Whether the year is written with two digits.
    pub two_digit_year: bool,
    /// Digits written together (`20240131`): where each field starts in the one number.
    pub packed: Option<Packed>,
}

/// The order of fields in digits written together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packed {
    YearMonthDay,
    DayMonthYear,
    MonthDayYear,
}

/// How the time and zone after the date are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tail {
    /// `strptime` format, separator in front included.
    pub format: String,
    /// The zone as written when it is `Z` or a name; `%z` for an offset.
    pub zone: Option<String>,
}

impl Tail {
    /// The format with the zone as plain text.
    pub fn literal(&self) -> String {
        match (&self.zone, self.format.strip_suffix("%z")) {
            (Some(zone), Some(body)) if zone != "%z" => format!("{body}{zone}"),
            _ => self.format.clone(),
        }
    }
}

/// All values of a column, surveyed.
#[derive(Clone, Debug, Default)]
pub(super) struct Survey {
    /// Ways to read the date part that fit every value.
    pub candidates: Vec<Fitting>,
    /// The tails seen, in order of appearance.
    pub tails: Vec<Tail>,
    /// Whether a value has outer blanks.
    pub stripped: bool,
    /// Least and greatest year where the year is certain.
    years: Option<(u32, u32)>,
}

impl Survey {
    pub fn of(values: &[&str]) -> Result<Self, Undecided> {
        let mut survey = Self::default();
        let mut shapes: Vec<(Vec<Piece>, Option<Shape>)> = Vec::new();
        let mut strangers = Vec::new();
        let (mut pieces, mut numbers) = (Vec::new(), Vec::new());
        let mut first = true;
        for (at, value) in values.iter().enumerate() {
            let text = value.trim();
            survey.stripped |= text.len() != value.len();
            if !tokenize(text, &mut pieces, &mut numbers) {
                strangers.push(at);
                continue;
            }
            let known = shapes.iter().position(|(shape, _)| *shape == pieces);
            let known = known.unwrap_or_else(|| {
                shapes.push((pieces.clone(), Shape::of(&pieces)));
                shapes.len() - 1
            });
            let month_named =
                pieces.iter().find_map(|piece| if let Piece::Month(month, _) = piece { Some(*month) } else { None });
            let Some(shape) = shapes[known].1.as_ref().filter(|shape| shape.time_fits(&numbers)) else {
                strangers.push(at);
                continue;
            };
            let fits = shape.candidates.iter().filter(|candidate| candidate.fits(&numbers, month_named));
            if first {
                survey.candidates = fits.cloned().collect();
                first = false;
            } else {
                let fits: Vec<&str> = fits.map(|candidate| candidate.format.as_str()).collect();
                survey.candidates.retain(|candidate| fits.contains(&candidate.format.as_str()));
            }
            if survey.candidates.is_empty() {
                return Err(if strangers.len() == at || at == 0 {
                    Undecided::NotDates(vec![at])
                } else {
                    Undecided::Mixed(format!("`{}` does not fit the format of the values before it", pattern(text)))
                });
            }
            if !survey.tails.contains(&shape.tail) {
                survey.tails.push(shape.tail.clone());
            }
            if let Some(year) = survey.candidates[0].year_of(&numbers) {
                let (low, high) = survey.years.unwrap_or((year, year));
                survey.years = Some((low.min(year), high.max(year)));
            }
            if survey.tails.len() > 8 {
                return Err(Undecided::Mixed("times are written in more than eight ways".to_owned()));
            }
        }
        if !strangers.is_empty() {
            return Err(Undecided::NotDates(strangers));
        }
        if let [short, _full] = survey.candidates.as_slice()
            && short.format.contains("%b")
        {
            // Every value is in May, which reads both ways alike.
            survey.candidates.truncate(1);
        }
        let (with, without): (Vec<&Tail>, Vec<&Tail>) =
            survey.tails.iter().partition(|tail| tail.format.contains("%p"));
        if !with.is_empty() && without.iter().any(|tail| tail.format.contains("%H")) {
            return Err(Undecided::Mixed("some times have AM or PM, others do not".to_owned()));
        }
        Ok(survey)
    }

    /// Whether all years are certain and lie where Python's two-digit years lie (1969 to 2068).
    pub fn years_in_window(&self) -> bool {
        self.candidates.iter().all(|candidate| !candidate.two_digit_year)
            && self.years.is_some_and(|(low, high)| low >= 1969 && high <= 2068)
    }
}

impl Fitting {
    fn fits(&self, numbers: &[Number], month_named: Option<u8>) -> bool {
        let (year, month, day) = self.fields(numbers, month_named);
        (1..=9999).contains(&year)
            && (1..=12).contains(&month)
            && day >= 1
            && day <= days_in(year, month)
            && (self.packed.is_none() || (1900..2100).contains(&year))
    }

    /// Year (two digits as Python reads them), month, day of a value; the first day where the value has none.
    pub fn fields(&self, numbers: &[Number], month_named: Option<u8>) -> (u32, u32, u32) {
        if let Some(packed) = self.packed {
            let number = numbers[0].value;
            return match packed {
                Packed::YearMonthDay => (number / 10_000, number / 100 % 100, number % 100),
                Packed::DayMonthYear => (number % 10_000, number / 10_000 % 100, number / 1_000_000),
                Packed::MonthDayYear => (number % 10_000, number / 1_000_000, number / 10_000 % 100),
            };
        }
        let get = |at: Option<usize>| at.and_then(|at| numbers.get(at)).map(|number| number.value);
        let mut year = get(self.year).unwrap_or(2000);
        if self.two_digit_year {
            year += if year < 69 { 2000 } else { 1900 };
        }
        (year, get(self.month).or(month_named.map(u32::from)).unwrap_or(1), get(self.day).unwrap_or(1))
    }

    fn year_of(&self, numbers: &[Number]) -> Option<u32> {
        (self.year.is_some() || self.packed.is_some()).then(|| self.fields(numbers, Some(1)).0)
    }
}

fn days_in(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 31,
    }
}

/// The value with its digits hidden, for messages.
fn pattern(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect()
}

/// A run of digits: how many and what number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    /// Number of digits.
    pub digits: usize,
    /// Its value; of more than nine digits only the first nine count.
    pub value: u32,
}

/// What a value is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Digits; lengths of one and two are the same to `strptime`.
    Digits(usize),
    /// A month name; whether in full.
    Month(u8, bool),
    /// A weekday name; whether in full.
    Weekday(bool),
    /// AM or PM.
    Half,
    /// `Z`, `UTC`, `GMT`.
    Zone(&'static str),
    /// Any other character.
    Sign(char),
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Takes a value apart; false if it cannot be a date.
pub(super) fn tokenize(text: &str, pieces: &mut Vec<Piece>, numbers: &mut Vec<Number>) -> bool {
    pieces.clear();
    numbers.clear();
    if text.len() < 4 || text.len() > 40 || !text.is_ascii() {
        return false;
    }
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        if bytes[at].is_ascii_digit() {
            while at < bytes.len() && bytes[at].is_ascii_digit() {
                at += 1;
            }
            let run = &text[start..at];
            let value = run.get(..run.len().min(9)).and_then(|run| run.parse().ok()).unwrap_or(0);
            numbers.push(Number { digits: run.len(), value });
            pieces.push(Piece::Digits(if run.len() == 1 { 2 } else { run.len() }));
        } else if bytes[at].is_ascii_alphabetic() {
            while at < bytes.len() && bytes[at].is_ascii_alphabetic() {
                at += 1;
            }
            let Some(piece) = word(&text[start..at]) else { return false };
            pieces.push(piece);
        } else {
            at += 1;
            pieces.push(Piece::Sign(bytes[start] as char));
        }
        if pieces.len() > 24 || numbers.len() > 10 {
            return false;
        }
    }
    !numbers.is_empty()
}

fn word(word: &str) -> Option<Piece> {
    let lower = word.to_ascii_lowercase();
    match (word, lower.as_str()) {
        ("T", _) => return Some(Piece::Sign('T')),
        ("Z", _) => return Some(Piece::Zone("Z")),
        ("UTC", _) => return Some(Piece::Zone("UTC")),
        ("GMT", _) => return Some(Piece::Zone("GMT")),
        (_, "am" | "pm") => return Some(Piece::Half),
        _ => {}
    }
    if lower.len() < 3 {
        return None;
    }
    if let Some(at) = MONTHS.iter().position(|month| *month == lower || month[..3] == lower) {
        return Some(Piece::Month(at as u8 + 1, lower.len() > 3));
    }
    WEEKDAYS.iter().any(|day| *day == lower || day[..3] == lower).then_some(Piece::Weekday(lower.len() > 3))
}

/// How values of one build can be read.
#[derive(Clone, Debug)]
struct Shape {
    candidates: Vec<Fitting>,
    tail: Tail,
    hour: Option<usize>,
    minute: Option<usize>,
    second: Option<usize>,
    twelve: bool,
    packed_time: Option<(usize, usize)>,
}

impl Shape {
    fn of(pieces: &[Piece]) -> Option<Self> {
        let mut reader = Reader { pieces, at: 0, number: 0, text: String::new() };
        reader.weekday();
        let mut candidates = reader.date()?;
        if pieces.contains(&Piece::Month(5, false)) {
            // `May` is an abbreviation and a full name: it goes with either.
            let full = candidates
                .iter()
                .map(|candidate| Fitting { format: candidate.format.replace("%b", "%B"), ..candidate.clone() });
            candidates = candidates.iter().cloned().chain(full).collect();
        }
        reader.text.clear();
        let mut shape = Self {
            candidates,
            tail: Tail { format: String::new(), zone: None },
            hour: None,
            minute: None,
            second: None,
            twelve: false,
            packed_time: None,
        };
        reader.time(&mut shape)?;
        (reader.at == pieces.len()).then(|| {
            shape.tail.format = reader.text;
            shape
        })
    }

    fn time_fits(&self, numbers: &[Number]) -> bool {
        let get = |at: Option<usize>| at.and_then(|at| numbers.get(at)).map_or(0, |number| number.value);
        if let Some((at, length)) = self.packed_time {
            let number = numbers[at].value;
            let (hour, minute, second) = if length == 6 {
                (number / 10_000, number / 100 % 100, number % 100)
            } else {
                (number / 100, number % 100, 0)
            };
            return hour < 24 && minute < 60 && second < 60;
        }
        let hour_fits = if self.twelve { (1..=12).contains(&get(self.hour)) } else { get(self.hour) < 24 };
        hour_fits && get(self.minute) < 60 && get(self.second) < 60
    }
}

/// Reads pieces from the left and writes the format as it goes.
struct Reader<'a> {
    pieces: &'a [Piece],
    at: usize,
    number: usize,
    text: String,
}

impl<'a> Reader<'a> {
    fn peek(&self, ahead: usize) -> Option<&'a Piece> {
        self.pieces.get(self.at + ahead)
    }

    fn digits(&self, ahead: usize) -> Option<usize> {
        match self.peek(ahead) {
            Some(Piece::Digits(length)) => Some(*length),
            _ => None,
        }
    }

    /// Separator characters from here on, as text.
    fn separator(&self, from: usize) -> (String, usize) {
        let mut text = String::new();
        let mut ahead = from;
        while let Some(Piece::Sign(c)) = self.peek(ahead)
            && matches!(c, '.' | '-' | '/' | ' ' | ',')
            && text.len() < 2
        {
            text.push(*c);
            ahead += 1;
        }
        (text, ahead)
    }

    fn weekday(&mut self) {
        if let Some(Piece::Weekday(full)) = self.peek(0) {
            self.text.push_str(if *full { "%A" } else { "%a" });
            let (separator, next) = self.separator(1);
            self.text.push_str(&separator);
            self.at += next;
        }
    }

    fn date(&mut self) -> Option<Vec<Fitting>> {
        let ahead = self.text.clone();
        let (mut candidates, used) = self.date_forms()?;
        let taken = &self.pieces[self.at..self.at + used];
        self.number = taken.iter().filter(|piece| matches!(piece, Piece::Digits(_))).count();
        self.at += used;
        // `15.01.2026.`, as some countries write it.
        let final_point = self.peek(0) == Some(&Piece::Sign('.')) && self.digits(1).is_none();
        if final_point {
            self.at += 1;
        }
        for candidate in &mut candidates {
            candidate.format = format!("{ahead}{}{}", candidate.format, if final_point { "." } else { "" });
        }
        Some(candidates)
    }

    fn date_forms(&self) -> Option<(Vec<Fitting>, usize)> {
        let plain = |format: String, year: Option<usize>, month: Option<usize>, day: Option<usize>, two: bool| {
            Fitting { format, year, month, day, two_digit_year: two, packed: None }
        };
        let (first_gap, second_at) = self.separator(1);
        let (second_gap, third_at) = self.separator(second_at + 1);
        match (self.peek(0)?, self.peek(second_at), self.peek(third_at)) {
            (Piece::Digits(8), _, _) if first_gap.is_empty() || first_gap == " " => {
                let packed = |format: &str, packed| Fitting {
                    packed: Some(packed),
                    ..plain(format.to_owned(), None, None, None, false)
                };
                Some((
                    vec![
                        packed("%Y%m%d", Packed::YearMonthDay),
                        packed("%d%m%Y", Packed::DayMonthYear),
                        packed("%m%d%Y", Packed::MonthDayYear),
                    ],
                    1,
                ))
            }
            (Piece::Digits(a), Some(Piece::Digits(b)), Some(Piece::Digits(c)))
                if !first_gap.is_empty() && first_gap == second_gap && first_gap != "," && first_gap != ", " =>
            {
                let write = |one: &str, two: &str, three: &str| format!("{one}{first_gap}{two}{first_gap}{three}");
                let list = match (a, b, c) {
                    (4, 2, 2) => vec![plain(write("%Y", "%m", "%d"), Some(0), Some(1), Some(2), false)],
                    (2, 2, 4) => vec![
                        plain(write("%d", "%m", "%Y"), Some(2), Some(1), Some(0), false),
                        plain(write("%m", "%d", "%Y"), Some(2), Some(0), Some(1), false),
                    ],
                    (2, 2, 2) => vec![
                        plain(write("%d", "%m", "%y"), Some(2), Some(1), Some(0), true),
                        plain(write("%m", "%d", "%y"), Some(2), Some(0), Some(1), true),
                        plain(write("%y", "%m", "%d"), Some(0), Some(1), Some(2), true),
                    ],
                    _ => return None,
                };
                Some((list, third_at + 1))
            }
            (Piece::Digits(a), Some(Piece::Month(_, full)), Some(Piece::Digits(c))) => {
                let month = if *full { "%B" } else { "%b" };
                let format = |one: &str, three: &str| format!("{one}{first_gap}{month}{second_gap}{three}");
                let list = match (a, c) {
                    (2, 4) => vec![plain(format("%d", "%Y"), Some(1), None, Some(0), false)],
                    (4, 2) => vec![plain(format("%Y", "%d"), Some(0), None, Some(1), false)],
                    (2, 2) => vec![plain(format("%d", "%y"), Some(1), None, Some(0), true)],
                    _ => return None,
                };
                Some((list, third_at + 1))
            }
            (Piece::Month(_, full), Some(Piece::Digits(2)), Some(Piece::Digits(year @ (2 | 4))))
                if !second_gap.is_empty() =>
            {
                let month = if *full { "%B" } else { "%b" };
                let two = *year == 2;
                let format = format!("{month}{first_gap}%d{second_gap}{}", if two { "%y" } else { "%Y" });
                Some((vec![plain(format, Some(1), None, Some(0), two)], third_at + 1))
            }
            (Piece::Month(_, full), Some(Piece::Digits(4)), None) => {
                let month = if *full { "%B" } else { "%b" };
                Some((vec![plain(format!("{month}{first_gap}%Y"), Some(0), None, None, false)], second_at + 1))
            }
            (Piece::Digits(4), Some(Piece::Digits(2)), None) if matches!(first_gap.as_str(), "-" | "/" | ".") => {
                // A point could be a decimal point: `2024.05` is a number first.
                (first_gap != ".")
                    .then(|| (vec![plain(format!("%Y{first_gap}%m"), Some(0), Some(1), None, false)], second_at + 1))
            }
            (Piece::Digits(2), Some(Piece::Digits(4)), None) if matches!(first_gap.as_str(), "-" | "/") => {
                Some((vec![plain(format!("%m{first_gap}%Y"), Some(1), Some(0), None, false)], second_at + 1))
            }
            _ => None,
        }
    }

    fn time(&mut self, shape: &mut Shape) -> Option<()> {
        if self.at == self.pieces.len() {
            return Some(());
        }
        while let Some(Piece::Sign(c @ ('T' | ' ' | ','))) = self.peek(0) {
            self.text.push(*c);
            self.at += 1;
        }
        if self.text.is_empty() {
            return None;
        }
        match (self.digits(0)?, self.peek(1)) {
            (2, Some(Piece::Sign(':'))) => self.clock(shape)?,
            (length @ (4 | 6), _) => {
                self.text.push_str(if length == 6 { "%H%M%S" } else { "%H%M" });
                shape.packed_time = Some((self.number, length));
                self.at += 1;
                self.number += 1;
            }
            _ => return None,
        }
        self.zone(shape)
    }

    fn clock(&mut self, shape: &mut Shape) -> Option<()> {
        shape.hour = Some(self.number);
        let hour_at = self.text.len();
        self.text.push_str("%H:%M");
        self.digits(2).filter(|length| *length == 2)?;
        shape.minute = Some(self.number + 1);
        self.at += 3;
        self.number += 2;
        if self.peek(0) == Some(&Piece::Sign(':')) {
            self.digits(1).filter(|length| *length == 2)?;
            shape.second = Some(self.number);
            self.text.push_str(":%S");
            self.at += 2;
            self.number += 1;
            if let (Some(Piece::Sign(point @ ('.' | ','))), Some(length)) = (self.peek(0), self.digits(1)) {
                // `%f` reads at most six digits.
                if length > 6 {
                    return None;
                }
                self.text.push(*point);
                self.text.push_str("%f");
                self.at += 2;
                self.number += 1;
            }
        }
        let blank = usize::from(self.peek(0) == Some(&Piece::Sign(' ')));
        if self.peek(blank) == Some(&Piece::Half) {
            self.text.replace_range(hour_at..hour_at + 2, "%I");
            self.text.push_str(if blank == 1 { " %p" } else { "%p" });
            self.at += blank + 1;
            shape.twelve = true;
        }
        Some(())
    }

    fn zone(&mut self, shape: &mut Shape) -> Option<()> {
        let blank = usize::from(self.peek(0) == Some(&Piece::Sign(' ')));
        let gap = if blank == 1 { " " } else { "" };
        match self.peek(blank) {
            None => return (blank == 0).then_some(()),
            Some(Piece::Zone("Z")) => {
                shape.tail.zone = Some("Z".to_owned());
                self.text.push_str(gap);
                self.text.push_str("%z");
                self.at += blank + 1;
            }
            Some(Piece::Zone(name)) => {
                // `%Z` reads the name but leaves the time without zone: it stays plain text.
                shape.tail.zone = Some(format!("{gap}{name}"));
                self.text.push_str(gap);
                self.text.push_str(name);
                self.at += blank + 1;
            }
            Some(Piece::Sign('+' | '-')) => {
                self.text.push_str(gap);
                self.text.push_str("%z");
                shape.tail.zone = Some("%z".to_owned());
                match (self.digits(blank + 1)?, self.peek(blank + 2), self.digits(blank + 3)) {
                    (2, Some(Piece::Sign(':')), Some(2)) => self.at += blank + 4,
                    (4, _, _) => self.at += blank + 2,
                    _ => return None,
                }
            }
            _ => return None,
        }
        Some(())
    }
}
