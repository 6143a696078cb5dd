//! The metadata group on a network that does not exist.

use super::*;
use crate::command::Refused;

pub(super) fn profile(host: u128, incarnation: u64) -> Profile {
    Profile {
        host_id: host,
        incarnation,
        node_address: format!("10.0.0.{host}:7000"),
        cql_address: format!("10.0.0.{host}:9042"),
        shard_aware_port: 19042,
        aerospike_address: None,
        cores: 2,
        rack: "rack1".to_owned(),
        data_center: "datacenter1".to_owned(),
        version: "0.1.0".to_owned(),
    }
}

fn at(ms: u64) -> Now {
    Now { monotonic_us: ms * 1000, wall_us: 0 }
}

fn store_all(metadata: &mut Metadata, blobs: &mut Blobs, now: Now) {
    loop {
        let writes = metadata.take_writes();
        if writes.is_empty() {
            return;
        }
        for (name, bytes) in writes {
            match name.as_str() {
                LOG_BLOB => blobs.log = bytes,
                _ => blobs.snapshot = Some(bytes),
            }
            metadata.written::<()>(now, &name, Ok(()));
        }
    }
}

#[test]
fn a_founder_is_a_cluster_by_itself() {
    let mut blobs = Blobs::default();
    let mut metadata = Metadata::found("test", profile(1, 11), Schema::empty(), at(0), 1);
    assert_eq!(metadata.lease_until_us(), 0, "nothing is stored yet");
    store_all(&mut metadata, &mut blobs, at(1));
    assert_eq!(metadata.lease_until_us(), u64::MAX);
    assert_eq!(metadata.turn(at(2)), None, "nothing to wait for");
    assert!(matches!(metadata.take_events().as_slice(), [Event::Applied { .. }]));

    let proposal = metadata.propose(Command::Remove { node: NodeId(7), force: false });
    store_all(&mut metadata, &mut blobs, at(3));
    let events = metadata.take_events();
    let refused = Outcome::Refused(Refused::NoSuchMember { node: NodeId(7) });
    assert!(
        matches!(&events[..], [Event::Applied { .. }, Event::Done { proposal: done, outcome }] if *done == proposal && *outcome == refused)
    );

    let cluster = metadata.state().cluster_id;
    let mut metadata = Metadata::restore(&blobs, "test", profile(1, 12), at(1000), 2).expect("sound blobs");
    assert_eq!(metadata.lease_until_us(), 0, "its process is not known yet");
    for ms in 1000..1010 {
        metadata.turn(at(ms));
        store_all(&mut metadata, &mut blobs, at(ms));
    }
    assert_eq!(metadata.state().cluster_id, cluster);
    assert_eq!(metadata.state().members[&NodeId(1)].profile.incarnation, 12);
    assert_eq!(metadata.lease_until_us(), u64::MAX);
    assert!(matches!(Metadata::restore(&blobs, "other", profile(1, 13), at(0), 3), Err(RestoreError::OtherCluster { .. })));
    assert!(matches!(Metadata::restore(&blobs, "test", profile(2, 13), at(0), 3), Err(RestoreError::OtherHost { .. })));
}
