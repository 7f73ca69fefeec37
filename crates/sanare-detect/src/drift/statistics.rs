//! The statistics that drift is judged by. Each function names its formula's source; its test names the reference values'.

/// The largest difference of the cumulated shares of two counts over the same bins: the two-sample statistic of
/// Kolmogorov and Smirnov, seen at the bins' ends. Nothing where a side is empty.
pub fn ks_distance(left: &[u64], right: &[u64]) -> Option<f64> {
    let (lefts, rights) = (total(left), total(right));
    if lefts == 0 || rights == 0 || left.len() != right.len() {
        return None;
    }
    let (mut below_left, mut below_right, mut distance) = (0, 0, 0.0_f64);
    for (in_left, in_right) in left.iter().zip(right) {
        below_left += in_left;
        below_right += in_right;
        let apart = below_left as f64 / lefts as f64 - below_right as f64 / rights as f64;
        distance = distance.max(apart.abs());
    }
    Some(distance)
}

/// How probable a distance at least so large is between two samples of one distribution: Kolmogorov's limit
/// 2 Σ (−1)^(k−1) exp(−2 k² λ²) with λ = D √(nm/(n+m)) (Smirnov 1948). On bins and for small samples it is too large, never
/// too small.
pub fn ks_probability(distance: f64, lefts: u64, rights: u64) -> f64 {
    let (lefts, rights) = (lefts as f64, rights as f64);
    kolmogorov(distance * (lefts * rights / (lefts + rights)).sqrt())
}

fn kolmogorov(lambda: f64) -> f64 {
    if lambda < 0.2 {
        // The series converges slowly here; the value differs from 1 by less than 1e-12.
        return 1.0;
    }
    let mut sum = 0.0;
    let mut sign = 1.0;
    for step in 1..=100 {
        let term = (-2.0 * f64::from(step * step) * lambda * lambda).exp();
        sum += sign * term;
        sign = -sign;
        if term < 1e-18 {
            break;
        }
    }
    (2.0 * sum).clamp(0.0, 1.0)
}

/// The population stability index Σ (q − p) ln(q / p) over groups, shares under 0.0001 raised to that (Siddiqi 2006,
/// "Credit Risk Scorecards").
pub fn psi(reference: &[u64], current: &[u64]) -> Option<f64> {
    let (all, now) = (total(reference), total(current));
    if all == 0 || now == 0 || reference.len() != current.len() {
        return None;
    }
    let share = |count: u64, of: u64| (count as f64 / of as f64).max(1e-4);
    let part = |(before, after): (&u64, &u64)| {
        let (before, after) = (share(*before, all), share(*after, now));
        (after - before) * (after / before).ln()
    };
    Some(reference.iter().zip(current).map(part).sum())
}

/// The total variation distance: half the sum of the differences of shares.
pub fn variation(left: &[u64], right: &[u64]) -> Option<f64> {
    let (lefts, rights) = (total(left), total(right));
    if lefts == 0 || rights == 0 || left.len() != right.len() {
        return None;
    }
    let apart = |(a, b): (&u64, &u64)| (*a as f64 / lefts as f64 - *b as f64 / rights as f64).abs();
    Some(left.iter().zip(right).map(apart).sum::<f64>() / 2.0)
}

/// Pearson's chi-square of two rows of counts: the statistic, and how probable one at least so large is for one
/// distribution. Nothing with fewer than two cells.
pub fn chi_square(left: &[u64], right: &[u64]) -> Option<(f64, f64)> {
    let (lefts, rights) = (total(left) as f64, total(right) as f64);
    if lefts == 0.0 || rights == 0.0 || left.len() != right.len() {
        return None;
    }
    let (mut statistic, mut cells) = (0.0, 0_u32);
    for (a, b) in left.iter().zip(right).filter(|(a, b)| **a + **b > 0) {
        let both = (*a + *b) as f64;
        for (seen, of) in [(*a as f64, lefts), (*b as f64, rights)] {
            let expected = both * of / (lefts + rights);
            statistic += (seen - expected).powi(2) / expected;
        }
        cells += 1;
    }
    (cells >= 2).then(|| (statistic, upper_gamma(f64::from(cells - 1) / 2.0, statistic / 2.0)))
}

/// Cells of two rows merged so that none is expected under 5 times on either side: the small ones together, and with the
/// smallest large one if that is still too small.
pub fn merge_small(left: &[u64], right: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let (lefts, rights) = (total(left) as f64, total(right) as f64);
    let lesser = lefts.min(rights) / (lefts + rights).max(1.0);
    let small = |a: u64, b: u64| ((a + b) as f64) * lesser < 5.0;
    let mut cells: Vec<(u64, u64)> = Vec::new();
    let mut rest = (0, 0);
    for (a, b) in left.iter().zip(right) {
        if small(*a, *b) {
            rest = (rest.0 + a, rest.1 + b);
        } else {
            cells.push((*a, *b));
        }
    }
    if rest != (0, 0) {
        let least = cells.iter_mut().min_by_key(|(a, b)| a + b);
        match least {
            Some(cell) if small(rest.0, rest.1) => *cell = (cell.0 + rest.0, cell.1 + rest.1),
            _ => cells.push(rest),
        }
    }
    cells.into_iter().unzip()
}

/// Which of these probabilities are discoveries at the rate `q`, by Benjamini and Hochberg (1995): with the largest rank k
/// of which p(k) ≤ k q / m, the k smallest.
pub fn discoveries(probabilities: &[f64], q: f64) -> Vec<bool> {
    let mut sorted = probabilities.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let limit = sorted.iter().enumerate().rev().find(|(rank, p)| **p <= (*rank as f64 + 1.0) * q / count);
    probabilities.iter().map(|p| limit.is_some_and(|(_, largest)| p <= largest)).collect()
}

/// The 95 % interval of a share by Wilson (1927).
pub fn wilson(share: f64, samples: u64) -> (f64, f64) {
    let (n, z) = (samples as f64, 1.959_963_984_540_054);
    let middle = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

/// The upper regularised incomplete gamma function Q(a, x): by its series below a + 1, else by Lentz's continued fraction
/// (Abramowitz and Stegun 6.5.29 and 6.5.31).
fn upper_gamma(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut at) = (1.0 / a, 1.0 / a, a);
        for _ in 0..10_000 {
            at += 1.0;
            term *= x / at;
            sum += term;
            if term.abs() < sum.abs() * 1e-16 {
                break;
            }
        }
        return (1.0 - front * sum).clamp(0.0, 1.0);
    }
    let tiny = 1e-300;
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1.0 / tiny, 1.0 / b);
    let mut fraction = d;
    for step in 1..10_000 {
        let step = f64::from(step);
        let numerator = -step * (step - a);
        b += 2.0;
        d = numerator * d + b;
        d = 1.0 / if d.abs() < tiny { tiny } else { d };
        c = b + numerator / c;
        if c.abs() < tiny {
            c = tiny;
        }
        fraction *= d * c;
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    (front * fraction).clamp(0.0, 1.0)
}

/// ln Γ(x) for x > 0: Stirling's series (Abramowitz and Stegun 6.1.41) after x is raised past 20 by the recurrence.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut below) = (x, 0.0);
    while x < 20.0 {
        below += x.ln();
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - below
}

fn total(counts: &[u64]) -> u64 {
    counts.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::{
        chi_square, discoveries, kolmogorov, ks_distance, ln_gamma, merge_small, psi, upper_gamma, variation, wilson,
    };

    fn near(found: f64, expected: f64, by: f64) {
        assert!((found - expected).abs() <= by, "{found} is not {expected}");
    }

    #[test]
    fn gamma_at_known_points() {
        near(ln_gamma(0.5), std::f64::consts::PI.sqrt().ln(), 1e-12);
        near(ln_gamma(5.0), 24.0_f64.ln(), 1e-12);
        near(ln_gamma(101.0), 363.739_375_555_563_5, 1e-9);
    }

    /// Upper 5 % and 1 % points of chi-square, as in every printed table (such as the NIST/SEMATECH handbook, 1.3.6.7.4).
    #[test]
    fn chi_square_points_of_the_printed_tables() {
        for (degrees, five, one) in [
            (1.0, 3.841, 6.635),
            (2.0, 5.991, 9.210),
            (5.0, 11.070, 15.086),
            (10.0, 18.307, 23.209),
            (30.0, 43.773, 50.892),
            (100.0, 124.342, 135.807),
        ] {
            near(upper_gamma(degrees / 2.0, five / 2.0), 0.05, 2e-5);
            near(upper_gamma(degrees / 2.0, one / 2.0), 0.01, 1e-5);
        }
        near(upper_gamma(1.0, 3.0), (-3.0_f64).exp(), 1e-15);
        near(upper_gamma(0.5, 0.0), 1.0, 0.0);
        // Two degrees of freedom have a closed form, far into the tail as well.
        near(upper_gamma(1.0, 200.0) / (-200.0_f64).exp(), 1.0, 1e-10);
    }

    /// Critical values of Kolmogorov's distribution: 1.22385, 1.35810 and 1.62762 for 10 %, 5 % and 1 % (Smirnov 1948).
    #[test]
    fn kolmogorov_points_of_the_printed_tables() {
        near(kolmogorov(1.223_85), 0.10, 1e-5);
        near(kolmogorov(1.358_10), 0.05, 1e-5);
        near(kolmogorov(1.627_62), 0.01, 1e-5);
        near(kolmogorov(0.1), 1.0, 0.0);
        near(kolmogorov(0.2), 1.0, 1e-9);
        assert!(kolmogorov(10.0) < 1e-80);
    }

    /// By hand: rows 10 20 30 and 20 20 20 give χ² = 16/3, and with two degrees of freedom p = exp(−8/3).
    #[test]
    fn a_contingency_table_by_hand() {
        let (statistic, probability) = chi_square(&[10, 20, 30], &[20, 20, 20]).expect("cells");
        near(statistic, 16.0 / 3.0, 1e-12);
        near(probability, (-8.0_f64 / 3.0).exp(), 1e-12);
        assert_eq!(chi_square(&[10], &[20]), None, "one cell says nothing");
        assert_eq!(chi_square(&[10, 0], &[20, 0]), None);
        assert_eq!(chi_square(&[0, 0], &[20, 1]), None);
    }

    #[test]
    fn distances_by_hand() {
        near(ks_distance(&[5, 5, 0], &[0, 5, 5]).expect("a distance"), 0.5, 1e-12);
        near(variation(&[5, 5, 0], &[0, 5, 5]).expect("a distance"), 0.5, 1e-12);
        near(psi(&[50, 50], &[25, 75]).expect("an index"), 0.25 * 3.0_f64.ln(), 1e-12);
        near(psi(&[50, 50], &[100, 0]).expect("an index"), 0.5 * 2.0_f64.ln() + 0.4999 * 5_000.0_f64.ln(), 1e-9);
        assert_eq!(ks_distance(&[], &[]), None);
        assert_eq!(psi(&[0, 0], &[1, 1]), None);
    }

    /// The example of Benjamini and Hochberg (1995), section 3.2: of 15 probabilities the four smallest at q = 0.05.
    #[test]
    fn the_example_of_benjamini_and_hochberg() {
        let probabilities = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
            0.7590, 1.0,
        ];
        let found = discoveries(&probabilities, 0.05);
        assert_eq!(found.iter().filter(|is| **is).count(), 4);
        assert!(found[..4].iter().all(|is| *is));
        assert_eq!(discoveries(&[], 0.05), Vec::<bool>::new());
    }

    #[test]
    fn small_cells_are_merged() {
        assert_eq!(merge_small(&[100, 3, 2, 50], &[90, 2, 4, 60]), (vec![100, 50, 5], vec![90, 60, 6]));
        assert_eq!(merge_small(&[100, 1, 50], &[90, 0, 60]), (vec![100, 51], vec![90, 60]));
        assert_eq!(merge_small(&[1, 1], &[1, 1]), (vec![2], vec![2]));
    }

    /// Wilson's interval for 8 of 10: 0.4902 to 0.9433 (Brown, Cai and DasGupta 2001 use the same formula).
    #[test]
    fn wilson_by_hand() {
        let (low, high) = wilson(0.8, 10);
        near(low, 0.490_162, 1e-5);
        near(high, 0.943_318, 1e-5);
        near(wilson(0.0, 100).0, 0.0, 1e-15);
        near(wilson(1.0, 100).1, 1.0, 1e-15);
    }
}
