//! Guardrails as they are set at the moment, and the log of what they have said.

use cql::guardrails::{GuardrailSetting, Guardrails, Limit, Violation};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// How often a node logs that a threshold or switch has been violated.
const LOGGED_EVERY_US: i64 = 60_000_000;

/// The same for all cores of a node. Without any about rows a statement looks at one flag.
#[derive(Debug)]
pub struct LiveGuardrails {
    values: [AtomicU64; GuardrailSetting::COUNT],
    guard_rows: AtomicBool,
    /// Operators change one after the other.
    changing: Mutex<()>,
    /// When each was last logged.
    logged_us: [AtomicI64; GuardrailSetting::COUNT],
}

impl Default for LiveGuardrails {
    fn default() -> Self {
        let values = std::array::from_fn(|_| AtomicU64::default());
        let logged_us = std::array::from_fn(|_| AtomicI64::new(i64::MIN / 2));
        let live = Self { values, guard_rows: AtomicBool::default(), changing: Mutex::default(), logged_us };
        live.set(&Guardrails::default());
        live
    }
}

impl LiveGuardrails {
    /// Whether statements about rows have to be looked at.
    #[inline]
    #[must_use]
    pub fn guard_rows(&self) -> bool {
        self.guard_rows.load(Ordering::Relaxed)
    }

    /// All, as they are set.
    #[must_use]
    pub fn get(&self) -> Guardrails {
        Guardrails::of(|setting| self.values[setting.number()].load(Ordering::Relaxed))
    }

    /// From which size on a partition is large.
    #[must_use]
    pub fn large_partition_bytes(&self) -> u64 {
        let settings = [GuardrailSetting::Warn(Limit::PartitionSize), GuardrailSetting::Fail(Limit::PartitionSize)];
        let [warn, fail] = settings.map(|setting| self.values[setting.number()].load(Ordering::Relaxed));
        warn.min(fail)
    }

    /// Changes them, if what comes of it is allowed.
    ///
    /// # Errors
    /// That of `change`.
    pub fn change<E>(&self, change: impl FnOnce(&mut Guardrails) -> Result<(), E>) -> Result<(), E> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut guardrails = self.get();
        change(&mut guardrails)?;
        self.set(&guardrails);
        Ok(())
    }

    /// They hold from now on.
    pub fn set(&self, guardrails: &Guardrails) {
        for setting in GuardrailSetting::all() {
            self.values[setting.number()].store(guardrails.get(setting), Ordering::Relaxed);
        }
        self.guard_rows.store(guardrails.guard_rows(), Ordering::Relaxed);
    }

    /// Logs violations, each of its kind once in a while.
    pub(crate) fn log<'v>(&self, now_us: i64, violations: impl IntoIterator<Item = &'v Violation>) {
        for violation in violations.into_iter().filter(|violation| self.is_due(violation.setting, now_us)) {
            match violation.setting {
                GuardrailSetting::Warn(_) | GuardrailSetting::Warned(_) | GuardrailSetting::IgnoredProperties => {
                    tracing::warn!(setting = violation.setting.name(), "{}", violation.message)
                }
                _ => tracing::error!(setting = violation.setting.name(), "{}", violation.message),
            }
        }
    }

    fn is_due(&self, setting: GuardrailSetting, now_us: i64) -> bool {
        let logged_us = &self.logged_us[setting.number()];
        let last_us = logged_us.load(Ordering::Relaxed);
        // A clock that was set back must not silence it.
        let is_due = now_us.abs_diff(last_us) >= LOGGED_EVERY_US.unsigned_abs();
        is_due && logged_us.compare_exchange(last_us, now_us, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cql::guardrails::Feature;

    #[test]
    fn what_is_set_holds_and_says_whether_rows_are_guarded() {
        let live = LiveGuardrails::default();
        assert_eq!((live.get(), live.guard_rows()), (Guardrails::default(), false));
        let mut guardrails = Guardrails::default();
        guardrails.set(GuardrailSetting::Fail(Limit::Tables), 7);
        live.set(&guardrails);
        assert_eq!((live.get(), live.guard_rows()), (guardrails, false));
        assert_eq!(live.large_partition_bytes(), u64::MAX);
        guardrails.set(GuardrailSetting::Fail(Limit::PartitionSize), 5);
        guardrails.set(GuardrailSetting::Enabled(Feature::GroupBy), 0);
        live.set(&guardrails);
        assert!(live.guard_rows());
        assert_eq!(live.large_partition_bytes(), 5);
    }

    #[test]
    fn each_is_logged_once_in_a_while() {
        let live = LiveGuardrails::default();
        let (warn, fail) = (GuardrailSetting::Warn(Limit::PageSize), GuardrailSetting::Fail(Limit::PageSize));
        assert!(live.is_due(warn, 5) && live.is_due(fail, 5), "the first of each");
        assert!(!live.is_due(warn, 5 + LOGGED_EVERY_US - 1));
        assert!(live.is_due(warn, 5 + LOGGED_EVERY_US));
        assert!(live.is_due(warn, -LOGGED_EVERY_US), "the clock was set back");
    }
}
