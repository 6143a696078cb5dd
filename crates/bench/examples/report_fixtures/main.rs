//! Writes reports made up by `generate` to a directory, each as JSON and as a page, and comparisons of two: what tests of the page look at.
//!
//! ```sh
//! cargo run -p tarndb-bench --example report_fixtures -- DIRECTORY
//! ```

mod generate;

use bench::report;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = PathBuf::from(std::env::args().nth(1).ok_or("say where: report_fixtures DIRECTORY")?);
    fs::create_dir_all(&directory)?;
    for (name, make) in generate::ALL {
        let made = make();
        report::write_json(&directory.join(format!("{name}.json")), &made)?;
        fs::write(directory.join(format!("{name}.html")), report::html(&made))?;
        fs::write(directory.join(format!("{name}.txt")), report::summary(&made, 110))?;
    }
    let named =
        |name: &str| generate::ALL.iter().find(|(other, _)| *other == name).map(|(_, make)| make()).ok_or("a name of generate::ALL");
    let reports = [("before".to_owned(), named("aerospike-cassandra")?), ("after".to_owned(), named("improved")?)];
    fs::write(directory.join("compare.html"), report::compare_html(&reports))?;
    fs::write(directory.join("compare.txt"), report::compare_text(&reports))?;
    let reports = [("before".to_owned(), named("aerospike-cassandra")?), ("after".to_owned(), generate::unlike())];
    fs::write(directory.join("compare-unlike.html"), report::compare_html(&reports))?;
    fs::write(directory.join("compare-unlike.txt"), report::compare_text(&reports))?;
    let reports = [("once".to_owned(), named("aerospike-cassandra")?), ("three times".to_owned(), named("repeats")?)];
    fs::write(directory.join("compare-repeats.html"), report::compare_html(&reports))?;
    fs::write(directory.join("compare-repeats.txt"), report::compare_text(&reports))?;
    Ok(())
}
