//! SELECT over record sets, which other protocols' clients write: every core finds a record by its digest.

use crate::select_support::Node;
use base::Rng;
use cql::ddl;
use cql::describe::create_table;
use model::record_set::{self, DIGEST_BYTES};

fn digest(rng: &mut Rng) -> [u8; DIGEST_BYTES] {
    let mut digest = [0; DIGEST_BYTES];
    rng.fill(&mut digest);
    digest
}

fn literal(digest: &[u8]) -> String {
    format!("0x{}", digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

fn records(node: &mut Node, count: usize) -> Vec<[u8; DIGEST_BYTES]> {
    let mut rng = Rng::new(5);
    let mut digests: Vec<_> = (0..count).map(|_| digest(&mut rng)).collect();
    digests.sort_by_key(|digest| record_set::token(digest));
    for (number, digest) in digests.iter().enumerate() {
        node.put_record("users", *digest, &[("name", &format!("n{number}"))]);
    }
    digests
}

#[test]
fn a_record_is_found_by_its_digest() {
    for cores in [1, 3] {
        let mut node = Node::new(cores);
        let digests = records(&mut node, 40);
        for (number, digest) in digests.iter().enumerate() {
            let literal = literal(digest);
            let rows = node.select(&format!("SELECT name, generation, key_string FROM users WHERE digest = {literal}"));
            assert_eq!(rows, [format!("'n{number}' 1 null")]);
            let token = record_set::token(digest).0;
            assert_eq!(node.select(&format!("SELECT token(digest) FROM users WHERE digest = {literal}")), [token.to_string()]);
            assert_eq!(node.select(&format!("SELECT name FROM users WHERE token(digest) = token({literal})")), [format!("'n{number}'")]);
        }
        let some = format!("{}, {}, 0xff", literal(&digests[3]), literal(&digests[30]));
        assert_eq!(node.select(&format!("SELECT name FROM users WHERE digest IN ({some})")).len(), 2);
        assert!(node.select("SELECT name FROM users WHERE digest = 0x00").is_empty(), "what is no digest finds nothing");
    }
}

#[test]
fn a_set_is_read_whole_in_the_order_of_slots() {
    let mut node = Node::new(3);
    let digests = records(&mut node, 100);
    let expected: Vec<String> = (0..digests.len()).map(|number| format!("'n{number}'")).collect();
    assert_eq!(node.select("SELECT name FROM users"), expected);
    assert_eq!(node.paged("SELECT name FROM users", 7), expected);
    assert_eq!(node.select("SELECT count(*) FROM users"), ["100"]);
    assert_eq!(node.select("SELECT name FROM users WHERE name = 'n7' ALLOW FILTERING"), ["'n7'"]);
    assert_eq!(node.paged("SELECT name FROM users GROUP BY digest", 9), expected);
    let bound = literal(&digests[50]);
    assert_eq!(node.select(&format!("SELECT name FROM users WHERE token(digest) > token({bound})")), expected[51..]);
    assert_eq!(node.names("SELECT * FROM users LIMIT 1"), ["digest", "generation", "key_blob", "key_integer", "key_string", "name"]);
}

#[test]
fn records_without_a_set_have_a_table_of_their_own() {
    let mut node = Node::new(2);
    node.put_record("", [7; DIGEST_BYTES], &[("Name", "x"), ("digest", "y")]);
    assert_eq!(node.select("SELECT \"Name\", \"digest:string\" FROM \"_no_set\""), ["'x' 'y'"]);
}

#[test]
fn cql_does_not_write_records() {
    let mut node = Node::new(1);
    records(&mut node, 1);
    node.define("CREATE TABLE plain (k int PRIMARY KEY, v int)");
    let refusal = "ks.users is a record set: CQL reads it, Aerospike clients write it";
    for text in [
        "INSERT INTO users (digest, name) VALUES (0x00, 'x')",
        "INSERT INTO users JSON '{}'",
        "UPDATE users SET name = 'x' WHERE digest = 0x00 IF EXISTS",
        "DELETE FROM users WHERE digest IN (0x00, 0x01)",
        "BEGIN BATCH INSERT INTO plain (k, v) VALUES (1, 1); DELETE FROM users WHERE digest = 0x00; APPLY BATCH",
        "TRUNCATE users",
    ] {
        assert_eq!(node.error(text), refusal, "{text}");
    }
    for text in ["ALTER TABLE users ADD x int", "ALTER TABLE users DROP name", "ALTER TABLE users WITH comment = 'x'", "DROP TABLE users"] {
        assert_eq!(refused(&node, text), "ks.users is a record set: Aerospike clients make and change it", "{text}");
    }
    assert!(refused(&node, "DROP KEYSPACE ks").starts_with("Keyspace ks has record sets"));
}

fn refused(node: &Node, text: &str) -> String {
    let parsed = cql::language::parse(text).unwrap();
    let environment = ddl::Environment { table_uuid: 1, now_us: 0, data_center: "dc", nodes: 1, role: None, checks_permissions: false };
    ddl::apply(&node.schema, Some("ks"), &parsed.statement, &environment).unwrap_err().to_string()
}

#[test]
fn a_description_shows_bins_as_columns() {
    let mut node = Node::new(1);
    node.put_record("Users", [1; DIGEST_BYTES], &[("Name", "x"), ("age", "y")]);
    let description = create_table(node.schema.record_set("ks", "Users").unwrap().unwrap());
    let expected = "CREATE TABLE ks.\"Users\" (\n    digest blob PRIMARY KEY,\n    \"Name\" text,\n    age text,\n    generation int,\n    \
                    key_blob blob,\n    key_integer bigint,\n    key_string text\n) WITH ";
    assert!(description.starts_with(expected), "{description}");
    assert!(description.contains("comment = 'record set: CQL reads it, Aerospike clients write it'"), "{description}");
}
