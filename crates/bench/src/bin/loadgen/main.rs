//! One load on a CQL server without a study, for benchmarks of the server: point reads and upserts from one thread, and a line of JSON.
//!
//! In `batch` mode it behaves as redis-benchmark does with `-P`: a connection sends its requests in one piece and the next ones when all
//! replies are there. A run with any error is no measurement and ends with a failure.

mod options;
mod report;

use clap::Parser;
use load::target::Target;
use load::{Control, Dataset, Ended, LoadError, Share};
use options::{Options, Workload};
use report::{Intervals, Report};
use std::process::ExitCode;

/// Why a run is no measurement.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("{count} requests failed; the first with {kind}: {example}")]
    Requests { count: u64, kind: String, example: String },
    #[error("it did not end by itself: {0:?}")]
    Ended(Ended),
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(report) => {
            println!("{}", serde_json::json!(report));
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("loadgen: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<Report, Failure> {
    let target = options.target().open().map_err(LoadError::from)?;
    let rows = options.rows();
    let dataset = if options.workload == Workload::Load {
        target.create(&rows).map_err(LoadError::from)?;
        Dataset::empty(rows, Share::ALL)
    } else {
        Dataset::filled(rows, Share::ALL)
    };
    let mut intervals = Intervals::default();
    let outcome = load::run(&target, &dataset, &options.plan(), &Control::new(), &mut intervals)?;
    if let Some((kind, example)) = outcome.error_examples.first_key_value() {
        return Err(Failure::Requests { count: outcome.error_count(), kind: kind.clone(), example: example.clone() });
    }
    if outcome.ended != Ended::Finished {
        return Err(Failure::Ended(outcome.ended));
    }
    Ok(Report::new(options, &outcome, intervals))
}
