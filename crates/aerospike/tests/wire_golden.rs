//! Requests as clients send them, byte for byte, and what is read in them.
#![allow(clippy::unwrap_used)]

use aerospike::operate::code;
use aerospike::wire::*;

const GOLDEN: &str = include_str!("wire_golden/python-19.txt");

/// The bytes of a request.
fn golden(name: &str) -> Vec<u8> {
    let line = GOLDEN.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap();
    (0..line.len()).step_by(2).map(|at| u8::from_str_radix(&line[at..at + 2], 16).unwrap()).collect()
}

/// The only message in `bytes`.
fn body(bytes: &[u8]) -> Vec<u8> {
    let header = Header::read(bytes, 1 << 20).unwrap().unwrap();
    assert_eq!(bytes.len(), HEADER_BYTES + header.body_bytes);
    assert_eq!(header.to_bytes(), bytes[..HEADER_BYTES]);
    match header.kind {
        Kind::Message => bytes[HEADER_BYTES..].to_vec(),
        Kind::Compressed => {
            let mut plain = Vec::new();
            decompress(&bytes[HEADER_BYTES..], 1 << 20, &mut plain).unwrap();
            plain
        }
        other => panic!("{other:?}"),
    }
}

/// Operations as `code:particle:name=value`.
fn operations(operations: &Operations<'_>) -> Vec<String> {
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
    operations.iter().map(|o| format!("{}:{}:{}={}", o.code, o.particle, text(o.name), text(o.value))).collect()
}

const KEY: [u8; 20] = *b"\x3b\xd4\x75\xbd\x0c\x73\xf2\x10\xb6\x7e\xa8\x37\x93\x30\x0e\xea\xe5\x76\x28\x5d";

/// Flags, generation and time to live.
fn attributes(info: [u8; 3], generation: u32, ttl: u32) -> Attributes {
    Attributes { info1: info[0], info2: info[1], info3: info[2], info4: 0, generation, ttl }
}

#[test]
fn requests_on_one_record_are_understood() {
    let cases = [
        ("put_gen", attributes([0, info2::WRITE | info2::GENERATION, info3::REPLACE_ONLY | info3::CREATE_OR_REPLACE], 3, 0), 1),
        ("get", attributes([info1::READ | info1::GET_ALL, 0, 0], 0, 0), 0),
        ("select", attributes([info1::READ, 0, 0], 0, 0), 2),
        ("exists", attributes([info1::READ | info1::NO_BINS, 0, 0], 0, 0), 0),
        ("touch", attributes([0, info2::WRITE, 0], 0, u32::MAX), 1),
        ("remove", attributes([0, info2::WRITE | info2::DELETE | info2::DURABLE_DELETE, 0], 0, 0), 0),
        ("operate", attributes([info1::READ, info2::WRITE | info2::RESPOND_ALL_OPS, 0], 0, 0), 5),
    ];
    for (name, mut expected, count) in cases {
        let body = body(&golden(name));
        let message = Message::decode(&body).unwrap();
        if name == "put_gen" {
            // The client says that it replaces, one way or the other.
            expected.info3 &= message.attributes.info3;
            assert_ne!(expected.info3, 0);
        }
        assert_eq!((message.attributes, message.operations.len()), (expected, count), "{name}");
        let fields = Fields { namespace: Some(b"test"), set: Some(b"demo"), digest: Some(&KEY), ..Fields::default() };
        assert_eq!(message.fields, fields, "{name}");
    }
}

#[test]
fn values_come_with_their_types() {
    let body = body(&golden("put"));
    let message = Message::decode(&body).unwrap();
    assert_eq!(message.attributes, attributes([0, info2::WRITE | info2::CREATE_ONLY, 0], 0, 60));
    assert_eq!(message.fields.key, Some(&b"\x03key"[..]));
    let expected = [
        r"2:1:i=\x00\x00\x00\x00\x00\x00\x00\x07",
        r"2:2:f=?\xf8\x00\x00\x00\x00\x00\x00",
        r"2:3:s=text",
        r"2:4:b=\x01\x02",
        r"2:17:t=\x01",
        r"2:20:l=\x92\x01\xa2\x03a",
        r"2:19:m=\x81\xa2\x03k\x01",
    ];
    assert_eq!(operations(&message.operations), expected);
    let ones = golden("operate");
    let ones = self::body(&ones);
    let codes: Vec<u8> = Message::decode(&ones).unwrap().operations.iter().map(|operation| operation.code).collect();
    assert_eq!(codes, [code::ADD, code::APPEND, code::READ, code::CDT_MODIFY, code::CDT_MODIFY]);
}

#[test]
fn batches_are_understood() {
    let bytes = body(&golden("batch_read"));
    let message = Message::decode(&bytes).unwrap();
    assert_eq!(message.attributes.info1, info1::BATCH);
    let batch = BatchEntries::read(message.fields.batch.unwrap()).unwrap();
    let entries: Vec<BatchEntry<'_>> = batch.map(Result::unwrap).collect();
    assert_eq!(entries.iter().map(|entry| (entry.index, entry.repeats)).collect::<Vec<_>>(), [(0, false), (1, true)]);
    assert!(entries.iter().all(|entry| entry.attributes == attributes([info1::READ | info1::GET_ALL, 0, 0], 0, 0)));
    assert!(entries.iter().all(|entry| entry.fields.set == Some(b"demo") && entry.fields.namespace == Some(b"test")));
    assert_ne!(entries[0].digest, entries[1].digest);

    let bytes = body(&golden("batch_write"));
    let message = Message::decode(&bytes).unwrap();
    let batch = BatchEntries::read(message.fields.batch.unwrap()).unwrap();
    assert!(!batch.is_empty() && batch.respond_all);
    let entries: Vec<BatchEntry<'_>> = batch.map(Result::unwrap).collect();
    let flags: Vec<[u8; 2]> = entries.iter().map(|entry| [entry.attributes.info1, entry.attributes.info2]).collect();
    let removes = info2::WRITE | info2::DELETE;
    assert_eq!(flags[0], [0, info2::WRITE | info2::RESPOND_ALL_OPS]);
    assert_eq!((flags[1][0], flags[2][1] & removes), (info1::READ, removes));
    assert_eq!(operations(&entries[0].operations), [r"2:1:a=\x00\x00\x00\x00\x00\x00\x00\x01"]);
    assert_eq!(operations(&entries[1].operations), ["1:0:a="]);
}

#[test]
fn compressed_requests_are_understood() {
    let body = body(&golden("compressed"));
    let message = Message::decode(&body).unwrap();
    assert_eq!(operations(&message.operations), [format!("2:3:s={}", "x".repeat(400))]);
}

#[test]
fn replies_have_these_bytes() {
    let mut out = Vec::new();
    let proto = Proto::begin(&mut out, Kind::Message);
    let mut message = MessageWriter::begin(&mut out);
    message.attributes = attributes([0, 0, info3::LAST], 3, 0x0102_0304);
    message.number = 9;
    message.field(&mut out, field::DIGEST, &[0xD0], &[0xD1, 0xD2]);
    message.bin(&mut out, b"bin", 3, b"text");
    message.end(&mut out, aerospike::ResultCode::KEY_EXISTS);
    proto.end(&mut out);
    let expected = [
        &[2, 3, 0, 0, 0, 0, 0, 45][..],
        &[22, 0, 0, 1, 0, 5, 0, 0, 0, 3, 1, 2, 3, 4, 0, 0, 0, 9, 0, 1, 0, 1],
        &[0, 0, 0, 4, 4, 0xD0, 0xD1, 0xD2],
        &[0, 0, 0, 11, 1, 3, 0, 3],
        b"bintext",
    ];
    assert_eq!(out, expected.concat());
}
