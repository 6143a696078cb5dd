//! One statement before its guardrails: what it is warned of so far.

use super::feature::Feature;
use super::limit::{Exceeded, Limit};
use super::setting::{GuardrailSetting, Guardrails, THRESHOLD_NONE};
use super::values::{ValueSet, Values};
use crate::CqlError;
use std::fmt::Display;

/// A statement is warned of so many things at most.
const WARNINGS_MAX: usize = 16;

/// What a statement does that a guardrail is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The setting that says so.
    pub setting: GuardrailSetting,
    /// For the client.
    pub message: String,
}

impl Violation {
    fn new(setting: GuardrailSetting, guardrail: &str, message: &str, reason: Option<&str>) -> Self {
        let reason = reason.map(|reason| format!(". {reason}")).unwrap_or_default();
        Self { setting, message: format!("Guardrail {guardrail} violated: {message}{reason}") }
    }
}

impl From<Violation> for CqlError {
    fn from(violation: Violation) -> Self {
        Self::Invalid(violation.message)
    }
}

/// See the file's head.
pub(super) struct Guard<'g> {
    guardrails: &'g Guardrails,
    pub(super) warnings: Vec<Violation>,
}

impl<'g> Guard<'g> {
    pub(super) fn new(guardrails: &'g Guardrails) -> Self {
        Self { guardrails, warnings: Vec::new() }
    }

    fn thresholds(&self, limit: Limit) -> [u64; 2] {
        [GuardrailSetting::Warn(limit), GuardrailSetting::Fail(limit)].map(|setting| self.guardrails.get(setting))
    }

    /// The value from which on a limit says something.
    pub(super) fn least(&self, limit: Limit) -> u64 {
        let [warn, fail] = self.thresholds(limit);
        warn.min(fail)
    }

    /// Whether a limit says something of any value.
    pub(super) fn measures(&self, limit: Limit) -> bool {
        self.least(limit) != THRESHOLD_NONE
    }

    /// Whether a value is refused.
    pub(super) fn refuses(&self, limit: Limit, value: u64) -> bool {
        value > self.guardrails.get(GuardrailSetting::Fail(limit))
    }

    /// Warns of a value, or refuses it.
    pub(super) fn limit(&mut self, limit: Limit, what: &dyn Display, value: u64) -> Result<(), Violation> {
        self.judge(limit, value, |exceeded, threshold| limit.message(exceeded, what, value.into(), threshold.into()))
    }

    /// Warns of a timestamp that is too far from now, or refuses it.
    pub(super) fn timestamp(&mut self, limit: Limit, table: &str, timestamp: i64, now_us: i64) -> Result<(), Violation> {
        let (now, timestamp) = (i128::from(now_us), i128::from(timestamp));
        let direction = if limit == Limit::MinimumTimestamp { -1 } else { 1 };
        let distance = u64::try_from((timestamp - now) * direction).unwrap_or(0);
        self.judge(limit, distance, |exceeded, threshold| {
            limit.message(exceeded, &table, timestamp, now + direction * i128::from(threshold))
        })
    }

    fn judge(&mut self, limit: Limit, value: u64, message: impl Fn(Exceeded, u64) -> String) -> Result<(), Violation> {
        let [warn, fail] = self.thresholds(limit);
        let is_beyond = |threshold| threshold != THRESHOLD_NONE && limit.is_exceeded(value, threshold);
        if is_beyond(fail) {
            let message = message(Exceeded::Failure, fail);
            return Err(Violation::new(GuardrailSetting::Fail(limit), limit.name(), &message, limit.reason()));
        }
        if is_beyond(warn) {
            let message = message(Exceeded::Warning, warn);
            self.warn(Violation::new(GuardrailSetting::Warn(limit), limit.name(), &message, limit.reason()));
        }
        Ok(())
    }

    /// Warns of some of the values that are used, or refuses some.
    pub(super) fn values(&mut self, values: Values, used: ValueSet) -> Result<(), Violation> {
        let of = |setting| {
            let all = self.guardrails.get(setting);
            (used & all != 0).then(|| (values.shown(used & all), values.shown(all)))
        };
        let what = values.what();
        if let Some((given, all)) = of(GuardrailSetting::Disallowed(values)) {
            let message = format!("Provided values {given} are not allowed for {what} (disallowed values are: {all})");
            return Err(Violation::new(GuardrailSetting::Disallowed(values), values.name(), &message, None));
        }
        if let Some((given, all)) = of(GuardrailSetting::Warned(values)) {
            let message = format!("Provided values {given} are not recommended for {what} (warned values are: {all})");
            self.warn(Violation::new(GuardrailSetting::Warned(values), values.name(), &message, None));
        }
        Ok(())
    }

    /// Warns of properties that are ignored: those of `used` that are, if any.
    pub(super) fn ignored_properties(&mut self, used: ValueSet) -> ValueSet {
        let (values, all) = (Values::TableProperties, self.guardrails.get(GuardrailSetting::IgnoredProperties));
        let ignored = used & all;
        if ignored != 0 {
            let (given, what, all) = (values.shown(ignored), values.what(), values.shown(all));
            let message = format!("Ignoring provided values {given} as they are not supported for {what} (ignored values are: {all})");
            self.warn(Violation::new(GuardrailSetting::IgnoredProperties, values.name(), &message, None));
        }
        ignored
    }

    fn warn(&mut self, warning: Violation) {
        if self.warnings.len() < WARNINGS_MAX && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Refuses what is switched off, if it is used.
    pub(super) fn feature(&self, feature: Feature, is_used: bool) -> Result<(), Violation> {
        let (_, name) = feature.names();
        self.feature_as(name, feature, is_used)
    }

    /// As [`Guard::feature`], with words of its own for what is used.
    pub(super) fn feature_as(&self, name: &str, feature: Feature, is_used: bool) -> Result<(), Violation> {
        let setting = GuardrailSetting::Enabled(feature);
        if !is_used || self.guardrails.get(setting) != 0 {
            return Ok(());
        }
        let (guardrail, _) = feature.names();
        Err(Violation::new(setting, guardrail, &format!("{name} is not allowed"), feature.reason()))
    }
}
