//! Traces: what is noted, in which order it is shown, and where a reply has their id.

use crate::schema_support::view;
use base::Now;
use cql::system::{self, NodeView, SystemRow};
use cql::value::text::to_literal;
use cql::wire::{self, FRAME_HEADER_BYTES, Frame, FrameHeader, Opcode, ProtocolVersion, ResponseEnvelope, ResponseExtras, StreamId};
use cql::{Trace, reply};
use model::Schema;
use std::sync::Arc;

fn trace() -> Trace {
    let began = Now { monotonic_us: 1_000, wall_us: 1_700_000_000_123_456 };
    let parameters = vec![("query".to_owned(), "é".repeat(5_000)), ("consistency_level".to_owned(), "ONE".to_owned())];
    Trace::new((began, 42), [127, 0, 0, 9].into(), "Execute CQL3 query", parameters)
}

fn rows(table: &str, trace: &Arc<Trace>) -> Vec<Vec<String>> {
    let (table, traces) = (system::table("system_traces", table).unwrap(), [Arc::clone(trace)]);
    let schema = Schema::empty();
    let mut rows = Vec::new();
    let shown = |row: SystemRow| {
        let cells = table.columns.iter().zip(row.values);
        cells.map(|(column, value)| format!("{}={}", column.name, to_literal(&column.data_type, value.as_deref()))).collect()
    };
    system::rows(&table, &NodeView { traces: &traces, ..view(&schema) }, &mut |row| rows.push(shown(row)));
    rows
}

#[test]
fn a_session_has_its_duration_once_it_has_ended() {
    let trace = Arc::new(trace());
    let session = |trace| rows("sessions", trace).remove(0);
    assert!(session(&trace).contains(&"duration=null".to_owned()));
    trace.end(1_250, 3);
    let session = session(&trace);
    for cell in ["duration=250", "client='127.0.0.9'", "request='Execute CQL3 query'", "command='QUERY'"] {
        assert!(session.contains(&cell.to_owned()), "{session:?}");
    }
    let parameters = session.iter().find(|cell| cell.starts_with("parameters=")).unwrap();
    assert!(parameters.contains("'consistency_level': 'ONE'") && parameters.len() < 5_000, "texts are cut at a character");
}

#[test]
fn events_keep_their_order_and_are_bounded() {
    let trace = Arc::new(trace());
    for number in 0..500 {
        trace.note(1_000 + number / 50, 2, format!("step {number}"));
    }
    trace.end(2_000, 0);
    let events = trace.events();
    let ids: Vec<u64> = events
        .iter()
        .map(|(id, _)| {
            let first = u64::from_be_bytes(*id.first_chunk().unwrap());
            ((first & 0xFFF) << 48) | ((first >> 16 & 0xFFFF) << 32) | first >> 32
        })
        .collect();
    assert!(ids.is_sorted_by(|one, other| one < other), "a timeuuid's time tells the order");
    let told: Vec<&str> = events.iter().map(|(_, event)| event.activity.as_str()).collect();
    assert_eq!((told.len(), told[99], told[100], told[101]), (102, "step 99", "400 further events are left out", "Request complete"));
    assert_eq!(rows("events", &trace).len(), 102);
    assert!(rows("events", &trace)[0].contains(&"thread='core-2'".to_owned()));
}

#[test]
fn the_first_frame_of_a_reply_gets_the_id_and_stays_as_it_was() {
    let (id, warnings) = ([7; 16], ["careful".to_owned()]);
    for version in [ProtocolVersion::V4, ProtocolVersion::V5] {
        let mut frames = b"before".to_vec();
        let extras = ResponseExtras { warnings: &warnings, ..ResponseExtras::default() };
        reply::write_frame_with(&mut frames, version, StreamId(5), Opcode::Result, &extras, wire::write_void);
        let second = frames.len();
        reply::write_void(&mut frames, version, StreamId(6));
        for _ in 0..2 {
            // An id that is there already stays.
            wire::add_tracing_id(&mut frames, 6, &id);
            let (first, rest) = frames[6..].split_at(second + 16 - 6);
            let header = FrameHeader::parse(first).unwrap().unwrap();
            let body = &first[FRAME_HEADER_BYTES..];
            assert_eq!((header.body_bytes as usize, header.stream), (body.len(), StreamId(5)));
            let (envelope, reader) = ResponseEnvelope::read(&Frame { header, body }).unwrap();
            assert_eq!((envelope.tracing_id, envelope.warnings.iter().collect::<Vec<_>>()), (Some(id), vec!["careful"]));
            assert_eq!(reader.rest(), [0, 0, 0, 1]);
            assert_eq!(FrameHeader::parse(rest).unwrap().unwrap().stream, StreamId(6));
        }
        let mut none = b"before".to_vec();
        wire::add_tracing_id(&mut none, 6, &id);
        assert_eq!(none, b"before");
    }
}
