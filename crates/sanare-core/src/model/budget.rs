//! Budgets of calls, tokens and money in sliding windows, asked before each call with its largest possible cost (C76).

/// An hour and a day, in milliseconds.
pub const HOUR: u64 = 60 * 60 * 1_000;
/// A day, in milliseconds.
pub const DAY: u64 = 24 * HOUR;

/// What may be spent. 0 means never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Calls of one incident.
    pub calls_per_incident: u64,
    /// Calls in an hour.
    pub calls_per_hour: u64,
    /// Tokens of one incident, in plus out.
    pub tokens_per_incident: u64,
    /// Tokens in a day.
    pub tokens_per_day: u64,
    /// Money in a day, in millionths; `None` without a cap.
    pub money_per_day: Option<u64>,
}

/// What was spent so far, calls that are under way included with their largest possible cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Calls of this incident.
    pub incident_calls: u64,
    /// Tokens of this incident.
    pub incident_tokens: u64,
    /// Calls in the last hour.
    pub hour_calls: u64,
    /// Tokens in the last day.
    pub day_tokens: u64,
    /// Money in the last day.
    pub day_money: u64,
}

/// The largest possible cost of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Tokens, in plus out.
    pub tokens: u64,
    /// Millionths of the owner's currency.
    pub money: u64,
}

/// The first budget that this call would break, by the name of its key.
pub fn broken(limits: &Limits, spent: &Spent, cost: &Cost) -> Option<&'static str> {
    let checks = [
        (spent.incident_calls + 1 > limits.calls_per_incident, "heal.model.calls_per_incident"),
        (spent.hour_calls + 1 > limits.calls_per_hour, "heal.model.calls_per_hour"),
        (spent.incident_tokens + cost.tokens > limits.tokens_per_incident, "heal.model.tokens_per_incident"),
        (spent.day_tokens + cost.tokens > limits.tokens_per_day, "heal.model.tokens_per_day"),
        (limits.money_per_day.is_some_and(|most| spent.day_money + cost.money > most), "heal.model.money_per_day"),
    ];
    checks.into_iter().find(|(broken, _)| *broken).map(|(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::{Cost, Limits, Spent, broken};

    #[test]
    fn each_budget_holds_to_the_last_call_and_token() {
        let limits = Limits {
            calls_per_incident: 2,
            calls_per_hour: 3,
            tokens_per_incident: 100,
            tokens_per_day: 150,
            money_per_day: Some(10),
        };
        let cost = Cost { tokens: 50, money: 5 };
        let spent = Spent { incident_calls: 1, incident_tokens: 50, hour_calls: 2, day_tokens: 100, day_money: 5 };
        assert_eq!(broken(&limits, &spent, &cost), None);
        let over = |spent: Spent| broken(&limits, &spent, &cost).unwrap_or("none").rsplit('.').next().unwrap_or("");
        assert_eq!(over(Spent { incident_calls: 2, ..spent }), "calls_per_incident");
        assert_eq!(over(Spent { hour_calls: 3, ..spent }), "calls_per_hour");
        assert_eq!(over(Spent { incident_tokens: 51, ..spent }), "tokens_per_incident");
        assert_eq!(over(Spent { day_tokens: 101, ..spent }), "tokens_per_day");
        assert_eq!(over(Spent { day_money: 6, ..spent }), "money_per_day");
        assert_eq!(
            broken(&Limits { calls_per_hour: 0, ..limits }, &Spent::default(), &Cost::default()),
            Some("heal.model.calls_per_hour")
        );
    }
}
