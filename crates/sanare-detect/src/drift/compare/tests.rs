//! Drift is found where it is, and nothing is found where none is.

use std::collections::BTreeMap;

use sanare_core::service::Profile;
use sanare_core::service::profile::{Column, Role, Sketch};

use super::{ColumnDrift, compare};
use crate::drift::reference::{Cell, Cells, Named, learn, sketch};

const KEY: &[u8] = b"k";

/// The generator SplitMix64 (Steele, Lea and Flood 2014), so that every trial is the same on every machine.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Normal by Box and Muller (1958).
    fn normal(&mut self) -> f64 {
        let (a, b) = (1.0 - self.share(), self.share());
        (-2.0 * a.ln()).sqrt() * (2.0 * std::f64::consts::PI * b).cos()
    }
}

fn named() -> Named {
    Named { name: "r".to_owned(), version: 1, model_version: None }
}

fn column(name: &str, cells: Vec<Cell>) -> Cells {
    Cells { name: name.to_owned(), role: Role::Feature, cells }
}

fn normals(name: &str, dice: &mut Dice, rows: usize, shift: f64) -> Cells {
    column(name, (0..rows).map(|_| Cell::Number(dice.normal() + shift)).collect())
}

fn words(name: &str, dice: &mut Dice, rows: usize, kinds: u64) -> Cells {
    column(name, (0..rows).map(|_| Cell::Word((dice.next() % kinds).to_string())).collect())
}

fn found(before: &Cells, after: Cells) -> ColumnDrift {
    let reference = learn(&named(), KEY, std::slice::from_ref(before)).expect("a reference");
    let current = sketch(&reference, KEY, &[after]).expect("a profile");
    compare(&reference, &current).expect("comparable").remove(0)
}

#[test]
fn real_drift_is_found() {
    let dice = &mut Dice(1);
    let before = normals("x", dice, 1_000, 0.0);
    assert!(found(&before, normals("x", dice, 1_000, 0.6)).drifted);
    assert!(!found(&before, normals("x", dice, 1_000, 0.0)).drifted);
    let spread = column("x", (0..1_000).map(|_| Cell::Number(dice.normal() * 2.0)).collect());
    assert!(found(&before, spread).drifted, "a change of spread");
    let before = words("w", dice, 1_000, 5);
    assert!(found(&before, words("w", dice, 1_000, 3)).drifted);
    assert!(!found(&before, words("w", dice, 1_000, 5)).drifted);
}

#[test]
fn the_harmless_opens_nothing() {
    let dice = &mut Dice(2);
    let before = normals("x", dice, 1_000, 0.0);
    let eight = found(&before, normals("x", dice, 8, 9.0));
    assert_eq!((eight.measured, eight.drifted), (None, false), "8 rows");
    let few = found(&before, normals("x", dice, 199, 9.0));
    assert_eq!((few.measured, few.drifted), (None, false));
    let nulls = found(&before, column("x", vec![Cell::Null; 1_000]));
    assert_eq!((nulls.measured, nulls.drifted), (None, false), "all null is no drift, but a missing feature");
    let one = column("w", vec![Cell::Word("a".to_owned()); 1_000]);
    assert_eq!(found(&one, one.clone()).measured, None, "one category");
    let constant = column("x", vec![Cell::Number(3.5); 1_000]);
    assert!(!found(&constant, constant.clone()).drifted);
}

#[test]
fn ten_million_rows_shifted_by_little_are_significant_and_not_large() {
    let dice = &mut Dice(3);
    let reference = learn(&named(), KEY, &[normals("x", dice, 20_000, 0.0)]).expect("a reference");
    // Counts of 20,000 rows taken 500 times stand for ten million rows of the same distribution.
    let current = sketch(&reference, KEY, &[normals("x", dice, 20_000, 0.01)]).expect("a profile");
    let times = |profile: &Profile| {
        let mut json = serde_json::to_value(profile).expect("json");
        json["rows"] = (profile.rows * 500).into();
        if let Sketch::Numbers { counts, .. } = &profile.columns[0].sketch {
            let counts: Vec<u64> = counts.iter().map(|count| count * 500).collect();
            json["columns"][0]["sketch"]["numbers"]["counts"] = counts.into();
        }
        serde_json::from_value::<Profile>(json).expect("a profile")
    };
    let found = compare(&times(&reference), &times(&current)).expect("comparable").remove(0);
    let measured = found.measured.expect("measured");
    assert!(measured.probability < 1e-6 && measured.distance < 0.05 && !found.drifted, "{measured:?}");
}

/// A thousand trials of 200 columns without drift, numbers and words, 250 rows on either side: that any column is named
/// may happen in at most 5 %, give or take 1.5, of them. Counted twice: significant alone, and as drifted.
#[test]
fn false_discoveries_stay_within_their_rate() {
    let dice = &mut Dice(20_261_130);
    let (mut significant, mut named_any) = (0, 0);
    for _ in 0..1_000 {
        let trial = trial(dice);
        let probabilities: Vec<f64> =
            trial.iter().filter_map(|column| column.measured).map(|it| it.probability).collect();
        assert_eq!(probabilities.len(), 200);
        significant += u32::from(super::discoveries(&probabilities, super::RATE).contains(&true));
        named_any += u32::from(trial.iter().any(|column| column.drifted));
    }
    println!("significant in {significant} of 1,000 trials, named in {named_any}");
    assert!(significant <= 65, "{significant}");
    assert!(named_any <= 65, "{named_any}");
    assert!(significant >= 5, "{significant}: a test that never finds anything tests nothing");
}

fn trial(dice: &mut Dice) -> Vec<ColumnDrift> {
    const ROWS: usize = 250;
    let numbers = |dice: &mut Dice| -> Vec<Cells> {
        let cells = |dice: &mut Dice| (0..ROWS).map(|_| Cell::Number(dice.share())).collect();
        (0..100).map(|number| column(&format!("n{number:03}"), cells(dice))).collect()
    };
    // Words are counted here, because hashing fifty million of them shows nothing.
    let with_words = |profile: &Profile, dice: &mut Dice| {
        let mut written = (**profile).clone();
        for number in 0..100 {
            let mut counted = [0_u64; 8];
            for _ in 0..ROWS {
                counted[(dice.next() % 8) as usize] += 1;
            }
            let named = counted.iter().enumerate().map(|(word, count)| (format!("{word:016}"), *count));
            let sketch = Sketch::Words { counts: named.collect::<BTreeMap<_, _>>(), others: 0 };
            written.columns.push(Column { name: format!("w{number:03}"), sketch, ..written.columns[0].clone() });
        }
        Profile::new(written).expect("a profile")
    };
    let reference = learn(&named(), KEY, &numbers(dice)).expect("a reference");
    let current = sketch(&reference, KEY, &numbers(dice)).expect("a profile");
    compare(&with_words(&reference, dice), &with_words(&current, dice)).expect("comparable")
}
