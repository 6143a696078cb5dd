//! Stream functions over scans and queries.

use super::database::{CORES, Database};
use super::jobs::{figures, module};
use super::{Ask, integer};
use crate::ResultCode;
use crate::operate::code;
use crate::wire::{HEADER_BYTES, Header, field, info1, info2, info3};

const MODULE: &str = "
function sum(stream, bin)
  return stream : map(function(rec) return rec[bin] end) : reduce(function(a, b) return a + b end)
end
function some(stream, least)
  local function chosen(rec) info('looks at %d', rec.n) return rec.n >= least end
  local function shown(rec)
    return map{ n = rec.n, set = record.setname(rec), gen = record.gen(rec), ttl = record.ttl(rec), size = #record.digest(rec) }
  end
  return stream : filter(chosen) : map(shown)
end
function count(stream)
  return stream : aggregate(map{ all = 0 }, function(sum, rec) sum.all = sum.all + 1 return sum end)
                : reduce(function(a, b) return map.merge(a, b, function(x, y) return x + y end) end)
                : map(function(sum) return sum.all end)
end
function groups(stream) return stream : map(function(rec) return rec.n end) : groupby(function(n) return n % 3 end) end
function slow(stream)
  return stream : map(function(rec) local x = 0 for i = 1, 20000 do x = x + i end return 1 end) : reduce(function(a, b) return a + b end)
end
function forever(stream) return stream : map(function(rec) while true do end end) end
function eat(stream) return stream : map(function(rec) local s = 'x' while true do s = s .. s end end) end
function fail(stream) return stream : map(function(rec) error('no: ' .. rec.n) end) end
function joins_badly(stream) return stream : map(function(rec) return rec.n end) : reduce(function(a, b) error('no sum') end) end
function records(stream) return stream : filter(function(rec) return true end) end
function writes(stream) return stream : map(function(rec) rec.n = 1 return aerospike:update(rec) end) end
function nothing(stream) return 1 end
function odd(stream) return stream : filter(7) end
function holes(stream) return stream : map(function(rec) if rec.n > 5 then return rec.n end end) end
function plain(stream) return stream : map(function(rec) return rec.n end) : aggregate(0, function(a, b) return a + b end) end
";

fn database(count: u16) -> Database {
    let mut database = Database::new();
    module(&mut database, MODULE);
    for key in 0..count {
        let mut digest = [7; 20];
        digest[..2].copy_from_slice(&(16 * key).to_le_bytes());
        digest[19] = (key >> 8) as u8;
        let fields = [(field::NAMESPACE, &b"test"[..]), (field::SET, b"s"), (field::DIGEST, &digest)];
        let ask = Ask::about(&fields).info(0, info2::WRITE, 0).operation(code::WRITE, 1, "n", &integer(key.into()));
        assert_eq!(database.one(&ask).result, 0);
    }
    database
}

fn stream(function: &str, arguments: &[u8]) -> Ask {
    let fields = [
        (field::NAMESPACE, &b"test"[..]),
        (field::SET, b"s"),
        (field::QUERY_ID, &7_u64.to_be_bytes()),
        (field::UDF_OPERATION, &[1]),
        (field::UDF_PACKAGE, b"m"),
        (field::UDF_FUNCTION, function.as_bytes()),
        (field::UDF_ARGUMENTS, arguments),
    ];
    Ask::about(&fields).info(info1::READ, 0, 0)
}

/// The values that it gives, each with its type; or the message of its failure.
fn values(database: &mut Database, ask: &Ask) -> Result<Vec<(u8, Vec<u8>)>, String> {
    let mut said = database.ask(ask);
    let last = said.pop().unwrap();
    assert_eq!((last.result, last.info3, last.bins.len()), (0, info3::LAST, 0));
    let mut given = Vec::new();
    for said in said {
        assert_eq!((said.result, said.info3, said.bins.len()), (0, 0, 1));
        let (name, kind, value) = said.bins[0].clone();
        match name.as_str() {
            "SUCCESS" => given.push((kind, value)),
            _ => return Err(format!("{name}: {}", String::from_utf8(value).unwrap())),
        }
    }
    Ok(given)
}

fn integers(given: Vec<(u8, Vec<u8>)>) -> Vec<i64> {
    given.into_iter().map(|(kind, value)| (kind, i64::from_be_bytes(value[..].try_into().unwrap()))).map(|(_, value)| value).collect()
}

#[test]
fn what_slices_come_to_is_joined() {
    for cores in [CORES, 4_096] {
        let mut database = database(250);
        database.cores = cores;
        let given = values(&mut database, &stream("sum", &[0x91, 0xA2, 3, b'n'])).unwrap();
        assert_eq!(integers(given), [249 * 250 / 2]);
        assert_eq!(figures(&database, 7), ["aggregation", "done(ok)", "100.00", "0", "250", "0"]);
        // What follows `reduce` is the client's: it gets what that is given.
        let given = values(&mut database, &stream("count", &[])).unwrap();
        assert_eq!(given, [(19, vec![0x81, 0xA4, 3, b'a', b'l', b'l', 0xCC, 250])]);
    }
}

#[test]
fn parts_on_other_members_do_the_same() {
    let mut database = database(250);
    database.cores = 4_096;
    let ask =
        stream("sum", &[0x91, 0xA2, 3, b'n']).field(field::PARTITIONS, &(0..4_096_u16).flat_map(u16::to_le_bytes).collect::<Vec<_>>());
    database.others = (0..2_000).collect();
    assert_eq!(integers(values(&mut database, &ask).unwrap()), [249 * 250 / 2]);
    database.unserved = [(16, ResultCode::PARTITION_UNAVAILABLE)].into();
    assert_eq!(database.one(&ask).result, ResultCode::PARTITION_UNAVAILABLE.0, "a sum without a part would be wrong");
}

#[test]
fn records_are_chosen_and_shown() {
    let mut database = database(10);
    let given = values(&mut database, &stream("some", &[0x91, 8])).unwrap();
    let map = |n| {
        let pairs: [&[u8]; 5] = [
            &[0x85, 0xA4, 3, b'g', b'e', b'n', 1, 0xA2, 3, b'n', n],
            &[0xA4, 3, b's', b'e', b't', 0xA2, 3, b's'],
            &[0xA5, 3, b's', b'i', b'z', b'e', 20],
            &[0xA4, 3, b't', b't', b'l'],
            &[0],
        ];
        pairs.concat()
    };
    assert_eq!(given, [(19, map(8)), (19, map(9))]);
    assert_eq!(database.log.len(), 10, "{:?}", database.log);
    let filter = [0x93, 3, 0x93, 81, 2, 0xA1, b'n', 8];
    assert_eq!(values(&mut database, &stream("some", &[0x91, 8]).field(field::FILTER, &filter)).unwrap(), [(19, map(9))]);
    // Without a `reduce` each slice gives its own.
    let sums = integers(values(&mut database, &stream("plain", &[])).unwrap());
    assert_eq!(sums.iter().sum::<i64>(), 45);
    assert_eq!(integers(values(&mut database, &stream("holes", &[])).unwrap()), [6, 7, 8, 9], "what becomes nil is left out");
    let groups = values(&mut database, &stream("groups", &[])).unwrap();
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0].1[..3], [0x83, 0, 0x94]);
}

#[test]
fn a_slice_that_is_too_much_is_halved() {
    let mut database = database(300);
    let given = values(&mut database, &stream("slow", &[])).unwrap();
    assert_eq!(integers(given), [300]);
    assert_eq!(figures(&database, 7)[4], "300");
}

#[test]
fn failures_are_told_and_change_nothing() {
    let mut database = database(10);
    let mut failure = |function| values(&mut database, &stream(function, &[])).unwrap_err();
    assert!(failure("forever").contains("instructions"));
    assert!(failure("eat").contains("memory"));
    assert!(failure("fail").contains("no: "));
    assert!(failure("joins_badly").contains("no sum"));
    assert!(failure("records").contains("use map"));
    assert!(failure("writes").contains("cannot be changed"));
    assert!(failure("nothing").contains("returns no stream"));
    assert!(failure("odd").contains("a function expected"));
    assert!(failure("none").contains("not found"));
    assert_eq!(figures(&database, 7)[1], "done(failed-100)");
    // Who is told of a failure reads no further: the end is in the same frame, else the next reply would be taken for it.
    let reply = database.pieces(&stream("fail", &[]).encode()).concat();
    let header = Header::read(&reply, 1 << 30).unwrap().unwrap();
    assert_eq!(HEADER_BYTES + header.body_bytes, reply.len());
    let no_module = [(field::NAMESPACE, &b"test"[..]), (field::SET, b"s"), (field::UDF_OPERATION, &[1])];
    assert_eq!(database.one(&Ask::about(&no_module)).result, ResultCode::PARAMETER.0);
    assert_eq!(database.one(&stream("sum", &[]).info(0, info2::WRITE, 0)).result, ResultCode::PARAMETER.0, "a stream writes nothing");
}

#[test]
fn where_nothing_is_nothing_is_given() {
    let mut database = database(0);
    assert_eq!(values(&mut database, &stream("sum", &[0x91, 0xA2, 3, b'n'])), Ok(Vec::new()));
    assert_eq!(values(&mut database, &stream("none", &[])), Ok(Vec::new()), "there is no record to call it for");
}
