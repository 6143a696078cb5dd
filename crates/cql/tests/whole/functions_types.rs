//! Values of every type go into Lua and come back.

use crate::value_support::{iterations, random_type, random_value, seed, ty};
use base::Rng;
use cql::value::script::{Meter, Script};
use cql::value::{function::FunctionError, parse, text::to_literal, validate};
use model::{DataType, Function, NullInput};
use std::sync::Arc;

fn script(argument: DataType, returns: DataType, body: &str) -> Script {
    Script::new(&Arc::new(Function {
        keyspace: "ks".to_owned(),
        name: "f".to_owned(),
        arguments: vec![("a".to_owned(), argument)],
        returns,
        null_input: NullInput::Called,
        language: "lua".to_owned(),
        body: body.to_owned(),
    }))
}

fn call(script: &Script, value: Option<&[u8]>) -> Result<Option<Vec<u8>>, FunctionError> {
    let mut out = Vec::new();
    let there = script.call(&[value], &Meter::default(), &mut out)?;
    Ok(there.then_some(out))
}

/// Whether a value of the type can be a key of a Lua table and be found again: not NaN, not null, not one that is a table itself.
fn survives(ty: &DataType, value: &[u8]) -> bool {
    let text = to_literal(ty, Some(value));
    // Empty values are nil in Lua, NaN is no key, and -0.0 and 0.0 are one.
    !text.contains("NaN") && !text.contains("null") && !text.contains("-0.0")
}

fn has_empty(ty: &DataType, value: &[u8]) -> bool {
    value.is_empty() && !matches!(ty, DataType::Text | DataType::Ascii | DataType::Blob)
}

#[test]
fn random_values_of_every_type_come_back() {
    let mut rng = Rng::new(seed());
    let mut compared = 0;
    for _ in 0..iterations() {
        let ty = random_type(&mut rng, 3);
        let value = random_value(&ty, &mut rng);
        if has_empty(&ty, &value) || !survives(&ty, &value) || matches!(ty, DataType::Custom(_)) {
            continue;
        }
        let identity = script(ty.clone(), ty.clone(), "return a");
        match call(&identity, Some(&value)) {
            Ok(Some(back)) => {
                validate(&ty, &back).unwrap();
                let (before, after) = (to_literal(&ty, Some(&value)), to_literal(&ty, Some(&back)));
                // Fields that are missing at the end are null, and are written.
                assert!(before == after || after.contains("null"), "seed {}: {ty}: {before} is now {after}", seed());
                compared += 1;
            }
            Ok(None) => panic!("seed {}: {ty} {} became null", seed(), to_literal(&ty, Some(&value))),
            // A collection in which something is empty has no such table.
            Err(error) => assert!(
                error.to_string().contains("null") || error.to_string().contains("sequence") || error.to_string().contains("index"),
                "{ty}: {error}"
            ),
        }
    }
    assert!(compared > iterations() / 3, "{compared} of {}", iterations());
}

#[test]
fn lua_sees_values_as_the_table_in_the_documents_says() {
    let cases = [
        ("int", "7", "return math.type(a) .. a", "integer7"),
        ("bigint", "-9223372036854775808", "return tostring(a)", "-9223372036854775808"),
        ("double", "1.5", "return math.type(a) .. a", "float1.5"),
        ("varint", "12", "return math.type(a) .. a", "integer12"),
        ("varint", "123456789012345678901234567890", "return tostring(a + 1)", "123456789012345678901234567891"),
        ("decimal", "1.10", "return tostring(a + a)", "2.20"),
        ("decimal", "1.10", "return type(a)", "userdata"),
        ("boolean", "true", "return type(a) .. tostring(not a)", "booleanfalse"),
        ("timestamp", "1000", "return math.type(a) .. a", "integer1000"),
        ("date", "1970-01-02", "return tostring(a - 2^31)", "1.0"),
        ("time", "00:00:01", "return tostring(a)", "1000000000"),
        ("uuid", "00000000-0000-4000-8000-000000000001", "return a", "00000000-0000-4000-8000-000000000001"),
        ("inet", "127.0.0.1", "return a", "127.0.0.1"),
        ("duration", "1mo2d3ns", "return a.months .. '/' .. a.days .. '/' .. a.nanoseconds", "1/2/3"),
        ("blob", "0x0001ff", "return #a .. '/' .. a:byte(3)", "3/255"),
    ];
    for (type_name, value, body, expected) in cases {
        let ty = ty(type_name);
        let mut bytes = Vec::new();
        parse::parse(&ty, value, &mut bytes).unwrap();
        let result = call(&script(ty, DataType::Text, body), Some(&bytes)).unwrap().unwrap();
        assert_eq!(String::from_utf8(result).unwrap(), expected, "{type_name} {value}");
    }
}

#[test]
fn results_are_converted_where_they_can_be() {
    let cases = [
        ("int", "return '12'", "12"),
        ("int", "return 3.0", "3"),
        ("tinyint", "return -128", "-128"),
        ("varint", "return '123456789012345678901234567890'", "123456789012345678901234567890"),
        ("decimal", "return 0.1", "0.1"),
        ("decimal", "return '1.50'", "1.50"),
        ("double", "return 1", "1.0"),
        ("text", "return 12", "'12'"),
        ("date", "return {year = 1970, month = 1, day = 2}", "'1970-01-02'"),
        ("date", "return '2000-02-29'", "'2000-02-29'"),
        ("date", "return 2147483648", "'1970-01-01'"),
        ("timestamp", "return {year = 1970, month = 1, day = 1}", "'1970-01-01T12:00:00.000Z'"),
        ("timestamp", "return {year = 1970, month = 1, day = 1, hour = 0, sec = 1, msec = 5}", "'1970-01-01T00:00:01.005Z'"),
        ("timestamp", "return '1970-01-01 00:00:01+0000'", "'1970-01-01T00:00:01.000Z'"),
        ("time", "return '00:00:02'", "'00:00:02.000000000'"),
        ("duration", "return '1mo2d'", "1mo2d"),
        ("duration", "return {days = 3}", "3d"),
        ("list<int>", "return {3, 1, 2}", "[3, 1, 2]"),
        ("set<int>", "return {[3] = true, [1] = true}", "{1, 3}"),
        ("map<text, int>", "return {b = 2, a = 1}", "{'a': 1, 'b': 2}"),
        ("tuple<int, text>", "return {1}", "(1, null)"),
        ("tuple<int, text>", "return {[2] = 'x'}", "(null, 'x')"),
        ("vector<float, 2>", "return {1, 2.5}", "[1.0, 2.5]"),
        ("list<int>", "return {}", "[]"),
    ];
    for (type_name, body, expected) in cases {
        let ty = ty(type_name);
        let result = call(&script(DataType::Int, ty.clone(), body), None).unwrap();
        assert_eq!(to_literal(&ty, result.as_deref()), expected, "{type_name}: {body}");
    }
    assert_eq!(call(&script(DataType::Int, DataType::Int, "return nil"), None), Ok(None));
    assert_eq!(call(&script(DataType::Int, DataType::Int, ""), None), Ok(None));
}

#[test]
fn results_that_are_no_values_are_errors() {
    let cases = [
        ("int", "return 'x'", "'x' is not a value of type int"),
        ("int", "return 2147483648", "2147483648 is not a value of type int"),
        ("int", "return 1.5", "1.5 is not a value of type int"),
        ("int", "return {}", "the result is a table, which int cannot be made of"),
        ("boolean", "return 1", "the result is a number, which boolean cannot be made of"),
        ("text", "return true", "the result is a boolean, which text cannot be made of"),
        ("text", "return '\\xff'", "is not a value of type text"),
        ("ascii", "return 'ä'", "is not a value of type ascii"),
        ("uuid", "return 'x'", "'x' is not a value of type uuid"),
        ("varint", "return 0/0", "NaN is not a value of type varint"),
        ("date", "return {year = 2001, month = 2, day = 29}", "2001-2-29 is not a value of type date"),
        ("date", "return {year = 2001}", "a table without month is not a value of type date"),
        ("list<int>", "return {1, nil, 3}", "the table is not a sequence from 1 on: it has the key 3"),
        ("list<int>", "return {a = 1}", "the table is not a sequence from 1 on: it has the key 'a'"),
        ("list<int>", "return 1", "cannot be made of"),
        ("tuple<int, text>", "return {1, 'x', 2}", "has 3 fields"),
        ("vector<float, 2>", "return {1}", "has 1 fields"),
        ("map<text, int>", "return {a = 'x'}", "'x' is not a value of type int"),
    ];
    for (type_name, body, expected) in cases {
        let error = call(&script(DataType::Int, ty(type_name), body), None).expect_err(body).to_string();
        assert!(error.contains(expected), "{type_name}: {body}: {error}");
    }
}
