//! The one search over all keywords. It reads a text in four lanes at once, which keeps the processor busy, and in a
//! table that is small enough to stay near it.

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, MatchKind, StartKind};

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

/// Numbers of states.
#[derive(Default)]
struct Numbers(Vec<Option<std::num::NonZeroU32>>);

impl Numbers {
    fn get(&self, state: StateID) -> Option<u32> {
        self.0.get(state.as_usize()).copied().flatten().map(|number| number.get() - 1)
    }

    fn set(&mut self, state: StateID, number: u32) {
        if self.0.len() <= state.as_usize() {
            self.0.resize(state.as_usize() + 1, None);
        }
        self.0[state.as_usize()] = std::num::NonZeroU32::new(number + 1);
    }
}

/// Texts shorter than this are read in one lane.
const SHORT: usize = 2048;

impl Search {
    /// A search for these keywords, which are numbered in their order. `None` if they are too many.
    pub fn new(keywords: Vec<Keyword>) -> Option<Self> {
        let (classes, count) = classes(&keywords);
        let mapped: Vec<Vec<u8>> =
            keywords.iter().map(|keyword| keyword.word.iter().map(|c| classes[usize::from(*c)]).collect()).collect();
        let automaton =
            DFA::builder().match_kind(MatchKind::Standard).start_kind(StartKind::Unanchored).build(&mapped).ok()?;
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
        search.compact(&automaton, count)?;
        Some(search)
    }

    /// Copies the automaton into the table, its states that end a keyword last.
    fn compact(&mut self, automaton: &DFA, count: u8) -> Option<()> {
        let start = automaton.start_state(Anchored::No).ok()?;
        let mut states: Vec<StateID> = vec![start];
        // Where each state stands in the list, by its name: a plain table, since this runs before the first text is read.
        let mut known = Numbers::default();
        known.set(start, 0);
        let mut follows: Vec<u32> = Vec::new();
        let mut at = 0;
        while let Some(state) = states.get(at).copied() {
            for class in 0..count {
                let next = automaton.next_state(Anchored::No, state, class);
                let number = known.get(next).unwrap_or_else(|| {
                    let number = states.len() as u32;
                    known.set(next, number);
                    states.push(next);
                    number
                });
                follows.push(number);
            }
            at += 1;
        }
        let is_end: Vec<bool> = states.iter().map(|state| automaton.is_match(*state)).collect();
        let ends = is_end.iter().filter(|is_end| **is_end).count();
        let plain = states.len() - ends;
        let bit = u16::try_from(plain.next_power_of_two()).ok().filter(|bit| ends < usize::from(*bit))?;
        let (mut next_plain, mut next_end) = (0, bit);
        let numbers: Vec<u16> = is_end
            .iter()
            .map(|is_end| {
                let next = if *is_end { &mut next_end } else { &mut next_plain };
                *next += 1;
                *next - 1
            })
            .collect();
        self.ends = bit;
        self.table = vec![0; (usize::from(bit) + ends) << self.shift];
        for (row, number) in follows.chunks(usize::from(count)).zip(&numbers) {
            let begin = usize::from(*number) << self.shift;
            for (cell, next) in self.table[begin..].iter_mut().zip(row) {
                *cell = numbers[*next as usize];
            }
        }
        for (state, _) in states.iter().zip(&is_end).filter(|(_, is_end)| **is_end) {
            let words = (0..automaton.match_len(*state)).map(|i| automaton.match_pattern(*state, i).as_usize() as u16);
            self.matches.push(words.collect());
        }
        // The first state of the list is the start, and it ends nothing.
        (numbers.first() == Some(&0)).then_some(())
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
