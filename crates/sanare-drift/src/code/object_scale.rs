//! Whether numbers left the range that is remembered (V6): the only thing that a changed unit shows.

use crate::profile::Numbers;

/// What differs, or nothing. One power of ten is growth; two are another unit.
pub fn differs(old: &Numbers, new: &Numbers) -> Option<String> {
    if new.negative && !old.negative && old.positive {
        return Some("V6 values are newly negative".into());
    }
    let ((old_low, old_middle, old_high), (low, middle, high)) = (old.powers?, new.powers?);
    if low > old_high + 1 || high < old_low - 1 || (middle - old_middle).abs() >= 2 {
        return Some(format!("V6 powers of ten {old_low} to {old_high} became {low} to {high}"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::differs;
    use crate::profile::Numbers;

    #[test]
    fn two_powers_are_another_unit() {
        let of = |powers, negative| Numbers { powers: Some(powers), negative, positive: true, ..Numbers::default() };
        assert_eq!(differs(&of((4, 4, 4), false), &of((5, 5, 5), false)), None);
        assert!(differs(&of((1, 1, 1), false), &of((3, 3, 3), false)).is_some());
        assert!(differs(&of((1, 1, 1), false), &of((1, 1, 1), true)).is_some());
    }
}
