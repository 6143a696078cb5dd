//! Records of Aerospike clients on a whole node: every core serves all of them, and CQL sees them at once.

mod client;

use base::Rng;
use client::{
    Client, DEVICE_OVERLOAD, Message, NOT_FOUND, OK, OUT_OF_MEMORY, delete, digest, get, get_many, put, put_bytes, put_many, scan,
};
use shard::Durability;
use sim::{Loss, Machine, Seeded, Setup, Statement, seeds};
use std::collections::BTreeSet;

fn setup(seed: u64, cores: u16) -> Setup {
    Setup { cores, ..Setup::small(seed) }
}

fn clients(machine: &mut Machine) -> Vec<Client> {
    (0..machine.cores()).map(|core| Client::connect(machine, core)).collect()
}

fn value(message: &Message, bin: &str) -> i64 {
    assert_eq!(message.code, OK);
    i64::from_be_bytes(message.bins[bin].as_slice().try_into().unwrap())
}

#[test]
fn every_core_reads_at_once_what_every_other_has_written() {
    for seed in seeds(4) {
        let _seeded = Seeded(seed);
        let mut machine = Machine::start(&setup(seed, 3));
        let mut clients = clients(&mut machine);
        let mut cql = sim::Client::any(&mut machine, 0);
        for number in 0..60u32 {
            let writer = &mut clients[number as usize % 3];
            assert_eq!(writer.one(&mut machine, &put("s", number, &[("n", i64::from(number))])).code, OK);
            let reader = &mut clients[(number as usize + 1) % 3];
            assert_eq!(value(&reader.one(&mut machine, &get("s", number)), "n"), i64::from(number));
            let select = Statement::new("SELECT n, generation FROM test.s WHERE digest = ?").bind([Some(digest(number).to_vec())]);
            let expected = [[Some(i64::from(number).to_be_bytes().to_vec()), Some(1i32.to_be_bytes().to_vec())]];
            assert_eq!(cql.call(&mut machine, &select).rows(), expected);
        }
        for client in &mut clients {
            let found: BTreeSet<i64> =
                client.call(&mut machine, &scan("s")).iter().filter(|m| !m.bins.is_empty()).map(|m| value(m, "n")).collect();
            assert_eq!(found, (0..60).collect());
            let batch = client.call(&mut machine, &get_many("s", 50..70));
            assert_eq!(batch.iter().filter(|message| message.code == OK).count(), 10);
            assert_eq!(batch.iter().filter(|message| message.code == NOT_FOUND).count(), 10);
        }
        assert_eq!(clients[0].one(&mut machine, &delete("s", 7)).code, OK);
        assert_eq!(clients[1].one(&mut machine, &get("s", 7)).code, NOT_FOUND);
        assert_eq!(cql.pages(&mut machine, &Statement::new("SELECT n FROM test.s"), 8).len(), 59);
    }
}

#[test]
fn bins_that_many_are_the_first_to_write_are_declared_once_and_survive() {
    for seed in seeds(6) {
        let _seeded = Seeded(seed);
        let setup = setup(seed, 3);
        let mut machine = Machine::start(&setup);
        let mut writers: Vec<Client> = (0..12).map(|number| Client::connect(&mut machine, number % 3)).collect();
        for (number, writer) in (0u32..).zip(&writers) {
            let own = format!("own{}", number % 4);
            writer.send(&mut machine, &put("s", number, &[("n", i64::from(number)), (&own, 1)]));
        }
        for writer in &mut writers {
            let (_, body) = loop {
                machine.step();
                if let Some(frame) = writer.poll(&mut machine) {
                    break frame;
                }
            };
            assert_eq!(body[5], OK);
        }
        machine = Machine::restart(&setup, machine.end(Loss::Process));
        let mut client = Client::connect(&mut machine, 1);
        for number in 0..12u32 {
            let record = client.one(&mut machine, &get("s", number));
            assert_eq!((value(&record, "n"), value(&record, &format!("own{}", number % 4))), (i64::from(number), 1));
        }
        let mut cql = sim::Client::any(&mut machine, 0);
        let columns = cql.query(&mut machine, "SELECT column_name FROM system_schema.columns WHERE keyspace_name = 'test'").rows();
        assert_eq!(columns.len(), 5 + 5, "{columns:?}");
        assert_eq!(client.info(&mut machine, "sets/test"), "ns=test:set=s:truncating=false");
    }
}

/// A write whose bins cannot be stored in the schema is refused, and done when it is tried again.
#[test]
fn a_write_whose_bins_cannot_be_declared_is_refused() {
    let mut machine = Machine::start(&setup(1, 2));
    let mut client = Client::connect(&mut machine, 1);
    machine.fail_blobs(100);
    assert_eq!(client.one(&mut machine, &put("s", 1, &[("n", 1)])).code, 1);
    machine.fail_blobs(0);
    assert_eq!(client.one(&mut machine, &get("s", 1)).code, NOT_FOUND);
    assert_eq!(client.one(&mut machine, &put("s", 1, &[("n", 1)])).code, OK);
    assert_eq!(client.one(&mut machine, &put("s", 1, &[("a name that is too long", 1)])).code, 21);
    assert_eq!(value(&client.one(&mut machine, &get("s", 1)), "n"), 1);
}

#[test]
fn requests_that_come_together_are_answered_in_order() {
    for seed in seeds(4) {
        let _seeded = Seeded(seed);
        let mut machine = Machine::start(&setup(seed, 3));
        let mut client = Client::connect(&mut machine, 0);
        let mut bytes = Vec::new();
        for number in 0..40u32 {
            bytes.extend(put("s", number % 7, &[("n", i64::from(number)), (["a", "b", "c"][number as usize % 3], 0)]));
            bytes.extend(get("s", number % 7));
        }
        client.send(&mut machine, &bytes);
        for number in 0..40 {
            assert_eq!(client.one(&mut machine, &[]).code, OK);
            assert_eq!(value(&client.one(&mut machine, &[]), "n"), number);
        }
    }
}

/// A scan goes on as far as its client reads, holds little meanwhile, and misses nothing.
#[test]
fn a_scan_waits_for_its_reader() {
    for seed in seeds(3) {
        let _seeded = Seeded(seed);
        let setup = Setup { capacity_bytes: 16 << 20, unsent_bytes_max: 64 << 10, requests_bytes_max: 8 << 20, ..setup(seed, 3) };
        let mut machine = Machine::start(&setup);
        let mut writer = Client::connect(&mut machine, 0);
        const RECORDS: u32 = 3_000;
        for number in 0..RECORDS {
            assert_eq!(writer.one(&mut machine, &put_bytes("s", number, "b", &[number as u8; 900])).code, OK);
        }
        let mut slow = Client::connect(&mut machine, 1);
        let deaf: Vec<Client> = (0..12).map(|number| Client::connect(&mut machine, number % 3)).collect();
        for client in deaf.iter().chain([&slow]) {
            machine.connection(client.end).unwrap().window = 1_000;
            client.send(&mut machine, &scan("s"));
        }
        for _ in 0..3_000 {
            machine.step();
        }
        for number in 0..200 {
            assert_eq!(writer.one(&mut machine, &get("s", number)).code, OK, "others are served meanwhile");
        }
        let held = machine.connection(slow.end).unwrap().output_most;
        assert!(held < 1 << 20, "{held} bytes wait for a client that does not read");
        machine.disconnect(deaf[0].end);
        machine.connection(slow.end).unwrap().window = usize::MAX;
        let found = slow.reply(&mut machine).iter().filter(|message| !message.bins.is_empty()).count();
        assert_eq!(found, RECORDS as usize);
    }
}

#[test]
fn a_truncation_is_answered_when_it_is_done() {
    for seed in seeds(4) {
        let _seeded = Seeded(seed);
        let setup = setup(seed, 3);
        let mut machine = Machine::start(&setup);
        let mut client = Client::connect(&mut machine, 0);
        for set in ["a", "b", ""] {
            for number in 0..9 {
                assert_eq!(client.one(&mut machine, &put(set, number, &[("n", 1)])).code, OK);
            }
        }
        assert_eq!(client.info(&mut machine, "truncate:namespace=test;set=a"), "ok");
        let count = |client: &mut Client, machine: &mut Machine| {
            client.call(machine, &scan("")).iter().filter(|message| !message.bins.is_empty()).count()
        };
        assert_eq!(count(&mut client, &mut machine), 18);
        assert_eq!(client.info(&mut machine, "truncate-namespace:namespace=test"), "ok");
        assert!(client.info(&mut machine, "truncate-namespace:namespace=other").starts_with("ERROR:20:"));
        machine = Machine::restart(&setup, machine.end(Loss::Process));
        client = Client::connect(&mut machine, 0);
        assert_eq!(count(&mut client, &mut machine), 0);
    }
}

#[test]
fn a_full_device_refuses_writes_and_keeps_reading() {
    for seed in seeds(3) {
        let _seeded = Seeded(seed);
        let mut machine = Machine::start(&Setup { capacity_bytes: 1 << 20, ..setup(seed, 2) });
        let mut client = Client::connect(&mut machine, 0);
        let (mut done, mut refused) = (Vec::new(), 0);
        for number in 0..600 {
            match client.one(&mut machine, &put_bytes("s", number, "b", &[7; 9_000])).code {
                OK => done.push(number),
                OUT_OF_MEMORY | DEVICE_OVERLOAD => refused += 1,
                code => panic!("code {code}"),
            }
        }
        assert!(!done.is_empty() && refused > 0, "{} done, {refused} refused", done.len());
        for number in done {
            assert_eq!(client.one(&mut machine, &get("s", number)).bins["b"], [7; 9_000]);
        }
    }
}

#[test]
fn spoiled_requests_harm_nobody() {
    for seed in seeds(40) {
        let _seeded = Seeded(seed);
        let mut dice = Rng::new(seed);
        let mut machine = Machine::start(&setup(seed, 1 + (seed % 3) as u16));
        let mut witness = Client::connect(&mut machine, 0);
        let cores = u64::from(machine.cores());
        for number in 0..60u32 {
            let client = Client::connect(&mut machine, dice.below(cores) as u16);
            let mut bytes = Vec::new();
            for _ in 0..1 + dice.below(4) {
                bytes.extend(match dice.below(7) {
                    0 => put("s", number, &[("n", 1), ("m", 2)]),
                    1 => get("s", number),
                    2 => delete("s", number),
                    3 => scan("s"),
                    4 => get_many("s", 0..20),
                    5 => put_bytes("s", number, "b", &[1; 300]),
                    _ => b"\x02\x01\0\0\0\0\0\x11node\nstatistics\n\n".to_vec(),
                });
            }
            crate::bad_bytes::spoil(&mut dice, &mut bytes);
            client.send(&mut machine, &bytes);
            for _ in 0..dice.below(40) {
                machine.step();
            }
            if dice.below(2) == 0 {
                machine.disconnect(client.end);
            }
            assert_eq!(witness.one(&mut machine, &put("w", number, &[("n", i64::from(number))])).code, OK);
            assert_eq!(value(&witness.one(&mut machine, &get("w", number)), "n"), i64::from(number));
        }
    }
}

/// A request that was planned before others declared bins, and runs after they wrote them, knows them.
#[test]
fn a_batch_under_way_keeps_the_bins_of_those_who_overtake_it() {
    const RECORDS: u32 = 300;
    for seed in seeds(6) {
        let _seeded = Seeded(seed);
        let mut machine = Machine::start(&setup(seed, 3));
        let (mut batch, mut other) = (Client::connect(&mut machine, 0), Client::connect(&mut machine, 1));
        assert!(batch.call(&mut machine, &put_many("s", 0..RECORDS, "n", 1)).iter().all(|message| message.code == OK));
        batch.send(&mut machine, &put_many("s", 0..RECORDS, "n", 2));
        for number in (0..RECORDS).rev() {
            assert_eq!(other.one(&mut machine, &put("s", number, &[("late", i64::from(number))])).code, OK);
        }
        assert_eq!(batch.reply(&mut machine).len(), RECORDS as usize);
        for number in 0..RECORDS {
            let record = other.one(&mut machine, &get("s", number));
            assert_eq!((value(&record, "n"), value(&record, "late")), (2, i64::from(number)));
        }
    }
}

/// A record as its client knows it: its generation and value, or nothing.
type Known = Option<(u32, Vec<u8>)>;

fn seen(client: &mut Client, machine: &mut Machine, number: u32) -> Known {
    let record = client.one(machine, &get("s", number));
    match record.code {
        OK => Some((record.generation, record.bins["b"].clone())),
        NOT_FOUND => None,
        code => panic!("code {code}"),
    }
}

/// Records come back as they were acknowledged, whatever ends the process; one whose last request was not answered, as before or after it.
#[test]
fn acknowledged_records_survive_every_end() {
    const RECORDS: u32 = 60;
    for seed in seeds(20) {
        let _seeded = Seeded(seed);
        let setup = Setup::small(seed);
        let loss = if setup.durability == Durability::Device { Loss::Power } else { Loss::Process };
        let mut dice = Rng::new(seed);
        let mut machine = Machine::start(&setup);
        let mut known: Vec<Known> = vec![None; RECORDS as usize];
        for _ in 0..4 {
            let cores = machine.cores();
            let mut clients: Vec<Client> = (0..6).map(|number| Client::connect(&mut machine, number % cores)).collect();
            // What each client waits for: the record, and what it will be.
            let mut asked: Vec<Option<(u32, Known)>> = vec![None; clients.len()];
            for _ in 0..200 + dice.below(4_000) {
                machine.step();
                for (slot, client) in (0u32..).zip(&mut clients) {
                    let Some((number, after)) = &asked[slot as usize] else {
                        let number = slot + 6 * dice.below(u64::from(RECORDS) / 6) as u32;
                        let before = &known[number as usize];
                        let after = if before.is_some() && dice.below(4) == 0 {
                            client.send(&mut machine, &delete("s", number));
                            None
                        } else {
                            let value = vec![dice.below(256) as u8; 1 + dice.below(3_000) as usize];
                            client.send(&mut machine, &put_bytes("s", number, "b", &value));
                            Some((before.as_ref().map_or(1, |(generation, _)| generation + 1), value))
                        };
                        asked[slot as usize] = Some((number, after));
                        continue;
                    };
                    let Some((_, body)) = client.poll(&mut machine) else { continue };
                    assert_eq!(body[5], OK);
                    known[*number as usize] = after.clone();
                    asked[slot as usize] = None;
                }
            }
            machine = Machine::restart(&setup, machine.end(loss));
            let mut reader = Client::connect(&mut machine, 0);
            for number in 0..RECORDS {
                let found = seen(&mut reader, &mut machine, number);
                let unanswered = asked.iter().flatten().find(|(asked, _)| *asked == number).map(|(_, after)| after);
                let before = &known[number as usize];
                assert!(found == *before || Some(&found) == unanswered, "record {number} is not what was acknowledged");
                known[number as usize] = found;
            }
            let scanned = reader.call(&mut machine, &scan("s")).iter().filter(|message| !message.bins.is_empty()).count();
            assert_eq!(scanned, known.iter().flatten().count());
        }
    }
}
