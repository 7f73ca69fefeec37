//! Tables: columns whose header is the name of a secret, in CSV, in frames printed as text, in framed tables.

use super::assign::Spot;
use super::name::Class;
use super::place::MARK;
use super::quote::{line_end, line_start};
use super::worth::{Place, is_secret, looks_random};

/// Most rows that are followed.
const ROWS: usize = 100_000;

/// A cell that must go, with the id of the rule.
type Cell = (usize, usize, &'static str);

/// The cells below a header that is the name of a secret, and the end of what was read. All names that stand in the
/// same line are read together.
pub(super) fn cells(text: &[u8], first: &Spot, spots: &[Spot]) -> (Vec<Cell>, usize) {
    if text[first.end..].starts_with(b"</t") {
        return (html(text, first), first.end);
    }
    let start = line_start(text, first.start, 2000);
    let end = line_end(text, first.end);
    if end - start > 4000 {
        return (Vec::new(), end);
    }
    let named: Vec<Spot> = spots.iter().copied().take_while(|spot| spot.end <= end).collect();
    let header = &text[start..end];
    if let Some(found) = series(text, start, end, first) {
        return (found, end);
    }
    let sentence = |c: &u8| matches!(c, b'=' | b'(' | b')' | b'{' | b'}' | b'<' | b'>' | b'!' | b'\'' | b'\\' | b':');
    if end >= text.len() || header.iter().any(sentence) {
        return (Vec::new(), end);
    }
    for mark in [b'\t', b'|', b';', b','] {
        if header.contains(&mark) {
            let found = separated(text, start, end, mark, &named);
            if !found.0.is_empty() || found.1 > end {
                return found;
            }
        }
    }
    if header.windows(3).any(|three| three == "│".as_bytes() || three == "┃".as_bytes()) {
        return framed(text, start, end, &named);
    }
    if header.windows(2).any(|two| two == b"  ") || header.starts_with(b" ") {
        return aligned(text, start, end, &named);
    }
    (Vec::new(), end)
}

fn next_line(text: &[u8], end: usize) -> Option<(usize, usize)> {
    let start = memchr::memchr(b'\n', &text[end..])? + end + 1;
    (start < text.len()).then(|| (start, line_end(text, start)))
}

/// The fields of a line with a separator; in quotes it does not count.
fn fields(text: &[u8], start: usize, end: usize, mark: u8) -> Vec<(usize, usize)> {
    let mut fields = Vec::new();
    let mut from = start;
    let mut quoted = false;
    for (at, byte) in text.iter().enumerate().take(end).skip(start) {
        if *byte == b'"' {
            quoted = !quoted;
        } else if *byte == mark && !quoted {
            fields.push((from, at));
            from = at + 1;
        }
    }
    fields.push((from, end));
    fields
}

/// A field without spaces and quotes round it.
fn trimmed(text: &[u8], (start, end): (usize, usize)) -> (usize, usize) {
    let strip = |c: u8| matches!(c, b' ' | b'\t' | b'"' | b'\r');
    let field = &text[start..end];
    let left = field.iter().take_while(|c| strip(**c)).count();
    let right = field[left..].iter().rev().take_while(|c| strip(**c)).count();
    (start + left, end - right)
}

fn is_header_field(field: &[u8]) -> bool {
    field.len() <= 48
        && field.iter().filter(|c| **c == b' ').count() <= 2
        && !field.is_empty()
        && field
            .iter()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.' | b' ' | b'#' | b'/') || *c >= 0x80)
        && !field[0].is_ascii_digit()
}

fn is_rule(text: &[u8], start: usize, end: usize) -> bool {
    end > start && text[start..end].iter().all(|c| matches!(c, b'-' | b'+' | b'|' | b':' | b'=' | b' ' | b'\r'))
}

fn holds(spot: &Spot, value: &[u8]) -> bool {
    !value.starts_with(MARK)
        && is_secret(spot.name.class, value, Place::Quoted)
        && (spot.name.class == Class::Strong || looks_random(value, 8))
}

fn separated(text: &[u8], start: usize, end: usize, mark: u8, spots: &[Spot]) -> (Vec<Cell>, usize) {
    let header = fields(text, start, end, mark);
    let names: Vec<(usize, usize)> = header.iter().map(|field| trimmed(text, *field)).collect();
    if names.last().is_some_and(|(from, to)| from == to) && mark == b',' {
        // A line of code that goes on.
        return (Vec::new(), end);
    }
    let filled = names.iter().filter(|(from, to)| from < to).count();
    if header.len() < 2
        || filled < 2
        || !names.iter().all(|(from, to)| from == to || is_header_field(&text[*from..*to]))
    {
        return (Vec::new(), end);
    }
    let columns: Vec<(usize, Spot)> = spots
        .iter()
        .filter_map(|spot| {
            names.iter().position(|(from, to)| spot.start >= *from && spot.end <= *to).map(|column| (column, *spot))
        })
        .collect();
    let mut found = Vec::new();
    let mut at = end;
    for _ in 0..ROWS {
        let Some((from, to)) = next_line(text, at) else { break };
        if is_rule(text, from, to) {
            at = to;
            continue;
        }
        let row = fields(text, from, to, mark);
        if row.len() != header.len() {
            break;
        }
        at = to;
        for (column, spot) in &columns {
            let (from, to) = trimmed(text, row[*column]);
            if from < to && holds(spot, &text[from..to]) {
                found.push((from, to, spot.name.rule));
            }
        }
    }
    (found, at)
}

/// Tables in frames of box lines: the fields between them.
fn framed(text: &[u8], start: usize, end: usize, spots: &[Spot]) -> (Vec<Cell>, usize) {
    let cut = |start: usize, end: usize| -> Vec<(usize, usize)> {
        let mut fields = Vec::new();
        let mut from = start;
        let mut at = start;
        while at + 3 <= end {
            if text[at..].starts_with("│".as_bytes())
                || text[at..].starts_with("┆".as_bytes())
                || text[at..].starts_with("┃".as_bytes())
                || text[at..].starts_with("║".as_bytes())
            {
                fields.push((from, at));
                from = at + 3;
                at += 3;
            } else {
                at += 1;
            }
        }
        fields.push((from, end));
        fields
    };
    let header = cut(start, end);
    let columns: Vec<(usize, &Spot)> = spots
        .iter()
        .filter_map(|spot| {
            header.iter().position(|(from, to)| spot.start >= *from && spot.end <= *to).map(|column| (column, spot))
        })
        .collect();
    let mut found = Vec::new();
    let mut at = end;
    for _ in 0..ROWS {
        let Some((from, to)) = next_line(text, at) else { break };
        let row = cut(from, to);
        if row.len() != header.len() {
            if row.len() == 1 && !text[from..to].starts_with("└".as_bytes()) && to > from && text[from] == 0xe2 {
                at = to;
                continue;
            }
            break;
        }
        at = to;
        for (column, spot) in &columns {
            let (from, to) = trimmed(text, row[*column]);
            if from < to && holds(spot, &text[from..to]) {
                found.push((from, to, spot.name.rule));
            }
        }
    }
    (found, at)
}

/// The words of a line, with their columns counted in characters: `(start, end, first column, behind the last)`.
fn words(text: &[u8], start: usize, end: usize, gap: usize) -> Vec<(usize, usize, usize, usize)> {
    let mut words: Vec<(usize, usize, usize, usize)> = Vec::new();
    let mut column = 0;
    for (at, byte) in text.iter().copied().enumerate().take(end).skip(start) {
        let first = byte & 0xc0 != 0x80;
        if byte != b' ' {
            match words.last_mut() {
                Some(word) if at - word.1 < gap => (word.1, word.3) = (at + 1, column + usize::from(first)),
                _ => words.push((at, at + 1, column, column + 1)),
            }
        }
        column += usize::from(first);
    }
    words
}

/// Columns that are set with spaces: a cell belongs to a header that it touches or is flush with.
fn aligned(text: &[u8], start: usize, end: usize, spots: &[Spot]) -> (Vec<Cell>, usize) {
    let header = words(text, start, end, 2);
    let single = words(text, start, end, 1);
    let header = if header.len() < 2
        || spots.iter().any(|spot| !header.iter().any(|word| word.0 == spot.start && word.1 == spot.end))
    {
        single
    } else {
        header
    };
    // Columns are set apart by two spaces, or the rows begin with an index where the header has none.
    let line = &text[start..end];
    let (wide, narrow) = (words(text, start, end, 2).len(), words(text, start, end, 1).len());
    let gaps = wide > 1 && wide * 2 > narrow;
    let index =
        next_line(text, end).is_some_and(|(from, to)| from < to && text[from] != b' ') && line.starts_with(b" ");
    if !gaps && !index {
        return (Vec::new(), end);
    }
    let heads: Vec<(usize, Spot)> = spots
        .iter()
        .filter_map(|spot| {
            header.iter().position(|word| word.0 <= spot.start && spot.end <= word.1).map(|i| (i, *spot))
        })
        .collect();
    if !header
        .iter()
        .all(|word| is_header_field(&text[word.0..word.1]) || text[word.0..word.1].iter().all(u8::is_ascii_digit))
    {
        return (Vec::new(), end);
    }
    // A line that is set like the one before it is a row, not a header.
    if start > 0 {
        let above = words(text, line_start(text, start - 1, 2000), start - 1, 2);
        if above.len() > 1 && above.iter().skip(1).any(|word| header.iter().skip(1).any(|head| word.2 == head.2)) {
            return (Vec::new(), end);
        }
    }
    let mut found = Vec::new();
    let mut at = end;
    for row in 0..ROWS {
        let Some((from, to)) = next_line(text, at) else { break };
        if is_rule(text, from, to) {
            at = to;
            continue;
        }
        let line = &text[from..to];
        if line.trim_ascii().is_empty() {
            break;
        }
        if line.windows(MARK.len()).any(|window| window == MARK) {
            at = to;
            continue;
        }
        let wide = words(text, from, to, 2);
        let narrow = words(text, from, to, 1);
        let mut fits = 0;
        for head in &header {
            fits += usize::from(narrow.iter().any(|word| word.2 == head.2 || word.3 == head.3));
        }
        if fits == 0 || fits * 2 < header.len() && narrow.len() != header.len() && narrow.len() != header.len() + 1 {
            if row == 0 {
                return (Vec::new(), end);
            }
            break;
        }
        at = to;
        for (index, spot) in &heads {
            let head = header[*index];
            let left = index.checked_sub(1).map_or(0, |i| header[i].3);
            let right = header.get(index + 1).map_or(usize::MAX, |next| next.2);
            let cell = |list: &[(usize, usize, usize, usize)]| {
                list.iter()
                    .copied()
                    .find(|word| word.3 == head.3 || word.2 == head.2)
                    .filter(|word| word.2 >= left.min(head.2) || word.3 <= right)
            };
            // A password may have spaces in it, but not two in a row.
            let whole = cell(&wide).filter(|word| word.2 >= left && word.3 <= right.max(head.3));
            let by_count = || {
                (narrow.len() == header.len() || narrow.len() == header.len() + 1)
                    .then(|| narrow[narrow.len() - header.len() + *index])
            };
            let Some(word) = whole.or_else(|| cell(&narrow)).or_else(by_count) else { continue };
            if holds(spot, &text[word.0..word.1]) {
                found.push((word.0, word.1, spot.name.rule));
            }
        }
    }
    (found, at)
}

/// A printed series: its values stand above its name.
fn series(text: &[u8], start: usize, end: usize, spot: &Spot) -> Option<Vec<Cell>> {
    let line = &text[start..end];
    if !line.starts_with(b"Name: ") || !line.windows(7).any(|window| window == b" dtype:") {
        return None;
    }
    let mut found = Vec::new();
    let mut at = start;
    for _ in 0..1000 {
        if at == 0 {
            break;
        }
        let to = at - 1;
        let from = line_start(text, to, 2000);
        let words = words(text, from, to, 2);
        let [_, value] = words[..] else { break };
        if holds(spot, &text[value.0..value.1]) {
            found.push((value.0, value.1, spot.name.rule));
        }
        at = from;
    }
    Some(found)
}

/// The cells below a header cell of an HTML table.
fn html(text: &[u8], spot: &Spot) -> Vec<Cell> {
    const FAR: usize = 16 * 1024;
    let least = spot.start.saturating_sub(2000);
    let Some(row) = memchr::memmem::rfind(&text[least..spot.start], b"<tr").map(|n| least + n) else {
        return Vec::new();
    };
    let index = html_cells(text, row, spot.start).len();
    let table = &text[..text.len().min(spot.end + FAR)];
    let limit = memchr::memmem::find(&table[spot.end..], b"</table").map_or(table.len(), |n| spot.end + n);
    let mut found = Vec::new();
    let mut at = spot.end;
    while let Some(row) = memchr::memmem::find(&text[at..limit], b"<tr").map(|n| at + n) {
        let end = memchr::memmem::find(&text[row + 3..limit], b"<tr").map_or(limit, |n| row + 3 + n);
        if let Some(&cell) = html_cells(text, row, end).get(index.saturating_sub(1)) {
            let (from, to) = trimmed(text, cell);
            if from < to && holds(spot, &text[from..to]) {
                found.push((from, to, spot.name.rule));
            }
        }
        at = end;
    }
    found
}

/// The contents of the cells that begin between two places.
fn html_cells(text: &[u8], from: usize, to: usize) -> Vec<(usize, usize)> {
    let mut cells = Vec::new();
    let mut at = from;
    while let Some(open) = memchr::memmem::find(&text[at..to], b"<t").map(|n| at + n) {
        at = open + 2;
        if !matches!(text.get(open + 2), Some(b'd' | b'h')) || text.get(open + 3).is_some_and(u8::is_ascii_alphabetic) {
            continue;
        }
        let Some(start) = memchr::memchr(b'>', &text[open..]).map(|n| open + n + 1) else { break };
        let end = memchr::memchr(b'<', &text[start..]).map_or(text.len(), |n| start + n);
        cells.push((start, end));
    }
    cells
}
