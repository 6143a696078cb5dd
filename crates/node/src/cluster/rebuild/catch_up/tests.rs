//! What is kept comes back, and what may be forgotten when.

use super::*;

#[test]
fn what_is_kept_comes_back() {
    let mut kept = CatchUp { committed: 77, ..CatchUp::default() };
    kept.absent.insert(NodeId(3), 12);
    for slot in [0, 9, 4095] {
        kept.hold("a keyspace", Slot(slot), 0);
    }
    let read = CatchUp::restore(Some(&kept.encode(0)));
    assert_eq!((read.committed, read.restored), (77, Some(77)));
    assert_eq!((read.known_of(NodeId(3)), read.known_of(NodeId(1)), read.purge_floor(|_| false)), (Some(12), None, Some(12)));
    kept.absent.insert(NodeId(3), 120);
    assert_eq!(CatchUp::restore(Some(&kept.encode(0))).known_of(NodeId(3)), Some(77), "it may have become less since");
    assert!(read.holds("a keyspace", Slot(4095)) && !read.holds("a keyspace", Slot(1)) && !read.holds("another", Slot(0)));
    for damaged in ["committed x\n", "held 00 k\n", "absent 1\n", "what 1\n"] {
        assert_eq!(CatchUp::restore(Some(damaged.as_bytes())).restored(), None, "{damaged}");
    }
}

#[test]
fn another_number_of_cores_keeps_held_slots_and_forgets_what_others_have() {
    let mut former = [CatchUp { committed: 77, timestamp_us: 5, ..CatchUp::default() }, CatchUp { timestamp_us: 9, ..CatchUp::default() }];
    former[0].absent.insert(NodeId(3), 12);
    former[0].hold("k", Slot(0), 70);
    former[0].hold("k", Slot(2000), 70);
    former[1].hold("k", Slot(4000), 7);
    let relaid = |core, committed| CatchUp::restore(Some(&CatchUp::relaid(&former, CoreId(core), 3, committed).encode(0)));
    let held = |kept: &CatchUp| [0, 2000, 4000].map(|slot| kept.holds("k", Slot(slot)));
    let [one, two, three] = [relaid(0, 6), relaid(1, 6), relaid(2, 6)];
    assert_eq!([held(&one), held(&two), held(&three)], [[true, false, false], [false, true, false], [false, false, true]]);
    for kept in [&one, &two, &three] {
        assert_eq!((kept.restored(), kept.timestamp_us(), kept.known_of(NodeId(3))), (Some(6), 9, Some(0)));
    }
    assert_eq!(held(&relaid(0, 0)), [false; 3], "nobody knows what may be here alone");
}

#[test]
fn what_the_engine_has_lost_nobody_has() {
    let mut kept = CatchUp { committed: 77, ..CatchUp::default() };
    kept.absent.extend([(NodeId(3), 12), (NodeId(4), 60)]);
    let mut read = CatchUp::restore(Some(&kept.encode(0)));
    read.recovered(50);
    assert_eq!((read.restored(), read.known_of(NodeId(3)), read.known_of(NodeId(4))), (Some(50), Some(12), Some(50)));
    assert!(
        read.note(Reached { committed: 51, is_settled: true, ..Reached::default() }, 10_000_000).is_some(),
        "new rows have the numbers of those"
    );
    assert_eq!(read.restored(), Some(51));
}

#[test]
fn rows_go_only_once_it_is_stored_that_their_slot_is_held_no_more() {
    let mut kept = CatchUp::default();
    kept.hold("k", Slot(1), 0);
    assert!(kept.note(Reached::default(), 10_000_000).is_some());
    kept.stored(true);
    kept.forget_slot("k", Slot(1));
    assert!(!kept.may_forget());
    assert!(kept.note(Reached::default(), 10_000_001).is_some(), "at once");
    assert!(!kept.may_forget());
    kept.stored(false);
    assert!(!kept.may_forget());
    assert!(kept.note(Reached::default(), 10_000_002).is_none(), "a disk that is full is not asked again and again");
    let due_us = kept.due_us();
    assert_eq!(due_us, 10_000_001 + STORE_US);
    assert!(kept.note(Reached::default(), due_us).is_some());
    kept.stored(true);
    assert!(kept.may_forget());
}

#[test]
fn nothing_is_kept_for_a_member_that_is_forgotten_while_it_is_away() {
    let mut kept = CatchUp::default();
    kept.absent.extend([(NodeId(3), 12), (NodeId(4), 60)]);
    let looks = [(true, 1), (true, 2), (false, 4), (true, 5), (true, 8), (true, 9), (true, 10)];
    assert_eq!(looks.map(|(has_no_room, s)| kept.is_full(has_no_room, s * 1_000_000)), [false, false, false, false, false, false, true]);
    assert_eq!(kept.forget_away(|node| node == NodeId(4)), [NodeId(3)]);
    assert!(!kept.may_forget(), "what is stored says that rows after 12 are here");
    let blob = kept.note(Reached { committed: 99, is_settled: true, ..Reached::default() }, 10_000_000).expect("it is due");
    kept.stored(true);
    assert!(kept.may_forget() && kept.forget_away(|node| node == NodeId(4)).is_empty());
    assert_eq!(kept.purge_floor(|node| node == NodeId(4)), Some(60));
    assert_eq!(kept.purge_floor(|_| true), Some(0), "a difference since the beginning may be under way");
    let read = CatchUp::restore(Some(&blob));
    assert_eq!((read.known_of(NodeId(3)), read.purge_floor(|_| false)), (Some(0), Some(60)));
}

#[test]
fn a_slot_is_stored_as_held_only_once_its_rows_are_on_the_device() {
    let mut kept = CatchUp::default();
    kept.hold("k", Slot(1), 7);
    kept.hold("k", Slot(2), 9);
    let mut stored_at = |durable, now_us| {
        let blob = kept.note(Reached { durable, ..Reached::default() }, now_us);
        kept.stored(true);
        let read = CatchUp::restore(Some(&blob?));
        Some([1, 2].map(|slot| read.holds("k", Slot(slot))))
    };
    assert_eq!(stored_at(6, 10_000_000), Some([false, false]));
    assert_eq!(stored_at(8, 20_000_000), Some([true, false]));
    assert_eq!(stored_at(9, 30_000_000), Some([true, true]));
    assert_eq!(stored_at(9, 40_000_000), None, "all is stored");
}
