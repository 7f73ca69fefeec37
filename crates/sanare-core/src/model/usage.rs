//! What asking cost: calls, time, tokens, money (C79).

use serde::{Deserialize, Serialize};

/// Usage of one call, of an incident, of a day.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Calls, failed ones too.
    pub calls: u64,
    /// Milliseconds spent on them.
    pub millis: u64,
    /// Tokens of the requests.
    pub tokens_in: u64,
    /// Tokens of the replies.
    pub tokens_out: u64,
    /// Whether a count is our estimate, since the provider reported none.
    pub estimated: bool,
    /// Millionths of the owner's currency, where prices are set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub money: Option<u64>,
}

/// Prices for a million tokens, in millionths of the owner's currency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prices {
    /// For tokens of requests.
    pub per_million_in: u64,
    /// For tokens of replies.
    pub per_million_out: u64,
}

impl Prices {
    /// What these tokens cost, rounded up; `None` where no price is set.
    pub fn money(self, tokens_in: u64, tokens_out: u64) -> Option<u64> {
        if self == Self::default() {
            return None;
        }
        let total = u128::from(tokens_in) * u128::from(self.per_million_in)
            + u128::from(tokens_out) * u128::from(self.per_million_out);
        Some(u64::try_from(total.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }
}

impl Usage {
    /// Adds another usage.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.millis += other.millis;
        self.tokens_in += other.tokens_in;
        self.tokens_out += other.tokens_out;
        self.estimated |= other.estimated;
        self.money = match (self.money, other.money) {
            (None, None) => None,
            (one, two) => Some(one.unwrap_or(0) + two.unwrap_or(0)),
        };
    }

    /// The one line for a log: `usage: 2 calls, 7.9 s, 5120 in, 860 out`.
    pub fn line(&self) -> String {
        let calls = if self.calls == 1 { "call" } else { "calls" };
        let tenths = self.millis.div_ceil(100);
        let mut line = format!(
            "usage: {} {calls}, {}.{} s, {} in, {} out",
            self.calls,
            tenths / 10,
            tenths % 10,
            self.tokens_in,
            self.tokens_out
        );
        if self.estimated {
            line.push_str(" (estimated)");
        }
        if let Some(money) = self.money {
            line.push_str(&format!(", cost {}.{:04}", money / 1_000_000, money % 1_000_000 / 100));
        }
        line
    }
}

/// About how many tokens a text is: a third of its bytes is more than any of the usual tokenisers makes of code.
pub fn estimate_tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(3)
}

#[cfg(test)]
mod tests {
    use super::{Prices, Usage};

    #[test]
    fn the_line_is_short_and_says_what_is_estimated() {
        let mut usage = Usage { calls: 1, millis: 4_000, tokens_in: 2_560, tokens_out: 430, ..Usage::default() };
        usage.add(&Usage { calls: 1, millis: 3_900, tokens_in: 2_560, tokens_out: 430, ..Usage::default() });
        assert_eq!(usage.line(), "usage: 2 calls, 7.9 s, 5120 in, 860 out");
        usage.estimated = true;
        usage.money = Prices { per_million_in: 3_000_000, per_million_out: 15_000_000 }.money(5_120, 860);
        assert_eq!(usage.line(), "usage: 2 calls, 7.9 s, 5120 in, 860 out (estimated), cost 0.0282");
        assert_eq!(Prices::default().money(5, 5), None);
    }
}
