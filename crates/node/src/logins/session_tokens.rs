//! Tokens of sessions: a client logs in once, and its other connections with the same node show what it got for it.
//!
//! | bytes | a token |
//! |---|---|
//! | 8 | when it ends, in seconds since 1970 |
//! | 32 | HMAC-SHA-256 of that, the role's name and the hashes of its password |
//! | … | the role's name |
//!
//! Its key lives as long as the process. So a token is of no use after a restart, for another node, or once the role's password is another one.

use model::Role;
use ring::hmac;
use std::fmt;
use std::sync::OnceLock;

/// How long a session lasts, as at Aerospike: clients log in again a minute earlier.
pub(crate) const SESSION_S: u32 = 86_400;

const END_BYTES: usize = 8;
const MAC_BYTES: usize = 32;

/// A node's key, the same on all its cores.
#[derive(Clone, Default)]
pub(crate) struct SessionKey(OnceLock<[u8; 32]>);

impl fmt::Debug for SessionKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SessionKey")
    }
}

impl SessionKey {
    fn key(&self, entropy: impl FnOnce(&mut [u8])) -> hmac::Key {
        let bytes = self.0.get_or_init(|| {
            let mut bytes = [0; 32];
            entropy(&mut bytes);
            bytes
        });
        hmac::Key::new(hmac::HMAC_SHA256, bytes)
    }

    /// A token of a role, from now on.
    pub(crate) fn token(&self, entropy: impl FnOnce(&mut [u8]), name: &str, role: Option<&Role>, now_s: i64) -> Vec<u8> {
        let end = now_s + i64::from(SESSION_S);
        let mac = hmac::sign(&self.key(entropy), &signed(end, name, role));
        [&end.to_be_bytes()[..], mac.as_ref(), name.as_bytes()].concat()
    }

    /// Whether a token is valid of the role that it names, as that is now.
    pub(crate) fn is_valid(&self, token: &[u8], role: Option<&Role>, now_s: i64) -> bool {
        let (Some(key), Some((end, mac, name))) = (self.0.get(), split(token)) else { return false };
        let key = hmac::Key::new(hmac::HMAC_SHA256, key);
        now_s < end && hmac::verify(&key, &signed(end, name, role), mac).is_ok()
    }
}

/// The role that a token names.
pub(crate) fn role_of_token(token: &[u8]) -> Option<&str> {
    split(token).map(|(_, _, name)| name)
}

fn split(token: &[u8]) -> Option<(i64, &[u8], &str)> {
    let (end, rest) = token.split_first_chunk::<END_BYTES>()?;
    let (mac, name) = rest.split_at_checked(MAC_BYTES)?;
    Some((i64::from_be_bytes(*end), mac, std::str::from_utf8(name).ok()?))
}

/// What is signed. No name and no hash has a zero byte.
fn signed(end: i64, name: &str, role: Option<&Role>) -> Vec<u8> {
    let hash = |hash: Option<&String>| hash.cloned().unwrap_or_default();
    let password = hash(role.and_then(|role| role.password_hash.as_ref()));
    let aerospike = hash(role.and_then(|role| role.aerospike_hash.as_ref()));
    let griddb = hash(role.and_then(|role| role.griddb_hash.as_ref()));
    [&end.to_be_bytes()[..], name.as_bytes(), &[0], password.as_bytes(), &[0], aerospike.as_bytes(), &[0], griddb.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_valid_until_its_end_and_for_one_password() {
        let (key, other) = (SessionKey::default(), SessionKey::default());
        let role = Role { aerospike_hash: Some("one".to_owned()), ..Role::default() };
        let token = key.token(|bytes| bytes.fill(1), "jo", Some(&role), 1_000);
        assert_eq!(role_of_token(&token), Some("jo"));
        let end = 1_000 + i64::from(SESSION_S);
        assert!(key.is_valid(&token, Some(&role), 1_000) && key.is_valid(&token, Some(&role), end - 1));
        assert!(!key.is_valid(&token, Some(&role), end), "it has ended");
        let changed = Role { aerospike_hash: Some("two".to_owned()), ..Role::default() };
        assert!(!key.is_valid(&token, Some(&changed), 1_000) && !key.is_valid(&token, None, 1_000));
        assert!(!other.is_valid(&token, Some(&role), 1_000), "nobody has logged in there");
        other.token(|bytes| bytes.fill(2), "jo", Some(&role), 1_000);
        assert!(!other.is_valid(&token, Some(&role), 1_000), "another node");
        for at in 0..token.len() {
            let mut forged = token.clone();
            forged[at] ^= 1;
            assert!(!key.is_valid(&forged, Some(&role), 1_000), "byte {at}");
            assert!(!key.is_valid(&token[..at], Some(&role), 1_000), "the first {at} bytes");
        }
    }
}
