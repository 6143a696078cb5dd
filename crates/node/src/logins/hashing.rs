//! Hashes of passwords, and comparisons with them. Each takes tens of milliseconds, by intent: on another thread.
//!
//! Aerospike's clients never send a password, but what bcrypt makes of it with a salt that is the same for all; GridDB's send its SHA-256. Whoever has one of
//! these can log in by it, so it is not what is stored: it is hashed once more, with a salt of its own.

use cql::language::ast::PasswordHashes;
use cql::roles::{HASH_COST, Proof, Verifier};
use ring::digest::{SHA256, digest};
use std::fmt::Write;

/// The salt of Aerospike's clients: `7EqJtq98hPqEX7fNZaFWoO`.
const AEROSPIKE_SALT: [u8; 16] = [0xF4, 0x6B, 0x0B, 0xBE, 0xCF, 0xFE, 0x8D, 0x1B, 0x06, 0x67, 0xD8, 0x4F, 0x6D, 0xC1, 0xD8, 0xA9];
const AEROSPIKE_PREFIX: &str = "$2a$10$7EqJtq98hPqEX7fNZaFWoO";
const HASH_BYTES: usize = 60;
/// Of what GridDB's clients send: SHA-256 in hexadecimal.
const DIGEST_CHARS: usize = 64;

/// Of each hash of a password.
pub(crate) type Salts = [[u8; 16]; 3];

/// For whom a password is hashed, besides those who send it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HashedFor {
    pub(crate) aerospike: bool,
    pub(crate) griddb: bool,
}

/// What Aerospike's clients make of no password at all.
pub(crate) const FORBIDDEN_AEROSPIKE_HASH: &str = "$2a$10$7EqJtq98hPqEX7fNZaFWoOLCkFexA7A9eoJ0Ew.mTDdk.E60D.9zS";

/// What Aerospike's clients send in place of a password; none of one that is too long.
#[must_use]
pub fn aerospike_hash(password: &str) -> Option<String> {
    let parts = bcrypt::hash_with_salt(password, HASH_COST, AEROSPIKE_SALT).ok()?;
    Some(parts.format_for_version(bcrypt::Version::TwoA))
}

/// Whether an Aerospike client may have made this of a password.
pub(crate) fn is_aerospike_hash(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'/';
    text.len() == HASH_BYTES && text.strip_prefix(AEROSPIKE_PREFIX).is_some_and(|digest| digest.bytes().all(is_digit))
}

/// What GridDB's clients send in place of a password.
fn griddb_digest(password: &str) -> String {
    let digest = digest(&SHA256, password.as_bytes());
    digest.as_ref().iter().fold(String::with_capacity(DIGEST_CHARS), |mut text, byte| {
        // Nothing is refused by a string.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Whether a GridDB client may have made this of a password.
pub(crate) fn is_griddb_digest(text: &str) -> bool {
    text.len() == DIGEST_CHARS && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn stored(proof: &str, salt: [u8; 16]) -> Option<Box<str>> {
    let parts = bcrypt::hash_with_salt(proof, HASH_COST, salt).ok()?;
    Some(parts.format_for_version(bcrypt::Version::TwoB).into())
}

/// The hashes of a password. The protocol has seen to its length.
pub(crate) fn hash_password(password: &str, salts: Salts, hashed_for: HashedFor) -> Option<PasswordHashes> {
    let aerospike = if hashed_for.aerospike { Some(stored(&aerospike_hash(password)?, salts[1])?) } else { None };
    let griddb = if hashed_for.griddb { Some(stored(&griddb_digest(password), salts[2])?) } else { None };
    Some(PasswordHashes { password: Some(stored(password, salts[0])?), aerospike, griddb })
}

/// The hash of a password that only an Aerospike client knows.
pub(crate) fn hash_aerospike(hash: &str, salt: [u8; 16]) -> Option<PasswordHashes> {
    Some(PasswordHashes { aerospike: Some(stored(hash, salt)?), ..PasswordHashes::default() })
}

/// The hash of a password that only a GridDB client knows.
pub(crate) fn hash_griddb(digest: &str, salt: [u8; 16]) -> Option<PasswordHashes> {
    Some(PasswordHashes { griddb: Some(stored(digest, salt)?), ..PasswordHashes::default() })
}

/// Whether somebody who proves to know a password so does.
#[must_use]
pub fn fits(presented: &str, proof: Proof, verifier: Verifier<'_>) -> bool {
    let fits = |text: &str| bcrypt::verify(text, verifier.hash).unwrap_or(false);
    match (proof, verifier.of) {
        (Proof::Password, Proof::AerospikeHash) => aerospike_hash(presented).is_some_and(|hash| fits(&hash)),
        (Proof::Password, Proof::GridDbDigest) => fits(&griddb_digest(presented)),
        (proof, of) => proof == of && fits(presented),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_hashed_as_aerospikes_clients_do() {
        assert_eq!(aerospike_hash("").unwrap(), FORBIDDEN_AEROSPIKE_HASH);
        assert_eq!(aerospike_hash("password").unwrap(), "$2a$10$7EqJtq98hPqEX7fNZaFWoOqUH6KN8IKy3Yk5Kz..RHGKNAUCoP/LG");
        assert!(is_aerospike_hash(FORBIDDEN_AEROSPIKE_HASH));
        for text in ["", "secret", AEROSPIKE_PREFIX, "$2b$10$TEDwZiPAH1KeXETkWVTqb.ChLV738ekqWq4LAZKqz63Mku3r2aMRm"] {
            assert!(!is_aerospike_hash(text), "{text}");
        }
    }

    #[test]
    fn a_password_is_proved_from_either_side() {
        let sent = [(aerospike_hash("s3cret").unwrap(), Proof::AerospikeHash), (griddb_digest("s3cret"), Proof::GridDbDigest)];
        let all = HashedFor { aerospike: true, griddb: true };
        let by_password = hash_password("s3cret", [[1; 16], [2; 16], [3; 16]], all).unwrap();
        let (by_aerospike, by_griddb) = (hash_aerospike(&sent[0].0, [4; 16]).unwrap(), hash_griddb(&sent[1].0, [5; 16]).unwrap());
        let of = |hash: &Option<Box<str>>, of| (hash.clone().unwrap(), of);
        for (hash, of) in [
            of(&by_password.password, Proof::Password),
            of(&by_password.aerospike, Proof::AerospikeHash),
            of(&by_password.griddb, Proof::GridDbDigest),
            of(&by_aerospike.aerospike, Proof::AerospikeHash),
            of(&by_griddb.griddb, Proof::GridDbDigest),
        ] {
            let verifier = Verifier { hash: &hash, of };
            assert!(fits("s3cret", Proof::Password, verifier) && !fits("other", Proof::Password, verifier));
            for (sent, proof) in &sent {
                assert_eq!(fits(sent, *proof, verifier), of == *proof, "a digest is no password, and no other digest");
                assert!(!fits(&hash, *proof, verifier), "what is stored is of no use");
            }
            assert!(!fits(&hash, Proof::Password, verifier), "what is stored is of no use");
        }
        assert_eq!((&by_aerospike.password, &by_griddb.password), (&None, &None));
        let plain = hash_password("s3cret", [[1; 16]; 3], HashedFor { aerospike: false, griddb: false }).unwrap();
        assert_eq!((plain.aerospike, plain.griddb), (None, None));
    }

    #[test]
    fn a_password_is_digested_as_griddbs_clients_do() {
        let digest = griddb_digest("admin");
        assert_eq!(digest, "8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918");
        assert!(is_griddb_digest(&digest));
        for text in ["", "admin", &digest[1..], &digest.to_uppercase(), &digest.replace('8', "g")] {
            assert!(!is_griddb_digest(text), "{text}");
        }
    }
}
