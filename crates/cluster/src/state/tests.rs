//! The state under commands.
