//! Echoes: values that are known, wherever they stand in a text.
//!
//! The search of Wu and Manber (A fast algorithm for multi-pattern searching, TR 94-17, University of Arizona, 1994): a
//! window as long as the shortest value moves over the text; the three bytes at its end say how far it may go on at
//! least. As values are long, most bytes of a text are never looked at.

use aho_corasick::{AhoCorasick, MatchKind};

/// How many bytes say how far the window goes on.
const BLOCK: usize = 3;

/// Longest window: a longer one would hardly go on faster.
const WIDEST: usize = 32;

const NONE: u16 = u16::MAX;

/// A search for values.
pub(super) struct Echoes<'v> {
    values: Vec<&'v [u8]>,
    window: usize,
    /// How far the hash of a block is shifted to be a place in the tables.
    down: u32,
    /// For each hash of a block how far the window may go on behind it.
    skips: Vec<u8>,
    /// For each hash the longest value whose window ends in such a block.
    first: Vec<u16>,
    /// For each value the next shorter one with the same hash.
    next: Vec<u16>,
}

/// A value in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Echo {
    pub start: usize,
    pub end: usize,
    /// The number of the value.
    pub value: usize,
}

impl<'v> Echoes<'v> {
    /// A search for these values, each of at least three bytes. `None` if there is none, or a shorter one, or too many.
    pub fn new(values: Vec<&'v [u8]>) -> Option<Self> {
        let shortest = values.iter().map(|value| value.len()).min()?;
        if shortest < BLOCK || values.len() >= usize::from(NONE) {
            return None;
        }
        let window = shortest.min(WIDEST);
        let blocks = values.len() * (window - BLOCK + 1);
        let size = (blocks * 8).next_power_of_two().clamp(256, 1 << 15);
        let mut search = Self {
            next: vec![NONE; values.len()],
            window,
            down: 32 - size.trailing_zeros(),
            skips: vec![(window - BLOCK + 1) as u8; size],
            first: vec![NONE; size],
            values,
        };
        search.fill();
        Some(search)
    }

    fn fill(&mut self) {
        let mut order: Vec<u16> = (0..self.values.len() as u16).collect();
        // The last one that is put in front of the others is found first.
        order.sort_by_key(|number| self.values[usize::from(*number)].len());
        for number in order {
            let head = &self.values[usize::from(number)][..self.window];
            for end in BLOCK..=self.window {
                let place = self.place(head, end);
                let skip = (self.window - end) as u8;
                self.skips[place] = self.skips[place].min(skip);
            }
            let place = self.place(head, self.window);
            self.next[usize::from(number)] = self.first[place];
            self.first[place] = number;
        }
    }

    /// The place in the tables for the block that ends at `end`.
    fn place(&self, text: &[u8], end: usize) -> usize {
        let block = &text[end - BLOCK..end];
        let block = u32::from(block[0]) | u32::from(block[1]) << 8 | u32::from(block[2]) << 16;
        (block.wrapping_mul(0x9E37_79B1) >> self.down) as usize
    }

    /// The values in a text, in order and without overlap: of those that begin at one place the longest that is accepted.
    pub fn find(&self, text: &[u8], accept: impl Fn(usize, usize) -> bool) -> Vec<Echo> {
        let mut found = Vec::new();
        // Text made to be slow, whose every place begins as many values do, runs out of it.
        let mut fuel = text.len() * 2 + (1 << 16);
        let mut end = self.window;
        'text: while end <= text.len() {
            let place = self.place(text, end);
            let skip = usize::from(self.skips[place]);
            if skip > 0 {
                end += skip;
                continue;
            }
            let start = end - self.window;
            let mut number = self.first[place];
            while let Some(value) = self.values.get(usize::from(number)) {
                let cost = 1 + value.len() / 16;
                if fuel < cost {
                    self.find_slowly(text, start, &mut found);
                    return found;
                }
                fuel -= cost;
                let behind = start + value.len();
                if text[start..].starts_with(value) && accept(start, behind) {
                    found.push(Echo { start, end: behind, value: usize::from(number) });
                    end = behind + self.window;
                    continue 'text;
                }
                number = self.next[usize::from(number)];
            }
            end += 1;
        }
        found
    }

    /// The same from a place on, by an automaton, for which no text is slow. All are accepted, to have no second look.
    fn find_slowly(&self, text: &[u8], from: usize, found: &mut Vec<Echo>) {
        let Ok(search) = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&self.values) else {
            // Nothing of what may hold a known value is believed.
            found.push(Echo { start: from, end: text.len(), value: 0 });
            return;
        };
        found.extend(search.find_iter(&text[from..]).map(|hit| Echo {
            start: from + hit.start(),
            end: from + hit.end(),
            value: hit.pattern().as_usize(),
        }));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used)]
    use super::*;

    fn slow(values: &[&[u8]], text: &[u8]) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let longest = values.iter().filter(|value| text[at..].starts_with(value)).map(|value| value.len()).max();
            if let Some(length) = longest {
                found.push((at, at + length));
            }
            at += longest.unwrap_or(1);
        }
        found
    }

    fn fast(search: &Echoes<'_>, text: &[u8]) -> Vec<(usize, usize)> {
        search.find(text, |_, _| true).iter().map(|echo| (echo.start, echo.end)).collect()
    }

    #[test]
    fn what_a_plain_search_finds() {
        let mut seed = 5u64;
        let mut below = move |most: usize| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as usize % most
        };
        for round in 0..400 {
            let letters = 1 + round % 4;
            let mut made = |length: usize| -> Vec<u8> { (0..length).map(|_| b"abcd"[below(letters)]).collect() };
            let values: Vec<Vec<u8>> = (0..1 + round % 7).map(|n| made(8 + (n * 5 + round) % 40)).collect();
            let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
            let mut text = made(round * 3);
            for value in &values {
                text.extend(made(round % 11));
                text.extend(*value);
            }
            let search = Echoes::new(values.clone()).expect("values are long");
            let found = search.find(&text, |_, _| true);
            assert!(found.iter().all(|echo| text[echo.start..echo.end] == *values[echo.value]));
            assert_eq!(fast(&search, &text), slow(&values, &text), "{round}");
        }
    }

    #[test]
    fn text_made_to_be_slow() {
        // Every place begins as each of these values does, and none of them is there but at the end.
        let values: Vec<Vec<u8>> = (0..300).map(|n| [vec![b'a'; 600 + n], b"!".to_vec()].concat()).collect();
        let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
        let text = [vec![b'a'; 100_000], b"!".to_vec()].concat();
        let search = Echoes::new(values.clone()).expect("values are long");
        assert_eq!(fast(&search, &text), [(100_001 - 900, 100_001)]);
    }

    #[test]
    fn a_shorter_value_counts_where_a_longer_one_does_not() {
        let search = Echoes::new(vec![b"galambok".as_slice(), b"galambok-9"]).expect("values are long");
        let found = search.find(b"xgalambok-9", |_, end| end < 11);
        assert_eq!(found, [Echo { start: 1, end: 9, value: 0 }]);
    }
}
