//! Whether day or month comes first: carried over from the old format, or shown by the order of the rows.

use super::written::{Piece, Survey, tokenize};

/// The order of the fields in a format and what stands between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldOrder {
    fields: Vec<char>,
    gaps: Vec<String>,
}

impl FieldOrder {
    /// The order of day, month and year in a `strptime` format; nothing if one of them is not there.
    pub fn of(format: &str) -> Option<Self> {
        let (mut fields, mut gaps, mut gap) = (Vec::new(), Vec::new(), String::new());
        let mut chars = format.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                gap.push(c);
                continue;
            }
            let mut directive = chars.next()?;
            if directive == '-' {
                directive = chars.next()?;
            }
            let field = match directive {
                'd' => 'd',
                'm' | 'b' | 'B' => 'm',
                'y' | 'Y' => 'y',
                _ => {
                    gap.clear();
                    continue;
                }
            };
            if !fields.is_empty() {
                gaps.push(std::mem::take(&mut gap));
            }
            gap.clear();
            fields.push(field);
            if fields.len() == 3 {
                break;
            }
        }
        (fields.len() == 3).then_some(Self { fields, gaps })
    }

    /// Whether this order is the old one, with the old separators.
    pub fn carries(&self, old: &Self) -> bool {
        self == old
    }
}

/// Whether the rows are in order of time under one reading only.
pub(super) struct OrderTest {
    settled: Option<String>,
}

/// So many different dates are needed before their order says anything.
const LEAST_DATES: usize = 8;

impl OrderTest {
    pub fn of(survey: &Survey, values: &[&str]) -> Self {
        let mut columns: Vec<Vec<(u32, u32, u32)>> = vec![Vec::new(); survey.candidates.len()];
        let (mut pieces, mut numbers) = (Vec::new(), Vec::new());
        let mut texts: Vec<&str> = Vec::new();
        for value in values {
            let text = value.trim();
            if !tokenize(text, &mut pieces, &mut numbers) {
                return Self { settled: None };
            }
            if texts.last() == Some(&text) {
                continue;
            }
            texts.push(text);
            let named =
                pieces.iter().find_map(|piece| if let Piece::Month(month, _) = piece { Some(*month) } else { None });
            for (column, candidate) in columns.iter_mut().zip(&survey.candidates) {
                column.push(candidate.fields(&numbers, named));
            }
        }
        // Rows sorted as text are in order under month first whatever is meant: their order says nothing.
        let as_text = in_order(&texts);
        let ordered: Vec<usize> = (0..columns.len()).filter(|at| in_order(&columns[*at])).collect();
        let settled = match ordered[..] {
            [only] if !as_text && distinct(&columns[only]) >= LEAST_DATES => {
                Some(survey.candidates[only].format.clone())
            }
            _ => None,
        };
        Self { settled }
    }

    /// The format under which alone the rows are in order.
    pub fn settled(&self) -> Option<&str> {
        self.settled.as_deref()
    }
}

fn in_order<T: Ord>(items: &[T]) -> bool {
    items.is_sorted() || items.iter().rev().is_sorted()
}

fn distinct<T: Ord + Clone>(items: &[T]) -> usize {
    let mut items = items.to_vec();
    items.sort();
    items.dedup();
    items.len()
}
