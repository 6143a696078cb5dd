//! One statement before its guardrails: what it is warned of so far.

use super::kind::{Exceeded, Feature, Limit};
use super::setting::{GuardrailSetting, Guardrails, THRESHOLD_NONE};
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
        let [warn, fail] = self.thresholds(limit);
        if value > fail {
            let message = limit.message(Exceeded::Failure, what, value, fail);
            return Err(Violation::new(GuardrailSetting::Fail(limit), limit.name(), &message, None));
        }
        if value > warn && self.warnings.len() < WARNINGS_MAX {
            let message = limit.message(Exceeded::Warning, what, value, warn);
            let warning = Violation::new(GuardrailSetting::Warn(limit), limit.name(), &message, None);
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        Ok(())
    }

    /// Refuses what is switched off, if it is used.
    pub(super) fn feature(&self, feature: Feature, is_used: bool) -> Result<(), Violation> {
        let setting = GuardrailSetting::Enabled(feature);
        if !is_used || self.guardrails.get(setting) != 0 {
            return Ok(());
        }
        let (guardrail, name) = feature.names();
        Err(Violation::new(setting, guardrail, &format!("{name} is not allowed"), feature.reason()))
    }
}
