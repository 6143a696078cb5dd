//! Mutated connections and messages: no panic, no memory beyond what was received, and what is accepted reads back the same.
//!
//! `TARNDB_FUZZ_ITERATIONS` sets the number of mutations a target (default 20000), `TARNDB_FUZZ_SEED` the seed that a failure names.
#![allow(clippy::unwrap_used)]

#[path = "whole/wire_corpus/mod.rs"]
mod wire_corpus;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use base::Rng;
use cql::wire::*;
use wire_corpus::*;

const DEFAULT_ITERATIONS: u64 = 20_000;

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

/// Runs `check` with mutations of `corpus`; a failure prints how to see it again.
fn fuzz(target: &str, corpus: &[Vec<u8>], mut check: impl FnMut(usize, &[u8], &mut Rng)) {
    let iterations = from_environment("TARNDB_FUZZ_ITERATIONS", DEFAULT_ITERATIONS);
    let first = from_environment("TARNDB_FUZZ_SEED", 1);
    for seed in first..first + iterations {
        let mut rng = Rng::new(seed);
        let chosen = rng.below(corpus.len() as u64) as usize;
        let mut bytes = corpus[chosen].clone();
        for _ in 0..1 + rng.below(6) {
            mutate(&mut bytes, corpus, &mut rng);
        }
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(chosen, &bytes, &mut rng))) {
            eprintln!("TARNDB_FUZZ_SEED={seed} TARNDB_FUZZ_ITERATIONS=1 cargo test -p tarndb-cql --test wire_fuzz {target}");
            resume_unwind(panic);
        }
    }
}

const EDGES: [u32; 12] = [0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFE, 0xFFFF_FFFF];

fn mutate(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], rng: &mut Rng) {
    let at = rng.below(bytes.len() as u64 + 1) as usize;
    match rng.below(8) {
        0 => bytes.truncate(at),
        1 => bytes.insert(at, rng.next_u64() as u8),
        2 => {
            if at < bytes.len() {
                bytes[at] ^= 1 << rng.below(8);
            }
        }
        3 => {
            if at < bytes.len() {
                bytes[at] = rng.next_u64() as u8;
            }
        }
        // A length, a count or a flag is what most bytes are part of: one, two or four bytes become an edge.
        4 | 5 => {
            let edge = EDGES[rng.below(EDGES.len() as u64) as usize].to_be_bytes();
            let width = 1 << rng.below(3);
            for (target, source) in bytes.iter_mut().skip(at).zip(&edge[4 - width..]) {
                *target = *source;
            }
        }
        6 => {
            let end = (at + rng.below(64) as usize).min(bytes.len());
            bytes.drain(at..end);
        }
        _ => {
            let other = &corpus[rng.below(corpus.len() as u64) as usize];
            let from = rng.below(other.len() as u64 + 1) as usize;
            let part = &other[from..(from + rng.below(200) as usize).min(other.len())];
            bytes.splice(at..at, part.iter().copied());
        }
    }
}

/// Reads everything that a request has to give.
fn exercise_request(frame: &Frame<'_>) {
    let Ok((envelope, request)) = Request::decode(frame) else { return };
    envelope.custom_payload.iter().for_each(drop);
    let check_values = |values: &Values<'_>| {
        assert_eq!(values.iter().count(), values.len());
        assert_eq!(values.iter_named().count(), values.len());
    };
    match &request {
        Request::Startup(options) => assert_eq!(options.iter().count(), options.len()),
        Request::Register(kinds) => assert_eq!(kinds.iter().count(), kinds.len()),
        Request::Query(Query { parameters, .. }) | Request::Execute(Execute { parameters, .. }) => check_values(&parameters.values),
        Request::Batch(batch) => {
            assert_eq!(batch.statements.iter().count(), batch.statements.len());
            batch.statements.iter().for_each(|(_, values)| check_values(&values));
        }
        Request::Options | Request::Prepare(_) | Request::AuthResponse(_) => {}
    }
    let version = frame.header.version;
    let mut body = Vec::new();
    envelope.write(&mut body, version);
    request.write(&mut body, version).unwrap();
    let header = FrameHeader { flags: envelope.flags(version), ..frame.header };
    assert_eq!(Request::decode(&Frame { header, body: &body }), Ok((envelope, request)));
}

/// Reads everything that a response has to give.
fn exercise_response(frame: &Frame<'_>) {
    let Ok((envelope, response)) = Response::decode(frame) else { return };
    assert_eq!(envelope.warnings.iter().count(), envelope.warnings.len());
    assert_eq!(envelope.custom_payload.iter().count(), envelope.custom_payload.len());
    let check_metadata = |metadata: &ReceivedMetadata<'_>| {
        metadata.key_indexes.iter().for_each(drop);
        if let Some(columns) = metadata.columns {
            assert_eq!(columns.iter().count(), metadata.column_count as usize);
            columns.iter().for_each(|column| drop(column.data_type.to_data_type()));
        }
    };
    match &response {
        Response::Supported(options) => options.iter().for_each(|(_, values)| assert_eq!(values.iter().count(), values.len())),
        Response::Result(ResultResponse::Rows(rows)) => {
            check_metadata(&rows.metadata);
            let cells = rows.len() * rows.metadata.column_count as usize;
            assert_eq!((rows.cells().count(), rows.iter().flatten().count()), (cells, cells));
        }
        Response::Result(ResultResponse::Prepared(prepared)) => {
            check_metadata(&prepared.markers);
            check_metadata(&prepared.result);
        }
        Response::Error(error) => error.write(&mut Vec::new(), frame.header.version),
        Response::Event(event) => event.write(&mut Vec::new(), frame.header.version),
        _ => {}
    }
}

/// Feeds `bytes` in random pieces, sometimes leaving frames unread; returns how many frames came.
fn exercise_decoder(bytes: &[u8], direction: Direction, agreed: Option<(ProtocolVersion, Option<Compression>)>, rng: &mut Rng) -> usize {
    let mut workspace = CompressionWorkspace::new();
    let mut decoder = FrameDecoder::new(direction, LIMIT);
    if let Some((version, compression)) = agreed {
        decoder.startup_agreed(version, compression).unwrap();
    }
    let mut delivered = 0;
    let mut rest = bytes;
    let mut failed = false;
    while !failed && !rest.is_empty() {
        let piece = if rng.below(4) == 0 { rest.len() } else { 1 + rng.below(rest.len() as u64) as usize };
        let (chunk, later) = rest.split_at(piece);
        rest = later;
        let mut frames = decoder.feed(chunk, &mut workspace);
        while rng.below(10) > 0 {
            match frames.next_frame() {
                Ok(Some(frame)) => {
                    delivered += 1;
                    match direction {
                        Direction::Request => exercise_request(&frame),
                        Direction::Response => exercise_response(&frame),
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    failed = true;
                    break;
                }
            }
        }
        drop(frames);
        // What is kept came in, decompressed at most; buffers may be twice as large as what they hold.
        assert!(decoder.buffered_bytes() <= 2 * bytes.len() + (512 << 10), "{}", decoder.buffered_bytes());
        assert!(workspace.capacity_bytes() <= 2 * LIMIT as usize + (512 << 10), "{}", workspace.capacity_bytes());
    }
    delivered
}

type Agreed = Option<(ProtocolVersion, Option<Compression>)>;

/// Connections of every agreement in `versions`, as they travel after STARTUP.
fn connections(versions: &[ProtocolVersion], direction: Direction) -> (Vec<Vec<u8>>, Vec<Agreed>) {
    let mut corpus = Vec::new();
    let mut agreements_of = Vec::new();
    for version in versions {
        for compression in agreements(*version) {
            let frames = match direction {
                Direction::Request => request_frames(*version),
                Direction::Response => response_frames(*version),
            };
            for per_flush in [1, 4] {
                let stream = stream(*version, compression, direction, frames.clone(), per_flush);
                corpus.push(stream.bytes[stream.agreed_at..].to_vec());
                agreements_of.push(Some((*version, compression)));
            }
        }
    }
    (corpus, agreements_of)
}

#[test]
fn frame_decoder_survives_mutated_connections() {
    for direction in [Direction::Request, Direction::Response] {
        let (corpus, agreed) = connections(&[ProtocolVersion::V3, ProtocolVersion::V4], direction);
        let mut delivered = 0;
        fuzz("frame_decoder", &corpus, |chosen, bytes, rng| delivered += exercise_decoder(bytes, direction, agreed[chosen], rng));
        assert!(delivered > 0, "mutations leave nothing to read");
    }
}

#[test]
fn segment_decoder_survives_mutated_connections() {
    let (corpus, agreed) = connections(&[ProtocolVersion::V5], Direction::Request);
    let mut delivered = 0;
    fuzz("segment_decoder", &corpus, |chosen, bytes, rng| delivered += exercise_decoder(bytes, Direction::Request, agreed[chosen], rng));
    assert!(delivered > 0, "mutations leave nothing to read");
}

/// A checksum stops every mutation of a segment, so here the payload is mutated and the segments made afterwards.
#[test]
fn segment_decoder_survives_mutated_payloads_with_right_checksums() {
    let corpus: Vec<Vec<u8>> = request_frames(ProtocolVersion::V5);
    let mut delivered = 0;
    fuzz("mutated_payloads", &corpus, |_, bytes, rng| {
        let compressed = rng.below(2) == 0;
        let format = if compressed { SegmentFormat::Lz4 } else { SegmentFormat::Plain };
        let mut sent = Vec::new();
        for part in bytes.chunks(1 + rng.below(200) as usize) {
            let content = if rng.below(3) == 0 { SegmentContent::Frames } else { SegmentContent::Part };
            let uncompressed_bytes = if compressed && rng.below(2) == 0 { rng.below(300) as u32 } else { 0 };
            let header = SegmentHeader { payload_bytes: part.len() as u32, uncompressed_bytes, content };
            let start = sent.len();
            sent.resize(start + format.header_bytes(), 0);
            header.write(&mut sent[start..], format);
            sent.extend(part);
            let mut hasher = crc32fast::Hasher::new();
            hasher.update(&[0xFA, 0x2D, 0x55, 0xCA]);
            hasher.update(part);
            sent.extend(hasher.finalize().to_le_bytes());
        }
        let agreed = Some((ProtocolVersion::V5, compressed.then_some(Compression::Lz4)));
        delivered += exercise_decoder(&sent, Direction::Request, agreed, rng);
    });
    assert!(delivered > 0, "mutations leave nothing to read");
}

/// Mutates bodies only, so that every mutation reaches the decoder of the message.
fn fuzz_bodies(target: &str, frames: Vec<Vec<u8>>, exercise: fn(&Frame<'_>)) {
    let (headers, bodies): (Vec<_>, Vec<_>) =
        frames.iter().map(|bytes| parse(bytes)).map(|frame| (frame.header, frame.body.to_vec())).unzip();
    fuzz(target, &bodies, |chosen, body, rng| {
        let mut header = headers[chosen];
        if rng.below(8) == 0 {
            header.flags = FrameFlags(rng.next_u64() as u8);
        }
        if rng.below(16) == 0 {
            header.opcode_byte = rng.below(0x12) as u8;
        }
        exercise(&Frame { header, body });
    });
}

#[test]
fn request_decoder_survives_mutated_bodies() {
    fuzz_bodies("request_decoder", ProtocolVersion::ALL.into_iter().flat_map(request_frames).collect(), exercise_request);
}

#[test]
fn response_decoder_survives_mutated_bodies() {
    fuzz_bodies("response_decoder", ProtocolVersion::ALL.into_iter().flat_map(response_frames).collect(), exercise_response);
}

#[test]
fn class_name_parser_survives_mutated_names() {
    let corpus: Vec<Vec<u8>> = types().iter().map(|data_type| marshal_class(data_type).into_bytes()).collect();
    fuzz("class_name_parser", &corpus, |_, bytes, _| {
        let class = String::from_utf8_lossy(bytes);
        // What is understood is written back in its canonical form, which is a fixed point.
        let canonical = marshal_class(&parse_marshal_class(&class));
        assert_eq!(marshal_class(&parse_marshal_class(&canonical)), canonical);
    });
}

/// A reader that believes the length of a statement's id: what the fuzzer is there to find.
#[test]
fn the_fuzzer_finds_a_planted_bug() {
    let frames = request_frames(ProtocolVersion::V4);
    let executes = frames.iter().map(|bytes| parse(bytes)).filter(|frame| frame.header.opcode() == Ok(Opcode::Execute));
    let bodies: Vec<_> = executes.map(|frame| frame.body.to_vec()).collect();
    let believe = |body: &[u8]| Reader::new(body).short().map_or(0, |length| body[2..2 + usize::from(length)].len());
    assert!(bodies.iter().all(|body| believe(body) == ID.len()), "it takes a mutation");
    let found = catch_unwind(|| fuzz("planted_bug", &bodies, |_, body, _| assert!(believe(body) < body.len().max(1))));
    assert!(found.is_err());
}
