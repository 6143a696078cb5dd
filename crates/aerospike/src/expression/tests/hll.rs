//! Operations on sketches within expressions.

use super::*;

const HLL: i64 = 9;
const MODIFY: i64 = 0x40 | 2;

fn strings(texts: &[&str]) -> Exp {
    let mut list = Vec::new();
    pack::list(&mut list, texts.len(), 0);
    texts.iter().for_each(|text| pack::typed(&mut list, ParticleType::String, text.as_bytes()));
    quoted(&list)
}

/// An expression that makes a sketch of texts, out of one that is there.
fn with(texts: &[&str], about: Exp) -> Exp {
    call(MODIFY, HLL, &[int(1), strings(texts), int(-1), int(-1), int(0)], about)
}

/// A list of sketches, as a value.
fn sketches(exps: &[Exp]) -> Exp {
    let mut list = Vec::new();
    pack::list(&mut list, exps.len(), 0);
    for exp in exps {
        let sketch = value(exp).expect("an expression").expect("a sketch");
        pack::typed(&mut list, ParticleType::HyperLogLog, &sketch.bytes);
    }
    quoted(&list)
}

fn reads(operation: i64, result: i64, arguments: &[Exp], about: Exp) -> Exp {
    call(2, result, &[&[int(operation)], arguments].concat(), about)
}

#[test]
fn operations_on_sketches_change_a_copy() {
    let empty = || bin(HLL, "h");
    let abc = || with(&["a", "b", "c"], empty());
    let count = |about| reads(50, 2, &[], about);
    gives_int(count(empty()), 0);
    gives_int(count(abc()), 3);
    gives_int(count(with(&["c", "d"], abc())), 4);
    let made = call(MODIFY, HLL, &[int(0), int(8), int(-1), int(0)], abc());
    gives(&reads(55, 4, &[], made), Particle::owned(ParticleType::List, list_of(&[8, 20])));
    let others = sketches(&[with(&["b", "c", "d"], empty())]);
    gives_int(count(reads(51, HLL, std::slice::from_ref(&others), abc())), 4);
    gives_int(reads(52, 2, std::slice::from_ref(&others), abc()), 4);
    gives_int(reads(53, 2, std::slice::from_ref(&others), abc()), 2);
    gives(&reads(54, 7, std::slice::from_ref(&others), abc()), Particle::owned(ParticleType::Double, 0.5_f64.to_be_bytes().to_vec()));
    // A sketch alone is as good as a list of it.
    gives_int(reads(52, 2, &[with(&["x"], empty())], abc()), 4);
    gives_int(reads(56, 2, &[strings(&["a", "c"])], abc()), 1);
    gives_int(reads(56, 2, &[strings(&["a", "d"])], abc()), 0);
    for unknown in [
        count(bin(HLL, "none")),
        count(bin(6, "b")),
        // A number where a list was promised.
        reads(50, 4, &[], abc()),
        reads(52, 2, &[sketches(&[])], abc()),
        reads(52, 2, &[int(1)], abc()),
        call(MODIFY, HLL, &[int(0), int(3), int(0), int(0)], abc()),
    ] {
        assert_eq!(value(&unknown), Ok(None), "{:x?}", unknown.0);
    }
}

#[test]
fn a_sketch_is_made_of_nothing() {
    let nil = || Exp(vec![0xC0]);
    let init = |about| call(MODIFY, HLL, &[int(0), int(4), int(-1), int(0)], about);
    let mut operand = Vec::new();
    pack::list(&mut operand, 4, 0);
    [0, 4, -1, 0].iter().for_each(|argument| pack::integer(&mut operand, *argument));
    let operand = Particle::owned(ParticleType::Blob, operand);
    let made = operate::apply(operate::code::HLL_MODIFY, None, &operand).expect("a sketch").bin;
    let Change::Set(made) = made else { panic!("nothing was made") };
    gives(&init(nil()), made);
    let added = call(MODIFY, HLL, &[int(1), strings(&["a", "b"]), int(8), int(-1), int(0)], nil());
    gives_int(reads(50, 2, &[], added), 2);
    // Without its size there is none to be made, and nothing is no sketch to be read.
    for unknown in [with(&["a"], nil()), reads(50, 2, &[], nil()), call(MODIFY, HLL, &[int(4), int(4)], nil())] {
        assert_eq!(value(&unknown), Ok(None), "{:x?}", unknown.0);
    }
}

#[test]
fn what_operations_on_sketches_look_at_is_bounded() {
    // 440 KiB, counted again and again.
    let x = || command(code::VAR, &[name("x")]);
    let large = call(MODIFY, HLL, &[int(0), int(16), int(48), int(0)], bin(HLL, "h"));
    let counts = |times: usize| {
        let terms: Vec<Exp> = (0..times).map(|_| reads(50, 2, &[], x())).collect();
        command(code::LET, &[name("x"), large.clone(), command(code::ADD, &terms)])
    };
    gives_int(counts(30), 0);
    assert_eq!(value(&counts(60)), Ok(None));
    // What is compared with counts as well.
    let compared = |times: usize| {
        let terms: Vec<Exp> = (0..times).map(|_| reads(52, 2, &[x()], bin(HLL, "h"))).collect();
        command(code::LET, &[name("x"), large.clone(), command(code::ADD, &terms)])
    };
    gives_int(compared(30), 0);
    assert_eq!(value(&compared(60)), Ok(None));
}

#[test]
fn a_bin_gets_what_an_expression_makes_of_a_sketch() {
    let bins = bins();
    let operand = operand(&with(&["a"], bin(HLL, "h")), 0);
    assert_eq!(written_kind(&operand), Ok(Some(ParticleType::HyperLogLog)));
    let Ok(Change::Set(sketch)) = write(&operand, false, &subject(&bins)) else { panic!("nothing was written") };
    assert_eq!(sketch.kind, ParticleType::HyperLogLog);
}
