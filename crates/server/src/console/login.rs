//! Who asks.

use std::sync::Arc;

/// As whom an operator has logged in.
pub(crate) struct Login {
    pub(crate) role: Arc<str>,
    pub(crate) password: String,
}
