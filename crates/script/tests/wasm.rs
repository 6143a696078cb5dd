//! What functions in WebAssembly can do, what they cannot, and what ends them.

mod wasm_support;

use script::limits::{CALL_BYTES_MAX, CALL_INSTRUCTIONS_MAX};
use script::{ScriptError, WasmType, WasmValue, call_wasm, check_wasm};
use wasm_support::{ABI_1, ABI_2, bytes, error, program, refused, run};

#[test]
fn numbers_go_in_and_come_out_as_they_are() {
    let cases = [
        (WasmType::I32, "i32", WasmValue::I32(i32::MIN)),
        (WasmType::I64, "i64", WasmValue::I64(i64::MIN)),
        (WasmType::F32, "f32", WasmValue::F32(-0.5)),
        (WasmType::F64, "f64", WasmValue::F64(f64::INFINITY)),
    ];
    for (ty, name, value) in cases {
        let text = format!("(module {ABI_1} (func (export \"f\") (param {name}) (result {name}) local.get 0))");
        assert_eq!(run(&program(&[ty], ty, &text), std::slice::from_ref(&value)), Ok(value));
    }
    let sum = format!(
        "(module {ABI_1} (func (export \"f\") (param i32 i64) (result i64) (i64.add (i64.extend_i32_s (local.get 0)) (local.get 1))))"
    );
    let sum = program(&[WasmType::I32, WasmType::I64], WasmType::I64, &sum);
    assert_eq!(run(&sum, &[WasmValue::I32(-3), WasmValue::I64(5)]), Ok(WasmValue::I64(2)));
}

#[test]
fn bytes_and_null_come_back_in_both_versions() {
    for abi in [ABI_1, ABI_2] {
        let text = format!("(module {abi} (func (export \"f\") (param i64 i64) (result i64) local.get 1))");
        let second = program(&[WasmType::Bytes, WasmType::Bytes], WasmType::Bytes, &text);
        for value in [bytes(b""), bytes(b"hello"), bytes(&[7; 100_000]), WasmValue::Bytes(None)] {
            assert_eq!(run(&second, &[bytes(b"first"), value.clone()]), Ok(value));
        }
    }
}

#[test]
fn the_length_of_null_is_minus_one() {
    let text =
        format!("(module {ABI_1} (func (export \"f\") (param i64) (result i32) (i32.wrap_i64 (i64.shr_s (local.get 0) (i64.const 32)))))");
    let length = program(&[WasmType::Bytes], WasmType::I32, &text);
    assert_eq!(run(&length, &[WasmValue::Bytes(None)]), Ok(WasmValue::I32(-1)));
    assert_eq!(run(&length, &[bytes(b"")]), Ok(WasmValue::I32(0)));
    assert_eq!(run(&length, &[bytes(b"abc")]), Ok(WasmValue::I32(3)));
}

#[test]
fn arguments_may_be_larger_than_what_a_call_may_take() {
    let text = format!("(module {ABI_1} (func (export \"f\") (param i64) (result i64) local.get 0))");
    let large = bytes(&vec![1; CALL_BYTES_MAX + 1]);
    assert_eq!(run(&program(&[WasmType::Bytes], WasmType::Bytes, &text), std::slice::from_ref(&large)), Ok(large));
}

#[test]
fn nothing_is_left_for_the_next_call() {
    let text = format!(
        "(module {ABI_1} (global $g (mut i32) (i32.const 0)) (func (export \"f\") (result i32)
           (global.set $g (i32.add (global.get $g) (i32.const 1)))
           (i32.store (i32.const 100) (i32.add (i32.load (i32.const 100)) (global.get $g)))
           (i32.load (i32.const 100))))"
    );
    let counting = program(&[], WasmType::I32, &text);
    for _ in 0..3 {
        assert_eq!(run(&counting, &[]), Ok(WasmValue::I32(1)));
    }
}

#[test]
fn a_loop_ends() {
    let bodies = [
        "(loop $l (br $l)) (i32.const 0)",
        "(loop $l (memory.fill (i32.const 0) (i32.const 1) (i32.const 60000)) (br $l)) (i32.const 0)",
        "(loop $l (memory.copy (i32.const 1) (i32.const 0) (i32.const 60000)) (br $l)) (i32.const 0)",
        "(loop $l (drop (memory.grow (i32.const 0))) (br $l)) (i32.const 0)",
        "(local $i i64) (loop $l (local.set $i (i64.div_u (i64.const -1) (i64.or (local.get $i) (i64.const 1)))) (br $l)) (i32.const 0)",
    ];
    for body in bodies {
        let text = format!("(module {ABI_1} (func (export \"f\") (result i32) {body}))");
        assert_eq!(error(&text), ScriptError::Instructions(CALL_INSTRUCTIONS_MAX), "{body}");
    }
    // What starts a module, gives room, or takes it back is counted, too.
    let start = format!("(module {ABI_1} (func $s (loop $l (br $l))) (start $s) (func (export \"f\") (result i32) (i32.const 0)))");
    assert!(refused(&start).contains("instructions"));
    let malloc = ABI_2.replace("(global.get $top)", "(loop $l (br $l)) (global.get $top)");
    let malloc = format!("(module {malloc} (func (export \"f\") (param i64) (result i64) local.get 0))");
    let malloc = program(&[WasmType::Bytes], WasmType::Bytes, &malloc);
    assert_eq!(run(&malloc, &[bytes(b"x")]), Err(ScriptError::Instructions(CALL_INSTRUCTIONS_MAX)));
}

#[test]
fn the_same_call_costs_the_same_and_budgets_may_be_smaller() {
    let text = format!(
        "(module {ABI_1} (func (export \"f\") (param $n i32) (result i32) (loop $l
           (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1))))) (local.get $n)))"
    );
    let counting = program(&[WasmType::I32], WasmType::I32, &text);
    let short = call_wasm(&counting, &[WasmValue::I32(1000)], u64::MAX);
    assert_eq!(short.result, Ok(WasmValue::I32(0)));
    assert!((3_000..12_000).contains(&short.instructions), "{}", short.instructions);
    assert_eq!(call_wasm(&counting, &[WasmValue::I32(1000)], u64::MAX), short, "the same call costs the same");
    assert_eq!(call_wasm(&counting, &[WasmValue::I32(1_000_000)], 10_000).result, Err(ScriptError::Instructions(10_000)));
}

#[test]
fn memory_ends() {
    let grow =
        format!("(module {ABI_1} (func (export \"f\") (result i32) (loop $l (drop (memory.grow (i32.const 1))) (br $l)) (i32.const 0)))");
    assert_eq!(error(&grow), ScriptError::Memory(CALL_BYTES_MAX));
    let tables = format!(
        "(module {ABI_1} (table $t 1 funcref) (func (export \"f\") (result i32)
           (loop $l (drop (table.grow $t (ref.null func) (i32.const 100))) (br $l)) (i32.const 0)))"
    );
    assert_eq!(error(&tables), ScriptError::Memory(CALL_BYTES_MAX));
    let first = ABI_1.replace("(memory (export \"memory\") 1)", "(memory (export \"memory\") 1000)");
    assert!(refused(&format!("(module {first} (func (export \"f\") (result i32) (i32.const 0)))")).contains("memory"));
}

#[test]
fn deep_recursion_is_an_error() {
    let text = format!("(module {ABI_1} (func $f (export \"f\") (result i32) (i32.add (i32.const 1) (call $f))))");
    assert_eq!(error(&text), ScriptError::Raised("ks.f: call stack exhausted".to_owned()));
}

#[test]
fn traps_name_the_function() {
    for (body, message) in [
        ("unreachable", "ks.f: wasm `unreachable` instruction executed"),
        ("(i32.div_s (i32.const 1) (i32.const 0))", "ks.f: integer divide by zero"),
        ("(i32.load (i32.const -8))", "ks.f: out of bounds memory access"),
    ] {
        let text = format!("(module {ABI_1} (func (export \"f\") (result i32) {body}))");
        assert_eq!(error(&text), ScriptError::Raised(message.to_owned()), "{body}");
    }
}

#[test]
fn there_is_one_nan() {
    let text = format!("(module {ABI_1} (func (export \"f\") (param f64 f64) (result f64) (f64.add (local.get 0) (local.get 1))))");
    let sum = program(&[WasmType::F64, WasmType::F64], WasmType::F64, &text);
    let odd = f64::from_bits(0xfff8_0000_dead_beef);
    for arguments in [[odd, 1.0], [1.0, odd], [f64::INFINITY, f64::NEG_INFINITY]] {
        let Ok(WasmValue::F64(nan)) = run(&sum, &arguments.map(WasmValue::F64)) else { panic!("no number") };
        assert_eq!(nan.to_bits(), 0x7ff8_0000_0000_0000);
    }
}

#[test]
fn results_outside_of_memory_are_refused() {
    let returning = |value: u64, abi: &str| {
        let text = format!("(module {abi} (func (export \"f\") (result i64) (i64.const {})))", value.cast_signed());
        run(&program(&[], WasmType::Bytes, &text), &[])
    };
    for abi in [ABI_1, ABI_2] {
        // Lengths that lie, addresses behind the end, negative lengths other than null's.
        for value in [0x0001_0001_0000_0000, 0x0000_0001_ffff_ffff, 0x7fff_ffff_0000_0000, 0xffff_fffe_0000_0000, 0x8000_0000_0000_0000] {
            let found = returning(value, abi);
            assert!(matches!(&found, Err(ScriptError::Raised(message)) if message.contains("outside of memory")), "{value:x}: {found:?}");
        }
        assert_eq!(returning(0xffff_ffff_ffff_ffff, abi), Ok(WasmValue::Bytes(None)));
        assert_eq!(returning(0x0000_0004_0000_0000, abi).map(|_| ()), Ok(()));
    }
}

#[test]
fn memory_functions_that_lie_or_trap_end_the_call() {
    let same = "(func (export \"f\") (param i64) (result i64) local.get 0)";
    let called = |abi: &str| run(&program(&[WasmType::Bytes], WasmType::Bytes, &format!("(module {abi} {same})")), &[bytes(b"some bytes")]);
    for address in ["-1", "131070", "0x7fffffff"] {
        let found = called(&ABI_2.replace("(global.get $top)", &format!("(i32.const {address})")));
        assert!(matches!(&found, Err(ScriptError::Raised(message)) if message.contains("outside of memory")), "{address}: {found:?}");
    }
    let freeing =
        called(&ABI_2.replace("(func (export \"_scylla_free\") (param i32))", "(func (export \"_scylla_free\") (param i32) unreachable)"));
    assert_eq!(freeing, Err(ScriptError::Raised("ks.f: wasm `unreachable` instruction executed".to_owned())));
}

#[test]
fn modules_are_checked_when_they_are_made() {
    let f = "(func (export \"f\") (result i32) (i32.const 0))";
    let cases = [
        (String::new(), "expected"),
        ("return 1".to_owned(), "line 1, column 1"),
        ("(module (func".to_owned(), "line 1"),
        (format!("(module {ABI_1} (func (export \"f\") (result i32) (i64.const 0)))"), "type mismatch"),
        (format!("(module {ABI_1} (func (export \"g\") (result i32) (i32.const 0)))"), "it exports no function called 'f'"),
        (format!("(module {ABI_1} (global (export \"f\") i32 (i32.const 0)))"), "it exports no function called 'f'"),
        (
            format!("(module {ABI_1} (func (export \"f\") (param i32) (result i64) (i64.const 0)))"),
            "its function 'f' is (func (param i32) (result i64)), and is to be (func (result i32))",
        ),
        (format!("(module {f})"), "it exports no memory called 'memory'"),
        (format!("(module (memory (export \"memory\") 1) {f})"), "it exports no global of the type i32 called '_scylla_abi'"),
        (format!("(module {} {f})", ABI_1.replace("\\01", "\\03")), "'_scylla_abi' says version 3: there are 1 and 2"),
        (format!("(module {} {f})", ABI_1.replace("i32 (i32.const 1024)", "i32 (i32.const -1)")), "an address outside its memory"),
        (format!("(module {} {f})", ABI_1.replace("\\01", "\\02")), "it exports no function called '_scylla_malloc'"),
        (format!("(module {} {f})", ABI_2.replace("(param i32))", "(param i64))")), "its function '_scylla_free' is (func (param i64))"),
        (format!("(module (import \"env\" \"g\" (func)) {ABI_1} {f})"), "it imports 'g' of 'env'"),
        (
            format!("(module (import \"wasi_snapshot_preview1\" \"g\" (global i32)) {ABI_1} {f})"),
            "it imports 'g' of 'wasi_snapshot_preview1'",
        ),
        (format!("(module (import \"wasi_unstable\" \"fd_write\" (func)) {ABI_1} {f})"), "it imports 'fd_write' of 'wasi_unstable'"),
        (format!("(module {} {ABI_1} {f})", "(import \"wasi_snapshot_preview1\" \"g\" (func))".repeat(65)), "imports"),
        (
            format!("(module (import \"wasi_snapshot_preview1\" \"g\" (func $g)) (start $g) {ABI_1} {f})"),
            "it has called 'g' of 'wasi_snapshot_preview1'",
        ),
        (format!("(module (import \"env\" \"memory\" (memory 1)) {f})"), "it imports 'memory' of 'env'"),
        (format!("(module {ABI_1} (memory 1) {f})"), "multi"),
        (format!("(module {ABI_1} (func $s unreachable) (start $s) {f})"), "unreachable"),
        (format!("(module {ABI_1} (data (i32.const 65536) \"x\") {f})"), "out of bounds"),
        (format!("(module {ABI_1} (func (local {})) {f})", "i64 ".repeat(1001)), "locals"),
        (format!("(module {ABI_1} {f} {})", "(func)".repeat(10_001)), "functions"),
        (format!("(module {ABI_1} {f} (table 10001 funcref))"), "elements of tables"),
        (format!("(module {ABI_1} {f} {})", "(table 1 funcref)".repeat(5)), "tables"),
        (format!("(module {ABI_1} {f} {})", "(data (i32.const 0) \"\")".repeat(10_001)), "segments"),
        (format!("(module {ABI_1} {f} (data \"{}\"))", "x".repeat(300_000)), "the module has"),
    ];
    for (text, expected) in cases {
        let message = refused(&text);
        assert!(message.contains(expected), "{}: {message}", text.chars().take(300).collect::<String>());
        assert!(message.len() < 400, "{message}");
    }
}

#[test]
fn what_differs_between_machines_is_not_there() {
    let f = "(func (export \"f\") (result i32) (i32.const 0))";
    for part in [
        "(func (drop (i32.atomic.load (i32.const 0))))",
        "(func (drop (v128.const i64x2 0 0)))",
        "(func $a (return_call $a))",
        "(memory 1 1 shared)",
        "(memory i64 1)",
        "(tag (param i32))",
    ] {
        let memoryless = if part.starts_with("(memory") { f.to_owned() } else { format!("{ABI_1} {f}") };
        assert!(check_wasm(&program(&[], WasmType::I32, &format!("(module {memoryless} {part})"))).is_err(), "{part}");
    }
}

#[test]
fn deep_texts_do_no_harm() {
    for text in [
        "(".repeat(250_000),
        format!("(module {}", "(func ".repeat(40_000)),
        format!("(module (func {}", "(i32.eqz ".repeat(25_000)),
        format!("(module (func {} {}))", "block ".repeat(40_000), "end ".repeat(40_000)),
        format!("(module (type {}", "(func (param ".repeat(10_000)),
        format!("(module {}", "(@custom ".repeat(10_000)),
        format!("(module (rec {}", "(type (sub ".repeat(10_000)),
    ] {
        assert!(check_wasm(&program(&[], WasmType::I32, &text)).is_err());
    }
}

#[test]
fn functions_of_a_system_are_there_and_fail() {
    // One is imported twice, as linkers may do, and with two types.
    let wasi = |more: &str| {
        format!(
            "(module
              (import \"wasi_snapshot_preview1\" \"proc_exit\" (func $exit (param i32)))
              (import \"wasi_snapshot_preview1\" \"environ_get\" (func $environ (param i32 i32) (result i32)))
              (import \"wasi_snapshot_preview1\" \"proc_exit\" (func $again (param i32)))
              {more} {ABI_1}
              (func (export \"f\") (param i32) (result i32)
                (if (i32.eqz (local.get 0)) (then (call $again (i32.const 1)) unreachable))
                (i32.div_s (i32.const 100) (local.get 0))))"
        )
    };
    let works = program(&[WasmType::I32], WasmType::I32, &wasi(""));
    check_wasm(&works).expect("compilers write such modules");
    assert_eq!(run(&works, &[WasmValue::I32(5)]), Ok(WasmValue::I32(20)));
    let failed = run(&works, &[WasmValue::I32(0)]).expect_err("it has called it").to_string();
    assert_eq!(failed, "ks.f: it has called 'proc_exit' of 'wasi_snapshot_preview1': functions have no system");
    let two_types = wasi("(import \"wasi_snapshot_preview1\" \"proc_exit\" (func (param i64)))");
    let refused = check_wasm(&program(&[WasmType::I32], WasmType::I32, &two_types)).expect_err("it is of two types").to_string();
    assert!(refused.contains("proc_exit"), "{refused}");
}
