//! Members whose programs know different versions of the protocol.

use super::*;

/// Members 1 to 3 get programs that know one version more, one after the other.
#[test]
fn members_are_upgraded_one_at_a_time_and_then_go_by_what_all_know() {
    let (old, new) = (Versions::new(3, 3), Versions::new(3, 4));
    for seed in 0..6 {
        let mut net = Net::of_versions(seed, Waits::default(), old);
        net.add(2);
        net.add(3);
        net.run_ms(2_000);
        for host in 1..=3 {
            assert_eq!(net.newest().protocol_version(), 3, "seed {seed}: member {host} knows no more");
            net.loss_percent = 10;
            net.change_schema(host);
            net.kill(host);
            net.change_schema(1 + host % 3);
            net.run_ms(1_500);
            net.machines.get_mut(&host).expect("a machine").versions = new;
            net.start(host);
            net.change_schema(1 + (host + 1) % 3);
            net.run_ms(1_500);
            net.loss_percent = 0;
            converge(&mut net, seed);
        }
        assert_eq!(net.newest().protocol_version(), 4, "seed {seed}");
        net.change_schema(1);
        net.run_ms(500);
        converge(&mut net, seed);
        net.check_acknowledged();
        assert!(!net.acknowledged.is_empty());
    }
}

#[test]
fn a_program_that_does_not_know_what_was_stored_is_refused() {
    let knows = |incarnation, oldest, latest| Profile { protocol_versions: Versions::new(oldest, latest), ..profile(1, incarnation) };
    let mut blobs = Blobs::default();
    let mut metadata = Metadata::found("test", knows(11, 4, 4), Schema::empty(), at(0), 1);
    store_all(&mut metadata, &mut blobs, at(1));
    let restore = |profile| Metadata::restore(&blobs, "test", profile, at(0), 2).map(|_| ());
    let error = restore(knows(12, 3, 3)).expect_err("it is too old");
    assert!(matches!(error, RestoreError::Version(CodecError::Version { found: 4, .. })), "{error}");
    let error = restore(knows(12, 5, 6)).expect_err("it is too new").to_string();
    let expected = "the cluster's metadata cannot be read: the cluster's state is of version 4, this program knows 5 to 6; start the release that wrote it, or one \
                    that knows its versions, too";
    assert_eq!(error, expected);
    assert_eq!(restore(knows(12, 3, 5)), Ok(()));
}

/// That all knew more stands in the log, not yet in the snapshot.
#[test]
fn a_program_that_learns_that_the_cluster_knows_more_falls_silent() {
    let knows = |incarnation, latest| Profile { protocol_versions: Versions::new(3, latest), ..profile(1, incarnation) };
    let mut blobs = Blobs::default();
    let mut metadata = Metadata::found("test", knows(11, 3), Schema::empty(), at(0), 1);
    store_all(&mut metadata, &mut blobs, at(1));
    let mut metadata = Metadata::restore(&blobs, "test", knows(12, 4), at(1), 2).expect("sound blobs");
    metadata.turn(at(2));
    store_all(&mut metadata, &mut blobs, at(2));
    assert_eq!(metadata.state().protocol_version(), 4);
    assert_eq!(metadata.lease_until_us(), u64::MAX);

    let mut metadata = Metadata::restore(&blobs, "test", knows(13, 3), at(3), 3).expect("what it can read");
    metadata.turn(at(4));
    store_all(&mut metadata, &mut blobs, at(4));
    metadata.turn(at(5));
    assert!(metadata.take_events().iter().any(|event| matches!(event, Event::Outdated { agreed: 4 })));
    assert_eq!((metadata.lease_until_us(), metadata.leader()), (0, None));
    assert!(metadata.take_writes().is_empty() && metadata.take_messages().is_empty());
    let metadata = Metadata::restore(&blobs, "test", knows(14, 4), at(6), 4).expect("sound blobs");
    assert_eq!(metadata.leader(), Some(NodeId(1)), "the newer program goes on");
}

/// However it has got there, an entry that a member cannot read is not taken into its log.
#[test]
fn what_is_written_in_an_unknown_version_is_not_followed() {
    let mut blobs = Blobs::default();
    let mut metadata = Metadata::found("test", profile(1, 11), Schema::empty(), at(0), 1);
    store_all(&mut metadata, &mut blobs, at(1));
    let index = metadata.state().version + 1;
    let data = Proposal { version: Versions::KNOWN.latest() + 1, ..proposal(Command::Drain { node: NodeId(2) }) }.encode();
    let entry = Entry { term: 9, index, data: data.into(), ..Entry::default() };
    let mut message = Message { from: 2, to: 1, term: 9, index: index - 1, log_term: 1, entries: vec![entry].into(), ..Message::default() };
    message.set_msg_type(MessageType::MsgAppend);
    let body = Envelope::Group(Box::new(message)).encode(Versions::KNOWN.latest());
    metadata.take_events();
    metadata.receive(at(2), NodeId(2), &body);
    let events = metadata.take_events();
    assert!(matches!(&events[..], [Event::NotFollowed { from: NodeId(2), why: CodecError::Version { .. } }]), "{events:?}");
    let later = Envelope::Forward(Vec::new()).encode(Versions::KNOWN.latest() + 1);
    metadata.receive(at(2), NodeId(2), &later);
    assert!(matches!(&metadata.take_events()[..], [Event::NotFollowed { .. }]));
}

/// The library's decoder of protocol buffers runs out of stack on groups within groups (RUSTSEC-2024-0437), which ends the process. It
/// decodes what a proposal says of a change of the group; proposals come from this process alone, and entries of others are never decoded.
#[test]
fn groups_within_groups_never_reach_the_librarys_decoder() {
    const NESTED: usize = 4 << 20;
    let mut blobs = Blobs::default();
    let mut metadata = Metadata::found("test", profile(1, 11), Schema::empty(), at(0), 1);
    store_all(&mut metadata, &mut blobs, at(1));
    let index = metadata.state().version + 1;
    // A field of number 15 that is no field of a change begins a group, in which one begins, and so on.
    let mut entry = Entry { term: 9, index, data: vec![0x7b; NESTED].into(), context: vec![2, 2, 0, 0, 0].into(), ..Entry::default() };
    entry.set_entry_type(EntryType::EntryConfChange);
    let log_term = metadata.group.as_ref().map(|group| group.raw.raft.raft_log.last_term()).expect("a founder is in its group");
    let mut message = |kind, term| {
        let mut message = Message { from: 2, to: 1, term, index: index - 1, log_term, commit: index, ..Message::default() };
        message.entries = vec![entry.clone()].into();
        message.set_msg_type(kind);
        metadata.receive(at(2), NodeId(2), &Envelope::Group(Box::new(message)).encode(Versions::KNOWN.latest()));
        store_all(&mut metadata, &mut blobs, at(3));
        metadata.take_events();
        metadata.group.as_ref().map(|group| group.raw.raft.raft_log.applied).unwrap_or_default()
    };
    let before = message(MessageType::MsgPropose, 1);
    assert_eq!(message(MessageType::MsgPropose, 0), before, "a proposal is nothing that another process sends");
    assert_eq!(message(MessageType::MsgAppend, 9), index, "a change of the group is applied by its context");
    let restored = Metadata::restore(&blobs, "test", profile(1, 12), at(1000), 2);
    assert!(restored.is_ok(), "what is stored is not decoded by the library, either: {:?}", restored.err());
}

/// A leader writes nothing that it does not know all members to read.
#[test]
fn a_proposal_in_a_version_that_not_all_know_is_not_taken() {
    let knows = |host, latest| Profile { protocol_versions: Versions::new(3, latest), ..profile(host, 10 + host as u64) };
    let mut blobs = Blobs::default();
    let mut metadata = Metadata::found("test", knows(1, 4), Schema::empty(), at(0), 1);
    store_all(&mut metadata, &mut blobs, at(1));
    metadata.propose(Command::Remove { node: NodeId(9), force: false });
    store_all(&mut metadata, &mut blobs, at(2));
    let version = metadata.state().version;
    let mut forward = |version, entries: u64| {
        let proposal = Proposal { version, ..proposal(Command::Remove { node: NodeId(9), force: false }) };
        metadata.receive(at(3), NodeId(2), &Envelope::Forward(proposal.encode()).encode(3));
        store_all(&mut metadata, &mut Blobs::default(), at(3));
        assert_eq!(metadata.state().version, entries, "version {version}");
    };
    forward(5, version);
    forward(4, version + 1);
}
