#![allow(clippy::unwrap_used)]

use super::key::value_of_entry;
use super::*;
use crate::ResultCode;
use crate::value::ParticleType;
use crate::value::msgpack::notation;
use crate::wire::IndexFields;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::Schema;

fn packed(text: &str) -> Vec<u8> {
    notation::bytes(&text.replace('\'', "\""))
}

fn change(command: &str) -> Result<IndexChange, u8> {
    IndexChange::of_request(command).expect("it is about an index").map_err(|refusal| refusal.code.0)
}

fn definition(kind: ValueKind, part: IndexedPart, context: &[u8]) -> Definition {
    Definition { bin: "b".to_owned(), kind, part, context: context.to_vec() }
}

/// Makes an index as its change says.
fn make(schema: &mut Schema, command: &str) -> Result<bool, u8> {
    let IndexChange::Create { namespace, set, name, definition } = change(command)? else { panic!("{command}") };
    let bin = definition.needed_bin().unwrap();
    if let Some(declared) = schema.declare_bins(&namespace, &set, &[bin], 1).unwrap() {
        *schema = declared.schema;
    }
    let table = model::record_set::table_name(&set).unwrap();
    definition.add(schema, &namespace, table, &name).map_err(|refusal| refusal.code.0)
}

#[test]
fn commands_of_all_times_are_read() {
    let context = packed("[34, 'k']");
    let text = STANDARD.encode(&context);
    let cases = [
        (
            "sindex-create:ns=test;set=s;indexname=i;indexdata=b,NUMERIC\n".to_owned(),
            definition(ValueKind::Numeric, IndexedPart::Whole, &[]),
        ),
        (
            "sindex-create:namespace=test;set=s;indexname=i;bin=b;type=string".to_owned(),
            definition(ValueKind::String, IndexedPart::Whole, &[]),
        ),
        (
            "sindex-create:ns=test;set=s;indexname=i;indextype=MAPKEYS;indexdata=b,BLOB".to_owned(),
            definition(ValueKind::Blob, IndexedPart::MapKeys, &[]),
        ),
        (
            format!("sindex-create:ns=test;set=s;indexname=i;context={text};indextype=LIST;indexdata=b,NUMERIC"),
            definition(ValueKind::Numeric, IndexedPart::List, &context),
        ),
        (
            format!("sindex-create:ns=test;set=s;indexname=i;context={};indexdata=b,NUMERIC", text.trim_end_matches('=')),
            definition(ValueKind::Numeric, IndexedPart::Whole, &context),
        ),
    ];
    for (command, definition) in cases {
        let (namespace, set, name) = ("test".to_owned(), "s".to_owned(), "i".to_owned());
        assert_eq!(change(&command), Ok(IndexChange::Create { namespace, set, name, definition }), "{command}");
    }
    let (namespace, name) = ("test".to_owned(), "i".to_owned());
    assert_eq!(change("sindex-delete:ns=test;set=s;indexname=i"), Ok(IndexChange::Drop { namespace, name }));
    assert_eq!(IndexChange::of_request("sindex-list:ns=test"), None);
    assert_eq!(IndexChange::of_request("sindex-create"), None);
}

#[test]
fn indexes_that_cannot_be_are_refused() {
    let long = "n".repeat(NAME_BYTES_MAX + 1);
    let creating = [STANDARD.encode(packed("[98, 'k']")), STANDARD.encode(packed("[34]")), "!".to_owned(), "A".repeat(2_049)];
    let with_context = creating.map(|context| (format!("ns=test;indexname=i;indexdata=b,NUMERIC;context={context}"), 4));
    let cases = [
        ("ns=test;set=s;indexname=i;indexdata=b,DOUBLE", 4),
        ("ns=test;set=s;indexname=i;indexdata=b", 4),
        ("ns=test;set=s;indexname=i;indexdata=,NUMERIC", 4),
        ("ns=test;set=s;indexname=i;indexdata=a123456789012345,NUMERIC", 4),
        ("ns=test;set=s;indexname=i;indextype=SET;indexdata=b,NUMERIC", 4),
        ("ns=test;set=s;indexname=i;exp=kQ==;bin=b;type=numeric", 16),
        ("ns=test;set=s;indexdata=b,NUMERIC", 4),
        ("ns=test;set=s;indexname=;indexdata=b,NUMERIC", 4),
        ("ns=test;set=s;indexname=a/b;indexdata=b,NUMERIC", 4),
        ("set=s;indexname=i;indexdata=b,NUMERIC", 4),
        ("ns=test;indexname=i;indexdata=b,NUMERIC\nnode", 4),
    ];
    let cases = cases.map(|(parameters, code)| (parameters.to_owned(), code));
    let too_long = [(format!("ns=test;indexname={long};indexdata=b,NUMERIC"), 205)];
    for (parameters, code) in cases.into_iter().chain(with_context).chain(too_long) {
        assert_eq!(change(&format!("sindex-create:{parameters}")), Err(code), "{parameters}");
    }
    assert_eq!(change(&format!("sindex-delete:ns=test;indexname={long}")), Err(205));
    assert_eq!(change("sindex-delete:ns=test"), Err(4));
}

#[test]
fn an_index_is_made_once_and_dropped_once() {
    let mut schema = Schema::empty();
    let create = "sindex-create:ns=test;set=s;indexname=i;indexdata=b,NUMERIC";
    assert_eq!(make(&mut schema, create), Ok(true));
    assert_eq!(make(&mut schema, create), Ok(false), "the same index again is no failure");
    assert_eq!(make(&mut schema, "sindex-create:ns=test;set=s;indexname=other;indexdata=b,NUMERIC"), Err(200));
    assert_eq!(make(&mut schema, "sindex-create:ns=test;set=s;indexname=i;indexdata=b,STRING"), Err(200));
    assert_eq!(make(&mut schema, "sindex-create:ns=test;set=t;indexname=i;indexdata=b,NUMERIC"), Err(200));
    assert_eq!(make(&mut schema, "sindex-create:ns=test;indexname=without;indexdata=b,NUMERIC"), Ok(true));
    assert_eq!(make(&mut schema, "sindex-create:ns=test;set=s;indexname=text;indexdata=b,STRING"), Ok(true));
    let (table, definition) = index_of_name(&schema, "test", "i").unwrap();
    assert_eq!((table.name.as_str(), definition.bin.as_str(), definition.kind), ("s", "b", ValueKind::Numeric));
    let (table, entries) = Definition::remove(&mut schema, "test", "i").unwrap();
    assert_eq!(table, "s");
    assert!(schema.tables().flat_map(|table| table.indexes.values()).all(|index| index.id != entries));
    assert_eq!(Definition::remove(&mut schema, "test", "i").unwrap_err().code, ResultCode::INDEX_NOT_FOUND);
    assert_eq!(Definition::remove(&mut schema, "none", "i").unwrap_err().code, ResultCode::INDEX_NOT_FOUND);
}

#[test]
fn a_namespace_has_256_indexes() {
    let mut schema = Schema::empty();
    for n in 0..1_000 {
        let made = make(&mut schema, &format!("sindex-create:ns=test;set=s{};indexname=i{n};indexdata=b{n},NUMERIC", n % 7));
        assert_eq!(made, if n < 256 { Ok(true) } else { Err(206) }, "{n}");
    }
    assert_eq!(make(&mut schema, "sindex-create:ns=other;set=s;indexname=i;indexdata=b,NUMERIC"), Ok(true));
}

/// The values of a bin that have entries, as text.
fn values(kind: ValueKind, part: IndexedPart, context: &str, bin: &str) -> Vec<Vec<u8>> {
    let context = if context.is_empty() { Vec::new() } else { packed(context) };
    let mut found = Vec::new();
    definition(kind, part, &context).visit_values(&packed(bin), &mut |value| found.push(value.to_vec()));
    found
}

#[test]
fn values_within_lists_and_maps_are_those_of_the_kind() {
    let number = |value: i64| value.to_be_bytes().to_vec();
    let (list, map) = ("[1, 'a', -7, [2], 1.5]", "{'k': 5, 7: 'v'}");
    assert_eq!(values(ValueKind::Numeric, IndexedPart::List, "", list), [number(1), number(-7)]);
    assert_eq!(values(ValueKind::String, IndexedPart::List, "", list), [b"a".to_vec()]);
    assert_eq!(values(ValueKind::String, IndexedPart::MapKeys, "", map), [b"k".to_vec()]);
    assert_eq!(values(ValueKind::Numeric, IndexedPart::MapKeys, "", map), [number(7)]);
    assert_eq!(values(ValueKind::Numeric, IndexedPart::MapValues, "", map), [number(5)]);
    assert!(values(ValueKind::Numeric, IndexedPart::MapValues, "", list).is_empty());
    assert!(values(ValueKind::Numeric, IndexedPart::List, "", "5").is_empty());
    // By index -1; by rank -1; by key.
    assert_eq!(values(ValueKind::Numeric, IndexedPart::List, "[16, 3]", list), [number(2)]);
    assert_eq!(values(ValueKind::Numeric, IndexedPart::Whole, "[17, -1]", "[3, 9, 4]"), [number(9)]);
    assert_eq!(values(ValueKind::Numeric, IndexedPart::Whole, "[34, 'k']", map), [number(5)]);
    assert!(values(ValueKind::Numeric, IndexedPart::Whole, "[34, 'none']", map).is_empty());
    assert!(values(ValueKind::Numeric, IndexedPart::Whole, "[34, 'k']", list).is_empty());
    assert_eq!(definition(ValueKind::Numeric, IndexedPart::Whole, &packed("[17, -1]")).bin_kind(), Ok(ParticleType::List));
}

fn range(bin: &[u8], particle: u8, low: &[u8], high: &[u8]) -> Vec<u8> {
    let sized = |value: &[u8]| [&(value.len() as u32).to_be_bytes()[..], value].concat();
    [&[1, bin.len() as u8], bin, &[particle], &sized(low), &sized(high)].concat()
}

#[test]
fn ranges_that_are_none_are_refused() {
    let one = 1i64.to_be_bytes();
    let refused = |fields: IndexFields<'_>| Filter::read(&fields, None).map(|filter| filter.is_some()).map_err(|code| code.0);
    let of_range = |range: &[u8]| refused(IndexFields { range: Some(range), ..IndexFields::default() });
    assert_eq!(refused(IndexFields::default()), Ok(false));
    assert_eq!(of_range(&range(b"b", 1, &one, &one)), Ok(true));
    assert_eq!(of_range(&range(b"b", 1, &2i64.to_be_bytes(), &one)), Err(4));
    assert_eq!(of_range(&range(b"b", 1, &one[1..], &one)), Err(4));
    assert_eq!(of_range(&range(b"b", 3, b"a", b"b")), Err(4));
    let point = br#"{"type": "Point", "coordinates": [8.5, 47.4]}"#;
    assert_eq!(of_range(&range(b"b", 23, point, point)), Ok(true));
    assert_eq!(of_range(&range(b"b", 23, b"{}", b"{}")), Err(160));
    assert_eq!(of_range(&range(b"b", 23, point, b"{}")), Err(4));
    assert_eq!(of_range(&range(b"b", 2, &one, &one)), Err(201), "no index has such values");
    let whole = range(b"b", 3, b"a", b"a");
    (0..whole.len()).for_each(|length| assert_eq!(of_range(&whole[..length]), Err(4), "{length}"));
    assert_eq!(of_range(&[&whole[..], &[0]].concat()), Err(4));
    assert_eq!(of_range(&[&[2], &whole[1..]].concat()), Err(4));
    let name = IndexFields { name: Some(b"i"), ..IndexFields::default() };
    assert_eq!((refused(name), refused(IndexFields { range: Some(&whole), ..name })), (Err(4), Err(201)));
    assert_eq!(refused(IndexFields { range: Some(&whole), part: Some(&[4]), ..IndexFields::default() }), Err(4));
    assert_eq!(refused(IndexFields { range: Some(&whole), context: Some(&[0x91]), ..IndexFields::default() }), Err(4));
}

#[test]
fn an_entry_leads_back_to_its_record() {
    let mut digest = [7; 20];
    (digest[0], digest[1], digest[19]) = (0, 0xFF, 0);
    for value in [&b"\x40value\0\0"[..], b"\x20"] {
        let token = model::record_set::token(&digest);
        let mut key = EntryRanges::from_place(value, token, Some(&digest));
        key.extend_from_slice(&(value.len() as u16).to_be_bytes());
        assert_eq!((place_of_entry(&key), value_of_entry(&key)), (Some((token, digest)), Some(value)));
        assert_eq!(place_of_entry(&key[..key.len() - 3]), None);
    }
    assert_eq!(place_of_entry(&[]), None);
    assert_eq!(place_of_entry(&[0xFF, 0xFF, 0xFF]), None);
    let whole = EntryRanges::from_place(b"\x20", base::Token(0), Some(&[1; 20]));
    (0..whole.len()).for_each(|length| assert_eq!(place_of_entry(&[&whole[..length], &[0, 1]].concat()), None, "{length}"));
}

#[test]
fn queries_of_places_look_for_slots_by_prefixes_that_entries_have() {
    use crate::geo::Shape;
    let shape = |kind: &str, coordinates: String| {
        Shape::parse(format!(r#"{{"type": "{kind}", "coordinates": {coordinates}}}"#).as_bytes()).unwrap()
    };
    let (mut random, mut asked) = (base::Rng::new(0x6E3), [0; 5]);
    let mut fraction = || random.below(1 << 53) as f64 / (1_u64 << 53) as f64;
    for _ in 0..2_000 {
        let (longitude, latitude, metres) = (fraction() * 360.0 - 180.0, fraction() * 170.0 - 85.0, 10_f64.powf(7.0 * fraction()));
        let off = metres / 111_200.0 * fraction() * 0.99;
        let (circle, point) = (
            shape("AeroCircle", format!("[[{longitude}, {latitude}], {metres}]")),
            shape("Point", format!("[{longitude}, {}]", (latitude + off).min(90.0))),
        );
        assert!(circle.meets(&point));
        for (asked_for, stored) in [(&circle, &point), (&point, &circle)] {
            let ranges = EntryRanges::of_shape(asked_for);
            let keys = stored
                .entries(&mut { crate::geo::COMPARED_MAX })
                .into_iter()
                .map(|cell| [&[0x40][..], &cell.to_be_bytes(), &[7; 30], &[0, 9]].concat());
            let is_among = |key: Vec<u8>| {
                (0..).map_while(|number| ranges.prefix_of()(&key, number)).any(|prefix| ranges.prefixes.iter().any(|other| other == prefix))
            };
            assert!(ranges.prefixes.is_empty() || keys.into_iter().any(is_among), "{circle:?} {point:?}");
            asked[ranges.prefixes.first().map_or(0, |prefix| prefix.len() - 1)] += 1;
        }
    }
    assert!(asked[0] > 100 && asked[1] == 0 && asked[2] > 100 && asked[3] > 100 && asked[4] > 1_000, "{asked:?}");
}

/// A list of points, and then one of another kind.
fn places(points: usize, last: &str) -> Vec<u8> {
    use crate::value::msgpack::write;
    let mut list = Vec::new();
    write::list(&mut list, points + 1, 0);
    let mut element = |text: &str| write::typed(&mut list, ParticleType::GeoJson, text.as_bytes());
    (0..points).for_each(|_| element(r#"{"type": "Point", "coordinates": [8.5, 47.4]}"#));
    element(last);
    list
}

#[test]
fn entries_of_places_are_told_up_to_one_more_than_there_may_be() {
    use model::operation::INDEXED_VALUES_MAX;
    let mut schema = Schema::empty();
    make(&mut schema, "sindex-create:ns=test;set=s;indexname=i;indextype=LIST;indexdata=b,GEO2DSPHERE").unwrap();
    let table = schema.table("test", "s").unwrap();
    let within = values_within(table, &table.indexes["i"]).unwrap();
    let count = |bin: &[u8]| {
        let mut count = 0;
        within.visit(bin, &mut |_, _| count += 1);
        count
    };
    let point = r#"{"type": "Point", "coordinates": [1, 2]}"#;
    assert_eq!(count(&places(9, "{}")), 9);
    assert_eq!(count(&places(INDEXED_VALUES_MAX - 1, point)), INDEXED_VALUES_MAX);
    assert_eq!(count(&places(5_000, point)), INDEXED_VALUES_MAX + 1);
}
