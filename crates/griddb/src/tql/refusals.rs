//! Arguments that functions refuse.

use crate::{ErrorCode, GridError};
use std::borrow::Cow;

pub(super) fn wrong_type(message: &'static str) -> GridError {
    GridError::new(ErrorCode::TQ_CONSTRAINT_INVALID_ARGUMENT_TYPE, message)
}

pub(super) fn out_of_range(message: impl Into<Cow<'static, str>>) -> GridError {
    GridError::new(ErrorCode::TQ_CONSTRAINT_INVALID_ARGUMENT_RANGE, message)
}
