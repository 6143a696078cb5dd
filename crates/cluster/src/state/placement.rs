//! Where slots belong: rendezvous hashing over the members' places, spread over racks, with primaries even over cores.
//!
//! Each slot ranks all members by a hash of slot and place. Its replicas are the first ones, a rack once before any rack twice. So a slot's
//! replicas for a factor are the first of those for a larger one, and a member that comes or goes moves only what it takes or leaves.
//!
//! The first in rank would be the primary, but chance does not deal evenly: of 20 members with 8 cores, one core would be the primary of 42 slots where the
//! mean is 26. So slots go from the first in rank to another of their replicas until no core has two more than the core it could give one to. That moves
//! no rows, and most slots stay with the first: a member that comes or goes moves few primaries besides its own.

use super::member::Member;
use super::slots::FACTOR_MAX;
use base::{CoreId, NodeId, SLOT_COUNT, Slot};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Since this version of the nodes' protocol primaries are even over cores.
const EVEN_SINCE: u16 = 6;

/// The members that one slot belongs to, or might.
type Replicas = SmallVec<[NodeId; 4]>;

/// The best members of every slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Placement {
    candidates: Vec<Candidate>,
    is_even: bool,
    /// Best first.
    ranked: Vec<Replicas>,
    /// By factor, from 1: the primary first. Found when it is asked for.
    targets: [OnceLock<Vec<Replicas>>; FACTOR_MAX as usize],
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    node: NodeId,
    place: u64,
    rack: u32,
    cores: u16,
}

impl Placement {
    /// For `members` that go by `version`; none if nothing that matters is different.
    pub(super) fn refreshed(&self, members: &BTreeMap<NodeId, Member>, version: u16) -> Option<Self> {
        let mut racks = BTreeMap::new();
        let candidates: Vec<Candidate> = members
            .values()
            .filter(|member| member.is_placeable())
            .map(|member| {
                let count = racks.len() as u32;
                let rack = *racks.entry((&member.profile.data_center, &member.profile.rack)).or_insert(count);
                Candidate { node: member.id, place: member.place, rack, cores: member.profile.cores }
            })
            .collect();
        let is_even = version >= EVEN_SINCE;
        if !self.ranked.is_empty() && candidates == self.candidates && is_even == self.is_even {
            return None;
        }
        let ranked = (0..SLOT_COUNT as u16).map(|slot| ranked(Slot(slot), &candidates)).collect();
        Some(Self { candidates, is_even, ranked, targets: Default::default() })
    }

    /// The members that `slot` belongs to, the primary first; fewer than `factor` if there are no more.
    pub(super) fn targets(&self, slot: usize, factor: u8) -> &[NodeId] {
        let targets = self.targets[usize::from(factor) - 1].get_or_init(|| self.find_targets(factor));
        targets.get(slot).map_or(&[], |targets| targets)
    }

    fn find_targets(&self, factor: u8) -> Vec<Replicas> {
        let first = |ranked: &Replicas| ranked.iter().copied().take(factor.into()).collect();
        let mut targets: Vec<Replicas> = self.ranked.iter().map(first).collect();
        if self.is_even {
            let primaries = self.even_primaries(&targets);
            for (targets, primary) in targets.iter_mut().zip(primaries) {
                if let Some(before) = targets.get_mut(..=primary) {
                    before.rotate_right(1);
                }
            }
        }
        targets
    }

    /// For each slot, which of its `replicas` is the primary.
    fn even_primaries(&self, replicas: &[Replicas]) -> Vec<usize> {
        let cores: BTreeMap<NodeId, u16> = self.candidates.iter().map(|candidate| (candidate.node, candidate.cores)).collect();
        let core = |slot: u16, node: NodeId| (node, Slot(slot).core(cores[&node]));
        let mut loads: BTreeMap<(NodeId, CoreId), u32> = BTreeMap::new();
        for (slot, replicas) in (0..).zip(replicas) {
            for (rank, node) in replicas.iter().enumerate() {
                *loads.entry(core(slot, *node)).or_default() += u32::from(rank == 0);
            }
        }
        let mut primaries = vec![0; replicas.len()];
        // Each slot that goes makes the sum of the loads' squares less, so this ends.
        let mut goes_on = true;
        while goes_on {
            goes_on = false;
            for ((slot, replicas), primary) in (0..).zip(replicas).zip(&mut primaries) {
                let load = |rank: usize| loads[&core(slot, replicas[rank])];
                let Some(least) = (0..replicas.len()).min_by_key(|rank| load(*rank)) else { continue };
                if load(least) + 1 < load(*primary) {
                    for (rank, by) in [(*primary, -1), (least, 1)] {
                        let load = loads.get_mut(&core(slot, replicas[rank])).expect("counted above");
                        *load = load.saturating_add_signed(by);
                    }
                    *primary = least;
                    goes_on = true;
                }
            }
        }
        primaries
    }
}

fn ranked(slot: Slot, candidates: &[Candidate]) -> Replicas {
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
