//! Bytes of other implementations: requests of the Python driver, responses and types of Apache Cassandra 5.0.9.
//!
//! What `messages.tsv` has of responses was assembled from the specification and accepted by the Python driver.

use std::collections::HashMap;
use std::sync::Arc;

use crate::wire_corpus::*;
use cql::wire::writer::{write_bytes, write_bytes_map};
use cql::wire::*;
use model::{DataType, Frozen, UserType};

type Golden = HashMap<(String, u8), Vec<u8>>;

fn lines(text: &str) -> impl Iterator<Item = (String, u8, Vec<u8>)> + '_ {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut fields = line.split('\t');
        let (name, version, hex) = (fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap());
        let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        (name.to_owned(), version.parse().unwrap(), bytes)
    })
}

fn messages() -> Golden {
    lines(include_str!("wire_golden/messages.tsv")).map(|(name, version, bytes)| ((name, version), bytes)).collect()
}

const STREAM: i16 = 0x0102;

/// Takes the golden bytes of a name and compares; at the end all must have been taken.
struct Expected {
    golden: Golden,
}

impl Expected {
    fn take(&mut self, name: &str, version: ProtocolVersion, bytes: &[u8]) {
        let golden = self.golden.remove(&(name.to_owned(), version.number())).unwrap_or_else(|| panic!("no golden {name} {version}"));
        assert_eq!(golden, bytes, "{name} {version}");
    }

    fn request(&mut self, name: &str, version: ProtocolVersion, request: &Request<'_>) {
        let bytes = request_frame(version, STREAM, request);
        self.take(name, version, &bytes);
        let (_, decoded) = Request::decode(&parse(&bytes)).unwrap();
        assert_eq!(decoded, *request, "{name} {version}");
    }

    fn response(&mut self, name: &str, version: ProtocolVersion, opcode: Opcode, write: impl Fn(&mut Vec<u8>)) {
        let mut body = Vec::new();
        write(&mut body);
        let stream = if opcode == Opcode::Event { -1 } else { STREAM };
        self.take(name, version, &frame(version, Direction::Response, FrameFlags::NONE, stream, opcode, &body));
    }
}

fn check_requests(expected: &mut Expected, version: ProtocolVersion) {
    let v5 = version >= ProtocolVersion::V5;
    let mut bytes = Vec::new();
    write_startup(&mut bytes, [("CQL_VERSION", "3.4.7")]);
    expected.request("startup", version, &Request::Startup(StringMap::read(&mut Reader::new(&bytes)).unwrap()));
    expected.request("options", version, &Request::Options);
    let mut bytes = Vec::new();
    write_register(&mut bytes, EventKind::ALL.map(EventKind::name));
    expected.request("register", version, &Request::Register(StringList::read(&mut Reader::new(&bytes)).unwrap()));
    expected.request("auth_response", version, &Request::AuthResponse(Some(b"\0user\0pass")));

    let prepare = Prepare { text: "SELECT v FROM t WHERE k = ?", keyspace: None };
    expected.request("prepare", version, &Request::Prepare(prepare));
    let bare = QueryParameters::new(Consistency::One, Values::none(version));
    let query = Query { text: "USE ks", parameters: bare };
    expected.request("query", version, &Request::Query(query));
    let parameters = QueryParameters {
        consistency: Consistency::Quorum,
        page_size: Some(5000),
        paging_state: Some(b"\x01state"),
        common: CommonParameters {
            serial_consistency: Some(Consistency::LocalSerial),
            timestamp: Some(1_234_567_890_123),
            ..CommonParameters::default()
        },
        ..bare
    };
    expected.request("query_full", version, &Request::Query(Query { text: "SELECT * FROM t", parameters }));

    let mut values = ValuesBuffer::new();
    values.push(Value::Bytes(b"key"));
    values.push(Value::Null);
    values.push(Value::Bytes(b""));
    let parameters = QueryParameters {
        consistency: Consistency::LocalQuorum,
        values: values.as_values(version),
        page_size: Some(100),
        common: CommonParameters { timestamp: Some(5), ..CommonParameters::default() },
        ..bare
    };
    let result_metadata_id: &[u8] = if v5 { &METADATA_ID } else { &[] };
    expected.request("execute", version, &Request::Execute(Execute { id: &ID, result_metadata_id, parameters }));

    let (mut one, mut two, mut batch) = (ValuesBuffer::new(), ValuesBuffer::new(), BatchBuffer::new());
    one.push(Value::Bytes(b"a"));
    two.push(Value::Null);
    two.push(Value::Bytes(b"xy"));
    batch.push(BatchStatement::Text("INSERT INTO t (k) VALUES (?)"), &one.as_values(version));
    batch.push(BatchStatement::Prepared(&ID), &two.as_values(version));
    let common = CommonParameters { serial_consistency: Some(Consistency::Serial), timestamp: Some(77), ..CommonParameters::default() };
    let (kind, consistency) = (BatchKind::Unlogged, Consistency::EachQuorum);
    expected.request("batch", version, &Request::Batch(Batch { kind, statements: batch.as_statements(version), consistency, common }));

    if version >= ProtocolVersion::V4 {
        let mut values = ValuesBuffer::new();
        values.push(Value::Bytes(b"key"));
        values.push(Value::Unset);
        let parameters = QueryParameters { values: values.as_values(version), ..bare };
        expected.request("execute_unset", version, &Request::Execute(Execute { id: &ID, result_metadata_id, parameters }));

        let mut payload = Vec::new();
        write_bytes_map(&mut payload, [("k", Some(&b"v"[..]))]);
        let custom_payload = BytesMap::read(&mut Reader::new(&payload)).unwrap();
        let envelope = RequestEnvelope { tracing: Tracing::Requested, custom_payload };
        let mut body = Vec::new();
        envelope.write(&mut body, version);
        Request::Query(query).write(&mut body, version).unwrap();
        let bytes = frame(version, Direction::Request, envelope.flags(version), STREAM, Opcode::Query, &body);
        expected.take("query_payload_tracing", version, &bytes);
        assert_eq!(Request::decode(&parse(&bytes)).unwrap(), (envelope, Request::Query(query)));
    }
    if v5 {
        expected.request("prepare_keyspace", version, &Request::Prepare(Prepare { keyspace: Some("ks"), ..prepare }));
        let common = CommonParameters { keyspace: Some("ks"), ..CommonParameters::default() };
        let parameters = QueryParameters { consistency: Consistency::LocalOne, common, ..bare };
        expected.request("query_keyspace", version, &Request::Query(Query { text: "SELECT * FROM t", parameters }));
        let none = BatchBuffer::new();
        let (kind, statements) = (BatchKind::Counter, none.as_statements(version));
        expected.request("batch_keyspace", version, &Request::Batch(Batch { kind, statements, consistency: Consistency::Two, common }));
    }
}

const ERROR_NAMES: [&str; 21] = [
    "server",
    "protocol",
    "bad_credentials",
    "unavailable",
    "overloaded",
    "is_bootstrapping",
    "truncate",
    "write_timeout",
    "write_timeout_cas",
    "read_timeout",
    "read_failure",
    "function_failure",
    "write_failure",
    "cdc_write_failure",
    "cas_write_unknown",
    "syntax",
    "unauthorized",
    "invalid",
    "config",
    "already_exists",
    "unprepared",
];

fn check_responses(expected: &mut Expected, version: ProtocolVersion) {
    for (name, kind) in ERROR_NAMES.iter().zip(errors()) {
        let error = ErrorResponse { message: "went wrong: ä", kind };
        expected.response(&format!("error_{name}"), version, Opcode::Error, |out| error.write(out, version));
    }
    expected.response("ready", version, Opcode::Ready, |_| {});
    let class = "org.apache.cassandra.auth.PasswordAuthenticator";
    expected.response("authenticate", version, Opcode::Authenticate, |out| write_authenticate(out, class));
    let options = [("CQL_VERSION", vec!["3.4.7"]), ("COMPRESSION", vec!["lz4", "snappy"])];
    expected.response("supported", version, Opcode::Supported, |out| write_supported(out, options.clone()));
    expected.response("auth_challenge", version, Opcode::AuthChallenge, |out| write_auth_token(out, Some(b"who")));
    expected.response("auth_success", version, Opcode::AuthSuccess, |out| write_auth_token(out, Some(b"")));
    expected.response("void", version, Opcode::Result, write_void);
    expected.response("set_keyspace", version, Opcode::Result, |out| write_set_keyspace(out, "ks"));
    for (name, change) in ["keyspace", "table", "type", "function", "aggregate"].iter().zip(schema_changes()) {
        expected.response(&format!("schema_{name}"), version, Opcode::Result, |out| write_schema_change(out, &change, version));
        let event = Event::SchemaChange(change);
        expected.response(&format!("event_schema_{name}"), version, Opcode::Event, |out| event.write(out, version));
    }
    for (name, event) in ["new_node", "removed_node", "up", "down"].iter().zip(events()) {
        expected.response(&format!("event_{name}"), version, Opcode::Event, |out| event.write(out, version));
    }
    let (described, skipped) = (RowsDescription::Columns(ResultColumns::Described), RowsDescription::Columns(ResultColumns::Skipped));
    expected.response("rows", version, Opcode::Result, |out| out.extend(rows_body(version, described, None)));
    expected.response("rows_more", version, Opcode::Result, |out| out.extend(rows_body(version, described, Some(b"next"))));
    expected.response("rows_skip_more", version, Opcode::Result, |out| out.extend(rows_body(version, skipped, Some(b"next"))));
    expected.response("rows_two_tables", version, Opcode::Result, |out| {
        let columns = [
            ColumnSpec { keyspace: "ks", table: "t", name: "k", data_type: &DataType::Text },
            ColumnSpec { keyspace: "ks", table: "u", name: "v", data_type: &DataType::Int },
        ];
        let mark = begin_rows(out, &ResultMetadata::encode(version, &columns), described, None);
        end_rows(out, mark, 0);
    });
    expected.response("prepared", version, Opcode::Result, |out| out.extend(prepared_body(version)));
    if version >= ProtocolVersion::V5 {
        let changed = RowsDescription::Changed { new_id: &METADATA_ID };
        expected.response("rows_changed", version, Opcode::Result, |out| out.extend(rows_body(version, changed, Some(b"next"))));
    }
    let warnings = ["beware".to_owned()];
    let extras = ResponseExtras { tracing_id: Some(ID), warnings: &warnings, custom_payload: &[("k", b"v")] };
    let mut body = Vec::new();
    extras.write(&mut body, version);
    write_void(&mut body);
    let bytes = frame(version, Direction::Response, extras.flags(version), STREAM, Opcode::Result, &body);
    expected.take("void_envelope", version, &bytes);
}

fn check_segments(expected: &mut Expected) {
    let version = ProtocolVersion::V5;
    let mut workspace = CompressionWorkspace::new();
    let options = frame(version, Direction::Request, FrameFlags::NONE, 1, Opcode::Options, b"");
    for (name, compression, frames) in
        [("segment_plain", None, vec![&options, &options]), ("segment_lz4_plain", Some(Compression::Lz4), vec![&options])]
    {
        let mut encoder = FrameEncoder::new(Direction::Request);
        encoder.startup_agreed(version, compression).unwrap();
        let mut out = Vec::new();
        for frame in frames {
            encoder.append(&mut out, frame, &mut workspace);
        }
        encoder.flush(&mut out, &mut workspace);
        expected.take(name, version, &out);
    }
    let header = SegmentHeader { payload_bytes: 2, uncompressed_bytes: 0, content: SegmentContent::Part };
    let mut part = vec![0; 6];
    header.write(&mut part, SegmentFormat::Plain);
    part.extend([5, 0, 0x2A, 0x68, 0x06, 0x21]);
    expected.take("segment_part", version, &part);

    // LZ4 encoders differ; what counts is that this one reads the other's bytes.
    let segment = expected.golden.remove(&("segment_lz4".to_owned(), 5)).unwrap();
    let mut decoder = FrameDecoder::new(Direction::Request, LIMIT);
    decoder.startup_agreed(version, Some(Compression::Lz4)).unwrap();
    let mut frames = decoder.feed(&segment, &mut workspace);
    let (_, request) = Request::decode(&frames.next_frame().unwrap().unwrap()).unwrap();
    let Request::Query(query) = request else { panic!("{request:?}") };
    assert_eq!(query.text, format!("SELECT {}", "x".repeat(200)));
}

#[test]
fn messages_are_what_the_python_driver_writes_and_reads() {
    let mut expected = Expected { golden: messages() };
    for version in ProtocolVersion::ALL {
        check_requests(&mut expected, version);
        check_responses(&mut expected, version);
    }
    check_segments(&mut expected);
    let mut answer = Vec::new();
    write_unsupported_version(&mut answer, 66, StreamId(STREAM));
    expected.take("unsupported_version", ProtocolVersion::V5, &answer);
    assert!(expected.golden.is_empty(), "not checked: {:?}", expected.golden.keys());
}

/// The types of `types.tsv`, by the CQL that declared them.
fn declared_type(cql: &str) -> DataType {
    let frozen_list = |element| DataType::List(Arc::new(element), Frozen::Yes);
    let vector = |element, dimension| DataType::Vector(Arc::new(element), dimension);
    let user_type = |name: &str, fields: Vec<(&str, DataType)>, frozen| {
        let fields = fields.into_iter().map(|(field, data_type)| (field.to_owned(), data_type)).collect();
        DataType::Udt(Arc::new(UserType { keyspace: "ks".to_owned(), name: name.to_owned(), fields }), frozen)
    };
    let address = |frozen| user_type("address", vec![("street", DataType::Text), ("no", frozen_list(DataType::SmallInt))], frozen);
    let odd = || user_type("Odd Näme", vec![("Fïeld", DataType::Int)], Frozen::Yes);
    let map_of_sets =
        |element| DataType::Map(Arc::new(DataType::Text), Arc::new(DataType::Set(Arc::new(element), Frozen::Yes)), Frozen::Yes);
    match cql {
        "list<tinyint>" => DataType::List(Arc::new(DataType::TinyInt), Frozen::No),
        "set<date>" => DataType::Set(Arc::new(DataType::Date), Frozen::No),
        "map<text, frozen<list<duration>>>" => {
            DataType::Map(Arc::new(DataType::Text), Arc::new(frozen_list(DataType::Duration)), Frozen::No)
        }
        "frozen<list<int>>" => frozen_list(DataType::Int),
        "frozen<map<text, frozen<set<time>>>>" => map_of_sets(DataType::Time),
        "tuple<int, frozen<tuple<time>>>" => DataType::Tuple([DataType::Int, DataType::Tuple([DataType::Time].into())].into()),
        "tuple<int, frozen<list<smallint>>>" => DataType::Tuple([DataType::Int, frozen_list(DataType::SmallInt)].into()),
        "address" => address(Frozen::No),
        "frozen<address>" => address(Frozen::Yes),
        "frozen<\"Odd Näme\">" => odd(),
        "list<frozen<address>>" => DataType::List(Arc::new(address(Frozen::Yes)), Frozen::No),
        "vector<float, 1536>" => vector(DataType::Float, 1536),
        "vector<frozen<list<int>>, 2>" => vector(frozen_list(DataType::Int), 2),
        "vector<frozen<address>, 2>" => vector(address(Frozen::Yes), 2),
        "vector<frozen<tuple<int, text>>, 2>" => vector(DataType::Tuple([DataType::Int, DataType::Text].into()), 2),
        "vector<vector<int, 3>, 2>" => vector(vector(DataType::Int, 3), 2),
        "frozen<list<vector<duration, 2>>>" => frozen_list(vector(DataType::Duration, 2)),
        "vector<frozen<map<text, frozen<set<int>>>>, 4>" => vector(map_of_sets(DataType::Int), 4),
        "vector<frozen<\"Odd Näme\">, 1>" => vector(odd(), 1),
        "vector<frozen<list<frozen<address>>>, 1>" => vector(frozen_list(address(Frozen::Yes)), 1),
        "tuple<vector<frozen<list<int>>, 2>>" => DataType::Tuple([vector(frozen_list(DataType::Int), 2)].into()),
        "vector<frozen<tuple<frozen<list<int>>, frozen<address>>>, 1>" => {
            vector(DataType::Tuple([frozen_list(DataType::Int), address(Frozen::Yes)].into()), 1)
        }
        "vector<frozen<set<frozen<tuple<int>>>>, 1>" => {
            vector(DataType::Set(Arc::new(DataType::Tuple([DataType::Int].into())), Frozen::Yes), 1)
        }
        simple => {
            let known = types().into_iter().find(|data_type| data_type.to_string() == simple);
            known.unwrap_or_else(|| panic!("no type {simple}"))
        }
    }
}

#[test]
fn types_are_what_cassandra_writes() {
    for (cql, version, golden) in lines(include_str!("wire_golden/types.tsv")) {
        let version = ProtocolVersion::from_number(version).unwrap();
        let mut bytes = Vec::new();
        write_type(&mut bytes, &declared_type(&cql), version);
        assert_eq!(String::from_utf8_lossy(&bytes), String::from_utf8_lossy(&golden), "{cql} {version}");
        // What is decoded need not know what is frozen, but must encode the same.
        let mut again = Vec::new();
        write_type(&mut again, &EncodedType::read(&mut Reader::new(&golden)).unwrap().to_data_type(), version);
        assert_eq!(again, golden, "{cql} {version}");
    }
}

/// Encodes metadata as it was received.
fn encode_again(metadata: &ReceivedMetadata<'_>, version: ProtocolVersion) -> ResultMetadata {
    let Some(columns) = metadata.columns else { return ResultMetadata::none() };
    let types: Vec<_> = columns.iter().map(|column| column.data_type.to_data_type()).collect();
    let specs: Vec<_> = columns
        .iter()
        .zip(&types)
        .map(|(column, data_type)| ColumnSpec { keyspace: column.keyspace, table: column.table, name: column.name, data_type })
        .collect();
    ResultMetadata::encode(version, &specs)
}

fn write_again(out: &mut Vec<u8>, response: &Response<'_>, version: ProtocolVersion) {
    match response {
        Response::Error(error) => error.write(out, version),
        Response::Ready => {}
        Response::Supported(options) => write_supported(out, options.iter().map(|(key, values)| (key, values.iter()))),
        Response::Event(event) => event.write(out, version),
        Response::Result(ResultResponse::Void) => write_void(out),
        Response::Result(ResultResponse::SetKeyspace(keyspace)) => write_set_keyspace(out, keyspace),
        Response::Result(ResultResponse::SchemaChange(change)) => write_schema_change(out, change, version),
        Response::Result(ResultResponse::Prepared(prepared)) => {
            let key_indexes: Vec<_> = prepared.markers.key_indexes.iter().collect();
            let (markers, result) = (encode_again(&prepared.markers, version), encode_again(&prepared.result, version));
            let ReceivedPrepared { id, result_metadata_id, .. } = *prepared;
            Prepared { id, result_metadata_id, markers: &markers, key_indexes: &key_indexes, result: &result, extra_flags: 0 }
                .write(out, version);
        }
        Response::Result(ResultResponse::Rows(rows)) => {
            let description = match rows.metadata.new_id {
                Some(new_id) => RowsDescription::Changed { new_id },
                None => RowsDescription::Columns(ResultColumns::Described),
            };
            let mark = begin_rows(out, &encode_again(&rows.metadata, version), description, rows.metadata.paging_state);
            for cell in rows.iter().flatten() {
                write_bytes(out, cell);
            }
            end_rows(out, mark, rows.len() as u32);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn responses_of_cassandra_are_read_and_written_alike() {
    let mut workspace = CompressionWorkspace::new();
    let mut skipped = 0;
    for (name, version, golden) in lines(include_str!("wire_golden/captured.tsv")) {
        let version = ProtocolVersion::from_number(version).unwrap();
        let compression = name.rsplit('_').next().and_then(Compression::from_name);
        let mut decoder = FrameDecoder::new(Direction::Response, LIMIT);
        if version < ProtocolVersion::V5 || name.contains("segment") {
            decoder.startup_agreed(version, compression).unwrap();
        }
        let mut frames = decoder.feed(&golden, &mut workspace);
        let frame = frames.next_frame().unwrap().unwrap();
        let (envelope, response) = Response::decode(&frame).unwrap_or_else(|error| panic!("{name} {version}: {error}"));
        if name.contains("skip") {
            // The columns are not in the message, so it cannot be written from it.
            assert!(matches!(response, Response::Result(ResultResponse::Rows(rows)) if rows.metadata.columns.is_none() && rows.len() == 1));
            skipped += 1;
            continue;
        }
        let warnings: Vec<_> = envelope.warnings.iter().map(str::to_owned).collect();
        let extras = ResponseExtras { tracing_id: envelope.tracing_id, warnings: &warnings, custom_payload: &[] };
        let mut body = Vec::new();
        extras.write(&mut body, version);
        write_again(&mut body, &response, version);
        assert_eq!(String::from_utf8_lossy(frame.body), String::from_utf8_lossy(&body), "{name} {version}");
        assert_eq!(frame.body, body, "{name} {version}");
        assert_eq!(frame.header.flags.without(FrameFlags::COMPRESSED), extras.flags(version));
        assert!(frames.next_frame().unwrap().is_none());
    }
    assert_eq!(skipped, 3);
}
