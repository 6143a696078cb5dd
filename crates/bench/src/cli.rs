//! `tarndb bench`: the command line.
//!
//! Standard output is for results, standard error for progress. Exit codes: 0 everything was measured, 1 a target or phase was not (what was
//! measured is in the report), 2 the command line or a study is wrong, 3 the environment, 130 interrupted.

use crate::report::{self, Comparison, Difference, Kind, Report, ReportError};
use crate::run::{Agents, Console, Options, Ran, RunError, html_path, json_path, write_html};
use crate::study::{self, Disturbance, Study, StudyError};
use crate::target::{SpecError, TargetSpec};
use base::{ParseSizeError, parse_size};
use clap::{Args, Subcommand};
use load::Agent;
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

/// Width of tables where standard output is no terminal.
const WIDTH: usize = 120;
/// What a study is run against if neither it nor the command line says.
const TARGET: &str = "tarndb";

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

/// Flags of `tarndb bench run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// Name of a study, or path of a TOML file.
    study: String,
    /// What to run it against, several times for several: `tarndb` (private nodes, as many as the study says or `tarndb?nodes=N`;
    /// `tarndb?protocol=aerospike` or `tarndb?protocol=griddb` for these protocols), a peer such as `cassandra`, [NAME=]cql://[USER:PASSWORD@]HOST:PORT[,…][?nodes=N&pid=N&metrics=URL[,URL…]&consistency=LEVEL&table=OPTIONS],
    /// [NAME=]aerospike://HOST:PORT[,…][/NAMESPACE][?nodes=N&pid=N&metrics=URL[,URL…]], or
    /// [NAME=]griddb://[USER:PASSWORD@]HOST:PORT[,…][/CLUSTER][?nodes=N&pid=N&metrics=URL[,URL…]&batch=N]. The study's own unless told, or `tarndb`.
    #[arg(long = "target", value_name = "TARGET")]
    targets: Vec<String>,
    /// Factor on the numbers of rows and operations; durations and rates stay.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    scale: f64,
    /// How long each measured phase lasts, for example 90s, 10m or 12h.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    duration: Option<Duration>,
    /// Requests a second in each measured phase, whatever comes back (open loop).
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<f64>,
    /// Directory of the report; a run that was interrupted goes on when it is given again.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Memory limit of each server that is started, instead of the study's.
    #[arg(long, value_name = "SIZE")]
    memory: Option<String>,
    /// CPUs of servers that are started, for example 0,2-3; `any` does not pin them. Half of those that there are unless told.
    #[arg(long, value_name = "LIST")]
    server_cpus: Option<String>,
    /// CPUs of the load generator; the other half unless told.
    #[arg(long, value_name = "LIST")]
    load_cpus: Option<String>,
    /// Directory with the scripts of peers.
    #[arg(long, value_name = "DIR", env = "TARNDB_PEERS")]
    peers: Option<PathBuf>,
    /// How to disturb a target that the tool did not start: kill-node, stop-node, start-node or add-node, `=`, a shell command.
    #[arg(long = "on", value_name = "EVENT=COMMAND")]
    on: Vec<String>,
    /// A load machine that runs `tarndb bench agent`, several times for several; without any the load is sent from here.
    #[arg(long = "agent", value_name = "HOST:PORT", requires = "secret_file")]
    agents: Vec<String>,
    /// File with the secret that agents know.
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// Where randomness starts: the same seed asks for the same rows.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Why a command of `tarndb bench` failed.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The study.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// A target.
    #[error(transparent)]
    Target(#[from] SpecError),
    /// A flag.
    #[error("--{flag} {given}: {why}")]
    Flag {
        /// Its name.
        flag: &'static str,
        /// What was given.
        given: String,
        /// What is wrong.
        why: String,
    },
    /// A size.
    #[error("--memory: {0}")]
    Size(#[from] ParseSizeError),
    /// A report.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The signal handler.
    #[error("cannot handle Ctrl-C: {0}")]
    Signals(#[from] ctrlc::Error),
    /// A secret that cannot be read.
    #[error("cannot read the secret in {}: {source}", path.display())]
    Secret {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// An agent that cannot serve.
    #[error("cannot listen on {listen}: {source}")]
    Agent {
        /// Where.
        listen: String,
        /// Why.
        source: std::io::Error,
    },
    /// Reports whose figures have nothing to do with each other.
    #[error(
        "the reports are not of one study, so that ratios between them say nothing: {0}; --force sets them beside each other all the same"
    )]
    DifferentStudies(String),
    /// A page that cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Page {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl BenchError {
    /// Whether the command line or a file of the user's is wrong, rather than the environment.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Study(StudyError::File { .. }) | Self::Report(ReportError::Read { .. } | ReportError::Write { .. }) => false,
            Self::Study(_) | Self::Target(_) | Self::Flag { .. } | Self::Size(_) | Self::Report(_) | Self::DifferentStudies(_) => true,
            Self::Run(error) => matches!(error, RunError::OtherRun { .. } | RunError::Finished { .. }),
            Self::Signals(_) | Self::Page { .. } | Self::Secret { .. } | Self::Agent { .. } => false,
        }
    }
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

/// To standard output; nobody may be reading any more, which is no reason to end.
fn print(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// The secret that agents and their controller share.
fn secret(path: &Path) -> Result<String, BenchError> {
    let secret = std::fs::read_to_string(path).map_err(|source| BenchError::Secret { path: path.to_owned(), source })?;
    if secret.trim().is_empty() {
        return Err(flag("secret-file", &path.display().to_string(), "the file is empty; any line that nobody guesses will do"));
    }
    Ok(secret)
}

fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    if std::io::stdout().is_terminal() { columns.unwrap_or(WIDTH) } else { WIDTH }
}

fn compare(dirs: &[PathBuf], out: &Path, force: bool) -> Result<ExitCode, BenchError> {
    let json = out.with_extension("json");
    if json == out {
        return Err(flag(
            "out",
            &out.display().to_string(),
            "the page needs another name: the figures for programs go beside it, to the same name with .json",
        ));
    }
    let read = |(dir, label): (&PathBuf, String)| Ok::<_, ReportError>((label, report::read_json(&json_path(dir))?));
    let reports = dirs.iter().zip(directory_labels(dirs)).map(read).collect::<Result<Vec<_>, _>>()?;
    let comparison = Comparison::of(&reports);
    let other_studies = comparison.differences.iter().filter(|difference| difference.kind == Kind::Study);
    let said: Vec<String> = other_studies.map(|difference| in_words(difference, &reports)).collect();
    if !said.is_empty() && !force {
        return Err(BenchError::DifferentStudies(said.join("; ")));
    }
    let write = |path: &Path, text: String| std::fs::write(path, text).map_err(|source| BenchError::Page { path: path.to_owned(), source });
    write(out, report::compare_html(&reports))?;
    write(&json, serde_json::to_string_pretty(&comparison).expect("a comparison is text and numbers") + "\n")?;
    print(&report::compare_text(&reports));
    print(&format!("page:    {}\nfigures: {}", out.display(), json.display()));
    Ok(ExitCode::SUCCESS)
}

/// What directories are called: by their last part, or as they were given where two would have the same name.
fn directory_labels(dirs: &[PathBuf]) -> Vec<String> {
    let last = |dir: &PathBuf| dir.file_name().map_or_else(|| dir.display().to_string(), |name| name.to_string_lossy().into_owned());
    let short: Vec<String> = dirs.iter().map(last).collect();
    let is_unique = |label: &String| short.iter().filter(|other| *other == label).count() == 1;
    dirs.iter().zip(&short).map(|(dir, label)| if is_unique(label) { label.clone() } else { dir.display().to_string() }).collect()
}

/// `study: ycsb-a (monday), ycsb-b (tuesday)`.
fn in_words(difference: &Difference, reports: &[(String, Report)]) -> String {
    let each: Vec<String> = difference.values.iter().zip(reports).map(|(value, (label, _))| format!("{value} ({label})")).collect();
    format!("{}: {}", difference.what, each.join(", "))
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

fn options(arguments: RunArguments, tool: &str) -> Result<Options, BenchError> {
    let mut study = study::find(&arguments.study)?;
    study.scale(arguments.scale)?;
    if let Some(duration) = arguments.duration {
        if duration.is_zero() {
            return Err(flag("duration", "0s", "a measurement takes time; for example 60s"));
        }
        study.last(duration.as_secs_f64());
    }
    if let Some(rate) = arguments.rate {
        if !(rate.is_finite() && rate > 0.0) {
            return Err(flag("rate", &rate.to_string(), "it is requests a second, more than 0"));
        }
        study.at_rate(rate);
    }
    let of_study = if study.targets.is_empty() { vec![TARGET.to_owned()] } else { study.targets.clone() };
    let targets = if arguments.targets.is_empty() { of_study } else { arguments.targets };
    let given = targets.iter().map(|given| TargetSpec::parse(given)).collect::<Result<Vec<_>, _>>()?;
    let targets: Vec<TargetSpec> = given.into_iter().flat_map(|target| target.sized(study.nodes.each())).collect();
    for (at, target) in targets.iter().enumerate() {
        if targets[..at].iter().any(|earlier| earlier.name() == target.name()) {
            return Err(flag(
                "target",
                target.name(),
                "two targets have this name; NAME=cql://…, NAME=aerospike://… or NAME=griddb://… gives one another",
            ));
        }
    }
    let (default_server, default_load) = halves(&io_linux::available_cpus());
    let out = arguments.out.unwrap_or_else(|| {
        let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string().replace(':', "");
        PathBuf::from("bench-results").join(format!("{}-{now}", study.name))
    });
    Ok(Options {
        scale: arguments.scale,
        targets,
        out,
        server_cpus: arguments.server_cpus.map_or(Ok(default_server), |given| cpus("server-cpus", &given))?,
        load_cpus: arguments.load_cpus.map_or(Ok(default_load), |given| cpus("load-cpus", &given))?,
        memory_bytes: arguments.memory.map(|given| parse_size(&given)).transpose()?,
        peers: arguments.peers.or_else(peers),
        commands: arguments.on.iter().map(|given| command(given)).collect::<Result<BTreeMap<_, _>, _>>()?,
        agents: Agents {
            addresses: arguments.agents,
            secret: arguments.secret_file.as_deref().map(secret).transpose()?.unwrap_or_default(),
        },
        seed: arguments.seed,
        command: std::env::args().map(|word| without_password(&word)).collect(),
        tool: tool.to_owned(),
        study,
    })
}

fn flag(flag: &'static str, given: &str, why: &str) -> BenchError {
    BenchError::Flag { flag, given: given.to_owned(), why: why.to_owned() }
}

/// Half of the CPUs for servers, the other half for the load; a single one is shared.
fn halves(cpus: &[usize]) -> (Vec<usize>, Vec<usize>) {
    if cpus.len() < 2 {
        return (Vec::new(), Vec::new());
    }
    let (server, load) = cpus.split_at(cpus.len().div_ceil(2));
    (server.to_vec(), load.to_vec())
}

/// `0,2-3` or `any`.
fn cpus(name: &'static str, given: &str) -> Result<Vec<usize>, BenchError> {
    if given == "any" {
        return Ok(Vec::new());
    }
    let wrong = || flag(name, given, "it is a list of CPUs such as 0,2-3, or `any`");
    let mut cpus = Vec::new();
    for part in given.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().map_err(|_| wrong())?, last.parse().map_err(|_| wrong())?);
        if first > last || last >= 1024 {
            return Err(wrong());
        }
        cpus.extend(first..=last);
    }
    let available = io_linux::available_cpus();
    match cpus.iter().find(|cpu| !available.contains(cpu)) {
        Some(cpu) => Err(flag(name, given, &format!("this process may not run on CPU {cpu}; it may on {available:?}"))),
        None => Ok(cpus),
    }
}

/// `peers` here, or beside the `target` directory that the binary was built in.
fn peers() -> Option<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|binary| Some(binary.ancestors().nth(3)?.join("peers")));
    [Some(PathBuf::from("peers")), beside].into_iter().flatten().find(|peers| peers.is_dir())
}

fn command(given: &str) -> Result<(Disturbance, String), BenchError> {
    let wrong = || flag("on", given, "it is kill-node, stop-node, start-node or add-node, `=`, and a command");
    let (name, command) = given.split_once('=').ok_or_else(wrong)?;
    Ok((Disturbance::named(name).ok_or_else(wrong)?, command.to_owned()))
}

/// A word of the command line as a report may show it.
fn without_password(word: &str) -> String {
    let Some((before, rest)) = word.split_once("://") else { return word.to_owned() };
    let Some((credentials, place)) = rest.rsplit_once('@') else { return word.to_owned() };
    let user = credentials.split(':').next().unwrap_or("");
    format!("{before}://{user}:…@{place}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_split_and_lists_are_read() {
        assert_eq!(halves(&[0, 1]), (vec![0], vec![1]));
        assert_eq!(halves(&[0, 1, 2]), (vec![0, 1], vec![2]));
        assert_eq!(halves(&[5]), (vec![], vec![]));
        let first = io_linux::available_cpus()[0];
        assert_eq!(cpus("load-cpus", &format!("{first}-{first}")).unwrap(), [first]);
        assert!(cpus("load-cpus", "any").unwrap().is_empty());
        for wrong in ["", "a", "1-", "3-1", "0-99999", "1023"] {
            assert!(cpus("load-cpus", wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_report_does_not_show_passwords() {
        assert_eq!(without_password("x=cql://me:se@cret@host:1?a=b"), "x=cql://me:…@host:1?a=b");
        assert_eq!(without_password("cql://host:1"), "cql://host:1");
        assert_eq!(without_password("--scale"), "--scale");
    }

    #[test]
    fn a_disturbance_needs_a_name_and_a_command() {
        assert_eq!(command("kill-node=kill -9 7").unwrap(), (Disturbance::KillNode, "kill -9 7".to_owned()));
        assert!(command("kill=x").is_err() && command("kill-node").is_err());
    }
}
