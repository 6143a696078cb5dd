//! `tarndb bench`: the command line.
//!
//! Standard output is for results, standard error for progress. Exit codes: 0 everything was measured, 1 a target or phase was not (what was
//! measured is in the report), 2 the command line or a study is wrong, 3 the environment, 130 interrupted.

mod arguments;
mod compare;
mod error;
mod options;
mod output;

pub use arguments::RunArguments;
pub use error::BenchError;

use crate::report;
use crate::run::{Console, Ran, html_path, json_path, write_html};
use crate::study::{self, Study};
use clap::Subcommand;
use compare::compare;
use load::Agent;
use options::{options, secret};
use output::{print, width};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What `tarndb bench` can do.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Name the studies that there are.
    List,
    /// Show a study's file.
    Show {
        /// Name of a study, or path of a TOML file.
        study: String,
    },
    /// Run a study and write report.json and report.html. Without --target: against private nodes of this binary.
    Run(Box<RunArguments>),
    /// Send load for a run on another machine (`run --agent`), one at a time, until it is ended.
    Agent {
        /// Where to listen.
        #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7700")]
        listen: String,
        /// File with a secret; only who knows it is served.
        #[arg(long, value_name = "FILE")]
        secret_file: PathBuf,
    },
    /// Draw the page of a report again and print its tables.
    Report {
        /// Directory of a run.
        dir: PathBuf,
    },
    /// Set reports of one study beside each other, say what differs in how they were run, and draw a page of all of them.
    Compare {
        /// Directories of runs.
        #[arg(required = true, num_args = 2..)]
        dirs: Vec<PathBuf>,
        /// Where the page goes; the figures for programs go beside it, to the same name with `.json`.
        #[arg(long, value_name = "FILE", default_value = "compare.html")]
        out: PathBuf,
        /// Also set reports of different studies beside each other, which is refused otherwise.
        #[arg(long)]
        force: bool,
    },
}

const INCOMPLETE: u8 = 1;
const INTERRUPTED: u8 = 130;

/// Carries out a command.
///
/// # Errors
/// When there is nothing to show for it. A run that measured something, but not everything, ends with code 1 and its report.
pub fn run(command: BenchCommand, tool: &str) -> Result<ExitCode, BenchError> {
    match command {
        BenchCommand::List => {
            let width = study::shipped().map(|shipped| shipped.name.len()).max().unwrap_or(0);
            for shipped in study::shipped() {
                let Study { name, title, .. } = Study::parse(shipped.name, shipped.file)?;
                print(&format!("{name:width$}  {title}"));
            }
            Ok(ExitCode::SUCCESS)
        }
        BenchCommand::Show { study } => {
            match study::shipped().find(|shipped| shipped.name == study) {
                Some(shipped) => print(shipped.file.trim_end()),
                None => print(study::find(&study)?.file().trim_end()),
            }
            Ok(ExitCode::SUCCESS)
        }
        BenchCommand::Run(arguments) => measure(*arguments, tool),
        BenchCommand::Agent { listen, secret_file } => {
            let secret = secret(&secret_file)?;
            let failed = |source| BenchError::Agent { listen: listen.clone(), source };
            let agent = Arc::new(Agent::bind(&*listen, &secret).map_err(failed)?);
            print(&format!("tarndb bench agent listening on {}", agent.address().map_err(failed)?));
            agent.serve(|line| eprintln!("tarndb bench agent: {line}")).map_err(failed)?;
            Ok(ExitCode::SUCCESS)
        }
        BenchCommand::Report { dir } => {
            let found = report::read_json(&json_path(&dir))?;
            write_html(&dir, &found)?;
            print(&report::summary(&found, width()));
            print(&format!("page: {}", html_path(&dir).display()));
            Ok(ExitCode::SUCCESS)
        }
        BenchCommand::Compare { dirs, out, force } => compare(&dirs, &out, force),
    }
}

fn measure(arguments: RunArguments, tool: &str) -> Result<ExitCode, BenchError> {
    let options = options(arguments, tool)?;
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            eprintln!("tarndb bench: interrupted twice, ending at once; what was written before stays");
            io_linux::exit_now(i32::from(INTERRUPTED));
        }
        eprintln!("tarndb bench: interrupted; writing the report of what was measured (again: end at once)");
    })?;
    let Ran { report, failure } = crate::run::run(&options, Console::of_standard_error(), &stop)?;
    print(&report::summary(&report, width()));
    if let Some(failure) = failure {
        return Err(failure.into());
    }
    print(&format!("report: {}\npage:   {}", json_path(&options.out).display(), html_path(&options.out).display()));
    if stop.load(Ordering::Relaxed) {
        eprintln!("tarndb bench: interrupted; the same command with --out {} goes on", options.out.display());
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let logs_are_whole = report.targets.iter().flat_map(|target| &target.phases).all(|phase| phase.histogram_log_failure.is_none());
    Ok(if report.complete && logs_are_whole { ExitCode::SUCCESS } else { ExitCode::from(INCOMPLETE) })
}
