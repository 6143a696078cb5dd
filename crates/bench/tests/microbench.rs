//! The benchmark in process runs to its end on a few rows, in every protocol version: each reply has the length it should have, and those
//! that are looked at are the rows that were written.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

fn microbench(arguments: &[&str]) -> Output {
    let small = ["--rows", "500", "--requests", "1024", "--rounds", "2", "--connections", "4"];
    Command::new(env!("CARGO_BIN_EXE_microbench")).args(small).args(arguments).output().unwrap()
}

#[test]
fn every_version_shape_and_batch_is_measured() {
    for version in ["3", "4", "5"] {
        let output = microbench(&["--json", "--protocol", version]);
        assert!(output.status.success(), "version {version}: {}", String::from_utf8_lossy(&output.stderr));
        let lines: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let lines = lines.as_array().unwrap();
        assert_eq!(lines.len(), 3 * 2 * 2, "shapes, kinds, batches");
        assert!(lines.iter().all(|line| line["ns_per_request"]["median"].as_f64().unwrap() > 0.0));
    }
}

#[test]
fn callgrind_mode_says_how_many_requests_it_has_measured() {
    let output = microbench(&["--callgrind", "writes", "--shape", "1x200", "--batches", "16"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "measured=1024\n");
}
