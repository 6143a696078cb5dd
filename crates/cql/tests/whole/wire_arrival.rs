//! Frames come out whole, once and in order, however their bytes arrive.

use crate::wire_corpus::*;
use cql::wire::*;

/// Feeds `stream` in the pieces that `cut` chooses and returns the plain frames.
fn receive(stream: &Stream, direction: Direction, mut cut: impl FnMut(usize) -> usize) -> Vec<Vec<u8>> {
    let mut workspace = CompressionWorkspace::new();
    let mut decoder = FrameDecoder::new(direction, LIMIT);
    let mut received = Vec::new();
    let mut position = 0;
    while position < stream.bytes.len() {
        let end = (position + cut(position)).min(stream.bytes.len());
        let mut frames = decoder.feed(&stream.bytes[position..end], &mut workspace);
        while let Some(frame) = frames.next_frame().unwrap() {
            received.push(plain(&frame));
            if received.len() == 1 {
                frames.startup_agreed(stream.version, stream.compression).unwrap();
            }
        }
        drop(frames);
        position = end;
    }
    assert!(decoder.is_at_border());
    assert_eq!(decoder.version(), Some(stream.version));
    received
}

fn streams(direction: Direction) -> Vec<Stream> {
    let mut streams = Vec::new();
    for version in ProtocolVersion::ALL {
        for compression in agreements(version) {
            for per_flush in [1, 7, 1000] {
                let frames = match direction {
                    Direction::Request => request_frames(version),
                    Direction::Response => response_frames(version),
                };
                streams.push(stream(version, compression, direction, frames, per_flush));
            }
        }
    }
    streams
}

#[test]
fn frames_arrive_whole_in_one_chunk() {
    for direction in [Direction::Request, Direction::Response] {
        for stream in streams(direction) {
            assert!(receive(&stream, direction, |_| usize::MAX / 2) == stream.frames);
        }
    }
}

#[test]
fn frames_arrive_whole_byte_by_byte() {
    for direction in [Direction::Request, Direction::Response] {
        for stream in streams(direction) {
            assert!(receive(&stream, direction, |_| 1) == stream.frames);
        }
    }
}

#[test]
fn frames_arrive_whole_when_split_at_every_byte() {
    for stream in streams(Direction::Request) {
        for split in 1..stream.bytes.len() {
            let frames = receive(&stream, Direction::Request, |position| if position == 0 { split } else { usize::MAX / 2 });
            assert!(frames == stream.frames, "split at {split}, {}, {:?}", stream.version, stream.compression);
        }
    }
}

#[test]
fn whole_frames_of_a_chunk_are_borrowed_from_it() {
    for (version, compression) in [(ProtocolVersion::V3, None), (ProtocolVersion::V4, None), (ProtocolVersion::V5, None)] {
        let stream = stream(version, compression, Direction::Request, request_frames(version), 1000);
        let mut workspace = CompressionWorkspace::new();
        let mut decoder = FrameDecoder::new(Direction::Request, LIMIT);
        let chunk = stream.bytes.as_ptr_range();
        let mut frames = decoder.feed(&stream.bytes, &mut workspace);
        let mut count = 0;
        while let Some(frame) = frames.next_frame().unwrap() {
            let body = frame.body.as_ptr_range();
            assert!(chunk.start <= body.start && body.end <= chunk.end);
            count += 1;
            if count == 1 {
                frames.startup_agreed(version, compression).unwrap();
            }
        }
        drop(frames);
        assert_eq!(count, stream.frames.len());
        assert_eq!(decoder.buffered_bytes(), 0);
    }
}

#[test]
fn frames_left_unread_come_first_in_the_next_call() {
    for version in ProtocolVersion::ALL {
        for compression in agreements(version) {
            let stream = stream(version, compression, Direction::Request, request_frames(version), 5);
            for cut in [stream.bytes.len(), 100, 13] {
                let mut workspace = CompressionWorkspace::new();
                let mut decoder = FrameDecoder::new(Direction::Request, LIMIT);
                let mut received = Vec::new();
                let mut chunks = stream.bytes.chunks(cut);
                // One frame a call, also of calls that bring nothing new.
                while received.len() < stream.frames.len() {
                    let chunk = chunks.next().unwrap_or_default();
                    let mut frames = decoder.feed(chunk, &mut workspace);
                    if let Some(frame) = frames.next_frame().unwrap() {
                        received.push(plain(&frame));
                        if received.len() == 1 {
                            frames.startup_agreed(version, compression).unwrap();
                        }
                    }
                }
                assert!(received == stream.frames, "{version} {compression:?} cut {cut}");
                assert!(decoder.is_at_border() && chunks.next().is_none());
            }
        }
    }
}

#[test]
fn large_frames_cross_segments_and_small_ones_share_them() {
    let options = frame(ProtocolVersion::V5, Direction::Request, FrameFlags::NONE, 0, Opcode::Options, b"");
    for compression in agreements(ProtocolVersion::V5) {
        // Around the limit of a segment, of two, and far beyond; compressible and not.
        let mut noise = base::Rng::new(3);
        for body_bytes in [131_062, 131_063, 131_071, 262_133, 262_142, 262_143, 700_000] {
            for random in [false, true] {
                let mut body = vec![7; body_bytes];
                if random {
                    noise.fill(&mut body);
                }
                let large = frame(ProtocolVersion::V5, Direction::Request, FrameFlags::NONE, 1, Opcode::Query, &body);
                let frames = vec![options.clone(), options.clone(), large.clone(), options.clone(), large, options.clone()];
                let stream = stream(ProtocolVersion::V5, compression, Direction::Request, frames, 1000);
                for piece in [1 << 20, 4096, 131_079] {
                    assert!(receive(&stream, Direction::Request, |_| piece) == stream.frames, "{body_bytes} {piece}");
                }
            }
        }
    }
}

#[test]
fn many_small_frames_leave_in_one_segment() {
    let frames: Vec<_> =
        (0..100).map(|stream| frame(ProtocolVersion::V5, Direction::Response, FrameFlags::NONE, stream, Opcode::Ready, b"")).collect();
    let stream = stream(ProtocolVersion::V5, None, Direction::Response, frames, 1000);
    let segment = &stream.bytes[stream.agreed_at..];
    let header = SegmentHeader::parse(segment, SegmentFormat::Plain).unwrap().unwrap();
    assert_eq!(header, SegmentHeader { payload_bytes: 99 * 9, uncompressed_bytes: 0, content: SegmentContent::Frames });
    assert_eq!(segment.len(), header.segment_bytes(SegmentFormat::Plain));
}

#[test]
fn a_frame_that_does_not_fit_moves_to_the_next_segment() {
    let body = vec![1; 70_000];
    let frames: Vec<_> =
        (0..4).map(|stream| frame(ProtocolVersion::V5, Direction::Response, FrameFlags::NONE, stream, Opcode::Result, &body)).collect();
    let stream = stream(ProtocolVersion::V5, None, Direction::Response, frames, 1000);
    let mut rest = &stream.bytes[stream.agreed_at..];
    let mut segments = 0;
    while let Some(header) = SegmentHeader::parse(rest, SegmentFormat::Plain).unwrap() {
        assert_eq!((header.payload_bytes, header.content), (70_009, SegmentContent::Frames));
        rest = &rest[header.segment_bytes(SegmentFormat::Plain)..];
        segments += 1;
    }
    assert_eq!((segments, rest.len()), (3, 0));
}

#[test]
fn incompressible_payload_travels_plain_and_compressible_shrinks() {
    let mut workspace = CompressionWorkspace::new();
    for (compression, version) in
        [(Compression::Lz4, ProtocolVersion::V4), (Compression::Snappy, ProtocolVersion::V3), (Compression::Lz4, ProtocolVersion::V5)]
    {
        let mut noise = vec![0; 5000];
        base::Rng::new(9).fill(&mut noise);
        for (body, shrinks) in [(noise, false), (vec![b'x'; 5000], true)] {
            let mut encoder = FrameEncoder::new(Direction::Response);
            encoder.startup_agreed(version, Some(compression)).unwrap();
            let mut out = Vec::new();
            let mark = encoder.begin(&mut out, version, FrameFlags::NONE, StreamId(1), Opcode::Result);
            out.extend_from_slice(&body);
            encoder.end(&mut out, mark, &mut workspace).unwrap();
            encoder.flush(&mut out, &mut workspace);
            assert_eq!(out.len() < 500, shrinks);
            let flagged = match version {
                ProtocolVersion::V5 => SegmentHeader::parse(&out, SegmentFormat::Lz4).unwrap().unwrap().uncompressed_bytes > 0,
                _ => FrameHeader::parse(&out).unwrap().unwrap().flags.contains(FrameFlags::COMPRESSED),
            };
            assert_eq!(flagged, shrinks);
            let mut decoder = FrameDecoder::new(Direction::Response, LIMIT);
            decoder.startup_agreed(version, Some(compression)).unwrap();
            let mut frames = decoder.feed(&out, &mut workspace);
            assert_eq!(frames.next_frame().unwrap().unwrap().body, body);
        }
    }
}

#[test]
fn a_body_beyond_the_protocols_limit_is_taken_out_again() {
    let mut workspace = CompressionWorkspace::new();
    let mut encoder = FrameEncoder::new(Direction::Response);
    encoder.startup_agreed(ProtocolVersion::V5, None).unwrap();
    let mut out = b"before".to_vec();
    let mark = encoder.begin(&mut out, ProtocolVersion::V5, FrameFlags::NONE, StreamId(77), Opcode::Result);
    out.resize(out.len() + FRAME_BODY_BYTES_MAX as usize + 1, 0);
    let error = encoder.end(&mut out, mark, &mut workspace).unwrap_err();
    assert_eq!(error.stream(), StreamId(77));
    assert!(matches!(error, WireError::BodyTooLong { .. }));
    encoder.flush(&mut out, &mut workspace);
    assert_eq!(out, b"before");
}

#[test]
fn memory_of_a_long_frame_is_given_back() {
    let body = vec![0; 1_000_000];
    let bytes = frame(ProtocolVersion::V4, Direction::Request, FrameFlags::NONE, 1, Opcode::Query, &body);
    let mut workspace = CompressionWorkspace::new();
    let mut decoder = FrameDecoder::new(Direction::Request, LIMIT);
    let mut delivered = 0;
    for chunk in bytes.chunks(16 << 10) {
        let mut frames = decoder.feed(chunk, &mut workspace);
        while frames.next_frame().unwrap().is_some() {
            delivered += 1;
        }
        drop(frames);
        assert!(decoder.buffered_bytes() <= bytes.len());
    }
    assert_eq!(delivered, 1);
    assert!(decoder.buffered_bytes() <= 4096);
}
