//! Bytes that make no sense, on a few of many connections: an answer or an end, and nothing else.

use base::Rng;
use cql::wire::{
    CompressionWorkspace, Direction, FrameEncoder, FrameFlags, Opcode, ProtocolVersion, StreamId, write_register, write_startup,
};
use io::ConnectionId;
use sim::{Client, Machine, Seeded, Setup, Statement, int, seeds};

/// The largest reply to anything that is asked here, and the most that may be left unsent before serving stops.
const OUTPUT_BYTES_MAX: usize = (256 << 10) + (64 << 10);

const STATEMENTS: [&str; 9] = [
    "SELECT * FROM ks.t",
    "SELECT * FROM system_schema.columns",
    "INSERT INTO ks.t (k, c, v) VALUES (1, 2, 'three')",
    "UPDATE ks.t SET v = 'x', m = m + {1: 'one'} WHERE k = 1 AND c IN (1, 2, 3)",
    "DELETE FROM ks.t WHERE k = 1 AND c > 5",
    "BEGIN BATCH INSERT INTO ks.t (k, c, v) VALUES (1, 1, 'a'); INSERT INTO ks.t (k, c, v) VALUES (2, 1, 'b'); APPLY BATCH",
    "SELECT JSON k, max(c), count(*) FROM ks.t WHERE token(k) > -100 GROUP BY k LIMIT 3",
    "INSERT INTO ks.t JSON '{\"k\": 1, \"c\": 2, \"m\": {\"3\": \"four\"}}'",
    "USE ks",
];

/// A connection's whole talk, correct.
fn talk(dice: &mut Rng, version: ProtocolVersion) -> Vec<u8> {
    let mut encoder = FrameEncoder::new(Direction::Request);
    let mut workspace = CompressionWorkspace::new();
    let mut out = Vec::new();
    let mut frame = |encoder: &mut FrameEncoder, opcode, stream, write: &mut dyn FnMut(&mut Vec<u8>)| {
        let mark = encoder.begin(&mut out, version, FrameFlags::NONE, StreamId(stream), opcode);
        write(&mut out);
        encoder.end(&mut out, mark, &mut workspace).unwrap();
        encoder.flush(&mut out, &mut workspace);
    };
    frame(&mut encoder, Opcode::Startup, 0, &mut |body| write_startup(body, [("CQL_VERSION", "3.0.0")]));
    encoder.startup_agreed(version, None).unwrap();
    for stream in 1..2 + dice.below(6) as i16 {
        let text = STATEMENTS[dice.below(STATEMENTS.len() as u64) as usize].as_bytes();
        match dice.below(5) {
            0 => frame(&mut encoder, Opcode::Options, stream, &mut |_| {}),
            1 => frame(&mut encoder, Opcode::Register, stream, &mut |body| write_register(body, ["SCHEMA_CHANGE", "STATUS_CHANGE"])),
            2 => frame(&mut encoder, Opcode::Execute, stream, &mut |body| body.extend_from_slice(&[0, 16, 1, 2, 3])),
            kind => {
                let opcode = if kind == 3 { Opcode::Prepare } else { Opcode::Query };
                frame(&mut encoder, opcode, stream, &mut |body| {
                    body.extend_from_slice(&(text.len() as u32).to_be_bytes());
                    body.extend_from_slice(text);
                    body.extend_from_slice(&[0, 1, 0, 0, 0, 0]);
                });
            }
        }
    }
    out
}

pub(crate) fn spoil(dice: &mut Rng, bytes: &mut Vec<u8>) {
    for _ in 0..dice.below(5) {
        let at = dice.below(bytes.len() as u64 + 1) as usize;
        match dice.below(7) {
            0 => bytes.truncate(at),
            1 => {
                let mut noise = vec![0; dice.below(300) as usize];
                dice.fill(&mut noise);
                bytes.splice(at..at, noise);
            }
            2 => {
                let lie = [0u32, 1, 0xFF, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 1 << 24][dice.below(8) as usize].to_be_bytes();
                let end = (at + 4).min(bytes.len());
                bytes.splice(at..end, lie);
            }
            3 if at < bytes.len() => {
                let end = (at + dice.below(40) as usize).min(bytes.len());
                drop(bytes.drain(at..end));
            }
            4 if at < bytes.len() => {
                let again = bytes[at..(at + dice.below(200) as usize).min(bytes.len())].to_vec();
                bytes.splice(at..at, again);
            }
            _ if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            _ => {}
        }
    }
}

#[test]
fn spoiled_talk_harms_nobody() {
    for seed in seeds(40) {
        let _seeded = Seeded(seed);
        let mut dice = Rng::new(seed);
        let mut machine = Machine::start(&Setup::small(seed));
        let mut witness = Client::any(&mut machine, 0);
        let keyspace = "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
        witness.query(&mut machine, keyspace).done();
        witness.query(&mut machine, "CREATE TABLE ks.t (k int, c int, v text, m map<int, text>, PRIMARY KEY (k, c))").done();
        let mut wires: Vec<(u16, ConnectionId)> = Vec::new();
        for number in 0..60 {
            let core = dice.below(u64::from(machine.cores())) as u16;
            let end = machine.accept(core);
            let version = [ProtocolVersion::V3, ProtocolVersion::V4, ProtocolVersion::V5][dice.below(3) as usize];
            let mut bytes = talk(&mut dice, version);
            spoil(&mut dice, &mut bytes);
            let connection = machine.connection(end).unwrap();
            connection.to_core.extend(bytes);
            if dice.below(3) == 0 {
                connection.window = dice.below(100) as usize;
            }
            wires.push(end);
            for _ in 0..dice.below(40) {
                machine.step();
            }
            if dice.below(2) == 0 {
                let gone = wires.swap_remove(dice.below(wires.len() as u64) as usize);
                assert_bounded(&mut machine, gone);
                machine.disconnect(gone);
            }
            witness.call(&mut machine, &Statement::new("INSERT INTO ks.t (k, c) VALUES (?, 0)").bind([int(1_000 + number)])).done();
            let row = Statement::new("SELECT c FROM ks.t WHERE k = ?").bind([int(1_000 + number)]);
            assert_eq!(witness.call(&mut machine, &row).rows(), [[int(0)]]);
        }
        for end in wires {
            assert_bounded(&mut machine, end);
        }
    }
}

fn assert_bounded(machine: &mut Machine, end: (u16, ConnectionId)) {
    let Some(connection) = machine.connection(end) else { return };
    assert!(connection.output_most <= OUTPUT_BYTES_MAX, "{} bytes were waiting to be sent", connection.output_most);
}

/// Many ask for much at once and read nothing, or later: what waits is bounded, and whoever reads gets everything.
#[test]
fn clients_that_do_not_read_are_not_served_until_they_do() {
    for seed in seeds(4) {
        let _seeded = Seeded(seed);
        let mut dice = Rng::new(seed);
        // With less, those that read nothing for a second would be cut off.
        let mut machine = Machine::start(&Setup { requests_bytes_max: 8 << 20, ..Setup::small(seed) });
        let mut witness = Client::any(&mut machine, 0);
        let keyspace = "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
        witness.query(&mut machine, keyspace).done();
        witness.query(&mut machine, "CREATE TABLE ks.t (k int, c int, v text, PRIMARY KEY (k, c))").done();
        let long = "x".repeat(20_000);
        for key in 0..6 {
            let insert = Statement::new("INSERT INTO ks.t (k, c, v) VALUES (?, 0, ?)").bind([int(key), Some(long.clone().into_bytes())]);
            witness.call(&mut machine, &insert).done();
        }
        let mut clients: Vec<Client> = (0..8)
            .map(|_| {
                let core = dice.below(u64::from(machine.cores())) as u16;
                Client::any(&mut machine, core)
            })
            .collect();
        let mut expected = Vec::new();
        for client in &mut clients {
            machine.connection(client.end).unwrap().window = 100;
            let streams: Vec<i16> = (0..150)
                .map(|_| {
                    let statement = match dice.below(3) {
                        0 => Statement::new("SELECT v FROM ks.t"),
                        _ => Statement::new("SELECT v FROM ks.t WHERE k = ?").bind([int(dice.below(6) as i32)]),
                    };
                    client.send(&mut machine, &statement)
                })
                .collect();
            expected.push(streams);
        }
        for _ in 0..4_000 {
            machine.step();
        }
        for client in &clients {
            let waiting = machine.connection(client.end).unwrap().output_most;
            assert!(waiting <= OUTPUT_BYTES_MAX + 6 * 20_000, "{waiting} bytes were waiting to be sent");
        }
        // Others are served meanwhile.
        for key in 0..6 {
            let select = Statement::new("SELECT v FROM ks.t WHERE k = ?").bind([int(key)]);
            assert_eq!(witness.call(&mut machine, &select).rows().len(), 1);
        }
        for (client, streams) in clients.iter_mut().zip(expected) {
            if dice.below(3) == 0 {
                machine.disconnect(client.end);
                continue;
            }
            machine.connection(client.end).unwrap().window = usize::MAX;
            for stream in streams {
                assert!(!client.wait(&mut machine, stream).rows().is_empty());
            }
        }
    }
}

/// Each takes no more than its share, but there are many: those that read nothing are cut off, those that read slowly are not.
#[test]
fn many_clients_that_do_not_read_are_cut_off() {
    let setup = Setup { cores: 1, ..Setup::small(1) };
    let mut machine = Machine::start(&setup);
    let mut witness = Client::any(&mut machine, 0);
    let keyspace = "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
    witness.query(&mut machine, keyspace).done();
    witness.query(&mut machine, "CREATE TABLE ks.t (k int PRIMARY KEY, v blob)").done();
    let insert = Statement::new("INSERT INTO ks.t (k, v) VALUES (0, ?)").bind([Some(vec![7; 48 << 10])]);
    witness.call(&mut machine, &insert).done();
    let select = Statement::new("SELECT v FROM ks.t WHERE k = 0");
    let mut slow = Client::connect(&mut machine, 0, ProtocolVersion::V4, None);
    let deaf: Vec<Client> = (0..60)
        .map(|_| {
            let mut client = Client::connect(&mut machine, 0, ProtocolVersion::V4, None);
            machine.connection(client.end).unwrap().window = 0;
            client.send(&mut machine, &select);
            client
        })
        .collect();
    machine.connection(slow.end).unwrap().window = 0;
    let stream = slow.send(&mut machine, &select);
    let unsent = |machine: &mut Machine| -> usize {
        deaf.iter().filter_map(|client| machine.connection(client.end).map(|connection| connection.output.len())).sum()
    };
    for _ in 0..50 {
        machine.sleep(100_000);
        machine.connection(slow.end).unwrap().window += 5_000;
    }
    let held = unsent(&mut machine);
    assert!(held > setup.requests_bytes_max / 2, "{held}: more were cut off than had to be");
    assert!(held <= setup.requests_bytes_max, "{held} bytes wait for clients that do not read");
    machine.connection(slow.end).unwrap().window = usize::MAX;
    assert_eq!(slow.wait(&mut machine, stream).rows().len(), 1, "a slow reader is a reader");
    assert_eq!(witness.call(&mut machine, &select).rows().len(), 1);
}
