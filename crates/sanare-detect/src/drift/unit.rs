//! A change of unit: the same numbers, all times ten, a hundred or a thousand, or degrees of the other scale (S45).

use std::collections::BTreeMap;

/// Classes an octave.
const FINE: f64 = 4.0;
/// Classes reach from 2^-32 to 2^32.
const END: i16 = 128;
/// How far apart logarithms of quantiles may lie: one class.
const NEAR: f64 = 1.0 / FINE;
/// The quantiles that have to agree.
const QUANTILES: [f64; 5] = [0.1, 0.25, 0.5, 0.75, 0.9];

/// What a unit became.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UnitChange {
    /// Each number is so many times what it was.
    Times(f64),
    /// Degrees Celsius became Fahrenheit.
    ToFahrenheit,
    /// Degrees Fahrenheit became Celsius.
    ToCelsius,
}

const CHANGES: [UnitChange; 8] = [
    UnitChange::Times(10.0),
    UnitChange::Times(100.0),
    UnitChange::Times(1_000.0),
    UnitChange::Times(0.1),
    UnitChange::Times(0.01),
    UnitChange::Times(0.001),
    UnitChange::ToFahrenheit,
    UnitChange::ToCelsius,
];

/// The class of a positive number by its logarithm; none for others.
pub fn magnitude(number: f64) -> Option<i16> {
    let class = (number.log2() * FINE).floor();
    (number > 0.0 && class.is_finite()).then(|| class.clamp(f64::from(-END), f64::from(END)) as i16)
}

/// The one change of unit that turns the reference's magnitudes into the current ones; none where the numbers fit as they
/// are, or where two changes would.
pub fn changed(reference: &BTreeMap<i16, u64>, current: &BTreeMap<i16, u64>) -> Option<UnitChange> {
    let before = QUANTILES.map(|share| quantile(reference, share));
    let after = QUANTILES.map(|share| quantile(current, share));
    let fits = |change: Option<UnitChange>| {
        before.iter().zip(&after).all(|(before, after)| match (before, after) {
            (Some(before), Some(after)) => {
                let expected = change.map_or(before.exp2(), |change| change.of(before.exp2()));
                (expected.log2() - after).abs() <= NEAR
            }
            _ => false,
        })
    };
    if fits(None) {
        return None;
    }
    let mut fitting = CHANGES.into_iter().filter(|change| fits(Some(*change)));
    let first = fitting.next()?;
    fitting.next().is_none().then_some(first)
}

impl std::fmt::Display for UnitChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Times(factor) => write!(f, "times {factor}"),
            Self::ToFahrenheit => f.write_str("Celsius to Fahrenheit"),
            Self::ToCelsius => f.write_str("Fahrenheit to Celsius"),
        }
    }
}

impl UnitChange {
    fn of(self, number: f64) -> f64 {
        match self {
            Self::Times(factor) => number * factor,
            Self::ToFahrenheit => number * 1.8 + 32.0,
            Self::ToCelsius => (number - 32.0) / 1.8,
        }
    }
}

/// The logarithm to base 2 below which a share of the numbers lies, by even spread within a class.
fn quantile(magnitudes: &BTreeMap<i16, u64>, share: f64) -> Option<f64> {
    let all: u64 = magnitudes.values().sum();
    let wanted = share * all as f64;
    let mut below = 0.0;
    for (class, count) in magnitudes {
        let here = *count as f64;
        if here > 0.0 && below + here >= wanted {
            return Some((f64::from(*class) + (wanted - below) / here) / FINE);
        }
        below += here;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{UnitChange, changed, magnitude};

    fn magnitudes(values: impl Iterator<Item = f64>) -> BTreeMap<i16, u64> {
        let mut counts = BTreeMap::new();
        for value in values {
            if let Some(class) = magnitude(value) {
                *counts.entry(class).or_default() += 1;
            }
        }
        counts
    }

    fn check(values: &[f64], change: impl Fn(f64) -> f64) -> Option<UnitChange> {
        changed(&magnitudes(values.iter().copied()), &magnitudes(values.iter().map(|value| change(*value))))
    }

    #[test]
    fn consistent_factors_are_named() {
        let heights: Vec<f64> = (0..1_000).map(|place| 1.5 + f64::from(place) * 0.000_5).collect();
        assert_eq!(check(&heights, |metres| metres * 100.0), Some(UnitChange::Times(100.0)));
        assert_eq!(check(&heights, |metres| metres * 1_000.0), Some(UnitChange::Times(1_000.0)));
        assert_eq!(check(&heights, |metres| metres * 0.01), Some(UnitChange::Times(0.01)));
        assert_eq!(check(&heights, |metres| metres * 3.280_84), None, "feet are no factor of the list");
        assert_eq!(check(&heights, |metres| metres * 1.05), None);
        let wide: Vec<f64> = (1..1_000).map(|place| f64::from(place).powi(2)).collect();
        assert_eq!(check(&wide, |money| money * 10.0), Some(UnitChange::Times(10.0)));
        assert_eq!(check(&wide, |money| 1_000_000.0 - money), None);
    }

    #[test]
    fn degrees_are_named() {
        let degrees: Vec<f64> = (0..1_000).map(|place| 12.0 + f64::from(place) * 0.02).collect();
        assert_eq!(check(&degrees, |celsius| celsius * 1.8 + 32.0), Some(UnitChange::ToFahrenheit));
        let other: Vec<f64> = degrees.iter().map(|celsius| celsius * 1.8 + 32.0).collect();
        assert_eq!(check(&other, |fahrenheit| (fahrenheit - 32.0) / 1.8), Some(UnitChange::ToCelsius));
    }

    #[test]
    fn nothing_is_named_of_nothing() {
        assert_eq!(changed(&BTreeMap::new(), &BTreeMap::new()), None);
        assert_eq!(check(&[1.0, 2.0], |_| f64::NAN), None);
        assert_eq!((magnitude(0.0), magnitude(-1.0), magnitude(f64::NAN)), (None, None, None));
        assert_eq!((magnitude(1e-300), magnitude(f64::MAX)), (Some(-128), Some(128)));
    }
}
