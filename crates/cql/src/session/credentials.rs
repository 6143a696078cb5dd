//! A client's name and password, as SASL's PLAIN has them.

use crate::CqlError;

/// What is longer is nobody's name and password; it is not kept while others are being checked.
const CREDENTIALS_BYTES_MAX: usize = 4 << 10;

/// A name and a password.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Credentials<'a> {
    /// Who it says it is.
    pub role: &'a str,
    /// What only that one should know.
    pub password: &'a str,
}

impl<'a> Credentials<'a> {
    /// What a client sends to [`crate::roles::AUTHENTICATOR`]: SASL's PLAIN (RFC 4616), as whom it acts, who it is and its password, with a zero byte between.
    pub(super) fn decode(token: Option<&'a [u8]>) -> Result<Self, CqlError> {
        let malformed = |what: &str| {
            CqlError::BadCredentials(format!("{what}: log in with a name and a password, as PlainTextAuthProvider of drivers does"))
        };
        let token = token.unwrap_or_default();
        if token.len() > CREDENTIALS_BYTES_MAX {
            return Err(malformed("The credentials are too long"));
        }
        let text = std::str::from_utf8(token).map_err(|_| malformed("The credentials are not UTF-8"))?;
        let mut parts = text.rsplitn(3, '\0');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(""), Some(_), Some(_)) => Err(CqlError::BadCredentials("Password must not be empty".to_owned())),
            (Some(_), Some(""), Some(_)) => Err(CqlError::BadCredentials("Authentication ID must not be empty".to_owned())),
            (Some(password), Some(role), Some(_)) => Ok(Self { role, password }),
            _ => Err(malformed("The credentials are not in the form of SASL's PLAIN")),
        }
    }
}
