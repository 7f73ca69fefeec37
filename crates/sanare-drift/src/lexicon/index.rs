//! The index from joined terms to what they mean: built in one go, small, with one allocation for all texts.

use super::Sense;

/// Terms and their senses.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// The texts of all terms, one after the other.
    text: String,
    /// Where each term's text ends.
    ends: Vec<u32>,
    /// Hash table: number of the term plus one, or zero. Its length is a power of two.
    slots: Vec<u32>,
    /// Senses, those of one term together.
    senses: Vec<Sense>,
    /// Where each term's senses begin; one more at the end.
    starts: Vec<u32>,
    /// While building: number of the term and one of its senses.
    pairs: Vec<(u32, Sense)>,
}

impl Index {
    /// An empty index with room for so many terms.
    pub fn with_room(terms: usize) -> Self {
        Self {
            text: String::with_capacity(terms * 10),
            ends: Vec::with_capacity(terms),
            slots: vec![0; (terms * 2).next_power_of_two()],
            pairs: Vec::with_capacity(terms + terms / 4),
            ..Self::default()
        }
    }

    /// Adds a sense of a term. Senses are found after [`Self::close`] only.
    pub fn add(&mut self, key: &str, sense: Sense) {
        if self.ends.len() * 4 >= self.slots.len() * 3 {
            self.grow();
        }
        let slot = self.slot_of(key);
        if self.slots[slot] == 0 {
            self.text.push_str(key);
            self.ends.push(self.text.len() as u32);
            self.slots[slot] = self.ends.len() as u32;
        }
        self.pairs.push((self.slots[slot] - 1, sense));
    }

    /// Puts the senses of each term together: one for each entry, and the owner's alone where there is one.
    pub fn close(&mut self) {
        let pairs = std::mem::take(&mut self.pairs);
        let mut starts = vec![0_u32; self.ends.len() + 1];
        for (term, _) in &pairs {
            starts[*term as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut sorted = vec![Sense::default(); pairs.len()];
        for (term, sense) in pairs {
            sorted[next[term as usize] as usize] = sense;
            next[term as usize] += 1;
        }
        self.senses = Vec::with_capacity(sorted.len());
        self.starts = Vec::with_capacity(starts.len());
        for bounds in starts.windows(2) {
            let first = self.senses.len();
            self.starts.push(first as u32);
            let senses = &sorted[bounds[0] as usize..bounds[1] as usize];
            let by_owner = senses.iter().any(|sense| sense.owner);
            for sense in senses.iter().filter(|sense| sense.owner == by_owner) {
                match self.senses[first..].iter_mut().find(|other| other.entry == sense.entry) {
                    Some(other) => {
                        other.languages |= sense.languages;
                        other.marked |= sense.marked;
                    }
                    None => self.senses.push(*sense),
                }
            }
        }
        self.starts.push(self.senses.len() as u32);
    }

    /// What a term means; nothing for what is none.
    pub fn get(&self, key: &str) -> &[Sense] {
        if self.slots.is_empty() {
            return &[];
        }
        match self.slots[self.slot_of(key)] {
            0 => &[],
            number => self.senses_of(number as usize - 1),
        }
    }

    /// All terms with their senses, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[Sense])> {
        (0..self.ends.len()).map(|term| (self.text_of(term), self.senses_of(term)))
    }

    fn senses_of(&self, term: usize) -> &[Sense] {
        match (self.starts.get(term), self.starts.get(term + 1)) {
            (Some(from), Some(to)) => &self.senses[*from as usize..*to as usize],
            _ => &[],
        }
    }

    fn text_of(&self, term: usize) -> &str {
        let from = if term == 0 { 0 } else { self.ends[term - 1] as usize };
        &self.text[from..self.ends[term] as usize]
    }

    /// The slot that holds the term or would hold it.
    fn slot_of(&self, key: &str) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash(key) as usize & mask;
        loop {
            match self.slots[slot] {
                0 => return slot,
                number if self.text_of(number as usize - 1) == key => return slot,
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    fn grow(&mut self) {
        self.slots = vec![0; (self.slots.len() * 2).max(64)];
        for term in 0..self.ends.len() {
            let slot = self.slot_of(self.text_of(term));
            self.slots[slot] = term as u32 + 1;
        }
    }
}

/// A plain hash for short words. The words come from the lexicon itself, so nobody can choose them to collide.
fn hash(key: &str) -> u64 {
    let mut hash = key.len() as u64;
    for chunk in key.as_bytes().chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash.rotate_left(23) ^ u64::from_le_bytes(word)).wrapping_mul(0x517c_c1b7_2722_0a95);
        hash ^= hash >> 32;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::{Index, Sense};

    #[test]
    fn terms_are_found_again() {
        let mut index = Index::default();
        let sense = |entry: u16, owner: bool| Sense { entry, languages: 1, marked: false, owner };
        for number in 0..500_u16 {
            index.add(&format!("term{number}"), sense(number, false));
            index.add(&format!("term{}", number / 2), sense(number, false));
        }
        index.add("term7", sense(900, true));
        index.close();
        let entries = |key: &str| index.get(key).iter().map(|sense| sense.entry).collect::<Vec<_>>();
        assert_eq!(entries("term3"), [3, 6, 7]);
        assert_eq!(entries("term7"), [900]);
        assert_eq!(entries("term400"), [400]);
        assert_eq!(entries("term"), Vec::<u16>::new());
        assert_eq!(index.iter().count(), 500);
        assert!(Index::default().get("x").is_empty());
    }
}
