//! `tarndb doctor`: whether this machine is one for a node, and what to do where it is not. It starts nothing and changes nothing.
//!
//! What is read and tried ([`facts`]) and what follows from it ([`checks`]) are apart, so that tests can be any machine.

mod checks;
mod devices;
mod facts;

use crate::cli::DoctorArguments;
use checks::{Finding, Verdict};
use facts::Facts;
use serde_json::json;
use std::fmt::Write as _;
use std::io::Write;
use std::process::ExitCode;

/// Shows what was found. Ends with 1 if a node would not work here as it should.
pub(crate) fn run(arguments: &DoctorArguments) -> ExitCode {
    let mut findings = checks::all(&Facts::read(&arguments.data_dir));
    let specs = arguments.devices.iter().flatten();
    findings.extend(specs.map(|spec| devices::finding(spec, &devices::look(&spec.path))));
    let text = if arguments.json { json_text(&findings) } else { text(&findings) };
    // Nobody may be reading any more, which is no reason to end.
    let _ = std::io::stdout().write_all(text.as_bytes());
    if findings.iter().any(|finding| finding.verdict == Verdict::Bad) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn text(findings: &[Finding]) -> String {
    let mut out = String::new();
    for Finding { what, verdict, says, advice } in findings {
        let _ = writeln!(out, "{:<7} {what}: {says}", verdict.name());
        if let Some(advice) = advice {
            let _ = writeln!(out, "        {advice}");
        }
    }
    let count = |wanted| findings.iter().filter(|finding| finding.verdict == wanted).count();
    let _ = match (count(Verdict::Bad), count(Verdict::Advice)) {
        (0, 0) => writeln!(out, "nothing to do"),
        (bad, advice) => writeln!(out, "{bad} to mend, {advice} to improve"),
    };
    out
}

fn json_text(findings: &[Finding]) -> String {
    let findings = findings
        .iter()
        .map(|Finding { what, verdict, says, advice }| json!({"check": what, "verdict": verdict.name(), "says": says, "advice": advice}));
    json!({"findings": findings.collect::<Vec<_>>()}).to_string() + "\n"
}
