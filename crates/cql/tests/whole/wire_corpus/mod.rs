//! Valid messages of every kind and version, for the wire tests.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used)]

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use cql::wire::writer::{write_bytes, write_bytes_map};
use cql::wire::*;
use model::{DataType, Frozen, UserType};

pub(crate) const ID: [u8; 16] = [0xA0, 0xA1, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 0xA9, 0xAA, 0xAB, 0xAC, 0xAD, 0xAE, 0xAF];
pub(crate) const METADATA_ID: [u8; 16] = [0xB0; 16];
pub(crate) const LIMIT: u32 = 1 << 20;

/// A frame with this body.
pub(crate) fn frame(
    version: ProtocolVersion,
    direction: Direction,
    flags: FrameFlags,
    stream: i16,
    opcode: Opcode,
    body: &[u8],
) -> Vec<u8> {
    let mut out = Vec::new();
    let mark = begin_frame(&mut out, version, direction, flags, StreamId(stream), opcode);
    out.extend_from_slice(body);
    end_frame(&mut out, mark).unwrap();
    out
}

/// The frame of a request without envelope.
pub(crate) fn request_frame(version: ProtocolVersion, stream: i16, request: &Request<'_>) -> Vec<u8> {
    let mut body = Vec::new();
    request.write(&mut body, version).unwrap();
    frame(version, Direction::Request, FrameFlags::NONE, stream, request.opcode(), &body)
}

/// The only frame in `bytes`, which are plain.
pub(crate) fn parse(bytes: &[u8]) -> Frame<'_> {
    let header = FrameHeader::parse(bytes).unwrap().unwrap();
    let body = &bytes[FRAME_HEADER_BYTES..];
    assert_eq!(header.body_bytes as usize, body.len());
    Frame { header, body }
}

/// Calls `visit` with every kind of request that `version` has, with and without its optional fields.
pub(crate) fn for_each_request(version: ProtocolVersion, mut visit: impl FnMut(&Request<'_>)) {
    let mut bytes = Vec::new();
    write_startup(&mut bytes, [("CQL_VERSION", "3.4.7"), ("COMPRESSION", "lz4"), ("DRIVER_NAME", "tärn")]);
    visit(&Request::Startup(StringMap::read(&mut Reader::new(&bytes)).unwrap()));
    visit(&Request::Options);
    let mut bytes = Vec::new();
    write_register(&mut bytes, EventKind::ALL.map(EventKind::name));
    visit(&Request::Register(StringList::read(&mut Reader::new(&bytes)).unwrap()));
    visit(&Request::AuthResponse(Some(b"\0cassandra\0cassandra")));
    visit(&Request::AuthResponse(None));

    let mut positional = ValuesBuffer::new();
    positional.push(Value::Bytes(b"key"));
    positional.push(Value::Null);
    positional.push(Value::Bytes(b""));
    positional.push(Value::Bytes(&[7; 300]));
    if version >= ProtocolVersion::V4 {
        positional.push(Value::Unset);
    }
    let mut named = ValuesBuffer::new();
    named.push_named("größe", Value::Bytes(&[0, 0, 0, 1]));
    named.push_named("none", Value::Null);
    let v5 = version >= ProtocolVersion::V5;
    let common = CommonParameters {
        serial_consistency: Some(Consistency::LocalSerial),
        timestamp: Some(-1_234_567_890_123),
        keyspace: v5.then_some("other"),
        now_in_seconds: v5.then_some(1_700_000_000),
    };
    let bare = QueryParameters::new(Consistency::LocalOne, Values::none(version));
    let full = QueryParameters {
        consistency: Consistency::Quorum,
        values: positional.as_values(version),
        result_columns: ResultColumns::Skipped,
        page_size: Some(5000),
        paging_state: Some(b"\x01state"),
        common,
    };
    let with_names = QueryParameters { values: named.as_values(version), ..bare };
    for parameters in [bare, full, with_names] {
        visit(&Request::Query(Query { text: "SELECT * FROM system.local WHERE key = 'local' /* é */", parameters }));
        let result_metadata_id: &[u8] = if v5 { &METADATA_ID } else { &[] };
        visit(&Request::Execute(Execute { id: &ID, result_metadata_id, parameters }));
    }
    visit(&Request::Prepare(Prepare { text: "SELECT v FROM t WHERE k = ?", keyspace: None }));
    if v5 {
        visit(&Request::Prepare(Prepare { text: "SELECT v FROM t WHERE k = ?", keyspace: Some("ks") }));
    }
    let mut statements = BatchBuffer::new();
    let none = BatchBuffer::new();
    statements.push(BatchStatement::Text("INSERT INTO t (k, v) VALUES (?, ?)"), &positional.as_values(version));
    statements.push(BatchStatement::Prepared(&ID), &Values::none(version));
    let (statements, none) = (statements.as_statements(version), none.as_statements(version));
    visit(&Request::Batch(Batch { kind: BatchKind::Unlogged, statements, consistency: Consistency::One, common }));
    let common = CommonParameters::default();
    visit(&Request::Batch(Batch { kind: BatchKind::Logged, statements: none, consistency: Consistency::Any, common }));
}

/// Every request of `version` as a frame, some with envelopes.
pub(crate) fn request_frames(version: ProtocolVersion) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let mut stream = 0;
    for_each_request(version, |request| {
        frames.push(request_frame(version, stream, request));
        stream += 1;
    });
    let mut payload = Vec::new();
    write_bytes_map(&mut payload, [("trace", Some(&b"\x01\x02"[..])), ("null", None)]);
    let custom_payload = BytesMap::read(&mut Reader::new(&payload)).unwrap();
    let envelope = RequestEnvelope { tracing: Tracing::Requested, custom_payload };
    let prepare = Request::Prepare(Prepare { text: "SELECT 1", keyspace: None });
    let mut body = Vec::new();
    envelope.write(&mut body, version);
    prepare.write(&mut body, version).unwrap();
    frames.push(frame(version, Direction::Request, envelope.flags(version), 32767, Opcode::Prepare, &body));
    frames
}

pub(crate) fn user_type() -> DataType {
    let fields = vec![("streo".to_owned(), DataType::Text), ("no".to_owned(), DataType::List(Arc::new(DataType::SmallInt), Frozen::No))];
    DataType::Udt(Arc::new(UserType { keyspace: "ks".to_owned(), name: "ploz".to_owned(), fields }), Frozen::No)
}

/// A type of every sort, not frozen, as a decoder gives them back.
pub(crate) fn types() -> Vec<DataType> {
    vec![
        DataType::Ascii,
        DataType::BigInt,
        DataType::Blob,
        DataType::Boolean,
        DataType::Counter,
        DataType::Date,
        DataType::Decimal,
        DataType::Double,
        DataType::Duration,
        DataType::Float,
        DataType::Inet,
        DataType::Int,
        DataType::SmallInt,
        DataType::Text,
        DataType::Time,
        DataType::Timestamp,
        DataType::TimeUuid,
        DataType::TinyInt,
        DataType::Uuid,
        DataType::Varint,
        DataType::List(Arc::new(DataType::TinyInt), Frozen::No),
        DataType::Set(Arc::new(DataType::Date), Frozen::No),
        DataType::Map(Arc::new(DataType::Text), Arc::new(DataType::List(Arc::new(DataType::Duration), Frozen::No)), Frozen::No),
        DataType::Tuple([DataType::Int, DataType::Tuple([DataType::Time].into())].into()),
        user_type(),
        DataType::Vector(Arc::new(DataType::Float), 1536),
        DataType::Vector(Arc::new(user_type()), 2),
        DataType::Custom(Arc::from("com.example.Mystery(a,b)")),
    ]
}

pub(crate) fn errors() -> Vec<ErrorKind<'static>> {
    let progress = Progress { consistency: Consistency::Quorum, received: 1, required: 2 };
    let reasons = vec![(Ipv4Addr::LOCALHOST.into(), 0), (Ipv6Addr::LOCALHOST.into(), 1)];
    let failures = Failures { count: 2, reasons };
    vec![
        ErrorKind::Server,
        ErrorKind::Protocol,
        ErrorKind::BadCredentials,
        ErrorKind::Unavailable { consistency: Consistency::All, required: 3, alive: 1 },
        ErrorKind::Overloaded,
        ErrorKind::IsBootstrapping,
        ErrorKind::Truncate,
        ErrorKind::WriteTimeout { progress, write_type: WriteType::Simple, contentions: 0 },
        ErrorKind::WriteTimeout { progress, write_type: WriteType::Cas, contentions: 7 },
        ErrorKind::ReadTimeout { progress, data_present: DataPresent::Yes },
        ErrorKind::ReadFailure { progress, failures: failures.clone(), data_present: DataPresent::No },
        ErrorKind::FunctionFailure { keyspace: "ks", function: "f", argument_types: vec!["int", "frozen<list<text>>"] },
        ErrorKind::WriteFailure { progress, failures, write_type: WriteType::UnloggedBatch },
        ErrorKind::CdcWriteFailure,
        ErrorKind::CasWriteUnknown { progress },
        ErrorKind::Syntax,
        ErrorKind::Unauthorized,
        ErrorKind::Invalid,
        ErrorKind::Config,
        ErrorKind::AlreadyExists { keyspace: "ks", table: "t" },
        ErrorKind::Unprepared { id: &ID },
        ErrorKind::Other { code: 0x4321 },
    ]
}

pub(crate) fn schema_changes() -> Vec<SchemaChange<'static>> {
    let change = |change, target| SchemaChange { change, target, keyspace: "ks" };
    vec![
        change(ChangeKind::Created, SchemaTarget::Keyspace),
        change(ChangeKind::Updated, SchemaTarget::Table("t")),
        change(ChangeKind::Dropped, SchemaTarget::Type("address")),
        change(ChangeKind::Created, SchemaTarget::Function { name: "f", argument_types: vec!["int", "text"] }),
        change(ChangeKind::Dropped, SchemaTarget::Aggregate { name: "a", argument_types: vec![] }),
    ]
}

pub(crate) fn events() -> Vec<Event<'static>> {
    let node = SocketAddr::from(([127, 0, 0, 1], 9042));
    let other = SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 9142));
    let mut events = vec![Event::NewNode(node), Event::RemovedNode(other), Event::Up(other), Event::Down(node)];
    events.extend(schema_changes().into_iter().map(Event::SchemaChange));
    events
}

/// Three rows of two columns and what announces them.
pub(crate) fn rows_body(version: ProtocolVersion, description: RowsDescription<'_>, paging_state: Option<&[u8]>) -> Vec<u8> {
    let columns = [
        ColumnSpec { keyspace: "ks", table: "t", name: "k", data_type: &DataType::Text },
        ColumnSpec { keyspace: "ks", table: "t", name: "v", data_type: &DataType::Blob },
    ];
    let metadata = ResultMetadata::encode(version, &columns);
    let mut out = Vec::new();
    let mark = begin_rows(&mut out, &metadata, description, paging_state);
    for (key, value) in [("a", Some(&b"\x01\x02"[..])), ("b", None), ("c", Some(b""))] {
        write_bytes(&mut out, Some(key.as_bytes()));
        write_bytes(&mut out, value);
    }
    end_rows(&mut out, mark, 3);
    out
}

pub(crate) fn prepared_body(version: ProtocolVersion) -> Vec<u8> {
    let types = types();
    let names: Vec<String> = (0..types.len()).map(|position| format!("c{position}")).collect();
    let columns: Vec<_> =
        types.iter().zip(&names).map(|(data_type, name)| ColumnSpec { keyspace: "ks", table: "t", name, data_type }).collect();
    let markers = ResultMetadata::encode(version, &columns);
    let result = ResultMetadata::none();
    let mut out = Vec::new();
    let prepared =
        Prepared { id: &ID, result_metadata_id: &METADATA_ID, markers: &markers, key_indexes: &[1, 0], result: &result, extra_flags: 0 };
    prepared.write(&mut out, version);
    out
}

/// Every response of `version` as a frame, some with envelopes.
pub(crate) fn response_frames(version: ProtocolVersion) -> Vec<Vec<u8>> {
    let mut bodies: Vec<(Opcode, Vec<u8>)> = vec![(Opcode::Ready, Vec::new())];
    let mut add = |opcode, write: &dyn Fn(&mut Vec<u8>)| {
        let mut body = Vec::new();
        write(&mut body);
        bodies.push((opcode, body));
    };
    for kind in errors() {
        add(Opcode::Error, &|out| ErrorResponse { message: "went wrong: ä", kind: kind.clone() }.write(out, version));
    }
    add(Opcode::Authenticate, &|out| write_authenticate(out, "org.apache.cassandra.auth.PasswordAuthenticator"));
    add(Opcode::Supported, &|out| write_supported(out, [("CQL_VERSION", vec!["3.4.7"]), ("COMPRESSION", vec!["lz4", "snappy"])]));
    add(Opcode::AuthChallenge, &|out| write_auth_token(out, Some(b"who")));
    add(Opcode::AuthSuccess, &|out| write_auth_token(out, None));
    add(Opcode::Result, &|out| write_void(out));
    add(Opcode::Result, &|out| write_set_keyspace(out, "ks"));
    for change in schema_changes() {
        add(Opcode::Result, &|out| write_schema_change(out, &change, version));
    }
    for event in events() {
        add(Opcode::Event, &|out| event.write(out, version));
    }
    add(Opcode::Result, &|out| out.extend(prepared_body(version)));
    for description in [
        RowsDescription::Columns(ResultColumns::Described),
        RowsDescription::Columns(ResultColumns::Skipped),
        RowsDescription::Changed { new_id: &METADATA_ID },
    ] {
        add(Opcode::Result, &|out| out.extend(rows_body(version, description, Some(b"next"))));
    }
    let mut frames: Vec<_> = bodies
        .iter()
        .map(|(opcode, body)| {
            frame(version, Direction::Response, FrameFlags::NONE, if *opcode == Opcode::Event { -1 } else { 5 }, *opcode, body)
        })
        .collect();
    let warnings = ["beware".to_owned()];
    let extras = ResponseExtras { tracing_id: Some(ID), warnings: &warnings, custom_payload: &[("k", b"v")] };
    let mut body = Vec::new();
    extras.write(&mut body, version);
    write_void(&mut body);
    frames.push(frame(version, Direction::Response, extras.flags(version), 9, Opcode::Result, &body));
    frames
}

/// What a connection carries before and after STARTUP is answered.
pub(crate) struct Stream {
    pub(crate) version: ProtocolVersion,
    pub(crate) compression: Option<Compression>,
    /// The bytes as they travel.
    pub(crate) bytes: Vec<u8>,
    /// Where the part after STARTUP starts.
    pub(crate) agreed_at: usize,
    /// The frames in them, plain.
    pub(crate) frames: Vec<Vec<u8>>,
}

/// The agreements that a version allows.
pub(crate) fn agreements(version: ProtocolVersion) -> Vec<Option<Compression>> {
    match version {
        ProtocolVersion::V5 => vec![None, Some(Compression::Lz4)],
        _ => vec![None, Some(Compression::Lz4), Some(Compression::Snappy)],
    }
}

/// Puts `frames` on a connection: the first before STARTUP is answered, the others after, flushing after every `per_flush`.
pub(crate) fn stream(
    version: ProtocolVersion,
    compression: Option<Compression>,
    direction: Direction,
    frames: Vec<Vec<u8>>,
    per_flush: usize,
) -> Stream {
    let mut workspace = CompressionWorkspace::new();
    let mut encoder = FrameEncoder::new(direction);
    let mut bytes = Vec::new();
    encoder.append(&mut bytes, &frames[0], &mut workspace);
    encoder.flush(&mut bytes, &mut workspace);
    let agreed_at = bytes.len();
    encoder.startup_agreed(version, compression).unwrap();
    for (position, frame) in frames.iter().enumerate().skip(1) {
        encoder.append(&mut bytes, frame, &mut workspace);
        if position % per_flush == 0 {
            encoder.flush(&mut bytes, &mut workspace);
        }
    }
    encoder.flush(&mut bytes, &mut workspace);
    Stream { version, compression, bytes, agreed_at, frames }
}

/// The plain frame, with the length and the flags that it has without compression.
pub(crate) fn plain(frame: &Frame<'_>) -> Vec<u8> {
    let header =
        FrameHeader { flags: frame.header.flags.without(FrameFlags::COMPRESSED), body_bytes: frame.body.len() as u32, ..frame.header };
    let mut out = Vec::new();
    header.write(&mut out);
    out.extend_from_slice(frame.body);
    out
}
