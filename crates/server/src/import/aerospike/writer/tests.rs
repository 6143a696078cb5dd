#![allow(clippy::unwrap_used)]

use super::super::super::error::Side;
use super::*;
use crate::cli::EndsArguments;
use crate::endpoint::{Protocol, ends};
use crate::meter::{Meter, Unit};
use aerospike::wire::{HEADER_BYTES, Header, Message};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

/// Digests and times to live of a batch, and what it is answered: the code of each record.
type Batch = Vec<([u8; 20], u32)>;

/// A server that answers one batch after the other, on one connection, with these codes; gives the batches that it was sent.
fn server(answers: Vec<Vec<ResultCode>>) -> (String, JoinHandle<Vec<Batch>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        answers.into_iter().map(|codes| answer(&mut stream, &codes)).collect()
    });
    (address, served)
}

fn answer(stream: &mut TcpStream, codes: &[ResultCode]) -> Batch {
    let mut header = [0; HEADER_BYTES];
    stream.read_exact(&mut header).unwrap();
    let mut body = vec![0; Header::read(&header, 1 << 20).unwrap().unwrap().body_bytes];
    stream.read_exact(&mut body).unwrap();
    let entries = BatchEntries::read(Message::decode(&body).unwrap().fields.batch.unwrap()).unwrap();
    let batch = entries.map(|entry| entry.map(|entry| (*entry.digest, entry.attributes.ttl)).unwrap()).collect();
    let mut out = Vec::new();
    let proto = Proto::begin(&mut out, Kind::Message);
    for (number, code) in (0..).zip(codes) {
        let mut message = MessageWriter::begin(&mut out);
        message.number = number;
        message.end(&mut out, *code);
    }
    let mut last = MessageWriter::begin(&mut out);
    last.attributes.info3 = info3::LAST;
    last.end(&mut out, ResultCode::OK);
    proto.end(&mut out);
    stream.write_all(&out).unwrap();
    batch
}

/// A record of one bin, as a scan gives it.
fn message(out: &mut Vec<u8>, digest: [u8; 20], void_time: u32) {
    let mut message = MessageWriter::begin(out);
    message.attributes.ttl = void_time;
    message.field(out, field::SET, b"s", &[]);
    message.field(out, field::DIGEST, &digest, &[]);
    message.bin(out, b"b", 1, &7_i64.to_be_bytes());
    message.end(out, ResultCode::OK);
}

/// How many records the target has taken, and how many it has refused.
type Counts = (u64, u64);

/// Writes records of these digests and times with a batch of two each; how many were, or why that ends.
fn written(answers: Vec<Vec<ResultCode>>, only_missing: bool, records: &[([u8; 20], u32)]) -> (Result<Counts, String>, Vec<Batch>) {
    let (address, served) = server(answers);
    let arguments = EndsArguments { from: address.clone(), to: Some(address), ..EndsArguments::default() };
    let connector = Connector::new(ends(Protocol::Aerospike, &arguments).unwrap().1, Side::Target);
    let meter = Meter::start(Unit::Rows, 0, 1, "groups");
    let (jobs, throttle, refused) = (Jobs::new(1, &meter), Throttle::new(None), Differences::new(&meter));
    let writing = Writing {
        connector: &connector,
        number: 0,
        namespace: "n",
        jobs: &jobs,
        throttle: &throttle,
        refused: &refused,
        records_max: 2,
        only_missing,
    };
    let mut writer = Writer::new(writing);
    let pushed = records.iter().try_for_each(|(digest, void_time)| {
        let mut bytes = Vec::new();
        message(&mut bytes, *digest, *void_time);
        writer.push(&Record::of(&Message::decode(&bytes).unwrap()).unwrap())
    });
    let done = pushed.and_then(|()| writer.finish()).map(|()| (meter.amount(), refused.count())).map_err(|error| error.to_string());
    assert_eq!(writer.has_refused(), refused.count() > 0);
    writer.clear();
    assert!(!writer.has_refused());
    drop(writer);
    (done, served.join().unwrap())
}

#[test]
fn a_record_lives_on_for_what_is_left() {
    assert_eq!(ttl(0, 500), Some(TTL_NEVER));
    assert_eq!(ttl(510, 500), Some(10));
    assert_eq!((ttl(500, 500), ttl(499, 500)), (None, None));
}

#[test]
fn what_is_overloaded_is_sent_again_and_what_is_never_taken_is_counted() {
    use ResultCode as Code;
    let answers = vec![vec![Code::DEVICE_OVERLOAD, Code::RECORD_TOO_BIG], vec![Code::OK, Code::RECORD_TOO_BIG], vec![Code::OK]];
    // The third has expired.
    let (done, batches) = written(answers, false, &[([1; 20], 0), ([2; 20], u32::MAX), ([3; 20], 1), ([4; 20], 0)]);
    assert_eq!(done, Ok((2, 1)));
    let digests: Vec<Vec<u8>> = batches.iter().map(|batch| batch.iter().map(|(digest, _)| digest[0]).collect()).collect();
    assert_eq!(digests, [vec![1, 2], vec![1, 2], vec![4]]);
    assert_eq!(batches[0][0].1, TTL_NEVER);
    assert!(batches[0][1].1 < u32::MAX - 500_000_000, "what is left since 2010");
}

#[test]
fn records_that_are_there_are_left_only_if_that_is_asked_for() {
    let there = || vec![vec![ResultCode::KEY_EXISTS]];
    assert_eq!(written(there(), true, &[([1; 20], 0)]).0, Ok((0, 0)));
    let refused = written(there(), false, &[([1; 20], 0)]).0.unwrap_err();
    assert!(refused.contains("the target: the server refuses writes") && refused.contains("KEY_EXISTS"), "{refused}");
}

#[test]
fn who_may_not_write_is_told_so() {
    let refused = written(vec![vec![ResultCode::ROLE_VIOLATION]], false, &[([1; 20], 0)]).0.unwrap_err();
    assert!(refused.contains("ROLE_VIOLATION"), "{refused}");
}

#[test]
fn a_refusal_of_no_record_that_was_sent_is_counted() {
    let answer = vec![ResultCode::OK, ResultCode::RECORD_TOO_BIG];
    assert_eq!(written(vec![answer], false, &[([1; 20], 0)]).0, Ok((1, 1)));
}
