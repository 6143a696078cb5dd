//! Functions in WebAssembly: what is made, how values go in and come out, and what statements do with them.

use crate::select_support::Node;
use crate::value_support::{iterations, random_type, random_value, seed, ty};
use base::Rng;
use cql::value::function::FunctionError;
use cql::value::script::{Meter, Script};
use cql::value::{normalize, validate};
use model::{DataType, Function, NullInput};
use std::sync::Arc;

/// What a module of version 1 has beside its functions.
const ABI: &str = "(memory (export \"memory\") 1) (global (export \"_scylla_abi\") i32 (i32.const 1024)) (data (i32.const 1024) \"\\01\")";

fn script(argument: &DataType, returns: &DataType, null_input: NullInput, function: &str) -> Script {
    Script::new(&Arc::new(Function {
        keyspace: "ks".to_owned(),
        name: "f".to_owned(),
        arguments: vec![("a".to_owned(), argument.clone())],
        returns: returns.clone(),
        null_input,
        language: Function::WASM.to_owned(),
        body: format!("(module {ABI} (func (export \"f\") {function}))"),
    }))
}

fn call(script: &Script, value: Option<&[u8]>) -> Result<Option<Vec<u8>>, FunctionError> {
    let mut out = Vec::new();
    let there = script.call(&[value], &Meter::default(), &mut out)?;
    Ok(there.then_some(out))
}

#[test]
fn random_values_of_every_type_come_back() {
    let mut rng = Rng::new(seed());
    for _ in 0..iterations() {
        let ty = random_type(&mut rng, 3);
        let value = random_value(&ty, &mut rng);
        let same = script(&ty, &ty, NullInput::Called, "(param i64) (result i64) local.get 0");
        let empty = value.is_empty() && !matches!(ty, DataType::Text | DataType::Ascii | DataType::Blob | DataType::Custom(_));
        match call(&same, Some(&value)).unwrap() {
            Some(back) => assert_eq!(back, *normalize(&ty, &value).unwrap(), "seed {}: {ty}", seed()),
            None => assert!(empty, "seed {}: {ty} became null", seed()),
        }
        assert_eq!(call(&same, None).unwrap(), None);
    }
}

/// A type in CQL and in WebAssembly, what is computed, a value, and its result.
type Case = (&'static str, &'static str, &'static str, &'static [u8], &'static [u8]);

#[test]
fn numbers_are_numbers_where_null_is_none() {
    let cases: [Case; 9] = [
        ("boolean", "i32", "(i32.sub (i32.const 1) (local.get 0))", &[1], &[0]),
        ("boolean", "i32", "(i32.add (i32.const 255) (local.get 0))", &[1], &[1]),
        ("tinyint", "i32", "(i32.add (i32.const 1) (local.get 0))", &[0xff], &[0]),
        ("tinyint", "i32", "(i32.add (i32.const 1) (local.get 0))", &[0x7f], &[0x80]),
        ("smallint", "i32", "(i32.sub (local.get 0) (i32.const 1))", &[0, 0], &[0xff, 0xff]),
        ("int", "i32", "(i32.mul (local.get 0) (i32.const -1))", &[0, 0, 0, 1], &[0xff; 4]),
        ("bigint", "i64", "(i64.shl (local.get 0) (i64.const 32))", &[0, 0, 0, 0, 0, 0, 0, 5], &[0, 0, 0, 5, 0, 0, 0, 0]),
        ("float", "f32", "(f32.mul (local.get 0) (f32.const 2))", &[0x3f, 0x80, 0, 0], &[0x40, 0, 0, 0]),
        ("double", "f64", "(f64.neg (local.get 0))", &[0x3f, 0xf0, 0, 0, 0, 0, 0, 0], &[0xbf, 0xf0, 0, 0, 0, 0, 0, 0]),
    ];
    for (name, in_wasm, body, value, expected) in cases {
        let ty = ty(name);
        let computing = script(&ty, &ty, NullInput::ReturnsNull, &format!("(param {in_wasm}) (result {in_wasm}) {body}"));
        assert_eq!(call(&computing, Some(value)).unwrap().as_deref(), Some(expected), "{name} {body}");
        assert_eq!(call(&computing, Some(&[])).unwrap(), None, "an empty {name}");
        assert_eq!(call(&computing, None).unwrap(), None);
    }
    // All that is no such number is bytes, also of such a function.
    for name in ["text", "counter", "timestamp", "varint", "list<int>", "date"] {
        script(&ty(name), &ty(name), NullInput::ReturnsNull, "(param i64) (result i64) local.get 0").check().unwrap();
    }
}

#[test]
fn results_have_to_be_values_of_their_type() {
    // The text that is returned is no value of the other types.
    for name in ["int", "uuid", "list<int>", "map<int, text>", "tuple<int, int>", "inet", "boolean"] {
        let wrong = script(&DataType::Text, &ty(name), NullInput::Called, "(param i64) (result i64) local.get 0");
        let error = call(&wrong, Some(b"hello")).unwrap_err().to_string();
        assert!(error.contains("the result is no value of type "), "{error}");
    }
    let text = script(&DataType::Blob, &DataType::Text, NullInput::Called, "(param i64) (result i64) local.get 0");
    assert!(
        call(&text, Some(&[0xff]))
            .unwrap_err()
            .to_string()
            .contains("execution of 'ks.f[blob]' failed: the result is no value of type text")
    );
    // A set is sorted, and has each element once.
    let ints = [[0, 0, 0, 4], [0, 0, 0, 9]].concat();
    let set = [&[0, 0, 0, 3][..], &ints, &[0, 0, 0, 4, 0, 0, 0, 1], &ints].concat();
    let sorting = script(&DataType::Blob, &ty("set<int>"), NullInput::Called, "(param i64) (result i64) local.get 0");
    let sorted = call(&sorting, Some(&set)).unwrap().unwrap();
    validate(&ty("set<int>"), &sorted).unwrap();
    assert_eq!(sorted, [0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 9]);
}

#[test]
fn calls_are_bounded_with_all_others_of_their_row() {
    let looping =
        script(&DataType::Int, &DataType::Int, NullInput::ReturnsNull, "(param i32) (result i32) (loop $l (br $l)) (local.get 0)");
    let meter = Meter::default();
    let spent: Vec<String> = (0..4)
        .map(|_| looping.call(&[Some(&[0, 0, 0, 1])], &meter, &mut Vec::new()).unwrap_err().to_string())
        .map(|error| error.rsplit("budget of ").next().unwrap_or_default().to_owned())
        .collect();
    assert!(spent[0].starts_with("1000000 ") && spent[3].starts_with("0 "), "{spent:?}");
}

fn node() -> Node {
    let mut node = Node::new(2);
    node.define("CREATE TABLE t (k int, c int, v int, x text, PRIMARY KEY (k, c))");
    for (name, arguments, mode, result, function) in [
        ("plus", "a int, b int", "RETURNS NULL", "int", "(param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))"),
        ("same", "a text", "CALLED", "text", "(param i64) (result i64) (local.get 0)"),
        ("same", "a int", "RETURNS NULL", "int", "(param i32) (result i32) (local.get 0)"),
        ("fail", "a int", "RETURNS NULL", "int", "(param i32) (result i32) unreachable"),
        ("wide", "s int", "RETURNS NULL", "bigint", "(param i32) (result i64) (i64.extend_i32_s (local.get 0))"),
    ] {
        let body = format!("(module {ABI} (func (export \"{name}\") {function}))");
        node.define(&format!("CREATE FUNCTION {name}({arguments}) {mode} ON NULL INPUT RETURNS {result} LANGUAGE wasm AS $${body}$$"));
    }
    node.define("CREATE AGGREGATE total(int) SFUNC plus STYPE int FINALFUNC wide INITCOND 0");
    for c in 1..=4 {
        node.write(&format!("INSERT INTO t (k, c, v, x) VALUES (1, plus({c}, 0), {c}, 'x{c}')"));
        node.write(&format!("INSERT INTO t (k, c) VALUES (2, {c})"));
    }
    node
}

#[test]
fn functions_stand_wherever_values_do() {
    let mut node = node();
    for (selector, value) in
        [("plus(v, c)", "2"), ("same(x)", "'x1'"), ("same(v)", "1"), ("plus(plus(v, 1), same(c))", "3"), ("wide(v) + 1", "2")]
    {
        assert_eq!(node.select(&format!("SELECT {selector} FROM t WHERE k = 1 AND c = 1")), [value], "{selector}");
    }
    assert_eq!(node.select("SELECT total(v) FROM t WHERE k = 1"), ["10"]);
    assert_eq!(node.select("SELECT k, total(v) FROM t GROUP BY k").len(), 2);
    assert_eq!(node.select("SELECT same(x) FROM t WHERE k = 2 AND c = 1"), ["null"]);
    assert_eq!(node.select("SELECT v FROM t WHERE k = plus(0, 1) AND c = same(3)"), ["3"]);
}
