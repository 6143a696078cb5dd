//! What programs can do, what they cannot, and what ends them.

use script::limits::{CALL_BYTES_MAX, CALL_INSTRUCTIONS_MAX};
use script::{Number, Program, ScriptError, Value, call, check};
use std::hash::{DefaultHasher, Hash, Hasher};

fn program(arguments: &[&str], body: &str) -> Program {
    let arguments: Vec<String> = arguments.iter().map(|name| (*name).to_owned()).collect();
    let mut hasher = DefaultHasher::new();
    (&arguments, body).hash(&mut hasher);
    Program { id: u128::from(hasher.finish()), name: "ks.f".into(), arguments, body: body.into() }
}

fn run(body: &str) -> Result<Value, ScriptError> {
    call(&program(&[], body), Vec::new(), u64::MAX).result
}

fn text(value: &str) -> Value {
    Value::Bytes(value.as_bytes().to_vec())
}

#[test]
fn arguments_come_in_and_a_result_goes_out() {
    let sum = program(&["a", "b"], "return a + b");
    assert_eq!(call(&sum, vec![Value::Integer(1), Value::Integer(2)], u64::MAX).result, Ok(Value::Integer(3)));
    assert_eq!(call(&sum, vec![Value::Integer(1), Value::Float(0.5)], u64::MAX).result, Ok(Value::Float(1.5)));
    let same = program(&["v"], "return v");
    let table = Value::Table(vec![(text("k"), Value::sequence([Value::Boolean(true), text("x")]))]);
    let big = Value::Number(Number::parse("12345678901234567890123.5").expect("a number"));
    for value in [Value::Nil, Value::Boolean(false), Value::Integer(i64::MIN), Value::Float(f64::INFINITY), text(""), table, big] {
        assert_eq!(call(&same, vec![value.clone()], u64::MAX).result, Ok(value));
    }
}

#[test]
fn numbers_compute_exactly() {
    let number = |text: &str| Value::Number(Number::parse(text).expect("a number"));
    let of = |body: &str, one: Value, two: Value| call(&program(&["a", "b"], body), vec![one, two], u64::MAX).result;
    assert_eq!(of("return a + b", number("0.1"), number("0.2")), Ok(number("0.3")));
    assert_eq!(of("return a * b - 1", number("1.5"), Value::Integer(2)), Ok(number("2.0")));
    assert_eq!(of("return a < b, a", number("1.5"), number("1.50")), Ok(Value::Boolean(false)));
    assert_eq!(of("return a == b", number("1.5"), number("1.50")), Ok(Value::Boolean(true)));
    assert_eq!(of("return tostring(-a) .. '/' .. b", number("1.5"), number("2")), Ok(text("-1.5/2")));
    assert!(matches!(of("return a + b", number("1"), Value::Boolean(true)), Err(ScriptError::Raised(_))));
}

#[test]
fn what_leads_out_of_the_sandbox_is_not_there() {
    let names = [
        "io",
        "os",
        "package",
        "require",
        "debug",
        "load",
        "loadfile",
        "loadstring",
        "dofile",
        "coroutine",
        "collectgarbage",
        "print",
        "pcall",
        "xpcall",
        "setmetatable",
        "getmetatable",
        "rawset",
        "rawget",
        "_G",
        "utf8",
        "warn",
    ];
    for name in names {
        assert_eq!(run(&format!("return {name}")), Ok(Value::Nil), "{name}");
    }
    for name in ["string.dump", "string.pack", "math.random", "math.randomseed", "('x').dump", "('x').unpack"] {
        assert_eq!(run(&format!("return {name}")), Ok(Value::Nil), "{name}");
    }
}

#[test]
fn nothing_is_left_for_the_next_call() {
    assert_eq!(run("x = (x or 0) + 1; return x"), Ok(Value::Integer(1)));
    assert_eq!(run("x = (x or 0) + 1; return x"), Ok(Value::Integer(1)));
    for body in ["string.rep = 1", "math.x = 1", "table.insert(string, 1)", "table.concat = nil"] {
        assert!(matches!(run(body), Err(ScriptError::Raised(_))), "{body}");
    }
    // A global of the call's own hides the library for this call only.
    assert_eq!(run("string = { rep = 7 }; return string.rep"), Ok(Value::Integer(7)));
    assert_eq!(run("return string.rep('ab', 2)"), Ok(text("abab")));
}

#[test]
fn a_loop_ends() {
    for body in [
        "while true do end",
        "for i = 1, 1e18 do end",
        "local function f() return f() end return f()",
        "repeat local t = {} until false",
        "local t = {} for i = 1, 1e9 do t[i % 7] = i end",
        "while true do local s = string.rep('x', 100000) end",
        "while true do local s = ('x'):rep(1000):upper() end",
        "local t = table.pack(string.byte(string.rep('x', 1000), 1, 1000)) while true do table.sort(t) end",
        "local t = {} for i = 1, 10000 do t[i] = i end while true do table.insert(t, 1, 1) end",
        "local s = string.rep('a', 100000) while true do string.find(s, 'b', 1, true) end",
        "return string.find(string.rep('a', 10000), '.-.-.-.-.-b')",
        "return string.find(string.rep('a', 1000), string.rep('a?', 70) .. 'b')",
        "return string.find(string.rep('(', 100000), '%b()')",
        "local s = string.rep('a', 3000) while true do s = s:gsub('a', 'aa') end",
    ] {
        let Err(error) = run(body) else { panic!("{body} has a result") };
        assert!(matches!(error, ScriptError::Instructions(CALL_INSTRUCTIONS_MAX) | ScriptError::Memory(_)), "{body}: {error:?}");
    }
    assert_eq!(run("return 1"), Ok(Value::Integer(1)));
}

#[test]
fn memory_ends() {
    for body in [
        "return string.rep('x', 1e9)",
        "local s = 'x' while true do s = s .. s end",
        "local t = {} while true do t[#t + 1] = {} end",
        "local s = string.rep('x', 4000000) while true do local t = s .. 'y' end",
        "return table.concat({ string.rep('x', 5000000), string.rep('y', 5000000) })",
    ] {
        let Err(error) = run(body) else { panic!("{body} has a result") };
        assert!(matches!(error, ScriptError::Instructions(_) | ScriptError::Memory(CALL_BYTES_MAX)), "{body}: {error:?}");
    }
    assert_eq!(run("local s = string.rep('x', 2000000) while true do s = s .. s end"), Err(ScriptError::Memory(CALL_BYTES_MAX)));
    let square = program(&["d"], "for i = 1, 100 do d = d * d end return d");
    let big = Value::Number(Number::parse("1.5").expect("a number"));
    assert!(matches!(
        call(&square, vec![big], u64::MAX).result,
        Err(ScriptError::Raised(_) | ScriptError::Memory(_) | ScriptError::Instructions(_))
    ));
    assert_eq!(run("return 1"), Ok(Value::Integer(1)));
}

#[test]
fn deep_recursion_is_an_error() {
    assert!(matches!(run("local function f() return 1 + f() end return f()"), Err(ScriptError::Raised(_) | ScriptError::Memory(_))));
}

#[test]
fn results_without_end_are_refused() {
    assert!(matches!(run("local t = {} t[1] = t return t"), Err(ScriptError::Result(_))));
    let wide = "local t = {1} for i = 1, 38 do t = {t, t} end return t";
    assert!(matches!(run(wide), Err(ScriptError::Result(_))));
    let texts = "local s, t = string.rep('x', 100000), {} for i = 1, 1000 do t[i] = s end return t";
    assert!(matches!(run(texts), Err(ScriptError::Result(_))));
    assert!(matches!(run("return print or string.rep"), Err(ScriptError::Result(_))));
}

#[test]
fn a_budget_may_be_smaller() {
    let counting = program(&["n"], "local s = 0 for i = 1, n do s = s + i end return s");
    let called = |n, budget| call(&counting, vec![Value::Integer(n)], budget);
    let short = called(1000, 1_000_000);
    assert_eq!(short.result, Ok(Value::Integer(500_500)));
    assert!((2_000..4_000).contains(&short.instructions), "{}", short.instructions);
    assert_eq!(called(1_000_000, 10_000).result, Err(ScriptError::Instructions(10_000)));
    assert_eq!(called(1000, 1_000_000), short, "the same call costs the same");
}

#[test]
fn what_is_converted_costs() {
    let same = program(&["a"], "return a");
    let list = Value::sequence((0..10_000).map(Value::Integer));
    let called = call(&same, vec![list.clone()], u64::MAX);
    assert_eq!(called.result, Ok(list));
    assert!(called.instructions > 400_000, "{}", called.instructions);
}

#[test]
fn errors_name_function_and_line() {
    assert_eq!(run("local a = 1\nerror('no')"), Err(ScriptError::Raised("ks.f:2: no".to_owned())));
    let Err(ScriptError::Raised(message)) = run("return nil + 1") else { panic!("no error") };
    assert!(message.starts_with("ks.f:1: attempt to perform arithmetic on a nil value"), "{message}");
    let Err(ScriptError::Compile(message)) = check(&program(&["a"], "return a +")) else { panic!("no error") };
    assert!(message.starts_with("ks.f:1:"), "{message}");
    assert!(matches!(check(&program(&["end"], "return 1")), Err(ScriptError::Compile(_))));
    assert!(matches!(check(&program(&["a) or (b"], "return 1")), Err(ScriptError::Compile(_))));
    assert!(matches!(check(&program(&[], "\u{1b}Lua")), Err(ScriptError::Compile(_))));
}

#[test]
fn libraries_work_as_in_lua() {
    let cases = [
        ("local t = {3, 1, 2} table.sort(t) return table.concat(t, ',')", "1,2,3"),
        ("local t = {3, 1, 2} table.sort(t, function(a, b) return a > b end) return table.concat(t, ',')", "3,2,1"),
        ("local t = {1, 2} table.insert(t, 3) table.insert(t, 1, 0) return table.concat(t, ',')", "0,1,2,3"),
        ("local t = {1, 2, 3} return table.remove(t, 1) .. '/' .. table.concat(t, ',') .. '/' .. table.remove(t) .. #t", "1/2,3/31"),
        ("return table.concat(table.move({1, 2, 3}, 1, 3, 2), ',')", "1,1,2,3"),
        ("return string.format('%5.2f|%s|%d', 1.5, 'x', 7)", " 1.50|x|7"),
        ("return ('abc'):upper() .. ('abc'):sub(2) .. ('abc'):reverse()", "ABCbccba"),
        ("return tostring(('hello'):find('l', 1, true))", "3"),
        ("return table.concat({('key = value'):match('^(%w+)%s*=%s*(%w+)$')}, '/')", "key/value"),
        ("return ('hello world'):gsub('o', '0')", "hell0 w0rld"),
        ("return (('hello'):gsub('', '-'))", "-h-e-l-l-o-"),
        ("return (('abc'):gsub('%w', '%0%0', 2))", "aabbc"),
        ("return (('$name is $age'):gsub('%$(%w+)', {name = 'Ann', age = 4}))", "Ann is 4"),
        ("return (('a1b2'):gsub('%d', function(d) return tonumber(d) + 1 end))", "a2b3"),
        ("local t = {} for w in ('one two  three'):gmatch('%a+') do t[#t + 1] = w end return table.concat(t, ',')", "one,two,three"),
        ("local t = {} for k, v in ('a=1,b=2'):gmatch('(%w)=(%w)') do t[#t + 1] = k .. v end return table.concat(t, ',')", "a1,b2"),
        ("return ('f(a(b)c)d'):match('%b()')", "(a(b)c)"),
        ("return ('THE (quick) fox'):match('%((%a+)%)')", "quick"),
        ("return table.concat({('hello'):find('l+')}, ',')", "3,4"),
        ("return ('  trim  '):match('^%s*(.-)%s*$') .. '|'", "trim|"),
        ("return ('xaax'):match('(a)%1') .. tostring(('xab'):match('(a)%1'))", "anil"),
        ("return tostring(('abc'):match('()b()'))", "2"),
        ("return ('THE END'):gsub('%f[%a]%a', string.lower)", "tHE eND"),
        ("return ('[x-z]'):match('[%[%]%-]') .. ('y'):match('[x-z]') .. tostring(('a'):match('[^a-c]'))", "[ynil"),
        ("return tostring({}) .. type(tostring) .. tostring(1.0)", "tablefunction1.0"),
        ("return tostring(math.max(1, 2)) .. math.floor(1.5) .. math.type(1)", "21integer"),
    ];
    for (body, expected) in cases {
        assert_eq!(run(body), Ok(text(expected)), "{body}");
    }
}
