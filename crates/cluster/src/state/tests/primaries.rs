//! Which members, and cores, are the primaries.

use super::*;

fn primaries_by_core(cluster: &Cluster) -> Vec<usize> {
    let mut found = BTreeMap::new();
    for member in cluster.state.members.values() {
        found.extend((0..member.profile.cores).map(|core| ((member.id, core), 0)));
    }
    for (slot, assignment) in cluster.state.keyspaces["ks"].with_slots() {
        let core = slot.core(cluster.state.members[&assignment.primary].profile.cores);
        *found.get_mut(&(assignment.primary, core.0)).expect("it is a member") += 1;
    }
    found.into_values().collect()
}

fn primaries(cluster: &Cluster) -> Vec<NodeId> {
    cluster.state.keyspaces["ks"].iter().map(|slot| slot.primary).collect()
}

/// With more replicas than one, no core is the primary of more than its share, and a member more does not move many primaries but its own.
#[test]
fn primaries_are_even_over_cores() {
    for (count, factor) in [(3, 2), (3, 3), (6, 2), (12, 3)] {
        let cores = |host: u32| if host.is_multiple_of(3) { 4 } else { 8 };
        let member = |host: u32| Profile { cores: cores(host), ..profile(host.into(), host.into()) };
        let mut cluster = Cluster { state: State::founded(7, "test".to_owned(), member(1), Schema::empty(), 1), index: 1 };
        for host in 2..=count {
            cluster.apply(&Command::Join { profile: member(host), replaces: None });
        }
        cluster.set_factor("ks", factor);
        let by_core = primaries_by_core(&cluster);
        let share = SLOT_COUNT as usize / by_core.len();
        assert!(*by_core.iter().max().expect("it has members") <= share + 2, "{count} members, factor {factor}, {share} each: {by_core:?}");
        let before = primaries(&cluster);
        cluster.apply(&Command::Join { profile: member(count + 1), replaces: None });
        cluster.converge();
        let by_core = primaries_by_core(&cluster);
        let share = SLOT_COUNT as usize / by_core.len();
        assert!(
            *by_core.iter().max().expect("it has members") <= share + 2,
            "{count} members and one, factor {factor}, {share} each: {by_core:?}"
        );
        let moved = before.iter().zip(primaries(&cluster)).filter(|(before, now)| **before != *now).count();
        let (own, part) = (usize::from(cores(count + 1)) * share, SLOT_COUNT as usize / 10);
        assert!((own..own + part).contains(&moved), "{count} members and one, factor {factor}: {moved}, {own} of them its own");
    }
}

#[test]
fn primaries_are_the_first_in_rank_while_a_member_does_not_know_better() {
    let older = knows(1, 1, 4, 5);
    let mut mixed = Cluster { state: State::founded(7, "test".to_owned(), older, Schema::empty(), 1), index: 1 };
    for host in [2, 3] {
        mixed.apply(&Command::Join { profile: profile(host, host as u64), replaces: None });
    }
    mixed.set_factor("ks", 2);
    let by_rank = primaries(&mixed);
    let mut cluster = cluster(3, 2);
    let even = primaries(&cluster);
    assert!(by_rank != even, "chance deals evenly");
    cluster.set_factor("ks", 1);
    cluster.converge();
    assert!(by_rank == primaries(&cluster), "not as with one replica, where there is no choice");
    mixed.apply(&Command::Started { node: NodeId(1), previous: 1, profile: profile(1, 11) });
    mixed.converge();
    assert!(primaries(&mixed) == even, "not even once all know how");
}
