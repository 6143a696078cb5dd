//! Log-ins that have failed: how long the next try of the same client, or at the same role, has to wait.
//!
//! | of | tries at once | then one in | longest wait in line |
//! |---|---|---|---|
//! | one address and one role | 5 | 100 ms, twice as long after each failure, up to 2 s | 4 s |
//! | one address | 20 | 10 ms, …, up to 250 ms | 4 s |
//! | one role, from anywhere | 20 | each waits 10 ms, …, up to 1 s, beside the others | |
//!
//! Tries beyond the line are refused unheard. Of a role alone there is no line: else whoever guesses at it would lock its owner out.
//! Half of the failures are forgotten every 30 s. An address of IPv6 is its network of 64 bits.
//!
//! Invariants: memory is bounded by [`ENTRIES_MAX`], whatever clients send; time comes in as a value.

use std::collections::HashMap;
use std::net::IpAddr;

/// Beyond so many the one that is heard of for longest is forgotten.
const ENTRIES_MAX: usize = 4_096;

const HALF_LIFE_US: u64 = 30_000_000;

/// How one kind of failure is answered.
struct Policy {
    free: u32,
    first_us: u64,
    most_us: u64,
    /// `None`: tries wait beside each other.
    line_us: Option<u64>,
}

const PAIR: Policy = Policy { free: 5, first_us: 100_000, most_us: 2_000_000, line_us: Some(4_000_000) };
const ADDRESS: Policy = Policy { free: 20, first_us: 10_000, most_us: 250_000, line_us: Some(4_000_000) };
const ROLE: Policy = Policy { free: 20, first_us: 10_000, most_us: 1_000_000, line_us: None };

/// Whose failures are counted. A role by a keyed hash: names are as long as clients make them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Pair(IpAddr, u64),
    Address(IpAddr),
    Role(u64),
}

impl Key {
    fn policy(self) -> &'static Policy {
        match self {
            Self::Pair(..) => &PAIR,
            Self::Address(_) => &ADDRESS,
            Self::Role(_) => &ROLE,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    failures: u32,
    /// When `failures` was last halved, or the first one came.
    halved_us: u64,
    /// When the next one in line may try.
    next_us: u64,
    seen_us: u64,
}

impl Entry {
    fn failures_at(&mut self, now_us: u64) -> u32 {
        let halves = now_us.saturating_sub(self.halved_us) / HALF_LIFE_US;
        if halves > 0 {
            self.failures = self.failures.checked_shr(halves.min(32) as u32).unwrap_or(0);
            self.halved_us += halves * HALF_LIFE_US;
        }
        self.failures
    }
}

/// Failures of the recent past.
#[derive(Debug, Default)]
pub struct FailedLogins {
    entries: HashMap<Key, Entry>,
    hasher: std::hash::RandomState,
}

/// Too many have failed: a try is refused unheard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many log-ins from this address have failed; try again in some seconds")]
pub struct TooManyFailures;

impl FailedLogins {
    /// How many microseconds a try has to wait, and that it will be made then.
    ///
    /// # Errors
    /// When too many wait already.
    pub fn wait_us(&mut self, address: IpAddr, role: &str, now_us: u64) -> Result<u64, TooManyFailures> {
        // Most of the time nobody has failed.
        if self.entries.is_empty() {
            return Ok(0);
        }
        let keys = self.keys(address, role);
        let mut until_us = now_us;
        for key in keys {
            let (Some(entry), policy) = (self.entries.get_mut(&key), key.policy()) else { continue };
            let spacing_us = spacing_us(policy, entry.failures_at(now_us));
            match policy.line_us {
                None => until_us = until_us.max(now_us + spacing_us),
                Some(_) if spacing_us == 0 => {}
                Some(line_us) if entry.next_us > now_us + line_us => return Err(TooManyFailures),
                Some(_) => until_us = until_us.max(entry.next_us),
            }
        }
        for key in keys {
            let (Some(entry), policy) = (self.entries.get_mut(&key), key.policy()) else { continue };
            entry.next_us = until_us + spacing_us(policy, entry.failures);
        }
        Ok(until_us - now_us)
    }

    /// A try has failed. Gives how many have of late, of this address and role.
    pub fn failed(&mut self, address: IpAddr, role: &str, now_us: u64) -> u32 {
        let mut of_pair = 0;
        for key in self.keys(address, role) {
            if !self.entries.contains_key(&key) {
                self.make_room();
            }
            let entry = self.entries.entry(key).or_insert(Entry { halved_us: now_us, next_us: now_us, ..Entry::default() });
            let failures = entry.failures_at(now_us).saturating_add(1);
            (entry.failures, entry.seen_us) = (failures, now_us);
            entry.next_us = entry.next_us.max(now_us + spacing_us(key.policy(), failures));
            if matches!(key, Key::Pair(..)) {
                of_pair = failures;
            }
        }
        of_pair
    }

    fn keys(&self, address: IpAddr, role: &str) -> [Key; 3] {
        use std::hash::BuildHasher;
        let (address, role) = (network(address), self.hasher.hash_one(role));
        [Key::Pair(address, role), Key::Address(address), Key::Role(role)]
    }

    fn make_room(&mut self) {
        if self.entries.len() < ENTRIES_MAX {
            return;
        }
        if let Some(oldest) = self.entries.iter().min_by_key(|(_, entry)| entry.seen_us).map(|(key, _)| *key) {
            self.entries.remove(&oldest);
        }
    }
}

/// Whether a failure is one to write of: each of the first, then at every doubling.
#[must_use]
pub fn is_worth_a_line(failures: u32) -> bool {
    failures <= PAIR.free || failures.is_power_of_two()
}

fn spacing_us(policy: &Policy, failures: u32) -> u64 {
    match failures.checked_sub(policy.free) {
        None => 0,
        Some(beyond) => policy.first_us.saturating_mul(1 << beyond.min(16)).min(policy.most_us),
    }
}

fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) >> 64 << 64).into()),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const SECOND_US: u64 = 1_000_000;

    fn address(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    /// Tries at this role as fast as it can for so long; how many were made.
    fn guess(failed: &mut FailedLogins, address: IpAddr, role: &str, from_us: u64, for_us: u64) -> u64 {
        let (mut now_us, mut made) = (from_us, 0);
        while now_us < from_us + for_us {
            match failed.wait_us(address, role, now_us) {
                Ok(wait_us) => {
                    now_us += wait_us;
                    failed.failed(address, role, now_us);
                    made += 1;
                }
                Err(TooManyFailures) => now_us += SECOND_US / 10,
            }
        }
        made
    }

    #[test]
    fn who_mistypes_now_and_then_waits_for_nothing() {
        let mut failed = FailedLogins::default();
        for minute in 0..60 {
            for _ in 0..2 {
                assert_eq!(failed.wait_us(address(1), "jo", minute * 60 * SECOND_US), Ok(0));
                failed.failed(address(1), "jo", minute * 60 * SECOND_US);
            }
        }
    }

    #[test]
    fn who_guesses_gets_a_guess_in_two_seconds_and_others_are_heard() {
        let mut failed = FailedLogins::default();
        let made = guess(&mut failed, address(1), "jo", 0, 600 * SECOND_US);
        assert!((200..=400).contains(&made), "{made}");
        let now_us = 600 * SECOND_US;
        assert_eq!(failed.wait_us(address(2), "al", now_us), Ok(0), "another client, another role");
        assert!(failed.wait_us(address(2), "jo", now_us).unwrap() <= SECOND_US, "the role's owner is not locked out");
        assert!(failed.wait_us(address(1), "al", now_us).unwrap() <= SECOND_US, "nor who shares the address");
    }

    #[test]
    fn tries_beside_each_other_wait_in_line_and_then_are_refused() {
        let mut failed = FailedLogins::default();
        for _ in 0..10 {
            failed.failed(address(1), "jo", 0);
        }
        let waits: Vec<_> = (0..100).map(|_| failed.wait_us(address(1), "jo", 0)).collect();
        let made = waits.iter().filter(|wait| wait.is_ok()).count();
        assert!((1..=4).contains(&made), "{made}");
        assert!(waits.iter().flatten().is_sorted());
        assert_eq!(waits[99], Err(TooManyFailures));
    }

    #[test]
    fn many_roles_from_one_address_are_slowed() {
        let mut failed = FailedLogins::default();
        let (mut now_us, mut made) = (0, 0);
        for name in 0..1_000 {
            let role = format!("role{name}");
            now_us += failed.wait_us(address(1), &role, now_us).unwrap();
            failed.failed(address(1), &role, now_us);
            made += u64::from(now_us < 10 * SECOND_US);
        }
        assert!(made < 100, "{made} roles in 10 s");
    }

    #[test]
    fn memory_is_bounded_and_an_ipv6_network_is_one_client() {
        let mut failed = FailedLogins::default();
        for number in 0..ENTRIES_MAX as u64 + 2_000 {
            failed.failed(IpAddr::V4((number as u32).into()), &format!("role{number}"), number);
        }
        assert!(failed.entries.len() <= ENTRIES_MAX);
        let mut failed = FailedLogins::default();
        for low in 0..10u128 {
            failed.failed(IpAddr::V6(((0x2001_0db8u128 << 96) + low).into()), "jo", 0);
        }
        assert!(failed.wait_us(IpAddr::V6(((0x2001_0db8u128 << 96) + 77).into()), "jo", 0).unwrap() > 0);
        assert_eq!(failed.wait_us(address(1), "al", 0), Ok(0));
    }

    #[test]
    fn failures_are_forgotten() {
        let mut failed = FailedLogins::default();
        for _ in 0..100 {
            failed.failed(address(1), "jo", 0);
        }
        assert!(failed.wait_us(address(1), "jo", SECOND_US).is_ok_and(|wait_us| wait_us > 0));
        assert_eq!(failed.wait_us(address(1), "jo", 300 * SECOND_US), Ok(0));
    }
}
