//! Where slots belong: rendezvous hashing over the members' places, spread over racks.
//!
//! Each slot ranks all members by a hash of slot and place. Its replicas are the first ones, a rack once before any rack twice. So a slot's
//! replicas for a factor are the first of those for a larger one, and a member that comes or goes moves only what it takes or leaves.

use super::member::Member;
use super::slots::FACTOR_MAX;
use base::{NodeId, SLOT_COUNT, Slot};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// The best members of every slot, best first.
#[derive(Clone, Debug, Default)]
pub(super) struct Placement {
    candidates: Vec<Candidate>,
    ranked: Vec<SmallVec<[NodeId; 4]>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    node: NodeId,
    place: u64,
    rack: u32,
}

impl Placement {
    /// For `members`; none if nothing that matters is different.
    pub(super) fn refreshed(&self, members: &BTreeMap<NodeId, Member>) -> Option<Self> {
        let mut racks = BTreeMap::new();
        let candidates: Vec<Candidate> = members
            .values()
            .filter(|member| member.is_placeable())
            .map(|member| {
                let count = racks.len() as u32;
                let rack = *racks.entry((&member.profile.data_center, &member.profile.rack)).or_insert(count);
                Candidate { node: member.id, place: member.place, rack }
            })
            .collect();
        if !self.ranked.is_empty() && candidates == self.candidates {
            return None;
        }
        let ranked = (0..SLOT_COUNT as u16).map(|slot| ranked(Slot(slot), &candidates)).collect();
        Some(Self { candidates, ranked })
    }

    /// The members that `slot` belongs to, the primary first; fewer than `factor` if there are no more.
    pub(super) fn targets(&self, slot: usize, factor: u8) -> &[NodeId] {
        let Some(ranked) = self.ranked.get(slot) else { return &[] };
        &ranked[..ranked.len().min(usize::from(factor))]
    }
}

fn ranked(slot: Slot, candidates: &[Candidate]) -> SmallVec<[NodeId; 4]> {
    let mut order: Vec<(u64, &Candidate)> = candidates.iter().map(|candidate| (score(slot, candidate.place), candidate)).collect();
    order.sort_unstable_by_key(|(score, candidate)| (std::cmp::Reverse(*score), candidate.node));
    let mut chosen = SmallVec::new();
    let mut uses = BTreeMap::new();
    let mut round = 1;
    while chosen.len() < usize::from(FACTOR_MAX) && chosen.len() < order.len() {
        for (_, candidate) in &order {
            let used = uses.entry(candidate.rack).or_insert(0);
            if *used < round && !chosen.contains(&candidate.node) && chosen.len() < usize::from(FACTOR_MAX) {
                *used += 1;
                chosen.push(candidate.node);
            }
        }
        round += 1;
    }
    chosen
}

/// SplitMix64's mixing of slot and place.
fn score(slot: Slot, place: u64) -> u64 {
    let mut word = place.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (u64::from(slot.0) + 1).wrapping_mul(0xD1B5_4A32_D192_ED03);
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}
