//! The settings of guardrails, and the values of all of them.

use super::feature::Feature;
use super::limit::Limit;
use super::values::Values;

/// The value of a threshold that is none.
pub const THRESHOLD_NONE: u64 = u64::MAX;

/// A setting of a guardrail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardrailSetting {
    /// Beyond it clients are warned.
    Warn(Limit),
    /// Beyond it they are refused.
    Fail(Limit),
    /// Whether something may be used: 1 or 0.
    Enabled(Feature),
    /// The values that clients are warned of, a set.
    Warned(Values),
    /// Those that they are refused.
    Disallowed(Values),
    /// Properties of tables that are left out, with a warning.
    IgnoredProperties,
}

impl GuardrailSetting {
    /// How many there are.
    pub const COUNT: usize = Self::SWITCHES_END + 2 * Values::ALL.len() + 1;
    const SWITCHES_END: usize = 2 * Limit::ALL.len() + Feature::ALL.len();

    /// All, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        let thresholds = Limit::ALL.into_iter().flat_map(|limit| [Self::Warn(limit), Self::Fail(limit)]);
        let values = Values::ALL.into_iter().flat_map(|values| [Self::Warned(values), Self::Disallowed(values)]);
        thresholds.chain(Feature::ALL.into_iter().map(Self::Enabled)).chain(values).chain([Self::IgnoredProperties])
    }

    /// As configurations call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Warn(limit) => limit.warn_setting(),
            Self::Fail(limit) => limit.fail_setting(),
            Self::Enabled(feature) => feature.setting(),
            Self::Warned(values) => values.warned_setting(),
            Self::Disallowed(values) => values.disallowed_setting(),
            Self::IgnoredProperties => "table_properties_ignored",
        }
    }

    /// Its number, below [`GuardrailSetting::COUNT`].
    #[must_use]
    pub fn number(self) -> usize {
        match self {
            Self::Warn(limit) => 2 * limit as usize,
            Self::Fail(limit) => 2 * limit as usize + 1,
            Self::Enabled(feature) => 2 * Limit::ALL.len() + feature as usize,
            Self::Warned(values) => Self::SWITCHES_END + 2 * values as usize,
            Self::Disallowed(values) => Self::SWITCHES_END + 2 * values as usize + 1,
            Self::IgnoredProperties => Self::COUNT - 1,
        }
    }

    fn is_of_rows(self) -> bool {
        match self {
            Self::Warn(limit) | Self::Fail(limit) => limit.is_of_rows(),
            Self::Enabled(feature) => feature.is_of_rows(),
            Self::Warned(values) | Self::Disallowed(values) => values.is_of_rows(),
            Self::IgnoredProperties => false,
        }
    }

    /// The value with which it changes nothing.
    fn off(self) -> u64 {
        match self {
            Self::Warn(_) | Self::Fail(_) => THRESHOLD_NONE,
            Self::Enabled(_) => 1,
            Self::Warned(_) | Self::Disallowed(_) | Self::IgnoredProperties => 0,
        }
    }
}

/// The values of all settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guardrails {
    /// By number.
    values: [u64; GuardrailSetting::COUNT],
}

/// None holds, as in Cassandra.
impl Default for Guardrails {
    fn default() -> Self {
        let mut guardrails = Self { values: [THRESHOLD_NONE; GuardrailSetting::COUNT] };
        GuardrailSetting::all().for_each(|setting| guardrails.set(setting, setting.off()));
        guardrails
    }
}

impl Guardrails {
    /// With what `value` says of each.
    pub fn of(value: impl Fn(GuardrailSetting) -> u64) -> Self {
        let mut guardrails = Self::default();
        GuardrailSetting::all().for_each(|setting| guardrails.set(setting, value(setting)));
        guardrails
    }

    /// The value of a setting.
    #[must_use]
    pub fn get(&self, setting: GuardrailSetting) -> u64 {
        self.values[setting.number()]
    }

    /// Gives a setting a value.
    pub fn set(&mut self, setting: GuardrailSetting, value: u64) {
        self.values[setting.number()] = value;
    }

    /// Whether any is about statements on rows.
    #[must_use]
    pub fn guard_rows(&self) -> bool {
        GuardrailSetting::all().any(|setting| setting.is_of_rows() && self.get(setting) != setting.off())
    }

    /// Two settings of which the first must not be greater than the second, and is.
    #[must_use]
    pub fn contradictory(&self) -> Option<[GuardrailSetting; 2]> {
        let is_contradictory = |settings: &[GuardrailSetting; 2]| {
            let [first, second] = settings.map(|setting| self.get(setting));
            first != THRESHOLD_NONE && second != THRESHOLD_NONE && first > second
        };
        let pairs = Limit::ALL.into_iter().map(|limit| match limit.is_least() {
            true => [GuardrailSetting::Fail(limit), GuardrailSetting::Warn(limit)],
            false => [GuardrailSetting::Warn(limit), GuardrailSetting::Fail(limit)],
        });
        pairs.into_iter().find(is_contradictory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_has_a_number_and_a_name_of_its_own() {
        let numbers: Vec<usize> = GuardrailSetting::all().map(GuardrailSetting::number).collect();
        assert_eq!(numbers, (0..GuardrailSetting::COUNT).collect::<Vec<_>>());
        let names: std::collections::BTreeSet<_> = GuardrailSetting::all().map(GuardrailSetting::name).collect();
        assert_eq!(names.len(), GuardrailSetting::COUNT);
    }

    #[test]
    fn none_guards_rows_until_one_about_them_is_set() {
        let mut guardrails = Guardrails::default();
        guardrails.set(GuardrailSetting::Fail(Limit::Tables), 3);
        guardrails.set(GuardrailSetting::IgnoredProperties, 1);
        guardrails.set(GuardrailSetting::Disallowed(Values::TableProperties), 1);
        assert!(!guardrails.guard_rows());
        guardrails.set(GuardrailSetting::Enabled(Feature::GroupBy), 0);
        assert!(guardrails.guard_rows());
    }

    #[test]
    fn a_warning_beyond_the_refusal_is_a_contradiction() {
        let mut guardrails = Guardrails::default();
        guardrails.set(GuardrailSetting::Warn(Limit::PageSize), 10);
        assert_eq!(guardrails.contradictory(), None);
        guardrails.set(GuardrailSetting::Fail(Limit::PageSize), 10);
        assert_eq!(guardrails.contradictory(), None);
        guardrails.set(GuardrailSetting::Fail(Limit::PageSize), 9);
        let page_size = [GuardrailSetting::Warn(Limit::PageSize), GuardrailSetting::Fail(Limit::PageSize)];
        assert_eq!(guardrails.contradictory(), Some(page_size));
        guardrails.set(GuardrailSetting::Warn(Limit::PageSize), THRESHOLD_NONE);
        assert_eq!(guardrails.contradictory(), None);
        let least = [GuardrailSetting::Fail(Limit::MinimumReplicationFactor), GuardrailSetting::Warn(Limit::MinimumReplicationFactor)];
        guardrails.set(least[0], 2);
        assert_eq!(guardrails.contradictory(), None);
        guardrails.set(least[1], 1);
        assert_eq!(guardrails.contradictory(), Some(least), "of what must not be too little");
    }
}
