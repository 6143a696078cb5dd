//! Functions on records: what they can call, what they leave, what ends them.
#![allow(clippy::unwrap_used)]

use super::call::{Action, Call, CalledRecord, Ended};
use super::values;
use super::{KEYSPACE, ModuleChange, Modules, get, list};
use crate::value::{Particle, ParticleType};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::{Keyspace, Schema};
use script::Value;
use std::sync::Arc;

fn put(name: &str, source: &str) -> Result<ModuleChange, String> {
    let content = STANDARD.encode(source);
    ModuleChange::of_request(&format!("udf-put:filename={name};content={content};content-len={};udf-type=LUA;\n", content.len())).unwrap()
}

fn schema(sources: &[(&str, &str)]) -> Schema {
    let mut schema = Schema::empty();
    schema.keyspaces.insert(KEYSPACE.to_owned(), Arc::new(Keyspace::of_one_replica(KEYSPACE)));
    for (name, source) in sources {
        assert!(put(name, source).unwrap().apply(&mut schema).unwrap());
    }
    schema
}

fn packed(value: &Value) -> (u8, Vec<u8>) {
    values::pack(value).unwrap()
}

fn items(items: Vec<Value>) -> Value {
    Value::List { order: 0, items }
}

fn text(text: &str) -> Value {
    Value::Bytes(text.as_bytes().to_vec())
}

/// Calls the function `f` of a module on a record with these bins.
fn ended(source: &str, bins: &[(&str, Value)], arguments: Vec<Value>) -> Ended {
    let modules = Modules::of(&schema(&[("m.lua", source)]));
    let stored: Vec<_> = bins.iter().map(|(name, value)| (*name, packed(value))).collect();
    let (_, arguments) = packed(&items(arguments));
    let record = CalledRecord {
        exists: !bins.is_empty(),
        bins: stored.iter().map(|(name, (kind, bytes))| (name.as_bytes(), *kind, bytes.as_slice())).collect(),
        set: "s",
        digest: &[7; 20],
        generation: 3,
        ttl_s: 60,
        ..CalledRecord::default()
    };
    Call { modules: &modules, module: b"m", name: b"f", arguments: &arguments, now_ms: 0 }.run(&record)
}

fn action(source: &str, bins: &[(&str, Value)]) -> Action {
    ended(source, bins, Vec::new()).result.unwrap().1
}

/// What an expression gives, of a function of a record with bins `n`, `l`, `m` and `b`.
fn value(body: &str) -> Value {
    let map =
        Value::Map { order: 0, entries: vec![(text("k"), Value::Integer(5)), (Value::Integer(2), text("x")), (text("z"), Value::Nil)] };
    let list = items(vec![Value::Integer(1), text("two"), Value::Nil, items(vec![Value::Float(0.5)])]);
    let bins = [("n", Value::Integer(7)), ("l", list), ("m", map), ("b", Value::Blob { kind: 4, bytes: vec![1, 2, 0xFF] })];
    let Particle { kind, bytes } = ended(&format!("function f(rec, ...) {body} end"), &bins, vec![Value::Integer(10)]).result.unwrap().0;
    values::unpack(kind as u8, &bytes).unwrap()
}

fn failure(body: &str) -> String {
    ended(&format!("function f(rec, ...) {body} end"), &[("n", Value::Integer(7))], Vec::new()).result.unwrap_err()
}

fn integers(numbers: &[i64]) -> Value {
    items(numbers.iter().map(|number| Value::Integer(*number)).collect())
}

#[test]
fn records_are_read() {
    assert_eq!(value("return rec.n + rec['n'] + ..."), Value::Integer(24));
    assert_eq!(value("return rec.none"), Value::Nil);
    assert_eq!(value("return record.gen(rec)"), Value::Integer(3));
    assert_eq!(value("return record.ttl(rec)"), Value::Integer(60));
    assert_eq!(value("return record.setname(rec)"), text("s"));
    assert_eq!(value("return record.key(rec)"), Value::Nil);
    assert_eq!(value("return bytes.size(record.digest(rec))"), Value::Integer(20));
    assert_eq!(value("return table.concat(record.bin_names(rec), ',') .. record.numbins(rec)"), text("b,l,m,n4"));
    assert_eq!(value("return aerospike:exists(rec)"), Value::Boolean(true));
    assert_eq!(
        value("return type(rec) .. type(rec.l) .. type(rec.n) .. tostring(rec.l)"),
        text("userdatauserdatanumberList(1, \"two\", nil, List(0.5))")
    );
    assert_eq!(
        value("return getmetatable(rec.l) == getmetatable(list()) and getmetatable(rec.m) ~= getmetatable(list())"),
        Value::Boolean(true)
    );
}

#[test]
fn lists_are_those_of_the_field() {
    assert_eq!(value("return list{1, 2, 3}"), integers(&[1, 2, 3]));
    assert_eq!(value("local l = list() list.append(l, 2) list.prepend(l, 1) list.insert(l, 2, 9) return l"), integers(&[1, 9, 2]));
    assert_eq!(value("local l = list{1, 2, 3} list.remove(l, 2) list.concat(l, list{4}) return l"), integers(&[1, 3, 4]));
    assert_eq!(value("return list.take(list{1, 2, 3}, 2)"), integers(&[1, 2]));
    assert_eq!(value("return list.drop(list{1, 2, 3}, 2)"), integers(&[3]));
    assert_eq!(value("local l = list{1, 2, 3} list.trim(l, 2) return l"), integers(&[1]));
    assert_eq!(value("local l = list{1} local c = list.clone(l) list.append(c, 2) return list.merge(l, c)"), integers(&[1, 1, 2]));
    assert_eq!(value("return list.size(rec.l) + #rec.l"), Value::Integer(8));
    assert_eq!(value("return rec.l[4][1]"), Value::Float(0.5));
    assert_eq!(value("local l = list() l[1] = 5 l[3] = 6 return list.size(l) .. tostring(l[2])"), text("3nil"));
    assert_eq!(value("local sum = 0 for v in list.iterator(list{1, 2, 3}) do sum = sum + v end return sum"), Value::Integer(6));
    assert_eq!(
        value("local i, n = list.iterator(rec.l), 0 while iterator.has_next(i) do iterator.next(i) n = n + 1 end return n"),
        Value::Integer(4)
    );
    assert!(failure("list.append({}, 1)").contains("List") || failure("list.append({}, 1)").contains("list expected"));
    assert!(failure("return rec.n[1]").contains("index"));
}

#[test]
fn maps_are_those_of_the_field() {
    assert_eq!(value("return rec.m.k + rec.m['k']"), Value::Integer(10));
    assert_eq!(value("return map.size(rec.m) + #rec.m"), Value::Integer(6));
    assert_eq!(value("return tostring(rec.m.z)"), text("nil"));
    let nil = Value::Map { order: 0, entries: vec![(text("z"), Value::Nil)] };
    assert_eq!(value("local m = rec.m m.k = nil m[2] = nil return m"), nil);
    assert_eq!(value("local m = map{a = 1} m.b = 2 m.a = nil m[3] = 4 return map.size(m) .. m.b .. m[3]"), text("224"));
    assert_eq!(value("local sum = 0 for k, v in map.pairs(map{a = 1, b = 2}) do sum = sum + v end return sum"), Value::Integer(3));
    assert_eq!(
        value("local n = 0 for k in map.keys(rec.m) do n = n + 1 end for v in map.values(map{a = 1, b = 2}) do n = n + 1 end return n"),
        Value::Integer(5)
    );
    assert_eq!(value("local m = map{a = 1} map.remove(m, 'a') return m"), Value::Map { order: 0, entries: Vec::new() });
    assert_eq!(value("return map{b = 1}"), Value::Map { order: 0, entries: vec![(text("b"), Value::Integer(1))] });
}

#[test]
fn bytes_are_those_of_the_field() {
    assert_eq!(value("return rec.b"), Value::Blob { kind: 4, bytes: vec![1, 2, 0xFF] });
    assert_eq!(value("return rec.b[3] + bytes.get_byte(rec.b, 1) + #rec.b"), Value::Integer(259));
    assert_eq!(value("local b = bytes(2) bytes.set_int16(b, 1, 258) return b"), Value::Blob { kind: 4, bytes: vec![1, 2] });
    assert_eq!(value("local b = bytes() bytes.append_int32_le(b, -2) return bytes.get_int32_le(b, 1)"), Value::Integer(-2));
    assert_eq!(value("local b = bytes() bytes.append_string(b, 'abc') return bytes.get_string(b, 2, 2)"), text("bc"));
    assert_eq!(
        value(
            "local b = bytes() local n = bytes.append_var_int(b, 300) local v, s = bytes.get_var_int(b, 1) return n * 10000 + v * 10 + s"
        ),
        Value::Integer(23002)
    );
    assert_eq!(value("local b = bytes(8) bytes.set_int64_be(b, 1, -5) return bytes.get_int64(b, 1)"), Value::Integer(-5));
    assert_eq!(
        value("local b = bytes() bytes.append_bytes(b, rec.b) bytes.set_type(b, 7) return bytes.get_type(b) + bytes.size(b)"),
        Value::Integer(10)
    );
    assert_eq!(value("return bytes.get_int32(rec.b, 1)"), Value::Nil);
    assert_eq!(value("return tostring(rec.b)"), text("Bytes(01, 02, FF)"));
}

#[test]
fn what_a_function_writes_is_what_bins_were_when_it_said_so() {
    let bins = [("a", Value::Integer(1)), ("b", Value::Integer(2))];
    let source = "function f(rec) rec.a = 5 rec.b = nil rec.c = list{1} list.append(rec.c, 2) record.set_ttl(rec, 9) aerospike:update(rec) list.append(rec.c, 3) rec.a = 6 end";
    let Action::Put { replaces, bins: written, ttl, drops_key } = action(source, &bins) else { panic!("it writes") };
    assert_eq!((replaces, ttl, drops_key), (false, Some(9), false));
    let kinds: Vec<_> =
        written.iter().map(|(name, value)| (String::from_utf8_lossy(name).into_owned(), value.kind, value.bytes.to_vec())).collect();
    let expected = [
        ("a".to_owned(), ParticleType::Integer, 5_i64.to_be_bytes().to_vec()),
        ("b".to_owned(), ParticleType::Null, Vec::new()),
        ("c".to_owned(), ParticleType::List, vec![0x92, 1, 2]),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(action("function f(rec) rec.a = 5 end", &bins), Action::Keep, "nothing is written that was not updated");
    assert_eq!(action("function f(rec) aerospike:remove(rec) end", &bins), Action::Remove);
    assert_eq!(action("function f(rec) return aerospike:update(rec) end", &[]), Action::Keep, "there is no record");
    let made = action("function f(rec) rec.a = 1 aerospike:create(rec) end", &[]);
    assert!(matches!(made, Action::Put { replaces: false, ref bins, .. } if bins.len() == 1), "{made:?}");
    let anew = action("function f(rec) aerospike:remove(rec) rec.z = 1 aerospike:create(rec) end", &bins);
    assert!(matches!(anew, Action::Put { replaces: true, ref bins, .. } if bins.len() == 1), "{anew:?}");
}

#[test]
fn failures_are_told() {
    assert_eq!(failure("error('1000:no')"), "m.lua:1: 1000:no");
    assert!(failure("return {}").contains("use list() or map()"), "{}", failure("return {}"));
    assert!(failure("return rec").contains("use list() or map()"), "{}", failure("return rec"));
    assert!(failure("rec.a = function() end aerospike:update(rec)").contains("value"));
    assert!(failure("rec['a name that is too long'] = 1").contains("1 to 15 bytes"));
    assert!(failure("record.set_ttl(rec, -3)").contains("set_ttl"));
    assert!(failure("require('none')").contains("module 'none' not found"));
    let none = ended("function g() end", &[], Vec::new()).result.unwrap_err();
    assert_eq!(none, "function 'f' not found in module 'm'");
}

#[test]
fn a_function_that_takes_too_much_is_ended() {
    assert!(failure("while true do end").contains("instructions"));
    assert!(failure("local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end").contains("used"));
    assert!(failure("local l = list() while true do list.append(l, l) end").contains("used"));
    assert!(failure("local l = list() for i = 1, 200 do local k = list() list.append(k, l) l = k end return l").contains("levels"));
    assert!(failure("local l = list() list.append(l, l) return l").contains("levels"));
    assert!(failure("bytes(1 << 40)").contains("bytes"));
    assert!(failure("local b = bytes(1 << 20) while true do bytes.set_byte(b, 1, 1) end").contains("used"));
    assert_eq!(value("return 1"), Value::Integer(1), "and the next one runs");
}

#[test]
fn maps_are_copied_joined_and_compared() {
    let pairs = |pairs: &[(i64, i64)]| {
        let entries = pairs.iter().map(|(key, value)| (Value::Integer(*key), Value::Integer(*value))).collect();
        Value::Map { order: 0, entries }
    };
    let maps = "local a, b = map(), map() a[1] = 1 a[2] = 2 b[2] = 20 b[3] = 30 ";
    let of = |body: &str| value(&format!("{maps}{body}"));
    assert_eq!(of("local c = map.clone(a) c[1] = 5 return a"), pairs(&[(1, 1), (2, 2)]));
    assert_eq!(of("return map.merge(a, b)"), pairs(&[(1, 1), (2, 20), (3, 30)]));
    assert_eq!(of("return map.merge(a, b, function(x, y) return x + y end)"), pairs(&[(1, 1), (2, 22), (3, 30)]));
    assert_eq!(of("return map.diff(a, b)"), pairs(&[(1, 1), (3, 30)]));
    assert!(failure("map.merge(map(), list())").contains("map expected"));
}

#[test]
fn nothing_leads_out_and_nothing_stays() {
    for body in ["list.append = 1", "aerospike.create = 1", "string.len = 1"] {
        let _ = ended(&format!("function f() {body} end"), &[], Vec::new());
        assert_eq!(value("local l = list() list.append(l, 1) return #l + ('ab'):len()"), Value::Integer(3));
    }
    assert_eq!(
        ended("x = (x or 0) + 1 function f() y = (y or 0) + 1 return x * 10 + y end", &[], Vec::new()).result.unwrap().0.bytes.last(),
        Some(&11)
    );
    assert_eq!(
        ended("x = (x or 0) + 1 function f() y = (y or 0) + 1 return x * 10 + y end", &[], Vec::new()).result.unwrap().0.bytes.last(),
        Some(&11)
    );
    for name in ["io", "os", "load", "setmetatable", "rawset", "rawget", "debug.getinfo", "pcall", "string.pack"] {
        let body = format!("local ok = {name} return ok == nil");
        let said = ended(&format!("function f() {body} end"), &[], Vec::new()).result;
        assert!(said.as_ref().is_err() || said.unwrap().0.bytes[..] == [1], "{name}");
    }
    // Objects' insides are nobody's.
    assert!(failure("for k, v in pairs(list{1}) do k = v end").contains("table expected"));
    assert!(failure("return next(map{a = 1})").contains("table expected"));
}

#[test]
fn modules_load_each_other() {
    let sources = [
        (
            "m.lua",
            "local lib = require('lib') local again = require 'lib' function f() return lib.twice(4) + (lib == again and 1 or 0) end",
        ),
        ("lib.lua", "local exports = {} function exports.twice(n) return 2 * n end return exports"),
        ("loop.lua", "require('loop2') function f() return 1 end"),
        ("loop2.lua", "require('loop')"),
    ];
    let modules = Modules::of(&schema(&sources));
    let call =
        |module: &[u8]| Call { modules: &modules, module, name: b"f", arguments: &[], now_ms: 0 }.run(&CalledRecord::default()).result;
    assert_eq!(call(b"m").unwrap().0.bytes.last(), Some(&9));
    assert_eq!(call(b"loop").unwrap().0.bytes.last(), Some(&1));
    assert_eq!(call(b"none").unwrap_err(), "module 'none' not found");
    let broken =
        Call { modules: &modules, module: b"m", name: b"f", arguments: &[0x93, 1], now_ms: 0 }.run(&CalledRecord::default()).result;
    assert!(broken.unwrap_err().contains("no value"));
}

#[test]
fn what_is_logged_comes_along() {
    let said = ended("function f(rec) info('%s has %d', 'x', 3) warn('%s', list{1}) aerospike:log(1, 'text') end", &[], Vec::new());
    let lines = [(2, "x has 3".to_owned()), (1, "List(1)".to_owned()), (1, "text".to_owned())];
    assert_eq!(said.log, lines);
    let many = ended("function f() for i = 1, 100 do info(('x'):rep(1000)) end end", &[], Vec::new());
    assert_eq!((many.log.len(), many.log[0].1.len()), (16, 512));
}

#[test]
fn modules_are_registered_told_of_and_taken_away() {
    let mut schema = schema(&[("a.lua", "function f() end")]);
    let modules = Modules::of(&schema);
    let told = list(&modules);
    assert!(told.starts_with("filename=a.lua,hash=") && told.ends_with(",type=LUA;"), "{told}");
    assert!(get(&modules, "filename=a.lua").ends_with(&format!("content={};", STANDARD.encode("function f() end"))));
    assert_eq!(get(&modules, "filename=b.lua"), "error=not_found");
    assert!(!put("a.lua", "function f() end").unwrap().apply(&mut schema).unwrap(), "the same again");
    let remove = ModuleChange::of_request("udf-remove:filename=a.lua").unwrap().unwrap();
    assert!(remove.apply(&mut schema).unwrap());
    assert_eq!(remove.apply(&mut schema).unwrap_err().answer(), "error=file_not_found");
    assert_eq!(list(&Modules::of(&schema)), "");
}

#[test]
fn modules_that_cannot_be_are_refused() {
    let refused = put("a.lua", "function f(\nreturn 1").unwrap_err();
    assert!(refused.starts_with("error=compile_error;file=a.lua;line=2;message="), "{refused}");
    let of = |request: &str| ModuleChange::of_request(request).unwrap().unwrap_err();
    assert!(of("udf-put:filename=a.lua;content=%;").starts_with("ERROR:4:"));
    assert!(of("udf-put:filename=a.lua;content=eA==;content-len=3;").starts_with("ERROR:4:"));
    assert!(of("udf-put:filename=a.lua;content=eA==;udf-type=PYTHON;").starts_with("ERROR:4:"));
    assert!(of("udf-put:content=eA==;").starts_with("ERROR:4:"));
    assert!(of("udf-put:filename=a.lua;").starts_with("ERROR:4:"));
    assert!(of("udf-put:filename=a,b;content=eA==").starts_with("ERROR:4:"));
    assert!(of(&format!("udf-remove:filename={}", "x".repeat(128))).starts_with("ERROR:4:"));
    assert!(of("udf-remove:filename=a.lua\nnode").starts_with("ERROR:4:"));
    assert!(put("a.lua", &format!("--{}", "x".repeat(128 << 10))).unwrap_err().starts_with("ERROR:4:"));
    assert!(put("a.lua", "\x1bLua").unwrap_err().starts_with("error=compile_error"), "no bytecode");
    let mut schema = schema(&[]);
    for number in 0..64 {
        assert!(put(&format!("{number}.lua"), "").unwrap().apply(&mut schema).unwrap());
    }
    assert!(put("64.lua", "").unwrap().apply(&mut schema).unwrap_err().answer().starts_with("ERROR:22:"));
    let large = format!("--{}", "x".repeat(100 << 10));
    let outcomes: Vec<_> = (0..12).map(|number| put(&format!("{number}.lua"), &large).unwrap().apply(&mut schema).is_ok()).collect();
    assert!(outcomes[0] && !outcomes[11]);
}
