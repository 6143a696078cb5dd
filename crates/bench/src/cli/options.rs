//! What a run is made of: its study, its targets and where they run, from the flags.

use super::arguments::RunArguments;
use super::error::{BenchError, flag};
use crate::run::{Agents, Options};
use crate::study::{self, Disturbance};
use crate::target::TargetSpec;
use base::parse_size;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What a study is run against if neither it nor the command line says.
const TARGET: &str = "tarndb";

/// The secret that agents and their controller share.
pub(super) fn secret(path: &Path) -> Result<String, BenchError> {
    let secret = std::fs::read_to_string(path).map_err(|source| BenchError::Secret { path: path.to_owned(), source })?;
    if secret.trim().is_empty() {
        return Err(flag("secret-file", &path.display().to_string(), "the file is empty; any line that nobody guesses will do"));
    }
    Ok(secret)
}

pub(super) fn options(arguments: RunArguments, tool: &str) -> Result<Options, BenchError> {
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
    if let Some(repeats) = arguments.repeats {
        if !(1..=study::REPEATS_MAX).contains(&repeats) {
            return Err(flag("repeats", &repeats.to_string(), &format!("it is a number of rounds from 1 to {}", study::REPEATS_MAX)));
        }
        study.repeats = repeats;
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
