//! The one search over all keywords. It reads a text in four lanes at once, which keeps the processor busy.

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, BuildError, MatchKind, StartKind};

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

/// A search for keywords in any case.
pub(super) struct Search {
    automaton: DFA,
    start: StateID,
    longest: usize,
}

/// Texts shorter than this are read in one lane.
const SHORT: usize = 2048;

impl Search {
    /// A search for these keywords, which are numbered in their order.
    pub fn new(keywords: &[Vec<u8>]) -> Result<Self, BuildError> {
        let automaton = DFA::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .start_kind(StartKind::Unanchored)
            .build(keywords)?;
        let start = automaton.start_state(Anchored::No).unwrap_or_default();
        let longest = keywords.iter().map(Vec::len).max().unwrap_or(0);
        Ok(Self { automaton, start, longest })
    }

    /// All occurrences, overlapping ones too, in the order of their ends.
    pub fn hits(&self, text: &[u8]) -> Vec<Hit> {
        let mut hits = Vec::new();
        if text.len() < SHORT.max(self.longest * 8) {
            self.one(text, 0, 0, self.start, &mut hits);
            return hits;
        }
        let quarter = text.len() / 4;
        let before = self.longest;
        // Each lane but the first begins early enough to see keywords that reach into it.
        let mut states = [self.start; 4];
        for (lane, state) in states.iter_mut().enumerate().skip(1) {
            for byte in &text[lane * quarter - before..lane * quarter] {
                *state = self.automaton.next_state(Anchored::No, *state, *byte);
            }
        }
        let mut lanes: [Vec<Hit>; 4] = Default::default();
        let (a, rest) = text.split_at(quarter);
        let (b, rest) = rest.split_at(quarter);
        let (c, d) = rest.split_at(quarter);
        let [mut s0, mut s1, mut s2, mut s3] = states;
        let automaton = &self.automaton;
        for (at, (((b0, b1), b2), b3)) in a.iter().zip(b).zip(c).zip(d).enumerate() {
            s0 = automaton.next_state(Anchored::No, s0, *b0);
            s1 = automaton.next_state(Anchored::No, s1, *b1);
            s2 = automaton.next_state(Anchored::No, s2, *b2);
            s3 = automaton.next_state(Anchored::No, s3, *b3);
            if automaton.is_special(s0) {
                self.push(s0, at + 1, &mut lanes[0]);
            }
            if automaton.is_special(s1) {
                self.push(s1, quarter + at + 1, &mut lanes[1]);
            }
            if automaton.is_special(s2) {
                self.push(s2, quarter * 2 + at + 1, &mut lanes[2]);
            }
            if automaton.is_special(s3) {
                self.push(s3, quarter * 3 + at + 1, &mut lanes[3]);
            }
        }
        for lane in lanes {
            hits.extend(lane);
        }
        self.one(&d[quarter..], quarter * 4, 0, s3, &mut hits);
        hits
    }

    fn one(&self, text: &[u8], offset: usize, from: usize, mut state: StateID, hits: &mut Vec<Hit>) {
        for (at, byte) in text.iter().enumerate().skip(from) {
            state = self.automaton.next_state(Anchored::No, state, *byte);
            if self.automaton.is_special(state) {
                self.push(state, offset + at + 1, hits);
            }
        }
    }

    #[cold]
    fn push(&self, state: StateID, end: usize, hits: &mut Vec<Hit>) {
        if !self.automaton.is_match(state) {
            return;
        }
        for index in 0..self.automaton.match_len(state) {
            let keyword = self.automaton.match_pattern(state, index);
            let start = end - self.automaton.pattern_len(keyword);
            hits.push(Hit { keyword: keyword.as_usize(), start, end });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_find_what_one_lane_finds() {
        let keywords: Vec<Vec<u8>> =
            [&b"ab"[..], b"abc", b"bca", b"caab", b"zzz"].iter().map(|word| word.to_vec()).collect();
        let Ok(search) = Search::new(&keywords) else { panic!("the keywords make no automaton") };
        let mut seed = 3u64;
        for size in [0, 5, 2047, 2048, 2051, 9999] {
            let text: Vec<u8> = (0..size)
                .map(|_| {
                    seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    b"abcABCz"[(seed >> 33) as usize % 7]
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
