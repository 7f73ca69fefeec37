//! The one search over all keywords. It reads a text in four lanes at once, which keeps the processor busy, and in a
//! table that is small enough to stay near it.

/// A keyword that occurs in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    /// The number of the keyword.
    pub keyword: usize,
    /// Its first byte.
    pub start: usize,
    /// Behind its last byte.
    pub end: usize,
}

/// A search for keywords in any case of ASCII.
pub(super) struct Search {
    /// The class of each byte. Letters of both cases are one class; bytes beyond ASCII share eight.
    classes: [u8; 256],
    /// How far the rows of the table are apart, as a power of two.
    shift: u32,
    table: Vec<u16>,
    /// The bit that states which end a keyword have, and no others.
    ends: u16,
    /// The keywords that end at the states that have the bit.
    matches: Vec<Vec<u16>>,
    keywords: Vec<Keyword>,
    longest: usize,
}

/// What is searched for.
#[derive(Clone, Debug)]
pub(super) struct Keyword {
    /// The word, in lower case.
    pub word: Vec<u8>,
    /// How many letters, digits, `_`, `-` and `.` must stand together from its beginning on, at least.
    pub least: usize,
}

/// Texts shorter than this are read in one lane.
const SHORT: usize = 2048;

impl Search {
    /// A search for these keywords, which are numbered in their order. `None` if they are too many or one is empty.
    pub fn new(keywords: Vec<Keyword>) -> Option<Self> {
        let (classes, count) = classes(&keywords);
        let (follows, found) = automaton(&keywords, &classes, usize::from(count))?;
        let shift = usize::from(count).next_power_of_two().trailing_zeros().max(6);
        let mut search = Self {
            classes,
            shift,
            table: Vec::new(),
            ends: 0,
            matches: Vec::new(),
            longest: keywords.iter().map(|keyword| keyword.word.len()).max().unwrap_or(0),
            keywords,
        };
        search.lay_out(&follows, found, usize::from(count))?;
        Some(search)
    }

    /// Puts the automaton into the table, its states that end a keyword last.
    fn lay_out(&mut self, follows: &[u32], found: Vec<Vec<u16>>, width: usize) -> Option<()> {
        let ends = found.iter().filter(|words| !words.is_empty()).count();
        let bit = u16::try_from((found.len() - ends).next_power_of_two()).ok()?;
        if ends >= usize::from(bit) {
            return None;
        }
        let (mut next_plain, mut next_end) = (0, bit);
        let number = |words: &Vec<u16>| {
            let next = if words.is_empty() { &mut next_plain } else { &mut next_end };
            *next += 1;
            *next - 1
        };
        // The start ends nothing and so is the first of all.
        let numbers: Vec<u16> = found.iter().map(number).collect();
        self.ends = bit;
        self.table = vec![0; (usize::from(bit) + ends) << self.shift];
        for (row, number) in follows.chunks(width).zip(&numbers) {
            let begin = usize::from(*number) << self.shift;
            for (cell, next) in self.table[begin..].iter_mut().zip(row) {
                *cell = numbers[*next as usize];
            }
        }
        self.matches = found.into_iter().filter(|words| !words.is_empty()).collect();
        Some(())
    }

    fn next(&self, state: u16, byte: u8) -> u16 {
        self.table[usize::from(state) << self.shift | usize::from(self.classes[usize::from(byte)])]
    }

    /// All occurrences, overlapping ones too, in the order of their ends.
    pub fn hits(&self, text: &[u8]) -> Vec<Hit> {
        let mut hits = Vec::new();
        if text.len() < SHORT.max(self.longest * 8) {
            self.one(text, text, 0, 0, &mut hits);
            return hits;
        }
        let quarter = text.len() / 4;
        // Each lane but the first begins early enough to see keywords that reach into it.
        let mut states = [0u16; 4];
        for (lane, state) in states.iter_mut().enumerate().skip(1) {
            for byte in &text[lane * quarter - self.longest..lane * quarter] {
                *state = self.next(*state, *byte);
            }
        }
        let mut lanes: [Vec<Hit>; 4] = Default::default();
        let (a, rest) = text.split_at(quarter);
        let (b, rest) = rest.split_at(quarter);
        let (c, rest) = rest.split_at(quarter);
        let (d, rest) = rest.split_at(quarter);
        let parts = [a, b, c, d];
        match self.shift {
            6 => self.four::<6>(text, parts, &mut states, &mut lanes),
            7 => self.four::<7>(text, parts, &mut states, &mut lanes),
            _ => self.four::<8>(text, parts, &mut states, &mut lanes),
        }
        for lane in lanes {
            hits.extend(lane);
        }
        self.one(text, rest, quarter * 4, states[3], &mut hits);
        hits
    }

    /// Four parts of the same length at once.
    fn four<const SHIFT: u32>(&self, text: &[u8], parts: [&[u8]; 4], states: &mut [u16; 4], lanes: &mut [Vec<Hit>; 4]) {
        let quarter = parts[0].len();
        let (table, classes, ends) = (self.table.as_slice(), &self.classes, self.ends);
        let next = |state: u16, byte: u8| table[usize::from(state) << SHIFT | usize::from(classes[usize::from(byte)])];
        let [mut s0, mut s1, mut s2, mut s3] = *states;
        let (a, b) = (&parts[0][..quarter], &parts[1][..quarter]);
        let (c, d) = (&parts[2][..quarter], &parts[3][..quarter]);
        for at in 0..quarter {
            s0 = next(s0, a[at]);
            s1 = next(s1, b[at]);
            s2 = next(s2, c[at]);
            s3 = next(s3, d[at]);
            if (s0 | s1 | s2 | s3) & ends != 0 {
                self.push_all(text, [s0, s1, s2, s3], at + 1, lanes);
            }
        }
        *states = [s0, s1, s2, s3];
    }

    #[cold]
    #[inline(never)]
    fn push_all(&self, text: &[u8], states: [u16; 4], end: usize, lanes: &mut [Vec<Hit>; 4]) {
        for (lane, state) in states.into_iter().enumerate() {
            if state & self.ends != 0 {
                self.push(text, state, text.len() / 4 * lane + end, &mut lanes[lane]);
            }
        }
    }

    fn one(&self, text: &[u8], part: &[u8], offset: usize, mut state: u16, hits: &mut Vec<Hit>) {
        for (at, byte) in part.iter().enumerate() {
            state = self.next(state, *byte);
            if state & self.ends != 0 {
                self.push(text, state, offset + at + 1, hits);
            }
        }
    }

    #[cold]
    fn push(&self, text: &[u8], state: u16, end: usize, hits: &mut Vec<Hit>) {
        for keyword in &self.matches[usize::from(state - self.ends)] {
            let keyword = usize::from(*keyword);
            let Keyword { word, least } = &self.keywords[keyword];
            let start = end - word.len();
            if *least > 0 && !stands_together(text, start, *least) {
                continue;
            }
            if word.is_ascii() || text[start..end].eq_ignore_ascii_case(word) {
                hits.push(Hit { keyword, start, end });
            }
        }
    }
}

/// The automaton of Aho and Corasick (Communications of the ACM 18, 1975), whole: for each state and class the next state,
/// and for each state the keywords that end there. State 0 is the start. The library's takes four times as long to be
/// made, and a program's first failure waits for it.
fn automaton(keywords: &[Keyword], classes: &[u8; 256], width: usize) -> Option<(Vec<u32>, Vec<Vec<u16>>)> {
    const NONE: u32 = u32::MAX;
    let mut follows = vec![NONE; width];
    let mut found: Vec<Vec<u16>> = vec![Vec::new()];
    for (number, keyword) in keywords.iter().enumerate() {
        let mut state = 0;
        for byte in &keyword.word {
            let cell = state * width + usize::from(classes[usize::from(*byte)]);
            if follows[cell] == NONE {
                follows[cell] = u32::try_from(found.len()).ok()?;
                found.push(Vec::new());
                follows.resize(follows.len() + width, NONE);
            }
            state = follows[cell] as usize;
        }
        found[state].push(u16::try_from(number).ok()?);
    }
    if found.first().is_none_or(|words| !words.is_empty()) {
        return None;
    }
    // Breadth first: where a state's longest proper ending leads is known when the state's own turn comes.
    let mut ending = vec![0usize; found.len()];
    let mut queue = vec![0usize];
    let mut at = 0;
    while let Some(state) = queue.get(at).copied() {
        at += 1;
        for class in 0..width {
            let cell = state * width + class;
            let otherwise = if state == 0 { 0 } else { follows[ending[state] * width + class] };
            let next = follows[cell];
            if next == NONE {
                follows[cell] = otherwise;
                continue;
            }
            ending[next as usize] = otherwise as usize;
            let more = found[otherwise as usize].clone();
            found[next as usize].extend(more);
            queue.push(next as usize);
        }
    }
    Some((follows, found))
}

/// Whether so many letters, digits, `_`, `-` and `.` follow each other.
pub(super) fn stands_together(text: &[u8], start: usize, least: usize) -> bool {
    let part = |c: &u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.');
    text.get(start..start + least).is_some_and(|token| token.iter().all(part))
}

/// The class of each byte, and how many classes there are. Class 0 is that of bytes in no keyword.
fn classes(keywords: &[Keyword]) -> ([u8; 256], u8) {
    let mut classes = [0u8; 256];
    let mut count = 1;
    for byte in keywords.iter().flat_map(|keyword| &keyword.word).filter(|c| c.is_ascii()) {
        let lower = usize::from(byte.to_ascii_lowercase());
        if classes[lower] == 0 {
            classes[lower] = count;
            count += 1;
        }
        classes[usize::from(byte.to_ascii_uppercase())] = classes[lower];
    }
    for (n, class) in classes.iter_mut().enumerate().skip(128) {
        *class = count + (n % 8) as u8;
    }
    (classes, count + 8)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used)]
    use super::*;

    #[test]
    fn lanes_find_what_one_lane_finds() {
        let keywords: Vec<Vec<u8>> =
            [&b"ab"[..], b"abc", b"bca", b"caab", b"zzz", "cő".as_bytes()].iter().map(|word| word.to_vec()).collect();
        let made = keywords.iter().map(|word| Keyword { word: word.clone(), least: 0 }).collect();
        let search = Search::new(made).expect("few keywords make an automaton");
        let mut seed = 3u64;
        for size in [0, 5, 2047, 2048, 2051, 9999] {
            let text: Vec<u8> = (0..size)
                .map(|_| {
                    seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    b"abcABCz\xc5\x91"[(seed >> 33) as usize % 9]
                })
                .collect();
            let mut slow = Vec::new();
            for end in 1..=text.len() {
                for (keyword, word) in keywords.iter().enumerate() {
                    if text[..end].to_ascii_lowercase().ends_with(word) {
                        slow.push((keyword, end));
                    }
                }
            }
            let mut fast: Vec<(usize, usize)> = search.hits(&text).iter().map(|hit| (hit.keyword, hit.end)).collect();
            assert!(fast.is_sorted_by_key(|hit| hit.1));
            fast.sort_by_key(|hit| (hit.1, hit.0));
            assert_eq!(fast, slow, "{size}");
        }
    }
}
