//! Jobs in the background: operations and functions on all records of a scan or query.

use super::database::Database;
use super::{Ask, integer};
use crate::ResultCode;
use crate::operate::code;
use crate::udf::ModuleChange;
use crate::wire::{field, info1, info2, info3};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const MODULE: &str = "
function add(rec, bin, by)
  info('a record of %s', record.setname(rec))
  if rec.n == 5 then error('not this one') end
  if rec.n == 6 then while true do end end
  rec[bin] = (rec[bin] or 0) + by
  aerospike:update(rec)
end
function make(rec) rec['b' .. rec.n] = 1 aerospike:update(rec) end
function drop(rec) if rec.n % 2 == 0 then aerospike:remove(rec) end end
";

pub(super) fn module(database: &mut Database, source: &str) {
    database.schema.keyspaces.insert("aerospike_udf".into(), model::Keyspace::of_one_replica("aerospike_udf").into());
    let command = format!("udf-put:filename=m.lua;content={};udf-type=LUA;", STANDARD.encode(source));
    assert!(ModuleChange::of_request(&command).unwrap().unwrap().apply(&mut database.schema).unwrap());
}

fn write(key: u8, n: i64) -> Ask {
    Ask::of(key).info(0, info2::WRITE, 0).operation(code::WRITE, 1, "n", &integer(n))
}

/// A namespace with the module, and records `0..count` whose `n` is their number.
fn database(count: u8) -> Database {
    let mut database = Database::new();
    module(&mut database, MODULE);
    for key in 0..count {
        assert_eq!(database.one(&write(key, key.into())).result, 0);
    }
    database
}

fn job(id: u64) -> Ask {
    Ask::about(&[(field::NAMESPACE, b"test"), (field::SET, b"s"), (field::QUERY_ID, &id.to_be_bytes())]).info(0, info2::WRITE, 0)
}

fn call(id: u64, function: &str, arguments: &[u8]) -> Ask {
    let udf = [(field::UDF_OPERATION, &[2][..]), (field::UDF_PACKAGE, b"m"), (field::UDF_FUNCTION, function.as_bytes())];
    udf.iter().fold(job(id), |ask, (kind, data)| ask.field(*kind, data)).field(field::UDF_ARGUMENTS, arguments)
}

/// `add("x", 1)`.
fn add(id: u64) -> Ask {
    call(id, "add", &[0x92, 0xA2, 3, b'x', 1])
}

fn bins(database: &mut Database, key: u8) -> Vec<(String, i64)> {
    let said = database.one(&Ask::of(key).info(info1::READ | info1::GET_ALL, 0, 0));
    said.bins.iter().map(|(name, _, value)| (name.clone(), i64::from_be_bytes(value[..].try_into().unwrap()))).collect()
}

pub(super) fn figures(database: &Database, id: u64) -> Vec<String> {
    let told = database.jobs.show(&format!("trid={id}"), 9_000_000);
    let wanted = ["job-type", "status", "job-progress", "recs-filtered-bins", "recs-succeeded", "recs-failed"];
    let value = |name: &&str| told.split(':').find_map(|pair| pair.strip_prefix(&format!("{name}="))).unwrap_or("").to_owned();
    wanted.iter().map(value).collect()
}

#[test]
fn a_function_is_applied_to_each_record_and_what_fails_is_counted() {
    for (cores, others) in [(super::database::CORES, 0..0), (4_096, 0..2_000)] {
        let mut database = database(10);
        (database.cores, database.others) = (cores, others.collect());
        database.log.clear();
        // A job is about the partitions of this member alone: none is another's as it starts, and then some are.
        let elsewhere = std::mem::take(&mut database.others);
        database.others = if cores == 4_096 { elsewhere } else { database.others };
        let said = database.one(&if cores == 4_096 { add(7).field(field::PARTITIONS, &all_partitions()) } else { add(7) });
        assert_eq!((said.result, said.info3), (0, info3::LAST));
        assert_eq!(figures(&database, 7), ["background-udf", "done(ok)", "100.00", "0", "8", "2"]);
        for key in 0..10 {
            let mut expected = vec![("n".to_owned(), i64::from(key))];
            if ![5, 6].contains(&key) {
                expected.push(("x".to_owned(), 1));
            }
            assert_eq!(bins(&mut database, key), expected, "{key}");
        }
        assert!(database.log.iter().filter(|(_, line)| line == "a record of s").count() >= 9, "{:?}", database.log);
    }
}

fn all_partitions() -> Vec<u8> {
    (0..4_096_u16).flat_map(u16::to_le_bytes).collect()
}

#[test]
fn operations_are_done_on_each_record() {
    let mut database = database(10);
    let ask = job(1).operation(code::ADD, 1, "n", &integer(100)).operation(code::WRITE, 3, "s", b"fresh");
    assert_eq!(database.one(&ask).result, 0);
    assert_eq!(figures(&database, 1), ["background-ops", "done(ok)", "100.00", "0", "10", "0"]);
    for key in 0..10 {
        let said = database.one(&Ask::of(key).info(info1::READ | info1::GET_ALL, 0, 0));
        assert_eq!((said.bins[0].2.clone(), &said.bins[1].2[..]), (integer(100 + i64::from(key)).to_vec(), &b"fresh"[..]));
        assert_eq!(said.generation, 2);
    }
    // Deleted, as operations and by a function.
    assert_eq!(database.one(&call(2, "drop", &[])).result, 0);
    assert_eq!(figures(&database, 2)[4], "10");
    assert_eq!((0..10).filter(|key| !bins_or_none(&mut database, *key).is_empty()).count(), 5);
    assert_eq!(database.one(&job(3).operation(code::DELETE, 0, "", &[])).result, 0);
    assert!((0..10).all(|key| bins_or_none(&mut database, key).is_empty()));
}

fn bins_or_none(database: &mut Database, key: u8) -> Vec<Vec<u8>> {
    database.one(&Ask::of(key).info(info1::READ | info1::GET_ALL, 0, 0)).bins.into_iter().map(|bin| bin.2).collect()
}

#[test]
fn each_record_may_need_a_bin_of_its_own() {
    let mut database = database(20);
    assert_eq!(database.one(&call(1, "make", &[])).result, 0);
    assert_eq!(figures(&database, 1)[4..], ["20", "0"]);
    for key in 0..20 {
        assert_eq!(bins(&mut database, key), [("n".to_owned(), key.into()), (format!("b{key}"), 1)]);
    }
}

#[test]
fn filters_choose() {
    let mut database = database(10);
    // n > 6: [3, [81, 1, "n"], 6], of kind integer.
    let filter = [0x93, 3, 0x93, 81, 2, 0xA1, b'n', 6];
    assert_eq!(database.one(&add(1).field(field::FILTER, &filter)).result, 0);
    assert_eq!(figures(&database, 1)[4..], ["3", "0"]);
    assert_eq!(bins(&mut database, 9).len(), 2);
    assert_eq!(bins(&mut database, 3).len(), 1);
}

#[test]
fn records_come_as_fast_as_the_client_says() {
    let mut database = database(40);
    let before_us = database.clock_us;
    assert_eq!(database.one(&call(1, "make", &[]).field(field::RECORDS_PER_SECOND, &20_u32.to_be_bytes())).result, 0);
    assert_eq!(figures(&database, 1)[4], "40");
    assert!((1_800_000..2_200_000).contains(&(database.clock_us - before_us)), "{}", database.clock_us);
}

#[test]
fn partitions_that_nobody_serves_are_told_of() {
    let mut database = database(10);
    database.cores = 4_096;
    database.unserved = [(16 * 3, ResultCode::PARTITION_UNAVAILABLE)].into();
    assert_eq!(database.one(&add(1)).result, 0);
    assert_eq!(figures(&database, 1), ["background-udf", "done(failed-11)", "100.00", "0", "7", "2"]);
    assert_eq!(bins(&mut database, 3).len(), 1);
}

#[test]
fn what_cannot_be_is_refused() {
    let mut database = database(3);
    let mut code = |ask: Ask| database.one(&ask).result;
    let parameter = ResultCode::PARAMETER.0;
    assert_eq!(code(job(1)), parameter, "neither operations nor a function");
    assert_eq!(code(job(1).operation(code::READ, 0, "n", &[])), parameter);
    assert_eq!(code(add(1).operation(code::WRITE, 1, "n", &integer(1))), parameter, "both");
    assert_eq!(code(job(1).field(field::UDF_OPERATION, &[2])), parameter, "no module");
    let of_kind = |kind: u8| job(1).field(field::UDF_OPERATION, &[kind]).field(field::UDF_PACKAGE, b"m").field(field::UDF_FUNCTION, b"f");
    assert_eq!(code(of_kind(3)), parameter);
    let elsewhere = Ask::about(&[(field::NAMESPACE, b"test"), (field::SET, b"none")]).info(0, info2::WRITE, 0);
    assert_eq!(code(elsewhere.operation(code::TOUCH, 0, "", &[])), 0, "there is nothing to do");
    assert_eq!(code(job(1).operation(code::WRITE, 1, "a name that is too long", &integer(1))), ResultCode::BIN_NAME.0);
    // No such function: each record fails, the job ends.
    assert_eq!(code(call(9, "none", &[])), 0);
    assert_eq!(figures(&database, 9)[1..], ["done(ok)", "100.00", "0", "0", "3"]);
}
