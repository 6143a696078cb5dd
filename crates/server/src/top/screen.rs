//! Figures as lines of text.

use super::figures::{Figures, Overview, Row};
use base::format_size;
use std::fmt::Write;

const BAR_WIDTH: usize = 20;

/// A picture that is no wider and no higher than the terminal.
pub(super) fn picture(overview: &Overview, figures: &Figures, (width, height): (usize, usize)) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(overview, figures, &mut out);
    let lines: Vec<&str> = out.lines().collect();
    let shown = lines.iter().take(height.saturating_sub(1).max(1));
    shown.map(|line| line.chars().take(width).collect::<String>().trim_end().to_owned() + "\n").collect()
}

fn write(overview: &Overview, figures: &Figures, out: &mut String) -> std::fmt::Result {
    head(overview, out)?;
    writeln!(out, "\n{:<18} {:>12} {:>10} {:>10} {:>10} {:>10}", "", "requests/s", "p50", "p99", "p99.9", "mean")?;
    for Row { name, rate, percentiles_us, mean_us } in &figures.rows {
        write!(out, "{name:<18} {:>12}", count(*rate))?;
        for end in percentiles_us {
            let text = match end {
                Some(end) => format!("<={}", micros(*end as f64)),
                None => "-".to_owned(),
            };
            write!(out, " {text:>10}")?;
        }
        writeln!(out, " {:>10}", mean_us.map_or("-".to_owned(), micros))?;
    }
    let cpus = figures.cpus.map_or("-".to_owned(), |cpus| format!("{cpus:.2}"));
    let clients = overview.sum(|core| core.connections.into());
    writeln!(out, "\nerrors/s {}   clients {clients}   CPUs in use {cpus}, {} cores", count(figures.errors), overview.cores.len())?;
    memory(overview, out)?;
    device(overview, figures, out)?;
    cores(overview, out)?;
    members(overview, out)?;
    tables(overview, out)
}

fn head(overview: &Overview, out: &mut String) -> std::fmt::Result {
    let up = overview.process.started_s.map_or(String::new(), |started_s| {
        let seconds = (overview.time_ms as f64 / 1e3 - started_s).max(0.0) as u64;
        format!(", up {}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
    });
    let name = |node: Option<u32>| node.map_or("nobody".to_owned(), |node| format!("member {node}"));
    let place = match &overview.cluster {
        Some(cluster) => format!("{} of cluster {}, led by {}", name(cluster.node), cluster.name, name(cluster.leader)),
        None => "a node by itself".to_owned(),
    };
    let health = if overview.problems.is_empty() { "healthy" } else { "problems" };
    writeln!(out, "TarnDB {}, {place}{up}: {health}", overview.version)?;
    overview.problems.iter().try_for_each(|problem| writeln!(out, "problem: {problem}"))
}

fn memory(overview: &Overview, out: &mut String) -> std::fmt::Result {
    let [all, index, frames, waiting] = [
        overview.sum(|core| core.memory_bytes),
        overview.sum(|core| core.index_bytes),
        overview.sum(|core| core.frame_bytes),
        overview.sum(|core| core.waiting_bytes),
    ];
    let process = overview.process.resident_bytes.map_or(String::new(), |bytes| format!(", process {}", format_size(bytes)));
    writeln!(
        out,
        "memory   {} {} of {}: index {}, segments and cache {}, waiting requests {}{process}",
        bar(all, overview.memory_limit_bytes),
        format_size(all),
        format_size(overview.memory_limit_bytes),
        format_size(index),
        format_size(frames),
        format_size(waiting),
    )
}

fn device(overview: &Overview, figures: &Figures, out: &mut String) -> std::fmt::Result {
    let (used, capacity) = (overview.sum(|core| core.device_used_bytes), overview.sum(|core| core.device_capacity_bytes));
    writeln!(
        out,
        "device   {} {} of {}: live {}, written {}/s, reads {}/s, write amplification {}",
        bar(used, capacity),
        format_size(used),
        format_size(capacity),
        format_size(overview.sum(|core| core.live_bytes)),
        format_size(figures.device_bytes_written as u64),
        count(figures.device_reads),
        overview.write_amplification().map_or("-".to_owned(), |amplification| format!("{amplification:.2}")),
    )
}

fn cores(overview: &Overview, out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "\n{:>6} {:>8} {:>14} {:>12} {:>12} {:>14} {:>8}",
        "core", "clients", "rows", "memory", "device", "segments free", "leads"
    )?;
    for core in &overview.cores {
        let (memory, device) = (format_size(core.memory_bytes), format_size(core.device_used_bytes));
        let line = format!(
            "{:>6} {:>8} {:>14} {memory:>12} {device:>12} {:>14} {:>8}",
            core.core, core.connections, core.rows, core.segments_free, core.primaries
        );
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn members(overview: &Overview, out: &mut String) -> std::fmt::Result {
    let Some(cluster) = &overview.cluster else { return Ok(()) };
    writeln!(out, "\n{:>6} {:<14} {:>8} {:>8} {:>11}  address", "member", "state", "leads", "in sync", "rebuilding")?;
    cluster.members.iter().try_for_each(|member| {
        let line =
            format!("{:>6} {:<14} {:>8} {:>8} {:>11}  ", member.id, member.state, member.primaries, member.replicas, member.learners);
        writeln!(out, "{line}{}", member.address)
    })
}

fn tables(overview: &Overview, out: &mut String) -> std::fmt::Result {
    if overview.tables.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{:>14} {:>12}  table", "partitions", "size")?;
    overview.tables.iter().try_for_each(|table| {
        // Names of sets may have anything in them, also what a terminal obeys.
        let name: String = format!("{}.{}", table.keyspace, table.table).chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        writeln!(out, "{:>14} {:>12}  {name}", table.partitions, format_size(table.bytes))
    })
}

fn bar(part: u64, whole: u64) -> String {
    let filled = if whole == 0 { 0 } else { (part as f64 / whole as f64 * BAR_WIDTH as f64).round() as usize };
    let filled = filled.min(BAR_WIDTH);
    format!("[{}{}]", "#".repeat(filled), " ".repeat(BAR_WIDTH - filled))
}

fn count(value: f64) -> String {
    if value > 0.0 && value < 10.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

fn micros(us: f64) -> String {
    let (value, unit) = match us {
        us if us < 1e3 => (us, "us"),
        us if us < 1e6 => (us / 1e3, "ms"),
        us => (us / 1e6, "s"),
    };
    if value.fract() < 0.05 || value >= 100.0 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::super::figures::tests::node;
    use super::super::figures::{Figures, Table};
    use super::*;

    #[test]
    fn a_picture_has_the_figures_and_keeps_within_the_terminal() {
        let mut now = node(12, [298, 2, 0]);
        now.tables = vec![Table { keyspace: "k".to_owned(), table: "t\x1b[2J".to_owned(), partitions: 9, bytes: 2048 }];
        now.problems = vec!["member 3 is down".to_owned()];
        let figures = Figures::between(&node(10, [100, 0, 0]), &now);
        let whole = picture(&now, &figures, (100, usize::MAX));
        for line in [
            "TarnDB 0.1.0, a node by itself, up 0:16:45: problems",
            "problem: member 3 is down",
            "cql read                    100    <=25 us    <=25 us     <=6 ms    10.9 us",
            "errors/s 2.0   clients 0   CPUs in use 0.50, 1 cores",
            "             9        2 KiB  k.t?[2J",
        ] {
            assert!(whole.lines().any(|found| found == line), "{line} in\n{whole}");
        }
        let small = picture(&now, &figures, (20, 5));
        assert_eq!(small.lines().count(), 4);
        assert!(small.lines().all(|line| line.chars().count() <= 20), "{small}");
    }
}
