//! The error codes that schema statements are refused with.

/// Which of CQL's error codes a [`super::DdlError`] has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DdlErrorKind {
    /// 0x2000
    Syntax,
    /// 0x2100
    Unauthorized,
    /// 0x2200
    Invalid,
    /// 0x2300
    Config,
    /// 0x2400
    AlreadyExists,
}
