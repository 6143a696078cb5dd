//! What a node does when the small files beside its data are lost or older than the data.

use crate::client::Client;
use crate::harness::{Folder, Server, end, kill, refused, start, wait_until};
use crate::rows::{check_rows, write_rows};
use std::fs;
use std::path::Path;

const FLAGS: [&str; 2] = ["--cores", "1"];

fn copy_directory(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

#[test]
fn no_row_is_lost_with_a_schema() {
    let folder = Folder::new("lost-schema");
    let data = folder.0.join("data");
    let server = Server::start(start(&folder, &FLAGS));
    write_rows(&server, 1);
    let schemas = ["blobs/schema.json", "blobs-copy/schema.json"].map(|name| data.join(name));
    // Acknowledged is what one copy has.
    wait_until("both copies are there", || fs::read(&schemas[0]).ok() == fs::read(&schemas[1]).ok());
    kill(server);
    for schema in &schemas {
        fs::remove_file(schema).unwrap();
        let server = Server::start(start(&folder, &FLAGS));
        check_rows(&server, 1);
        end(server);
    }
    let kept = schemas.each_ref().map(|schema| fs::read(schema).unwrap());
    schemas.iter().for_each(|schema| fs::remove_file(schema).unwrap());
    let (code, message) = refused(start(&folder, &FLAGS));
    assert!(code == 4 && message.contains("`schema.json` is missing, and its copy is missing"), "{code}: {message}");
    for (schema, bytes) in schemas.iter().zip(kept) {
        fs::write(schema, bytes).unwrap();
    }
    let server = Server::start(start(&folder, &FLAGS));
    check_rows(&server, 1);
    end(server);
}

#[test]
fn rows_of_a_table_that_the_schema_does_not_know_are_kept() {
    let folder = Folder::new("old-schema");
    let directories = ["blobs", "blobs-copy"];
    let put = |from: &str, to: &str| {
        for directory in directories {
            copy_directory(&folder.0.join(from).join(directory), &folder.0.join(to).join(directory));
        }
    };
    let server = Server::start(start(&folder, &FLAGS));
    Client::connect(server.field("cql")).must("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    end(server);
    put("data", "before");
    let server = Server::start(start(&folder, &FLAGS));
    write_rows(&server, 1);
    end(server);
    put("data", "after");
    put("before", "data");
    let (code, message) = refused(start(&folder, &FLAGS));
    assert!(code == 4 && message.contains("belong to 1 tables that the schema does not know (ids 1)"), "{code}: {message}");
    put("after", "data");
    let server = Server::start(start(&folder, &FLAGS));
    check_rows(&server, 1);
    end(server);
}

#[test]
fn a_dropped_table_gives_its_space_back_at_the_next_start() {
    let folder = Folder::new("dropped");
    let server = Server::start(start(&folder, &FLAGS));
    write_rows(&server, 1);
    Client::connect(server.field("cql")).must("DROP TABLE k.t");
    kill(server);
    let server = Server::start(start(&folder, &FLAGS));
    write_rows(&server, 2);
    check_rows(&server, 2);
    end(server);
}
