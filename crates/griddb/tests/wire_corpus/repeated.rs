//! Statements that say something once and mean it many times.

use super::{Containers, Sent, UUID, column, made, make};
use crate::memory_node::Node;
use griddb::schema::{Kind, write_columns};
use griddb::wire::{put_acceptable_version, put_i32, put_var_bytes, put_var_size, statement};
use griddb::{ContainerName, ElementType, ErrorCode};

/// Rows that all have one text, keys that are asked of many containers, and long names of columns that are asked for again and again; and why each is refused.
pub(crate) fn repeated(node: &mut Node, containers: &Containers) -> [(Sent, ErrorCode); 5] {
    const TIMES: usize = 2_000;
    let Containers { things, log, .. } = containers;
    let wide = (0..1_000).map(|number| column(&format!("{number:0>200}"), ElementType::Integer, false)).collect();
    let wide = make(node, "wide", Kind::Collection, wide, 1);
    let mut one_text = made(|out| (0..TIMES).for_each(|_| out.extend_from_slice(&[0; 9])));
    put_var_size(&mut one_text, 1);
    put_var_bytes(&mut one_text, &[b'x'; 60_000]);
    let counted = [&(TIMES as i64).to_le_bytes()[..], &one_text].concat();
    let put = log.of(statement::PUT_MULTIPLE_ROWS, 0, &[], &counted);
    let mut put_many = [&UUID[..], &[0; 4], &[1, 0, 0, 0, 0]].concat();
    write_columns(log.columns.iter(), 0, &mut put_many);
    put_many.extend_from_slice(&[&[1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0][..], &log.id.id.to_le_bytes(), &[0; 18]].concat());
    put_i32(&mut put_many, counted.len() as i32);
    put_many.extend_from_slice(&counted);
    let get = |predicate: &[u8], name: &ContainerName| {
        made(|out| {
            out.extend_from_slice(&UUID);
            put_acceptable_version(out);
            put_i32(out, 1);
            out.extend_from_slice(predicate);
            put_i32(out, TIMES as i32);
            for _ in 0..TIMES {
                put_i32(out, 0);
                name.write(out);
                put_i32(out, 0);
            }
        })
    };
    let keys = [&[ElementType::Long as u8, 1][..], &(TIMES as i32).to_le_bytes(), &[0; 8 * TIMES]].concat();
    let properties = made(|out| {
        put_acceptable_version(out);
        wide.name.write(out);
        put_i32(out, TIMES as i32);
        // The columns.
        out.extend_from_slice(&[1; TIMES]);
    });
    [
        (put, ErrorCode::TXN_DECODE_FAILED),
        ((statement::PUT_MULTIPLE_CONTAINER_ROWS, put_many), ErrorCode::TXN_DECODE_FAILED),
        ((statement::GET_MULTIPLE_CONTAINER_ROWS, get(&keys, &things.name)), ErrorCode::CM_LIMITS_EXCEEDED),
        ((statement::GET_MULTIPLE_CONTAINER_ROWS, get(&[ElementType::Integer as u8, 0, 0, 0], &wide.name)), ErrorCode::CM_LIMITS_EXCEEDED),
        ((statement::GET_CONTAINER_PROPERTIES, properties), ErrorCode::CM_LIMITS_EXCEEDED),
    ]
}
