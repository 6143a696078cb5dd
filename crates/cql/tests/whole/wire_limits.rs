//! Bytes that lie: every wrong length, flag, checksum and promise is a typed error, and costs no memory.

use crate::wire_corpus::*;
use cql::wire::*;

/// The first error that a decoder has with `bytes`, and the memory it then holds.
fn decode_all(bytes: &[u8], agreed: Option<(ProtocolVersion, Option<Compression>)>) -> (Result<usize, WireError>, usize) {
    let mut workspace = CompressionWorkspace::new();
    let mut decoder = FrameDecoder::new(Direction::Request, LIMIT);
    if let Some((version, compression)) = agreed {
        decoder.startup_agreed(version, compression).unwrap();
    }
    let mut count = 0;
    let mut frames = decoder.feed(bytes, &mut workspace);
    let result = loop {
        match frames.next_frame() {
            Ok(Some(_)) => count += 1,
            Ok(None) => break Ok(count),
            Err(error) => {
                assert_eq!(frames.next_frame(), Err(error), "an error stays");
                break Err(error);
            }
        }
    };
    drop(frames);
    (result, decoder.buffered_bytes() + workspace.capacity_bytes())
}

fn error_of(bytes: &[u8], agreed: Option<(ProtocolVersion, Option<Compression>)>) -> WireError {
    let (result, held_bytes) = decode_all(bytes, agreed);
    assert!(held_bytes <= bytes.len() + (64 << 10), "{held_bytes} bytes held for {}", bytes.len());
    result.unwrap_err()
}

#[test]
fn versions_not_spoken_are_reported_with_the_stream_to_answer_on() {
    for version in [0, 6, 22, 66, 71, 127] {
        let expected = WireError::UnsupportedVersion { version, stream: StreamId(0x0102) };
        assert_eq!(
            error_of(&[version, 0x10, 1, 2, 5, 0, 0, 0, 0], None),
            if version > 2 { expected } else { WireError::UnsupportedVersion { version, stream: StreamId(1) } }
        );
        // A client need not send nine bytes before it is answered.
        assert!(decode_all(&[version, 0, 1], None).0 == Ok(0));
        assert!(decode_all(&[version, 0, 1, 2], None).0.is_err());
    }
    // Protocols 1 and 2 have a stream id of one byte, and a header of eight.
    for version in [1, 2] {
        assert_eq!(error_of(&[version, 0, 7, 5, 0, 0, 0, 0], None), WireError::UnsupportedVersion { version, stream: StreamId(7) });
    }
}

#[test]
fn the_answer_to_an_unsupported_version_is_what_drivers_look_for() {
    for version in [1, 6, 65, 66] {
        let mut out = Vec::new();
        write_unsupported_version(&mut out, version, StreamId(-7));
        let frame = parse(&out);
        assert_eq!((frame.header.version, frame.header.stream), (ProtocolVersion::V5, StreamId(-7)));
        let Response::Error(error) = Response::decode(&frame).unwrap().1 else { panic!("not an error") };
        assert_eq!(error.kind.code(), 0x000A);
        assert_eq!(
            error.message,
            format!("Invalid or unsupported protocol version ({version}); supported versions are (3/v3, 4/v4, 5/v5)")
        );
    }
}

#[test]
fn a_connection_keeps_its_version_and_direction() {
    let (three, four) = (ProtocolVersion::V3, ProtocolVersion::V4);
    let mut bytes = frame(four, Direction::Request, FrameFlags::NONE, 1, Opcode::Options, b"");
    bytes.extend(frame(three, Direction::Request, FrameFlags::NONE, 2, Opcode::Options, b""));
    let error = error_of(&bytes, None);
    assert_eq!(error, WireError::VersionChanged { expected: four, got: three, stream: StreamId(2) });
    assert_eq!(error.to_string(), "Invalid message version. Got 3/v3 but previous messages on this connection had version 4/v4");
    let bytes = frame(four, Direction::Response, FrameFlags::NONE, 9, Opcode::Ready, b"");
    assert_eq!(error_of(&bytes, None), WireError::WrongDirection { version_byte: 0x84, stream: StreamId(9) });
}

#[test]
fn bodies_beyond_the_limit_are_refused_by_their_header() {
    for length in [LIMIT + 1, 0x7FFF_FFFF, 0x8000_0000, u32::MAX] {
        let mut bytes = vec![4, 0, 0, 3, 7];
        bytes.extend(length.to_be_bytes());
        let expected = WireError::BodyTooLong { length: u64::from(length), limit: LIMIT, stream: StreamId(3) };
        assert_eq!(error_of(&bytes, None), expected);
    }
    let mut bytes = vec![4, 0, 0, 3, 7];
    bytes.extend(LIMIT.to_be_bytes());
    assert_eq!(decode_all(&bytes, None).0, Ok(0));
    assert_eq!(FRAME_BODY_BYTES_MAX, 256 * 1024 * 1024);
}

#[test]
fn no_configuration_exceeds_the_protocols_limit() {
    let mut workspace = CompressionWorkspace::new();
    let mut decoder = FrameDecoder::new(Direction::Request, u32::MAX);
    let mut bytes = vec![4, 0, 0, 3, 7];
    bytes.extend((FRAME_BODY_BYTES_MAX + 1).to_be_bytes());
    assert!(decoder.feed(&bytes, &mut workspace).next_frame().is_err());
}

#[test]
fn compressed_bodies_without_agreement_are_refused() {
    let bytes = frame(ProtocolVersion::V4, Direction::Request, FrameFlags::COMPRESSED, 3, Opcode::Query, b"abcdefgh");
    for agreed in [None, Some((ProtocolVersion::V4, None))] {
        assert_eq!(error_of(&bytes, agreed), WireError::CompressionNotAgreed { stream: StreamId(3) });
    }
    // In v5 the flag means nothing.
    let bytes = frame(ProtocolVersion::V5, Direction::Request, FrameFlags::COMPRESSED, 3, Opcode::Options, b"");
    assert_eq!(decode_all(&bytes, None).0, Ok(1));
}

#[test]
fn compression_cannot_promise_more_than_the_limit_or_its_best_ratio() {
    let four = ProtocolVersion::V4;
    let body_of = |promised: u32, block: &[u8]| {
        let mut body = promised.to_be_bytes().to_vec();
        body.extend(block);
        frame(four, Direction::Request, FrameFlags::COMPRESSED, 3, Opcode::Query, &body)
    };
    let lz4 = Some((four, Some(Compression::Lz4)));
    for promised in [LIMIT + 1, 0x7FFF_FFFF, u32::MAX] {
        let expected = WireError::BodyTooLong { length: u64::from(promised), limit: LIMIT, stream: StreamId(3) };
        assert_eq!(error_of(&body_of(promised, &[0; 20]), lz4), expected);
    }
    let corrupt = |error| matches!(error, WireError::Decompression { .. });
    assert!(corrupt(error_of(&body_of(LIMIT, &[0; 20]), lz4)), "20 bytes cannot give a mebibyte");
    assert!(corrupt(error_of(&body_of(5, &[0x40, b'a', b'b', b'c', b'd']), lz4)), "4 bytes, not 5");
    assert!(corrupt(error_of(&body_of(3, &[0x40, b'a', b'b', b'c', b'd']), lz4)), "4 bytes, not 3");
    assert!(corrupt(error_of(&body_of(100, &[0x1F, b'a', 9, 0, 1, 0]), lz4)), "a match before the start");
    assert!(corrupt(error_of(&body_of(100, &[]), lz4)));
    assert_eq!(decode_all(&body_of(4, &[0x40, b'a', b'b', b'c', b'd']), lz4).0, Ok(1));
    for short in [&[][..], &[0], &[0, 0, 0]] {
        let bytes = frame(four, Direction::Request, FrameFlags::COMPRESSED, 3, Opcode::Options, short);
        assert_eq!(decode_all(&bytes, lz4).0.is_ok(), short.is_empty());
    }

    let snappy = Some((four, Some(Compression::Snappy)));
    let snappy_of = |body: &[u8]| frame(four, Direction::Request, FrameFlags::COMPRESSED, 3, Opcode::Query, body);
    assert!(matches!(error_of(&snappy_of(&[0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0]), snappy), WireError::BodyTooLong { .. }));
    assert!(corrupt(error_of(&snappy_of(&[0xFF, 0xFF, 0x3F, 0, 0, 0]), snappy)));
    assert!(corrupt(error_of(&snappy_of(&[0xFF; 12]), snappy)));
    assert!(corrupt(error_of(&snappy_of(&[2, 0, b'a']), snappy)));
    assert_eq!(decode_all(&snappy_of(&[1, 0, b'a']), snappy).0, Ok(1));
    assert_eq!(decode_all(&snappy_of(&[0]), snappy).0, Ok(1));
}

/// Frames as segments of v5 after STARTUP.
fn segments(compression: Option<Compression>, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut workspace = CompressionWorkspace::new();
    let mut encoder = FrameEncoder::new(Direction::Request);
    encoder.startup_agreed(ProtocolVersion::V5, compression).unwrap();
    let mut out = Vec::new();
    for frame in frames {
        encoder.append(&mut out, frame, &mut workspace);
    }
    encoder.flush(&mut out, &mut workspace);
    out
}

/// A plain segment with this payload.
fn segment(content: SegmentContent, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 6];
    SegmentHeader { payload_bytes: payload.len() as u32, uncompressed_bytes: 0, content }.write(&mut out, SegmentFormat::Plain);
    out.extend(payload);
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[0xFA, 0x2D, 0x55, 0xCA]);
    hasher.update(payload);
    out.extend(hasher.finalize().to_le_bytes());
    out
}

#[test]
fn every_flipped_bit_of_a_segment_is_noticed() {
    for compression in agreements(ProtocolVersion::V5) {
        let bytes = segments(compression, &request_frames(ProtocolVersion::V5));
        let agreed = Some((ProtocolVersion::V5, compression));
        assert!(decode_all(&bytes, agreed).0.is_ok());
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let error = decode_all(&flipped, agreed).0.unwrap_err();
            assert!(matches!(error, WireError::HeaderChecksum { .. } | WireError::PayloadChecksum { .. }), "{error}");
        }
    }
}

#[test]
fn segments_whose_content_lies_are_refused() {
    let agreed = Some((ProtocolVersion::V5, None));
    let options = frame(ProtocolVersion::V5, Direction::Request, FrameFlags::NONE, 1, Opcode::Options, b"");
    let query = frame(ProtocolVersion::V5, Direction::Request, FrameFlags::NONE, 1, Opcode::Query, &[0; 100]);
    let (frames, part) = (SegmentContent::Frames, SegmentContent::Part);

    assert_eq!(decode_all(&segment(frames, &[]), agreed).0, Ok(0));
    assert_eq!(decode_all(&segment(part, &[]), agreed).0, Ok(0));
    for cut in 1..query.len() {
        let error = error_of(&segment(frames, &query[..cut]), agreed);
        assert_eq!(error, WireError::FrameCutBySegment { remaining: cut });
    }
    // A part may end anywhere, even within the header.
    for cut in 1..query.len() {
        let bytes = [segment(part, &query[..cut]), segment(part, &query[cut..]), segment(frames, &options)].concat();
        assert_eq!(decode_all(&bytes, agreed).0, Ok(2), "{cut}");
    }
    let interrupted = [segment(part, &query[..50]), segment(frames, &options)].concat();
    assert_eq!(error_of(&interrupted, agreed), WireError::LargeFrameInterrupted { received: 50 });
    let overrun = [segment(part, &query), segment(part, b"")].concat();
    assert_eq!(decode_all(&overrun, agreed).0, Ok(1));
    let overrun = [&query[..], b"xyz"].concat();
    assert_eq!(error_of(&segment(part, &overrun), agreed), WireError::LargeFrameOverrun { excess: 3 });
    // The limit of a body holds for a large frame too, by its first part.
    let mut header = vec![5, 0, 0, 1, 7];
    header.extend((LIMIT + 1).to_be_bytes());
    let error = error_of(&segment(part, &header), agreed);
    assert_eq!(error, WireError::BodyTooLong { length: u64::from(LIMIT) + 1, limit: LIMIT, stream: StreamId(1) });
}

#[test]
fn compressed_segments_that_lie_about_their_length_are_refused() {
    let agreed = Some((ProtocolVersion::V5, Some(Compression::Lz4)));
    let block = [0x40, b'a', b'b', b'c', b'd'];
    for uncompressed_bytes in [1, 3, 5, 131_071] {
        let mut bytes = vec![0; 8];
        let header = SegmentHeader { payload_bytes: 5, uncompressed_bytes, content: SegmentContent::Frames };
        header.write(&mut bytes, SegmentFormat::Lz4);
        bytes.extend(block);
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&[0xFA, 0x2D, 0x55, 0xCA]);
        hasher.update(&block);
        bytes.extend(hasher.finalize().to_le_bytes());
        let (result, _) = decode_all(&bytes, agreed);
        assert!(matches!(result, Err(WireError::Decompression { .. })), "{result:?}");
    }
}

#[test]
fn every_truncated_request_is_an_error() {
    for version in ProtocolVersion::ALL {
        for_each_request(version, |request| {
            let mut body = Vec::new();
            request.write(&mut body, version).unwrap();
            for length in 0..body.len() {
                let bytes = frame(version, Direction::Request, FrameFlags::NONE, 0, request.opcode(), &body[..length]);
                let result = Request::decode(&parse(&bytes));
                assert!(
                    matches!(result, Err(WireError::Truncated { .. } | WireError::InvalidUtf8 { .. })),
                    "{request:?} {length}: {result:?}"
                );
            }
        });
    }
}

#[test]
fn every_truncated_response_is_an_error() {
    for version in ProtocolVersion::ALL {
        for whole in response_frames(version) {
            let frame = parse(&whole);
            for length in 0..frame.body.len() {
                let result = Response::decode(&Frame { body: &frame.body[..length], ..frame });
                // The count of contentions is the one field that may be missing.
                let contentions =
                    matches!(&result, Ok((_, Response::Error(error))) if error.kind.code() == 0x1100 && length + 2 == frame.body.len());
                assert!(result.is_err() || contentions, "{whole:?} {length}: {result:?}");
            }
        }
    }
}

/// What decoding `body` says, as a request of `version`.
fn refused(version: ProtocolVersion, opcode: Opcode, body: &[u8]) -> WireError {
    let bytes = frame(version, Direction::Request, FrameFlags::NONE, 0, opcode, body);
    Request::decode(&parse(&bytes)).unwrap_err()
}

#[test]
fn lying_fields_of_requests_are_refused() {
    let four = ProtocolVersion::V4;
    let truncated = |error: WireError| matches!(error, WireError::Truncated { .. });
    assert!(truncated(refused(four, Opcode::Query, b"\x7F\xFF\xFF\xFFSELECT")));
    assert_eq!(refused(four, Opcode::Query, b"\xFF\xFF\xFF\xFF"), WireError::InvalidLength { notation: Notation::LongString, length: -1 });
    assert_eq!(
        refused(four, Opcode::Query, b"\0\0\0\x04ab\xFF\xFE\0\x01\0"),
        WireError::InvalidUtf8 { notation: Notation::LongString, valid: 2 }
    );
    assert_eq!(refused(four, Opcode::Query, b"\0\0\0\x01x\0\x0B\0"), WireError::UnknownConsistency { code: 11 });
    assert_eq!(refused(four, Opcode::Query, b"\0\0\0\x01x\0\x01\x20\x80\0\0\0\0\0\0\0"), WireError::TimestampOutOfBounds);
    assert_eq!(refused(four, Opcode::Query, b"\0\0\0\x01x\0\x01\x04\0\0\0\0"), WireError::PageSizeZero);
    assert_eq!(
        refused(ProtocolVersion::V5, Opcode::Query, b"\0\0\0\x01x\0\x01\x40\0\x02\0"),
        WireError::UnknownFlags { flags: 0x4000_0200 }
    );
    assert_eq!(refused(ProtocolVersion::V5, Opcode::Prepare, b"\0\0\0\x01x\0\0\0\x02"), WireError::UnknownFlags { flags: 2 });
    // 65,535 values announced, one there.
    assert!(truncated(refused(four, Opcode::Execute, b"\0\x01i\0\x01\x01\xFF\xFF\xFF\xFF\xFF\xFF")));
    assert_eq!(
        refused(four, Opcode::Execute, b"\0\x01i\0\x01\x01\0\x01\x80\0\0\0"),
        WireError::InvalidLength { notation: Notation::Value, length: i32::MIN }
    );
    assert!(truncated(refused(four, Opcode::Execute, b"\xFF\xFFid")));
    assert_eq!(refused(four, Opcode::Batch, b"\x03\0\0\0\x01\0"), WireError::UnknownBatchKind { kind: 3 });
    assert_eq!(refused(four, Opcode::Batch, b"\0\0\x01\x02"), WireError::UnknownStatementKind { kind: 2 });
    assert_eq!(refused(four, Opcode::Batch, b"\0\0\0\0\x01\x40"), WireError::UnknownFlags { flags: 0x40 });
    assert!(truncated(refused(four, Opcode::Startup, b"\xFF\xFF\0\x01a\0\x01b")));
    assert!(truncated(refused(four, Opcode::Register, b"\0\x02\0\x01a")));
    assert!(truncated(refused(four, Opcode::AuthResponse, b"\x7F\xFF\xFF\xFF")));
    let bytes = [4, 0, 0, 0, 4, 0, 0, 0, 0];
    assert_eq!(Request::decode(&parse(&bytes)), Err(WireError::UnknownOpcode { opcode: 4 }));
}

#[test]
fn lying_fields_of_responses_are_refused() {
    let decode = |opcode, body: &[u8]| {
        let bytes = frame(ProtocolVersion::V5, Direction::Response, FrameFlags::NONE, 0, opcode, body);
        Response::decode(&parse(&bytes)).map(drop)
    };
    let rows = |tail: &[u8]| decode(Opcode::Result, &[b"\0\0\0\x02", tail].concat());
    assert_eq!(decode(Opcode::Result, b"\0\0\0\x06"), Err(WireError::UnknownResultKind { kind: 6 }));
    assert_eq!(rows(b"\0\0\0\x04\0\0\0\0\x7F\xFF\xFF\xFF"), Err(WireError::RowsWithoutColumns { rows: 0x7FFF_FFFF }));
    assert!(matches!(rows(b"\0\0\0\x04\x7F\xFF\xFF\xFF\x7F\xFF\xFF\xFF"), Err(WireError::Truncated { .. })));
    assert!(matches!(rows(b"\0\0\0\0\x7F\xFF\xFF\xFF"), Err(WireError::Truncated { .. })));
    let negative = WireError::InvalidLength { notation: Notation::Int, length: -1 };
    assert_eq!(rows(b"\0\0\0\0\xFF\xFF\xFF\xFF"), Err(negative));
    // A list of a list of …
    let mut deep = b"\0\0\0\x01\0\0\0\x01\0\x01k\0\x01t\0\x01c".to_vec();
    deep.extend([0, 0x20].repeat(1_000_000));
    assert_eq!(rows(&deep), Err(WireError::TypeTooDeep { limit: TYPE_DEPTH_MAX }));
    assert_eq!(rows(b"\0\0\0\x01\0\0\0\x01\0\x01k\0\x01t\0\x01c\0\x0A"), Err(WireError::UnknownType { id: 0x0A }));
    let event = |tail: &[u8]| decode(Opcode::Event, tail);
    assert_eq!(event(b"\0\x01X"), Err(WireError::UnknownWord { notation: Notation::Event }));
    let address = |tail: &[u8]| event(&[b"\0\x0DSTATUS_CHANGE\0\x02UP", tail].concat());
    assert_eq!(address(b"\x05"), Err(WireError::InvalidAddress { length: 5 }));
    assert_eq!(address(b"\x04abcd\0\x01\0\0"), Err(WireError::InvalidPort { port: 65_536 }));
    // A failure with two billion reasons.
    let failure = b"\0\0\x13\0\0\0\0\x01\0\0\0\0\0\0\0\0\x7F\xFF\xFF\xFF";
    assert!(matches!(decode(Opcode::Error, failure), Err(WireError::Truncated { .. })));
}
