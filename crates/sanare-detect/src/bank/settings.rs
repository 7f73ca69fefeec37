//! What a bank is told: rules, budgets, references, signs of life, and what is expected of signals.

use std::collections::{BTreeMap, BTreeSet};

use sanare_core::service::config::QualityForm;
use sanare_core::service::{Application, Invalid, Profile, Quality, Signal, Source};

use super::Spot;
use crate::budget::{Budget, Half};
use crate::drift::judge::DriftRule;
use crate::drift::schema::Schema;
use crate::health::Sign;
use crate::order::Order;
use crate::presence::Expect;
use crate::quality::{QualityRule, Spread};
use crate::threshold::Rule;

/// Everything that a bank is told. It decides alone with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Threshold rules, each of one application.
    pub rules: Vec<(Application, Rule)>,
    /// Error budgets.
    pub budgets: Vec<BudgetRule>,
    /// Bounds on qualities.
    pub qualities: Vec<QualityFor>,
    /// References of profiles.
    pub drifts: Vec<DriftFor>,
    /// What health signals are about; one that is not listed is what a service says of itself.
    pub signs: Vec<HealthSign>,
    /// Signals that are watched though no rule names them.
    pub watched: BTreeSet<(Application, Signal)>,
    /// When a signal is missed, where it is not as by default.
    pub expects: BTreeMap<Signal, Expect>,
    /// How far watermarks lag, by source where it is not 2 minutes.
    pub orders: BTreeMap<Source, Order>,
    /// Series in all (S35).
    pub most: usize,
    /// Series of one application.
    pub most_of_one: usize,
    /// Applications.
    pub most_applications: usize,
}

/// An error budget of an application.
#[derive(Clone, Debug, PartialEq)]
pub struct BudgetRule {
    /// Its name in the configuration.
    pub id: String,
    /// Whose it is.
    pub application: Application,
    /// The signal of failed requests.
    pub bad: Signal,
    /// The signal of all requests.
    pub all: Signal,
    /// The objective.
    pub budget: Budget,
}

/// A bound on a quality of an application.
#[derive(Clone, Debug, PartialEq)]
pub struct QualityFor {
    /// Its name in the configuration.
    pub id: String,
    /// Whose it is.
    pub application: Application,
    /// The quality's signal.
    pub signal: Signal,
    /// The bound.
    pub rule: QualityRule,
    /// How its interval is found, where the sender does not tell it.
    pub form: QualityForm,
}

impl QualityFor {
    /// How the interval of a reading is found: as its sender tells it, else as the owner wrote. What that needs and the
    /// reading lacks leaves it without an interval, and it decides nothing.
    pub(super) fn spread(&self, quality: &Quality) -> Spread {
        match (quality.half, self.form) {
            (Some(half), _) => Spread::Half(half),
            (None, QualityForm::Share) => Spread::Share,
            (None, QualityForm::Auc) => Spread::Auc { positives: quality.positives.unwrap_or(0) },
            (None, QualityForm::Mean) => Spread::Deviation(quality.deviation.unwrap_or(f64::NAN)),
        }
    }
}

/// A reference of an application's profiles.
#[derive(Clone, Debug, PartialEq)]
pub struct DriftFor {
    /// Whose it is.
    pub application: Application,
    /// The profiles' signal.
    pub signal: Signal,
    /// The reference.
    pub reference: Profile,
    /// What counts.
    pub rule: DriftRule,
    /// What is expected of columns, once a person has confirmed it.
    pub schema: Option<Schema>,
}

/// What a health signal is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthSign {
    /// Whose it is.
    pub application: Application,
    /// The signal.
    pub signal: Signal,
    /// What it is about.
    pub sign: Sign,
}

impl HealthSign {
    /// What the observations of a probe are about: whether it passes is a sign of this kind, and beside it who answered.
    ///
    /// # Errors
    /// [`Invalid`] for a name that is too long for a signal.
    pub fn of_probe(application: &Application, name: &str, sign: Sign) -> Result<Vec<Self>, Invalid> {
        let mut signs = Vec::new();
        for (suffix, sign) in [("", sign), ("/instance", Sign::Instance), ("/version", Sign::ServedVersion)] {
            let signal = Signal::parse(format!("probe/{name}{suffix}"))?;
            signs.push(Self { application: application.clone(), signal, sign });
        }
        Ok(signs)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            budgets: Vec::new(),
            qualities: Vec::new(),
            drifts: Vec::new(),
            signs: Vec::new(),
            watched: BTreeSet::new(),
            expects: BTreeMap::new(),
            orders: BTreeMap::new(),
            most: 50_000,
            most_of_one: 2_000,
            most_applications: 500,
        }
    }
}

impl Settings {
    pub(super) fn order_of(&self, source: &Source) -> Order {
        self.orders.get(source).copied().unwrap_or_default()
    }

    pub(super) fn expect_of(&self, signal: &Signal) -> Expect {
        self.expects.get(signal).copied().unwrap_or_default()
    }

    /// Whether an incident is opened when a signal stays away: it is named by a rule, a sign of life, or by its owner.
    pub(super) fn is_watched(&self, spot: &Spot) -> bool {
        let Spot { application, component, signal } = spot;
        let of = |named: &Application, wanted: &Signal| named == application && wanted == signal;
        let draft = |rule: &Rule| {
            rule.draft().signal == *signal && rule.draft().component.as_ref().is_none_or(|part| part == component)
        };
        self.watched.contains(&(application.clone(), signal.clone()))
            || self.rules.iter().any(|(named, rule)| named == application && draft(rule))
            || self.budgets.iter().any(|it| of(&it.application, &it.bad) || of(&it.application, &it.all))
            || self.signs.iter().any(|it| of(&it.application, &it.signal) && it.sign.is_regular())
    }

    pub(super) fn halves_of(&self, application: &Application, signal: &Signal) -> Vec<(usize, Half)> {
        let mut halves = Vec::new();
        for (place, rule) in self.budgets.iter().enumerate().filter(|(_, rule)| rule.application == *application) {
            halves.extend((rule.bad == *signal).then_some((place, Half::Bad)));
            halves.extend((rule.all == *signal).then_some((place, Half::All)));
        }
        halves
    }

    pub(super) fn sign_of(&self, application: &Application, signal: &Signal) -> Sign {
        let sign = self.signs.iter().find(|it| it.application == *application && it.signal == *signal);
        sign.map_or(Sign::Own, |it| it.sign)
    }
}
