//! What one side writes the other reads, in every version; what a version cannot say is refused.

use crate::wire_corpus::*;
use cql::wire::*;

#[test]
fn requests_survive_encoding() {
    for version in ProtocolVersion::ALL {
        let mut count = 0;
        for_each_request(version, |request| {
            let bytes = request_frame(version, 7, request);
            let (envelope, decoded) = Request::decode(&parse(&bytes)).unwrap();
            assert_eq!((envelope, decoded), (RequestEnvelope::default(), *request));
            count += 1;
        });
        assert!(count >= 14, "{count}");
    }
}

#[test]
fn values_are_iterated_as_they_were_bound() {
    let (version, mut buffer) = (ProtocolVersion::V4, ValuesBuffer::new());
    for round in 0..2 {
        buffer.clear();
        for value in [Value::Bytes(b"abc"), Value::Unset, Value::Null, Value::Bytes(b"")] {
            buffer.push(value);
        }
        let values = buffer.as_values(version);
        let mut bytes = Vec::new();
        values.write(&mut bytes);
        let mut reader = Reader::new(&bytes);
        let read = Values::read(&mut reader, version, ValueNames::Absent).unwrap();
        assert!(reader.rest().is_empty());
        assert_eq!(read.len(), 4, "{round}");
        assert_eq!(read.iter().collect::<Vec<_>>(), [Value::Bytes(b"abc"), Value::Unset, Value::Null, Value::Bytes(b"")]);
        assert_eq!(read.iter_named().map(|(name, _)| name).collect::<Vec<_>>(), [None; 4]);
    }
    buffer.clear();
    buffer.push_named("a", Value::Null);
    buffer.push_named("ß", Value::Bytes(b"1"));
    let values = buffer.as_values(version);
    assert_eq!(values.iter_named().collect::<Vec<_>>(), [(Some("a"), Value::Null), (Some("ß"), Value::Bytes(b"1"))]);
    assert_eq!(values.iter().collect::<Vec<_>>(), [Value::Null, Value::Bytes(b"1")]);
}

#[test]
fn negative_lengths_of_values_mean_what_the_version_says() {
    let read = |version, length: i32| {
        // No value has bytes here: what is read borrows nothing.
        Reader::new(&length.to_be_bytes()).value(version).map(|value| if value == Value::Null { Value::Null } else { Value::Unset })
    };
    for version in ProtocolVersion::ALL {
        assert_eq!(read(version, -1), Ok(Value::Null));
    }
    assert_eq!(read(ProtocolVersion::V3, -2), Ok(Value::Null));
    assert_eq!(read(ProtocolVersion::V3, -3), Ok(Value::Null));
    assert_eq!(read(ProtocolVersion::V4, -2), Ok(Value::Unset));
    assert_eq!(read(ProtocolVersion::V5, -2), Ok(Value::Unset));
    assert_eq!(read(ProtocolVersion::V4, -3), Err(WireError::InvalidLength { notation: Notation::Value, length: -3 }));
    assert_eq!(read(ProtocolVersion::V5, i32::MIN), Err(WireError::InvalidLength { notation: Notation::Value, length: i32::MIN }));
}

#[test]
fn batches_are_iterated_as_they_were_collected() {
    for_each_request(ProtocolVersion::V5, |request| {
        let Request::Batch(batch) = request else { return };
        let statements: Vec<_> = batch.statements.iter().collect();
        assert_eq!(statements.len(), batch.statements.len());
        if let [(text, values), (prepared, none)] = statements[..] {
            assert_eq!(text, BatchStatement::Text("INSERT INTO t (k, v) VALUES (?, ?)"));
            assert_eq!(prepared, BatchStatement::Prepared(&ID));
            assert_eq!((values.len(), none.len()), (5, 0));
        } else {
            assert!(batch.statements.is_empty());
        }
    });
}

#[test]
fn negative_page_sizes_mean_no_paging() {
    for (size, expected) in [(-1, None), (i32::MIN, None), (1, Some(1)), (i32::MAX, Some(i32::MAX as u32))] {
        let mut body = b"\0\0\0\x01x\0\x01\x04".to_vec();
        body.extend(i32::to_be_bytes(size));
        let bytes = frame(ProtocolVersion::V4, Direction::Request, FrameFlags::NONE, 0, Opcode::Query, &body);
        let Request::Query(query) = Request::decode(&parse(&bytes)).unwrap().1 else { panic!("not a query") };
        assert_eq!(query.parameters.page_size, expected);
    }
}

#[test]
fn bytes_after_a_message_are_ignored() {
    for version in ProtocolVersion::ALL {
        for_each_request(version, |request| {
            let mut body = Vec::new();
            request.write(&mut body, version).unwrap();
            body.extend(b"from the future");
            let bytes = frame(version, Direction::Request, FrameFlags::NONE, 0, request.opcode(), &body);
            assert_eq!(Request::decode(&parse(&bytes)).unwrap().1, *request);
        });
    }
}

#[test]
fn fields_of_newer_versions_are_refused_by_older_ones() {
    let mut out = Vec::new();
    for version in [ProtocolVersion::V3, ProtocolVersion::V4] {
        let parameters = QueryParameters::new(Consistency::One, Values::none(version));
        let with = |common| Request::Query(Query { text: "x", parameters: QueryParameters { common, ..parameters } });
        let keyspace = with(CommonParameters { keyspace: Some("ks"), ..CommonParameters::default() });
        let now = with(CommonParameters { now_in_seconds: Some(1), ..CommonParameters::default() });
        let prepare = Request::Prepare(Prepare { text: "x", keyspace: Some("ks") });
        for (request, feature) in
            [(keyspace, VersionedFeature::Keyspace), (now, VersionedFeature::NowInSeconds), (prepare, VersionedFeature::Keyspace)]
        {
            assert_eq!(request.write(&mut out, version), Err(WireError::NotInVersion { feature, version }));
        }
        // The flag of a keyspace, which only v5 defines.
        let bytes = frame(version, Direction::Request, FrameFlags::NONE, 0, Opcode::Query, b"\0\0\0\x01x\0\x01\x80\0\x02ks");
        assert_eq!(Request::decode(&parse(&bytes)), Err(WireError::UnknownFlags { flags: 0x80 }));
    }
    let body = b"\0\x01\0\x01k\0\0\0\x01v";
    let bytes = frame(ProtocolVersion::V3, Direction::Request, FrameFlags::CUSTOM_PAYLOAD, 0, Opcode::Options, body);
    let (feature, version) = (VersionedFeature::CustomPayload, ProtocolVersion::V3);
    assert_eq!(Request::decode(&parse(&bytes)), Err(WireError::NotInVersion { feature, version }));
    let (feature, version) = (VersionedFeature::Snappy, ProtocolVersion::V5);
    let refused = Err(WireError::NotInVersion { feature, version });
    assert_eq!(FrameEncoder::new(Direction::Request).startup_agreed(version, Some(Compression::Snappy)), refused);
    assert_eq!(FrameDecoder::new(Direction::Request, LIMIT).startup_agreed(version, Some(Compression::Snappy)), refused);
}

#[test]
fn responses_survive_encoding() {
    for version in ProtocolVersion::ALL {
        let frames = response_frames(version);
        let responses: Vec<_> = frames.iter().map(|bytes| Response::decode(&parse(bytes)).unwrap()).collect();
        let of = |wanted: &Response<'_>| responses.iter().any(|(_, response)| response == wanted);
        for event in events() {
            let function = matches!(&event, Event::SchemaChange(SchemaChange { target, .. }) if matches!(target, SchemaTarget::Function { .. } | SchemaTarget::Aggregate { .. }));
            assert_eq!(of(&Response::Event(event.clone())), version >= ProtocolVersion::V4 || !function, "{event:?}");
        }
        for kind in errors() {
            let missing = match kind {
                // v4 counts failures, v5 names them; older versions have substitutes.
                ErrorKind::ReadFailure { .. } | ErrorKind::WriteFailure { .. } | ErrorKind::CasWriteUnknown { .. } => {
                    version < ProtocolVersion::V5
                }
                ErrorKind::FunctionFailure { .. } | ErrorKind::CdcWriteFailure => version < ProtocolVersion::V4,
                ErrorKind::WriteTimeout { contentions, .. } => contentions > 0 && version < ProtocolVersion::V5,
                _ => false,
            };
            let error = Response::Error(ErrorResponse { message: "went wrong: ä", kind });
            assert_eq!(of(&error), !missing, "{error:?}");
        }
        for response in [
            Response::Ready,
            Response::Authenticate("org.apache.cassandra.auth.PasswordAuthenticator"),
            Response::AuthChallenge(Some(b"who")),
            Response::AuthSuccess(None),
            Response::Result(ResultResponse::Void),
            Response::Result(ResultResponse::SetKeyspace("ks")),
        ] {
            assert!(of(&response), "{response:?}");
        }
        let supported = responses.iter().find_map(|(_, response)| match response {
            Response::Supported(options) => options.get("COMPRESSION"),
            _ => None,
        });
        assert_eq!(supported.unwrap().iter().collect::<Vec<_>>(), ["lz4", "snappy"]);
        let (envelope, _) = responses.last().unwrap();
        assert_eq!(envelope.tracing_id, Some(ID));
        let expected = if version >= ProtocolVersion::V4 { Some(Some(&b"v"[..])) } else { None };
        assert_eq!(envelope.custom_payload.get("k"), expected);
        assert_eq!(envelope.warnings.len(), usize::from(version >= ProtocolVersion::V4));
    }
}

#[test]
fn rows_are_iterated_as_they_were_written() {
    for version in ProtocolVersion::ALL {
        for description in [
            RowsDescription::Columns(ResultColumns::Described),
            RowsDescription::Columns(ResultColumns::Skipped),
            RowsDescription::Changed { new_id: &METADATA_ID },
        ] {
            for paging_state in [None, Some(&b"next"[..])] {
                let body = rows_body(version, description, paging_state);
                let bytes = frame(version, Direction::Response, FrameFlags::NONE, 0, Opcode::Result, &body);
                let Response::Result(ResultResponse::Rows(rows)) = Response::decode(&parse(&bytes)).unwrap().1 else { panic!("not rows") };
                let cells: Vec<Vec<_>> = rows.iter().map(Iterator::collect).collect();
                assert_eq!(cells, [[Some(&b"a"[..]), Some(b"\x01\x02")], [Some(b"b"), None], [Some(b"c"), Some(b"")]]);
                assert_eq!((rows.len(), rows.metadata.paging_state), (3, paging_state));
                assert_eq!(rows.metadata.columns.is_none(), description == RowsDescription::Columns(ResultColumns::Skipped));
                assert_eq!(rows.metadata.new_id.is_some(), matches!(description, RowsDescription::Changed { .. }));
                if let Some(columns) = rows.metadata.columns {
                    let names: Vec<_> = columns.iter().map(|column| (column.keyspace, column.table, column.name)).collect();
                    assert_eq!(names, [("ks", "t", "k"), ("ks", "t", "v")]);
                }
            }
        }
    }
}

#[test]
fn types_survive_encoding() {
    for version in ProtocolVersion::ALL {
        for data_type in types() {
            let mut bytes = Vec::new();
            write_type(&mut bytes, &data_type, version);
            let mut reader = Reader::new(&bytes);
            let read = EncodedType::read(&mut reader).unwrap().to_data_type();
            assert!(reader.rest().is_empty());
            assert_eq!(read, data_type, "{version}");
        }
    }
}

#[test]
fn class_names_that_are_not_understood_stay_as_they_are() {
    let deep = format!("{}x{}", "org.apache.cassandra.db.marshal.ListType(".repeat(100_000), ")".repeat(100_000));
    for class in [
        "",
        "(",
        "ListType",
        "ListType(",
        "VectorType(FloatType , 0)",
        "VectorType(FloatType , -1)",
        "VectorType(FloatType , 2147483648)",
        "UserType(ks,6)",
        "UserType(ks,ff)",
        "TupleType()",
        "Int32Type)",
        &deep,
    ] {
        assert_eq!(parse_marshal_class(class), model::DataType::Custom(class.into()));
    }
}

#[test]
fn long_strings_are_cut_between_characters() {
    let message = "ä".repeat(40_000);
    let mut body = Vec::new();
    ErrorResponse { message: &message, kind: ErrorKind::Invalid }.write(&mut body, ProtocolVersion::V4);
    let bytes = frame(ProtocolVersion::V4, Direction::Response, FrameFlags::NONE, 0, Opcode::Error, &body);
    let Response::Error(error) = Response::decode(&parse(&bytes)).unwrap().1 else { panic!("not an error") };
    assert_eq!(error.message, "ä".repeat(32_767));
}

#[test]
fn opcodes_of_the_other_direction_are_refused() {
    for opcode in Opcode::ALL {
        let bytes = frame(ProtocolVersion::V4, Direction::Request, FrameFlags::NONE, 0, opcode, &[0; 64]);
        let frame = parse(&bytes);
        let wrong = Err(WireError::UnexpectedOpcode { opcode: opcode as u8 });
        let (request, response) = (Request::decode(&frame).map(drop), Response::decode(&frame).map(drop));
        assert!((request == wrong) != (response == wrong), "{opcode:?} {request:?} {response:?}");
    }
}
