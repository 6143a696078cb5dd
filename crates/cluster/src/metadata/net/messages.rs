//! The network between machines: it delays, loses and damages what they send.

use super::{Machine, Net};
use crate::envelope::Envelope;
use crate::metadata::Metadata;
use crate::versions::Versions;
use crate::wire::link_version;
use base::Rng;

impl Net {
    pub(super) fn deliver(&mut self) {
        while let Some(entry) = self.flying.first_entry().filter(|entry| entry.key().0 <= self.now_us) {
            let (from, to, bytes) = entry.remove();
            if !self.cuts.contains(&(from, to))
                && let Some(machine) = self.machines.get_mut(&to)
                && machine.metadata.is_some()
            {
                machine.inbox.push((from, bytes));
            }
        }
    }

    pub(super) fn flush(&mut self, host: u128) {
        let now_us = self.now_us;
        let machine = self.machines.get_mut(&host).expect("a machine");
        let now = machine.now(now_us);
        let Some(metadata) = &mut machine.metadata else { return };
        if self.leases_end {
            metadata.lease_has_end();
        }
        let events = metadata.take_events();
        let messages = metadata.take_messages();
        let writes = metadata.take_writes();
        if !events.is_empty() || !messages.is_empty() {
            // As a node does: whatever happened may have set an earlier timer.
            machine.due_us = metadata.turn(now).unwrap_or(u64::MAX);
        }
        for (name, bytes) in writes {
            let due_us = now_us + self.rng.below(machine.disk_us * 2);
            machine.writing.push((due_us, name, bytes));
        }
        for event in events {
            self.observe(host, event);
        }
        for (to, message) in messages {
            let Some(to) = self.newest.members.get(&to).map(|member| member.profile.host_id) else { continue };
            let Some(version) = self.link_version(host, to) else { continue };
            let bytes = message.encode(version);
            self.trace = base::checksum_parts(&[&self.trace.to_le_bytes(), &bytes]);
            assert!(Envelope::decode(&bytes, self.machines[&to].versions).is_ok());
            let bytes = if self.liar == Some(host) { lie(&mut self.rng, bytes) } else { bytes };
            if self.rng.below(100) >= self.loss_percent {
                let slow = if self.rng.below(50) == 0 { 300_000 } else { 3_000 };
                self.count += 1;
                self.flying.insert((now_us + 100 + self.rng.below(slow), self.count), (host, to, bytes));
            }
        }
    }

    /// The version that a link between two machines speaks, if they let each other in.
    fn link_version(&self, from: u128, to: u128) -> Option<u16> {
        let (from, to) = (&self.machines[&from], self.machines.get(&to)?);
        let accepted = |one: &Machine, other: &Machine| {
            let state = one.metadata.as_ref().map(Metadata::state)?;
            link_version(other.versions, one.versions, state).ok()
        };
        accepted(from, to).filter(|version| accepted(to, from) == Some(*version))
    }
}

/// The message with something else in it; often one that can still be read.
fn lie(rng: &mut Rng, bytes: Vec<u8>) -> Vec<u8> {
    let mut lied = bytes.clone();
    for _ in 0..1 + rng.below(3) {
        // Most of what matters lies near the beginning.
        let reach = if rng.below(2) == 0 { lied.len().min(24) } else { lied.len() };
        let at = rng.below(reach as u64) as usize;
        lied[at] = match rng.below(3) {
            0 => rng.next_u64() as u8,
            1 => lied[at].wrapping_add(1),
            _ => lied[at].wrapping_sub(1),
        };
    }
    if rng.below(10) > 0 && Envelope::decode(&lied, Versions::KNOWN).is_err() { bytes } else { lied }
}
