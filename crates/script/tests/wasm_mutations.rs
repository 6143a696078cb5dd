//! Modules of which some bytes are others: refused or run, and never more than that.

mod wasm_support;

use script::{WasmType, call_wasm};
use wasm_support::{ABI_1, ABI_2, bytes, program};

const MODULES: [&str; 3] = [
    "(table $t 2 funcref) (elem (i32.const 0) $g $h) (type $i (func (param i32) (result i32)))
     (func $g (type $i) (i32.mul (local.get 0) (i32.const 3))) (func $h (type $i) (call_indirect (type $i) (local.get 0) (i32.const 0)))
     (func (export \"f\") (param i64) (result i64) (local $i i32) (local $s i32)
       (block $out (loop $l (br_if $out (i32.ge_u (local.get $i) (i32.wrap_i64 (i64.shr_u (local.get 0) (i64.const 32)))))
         (local.set $s (i32.add (local.get $s) (i32.load8_u (i32.add (local.get $i) (i32.wrap_i64 (local.get 0))))))
         (local.set $i (i32.add (local.get $i) (i32.const 1))) (br $l)))
       (i32.store (i32.const 2048) (call $h (local.get $s))) (i64.const 0x400000800))",
    "(global $n (mut i64) (i64.const 5)) (func $fib (param i64) (result i64)
       (if (result i64) (i64.lt_s (local.get 0) (i64.const 2)) (then (local.get 0)) (else
         (i64.add (call $fib (i64.sub (local.get 0) (i64.const 1))) (call $fib (i64.sub (local.get 0) (i64.const 2)))))))
     (func (export \"f\") (param i64) (result i64) (i64.store (i32.const 8) (call $fib (global.get $n))) (i64.const 0x800000008))",
    "(func $swap (param i32 i32) (result i32 i32) (local.get 1) (local.get 0))
     (func (export \"f\") (param i64) (result i64) (local f64)
       (local.set 1 (f64.sqrt (f64.convert_i64_s (local.get 0)))) (memory.fill (i32.const 16) (i32.const 7) (i32.const 32))
       (drop (i32.add (call $swap (i32.const 1) (i32.const 2)))) (f64.store (i32.const 16) (f64.nearest (local.get 1)))
       (block (block (br_table 0 1 (i32.trunc_sat_f64_s (local.get 1))))) (memory.copy (i32.const 0) (i32.const 16) (i32.const 8))
       (i64.const 0x800000000))",
];

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// A module as text whose binary form is what is given.
fn binary_text(binary: &[u8]) -> String {
    binary.iter().fold(String::from("(module binary \""), |text, byte| text + &format!("\\{byte:02x}")) + "\")"
}

fn modules() -> Vec<String> {
    [ABI_1, ABI_2].iter().flat_map(|abi| MODULES.iter().map(move |module| format!("(module {abi} {module})"))).collect()
}

/// Whether it could be called.
fn attempt(text: &str) -> bool {
    call_wasm(&program(&[WasmType::Bytes], WasmType::Bytes, text), &[bytes(b"some bytes")], 20_000).result.is_ok()
}

#[test]
fn binaries_with_other_bytes_are_refused_or_run() {
    let (seed, rounds) = (setting("TARNDB_SEED", 7), setting("TARNDB_ROUNDS", 1500));
    let mut random = Random(seed | 1);
    let mut ran = 0;
    for text in modules() {
        let valid = wat::parse_str(&text).expect("a module");
        assert!(attempt(&binary_text(&valid)), "{text}");
        for _ in 0..rounds {
            let mut changed = valid.clone();
            for _ in 0..=random.below(3) {
                let place = random.below(changed.len());
                match random.below(4) {
                    0 => drop(changed.remove(place)),
                    1 => changed.insert(place, random.below(256) as u8),
                    2 => changed[place] ^= 1 << random.below(8),
                    _ => changed[place] = [0, 1, 0x7f, 0x80, 0xff, 0x40, 0x0b, 0xfc][random.below(8)],
                }
            }
            ran += u64::from(attempt(&binary_text(&changed)));
        }
    }
    // Some changes are of constants and the like.
    assert!(ran > rounds / 10, "seed {seed}: {ran} could be called");
}

#[test]
fn texts_with_other_words_are_refused_or_run() {
    let (seed, rounds) = (setting("TARNDB_SEED", 11), setting("TARNDB_ROUNDS", 700));
    let mut random = Random(seed | 1);
    for text in modules() {
        let words: Vec<&str> = text.split_inclusive([' ', '(', ')']).collect();
        for _ in 0..rounds {
            let mut changed = words.clone();
            for _ in 0..=random.below(3) {
                let (one, other) = (random.below(changed.len()), random.below(words.len()));
                match random.below(3) {
                    0 => drop(changed.remove(one)),
                    1 => changed.insert(one, words[other]),
                    _ => changed[one] = words[other],
                }
            }
            attempt(&changed.concat());
        }
    }
}
