//! The table of members that `tarndb status` shows: columns that do not fit into the terminal are left out, and named below.

use ::node::{ClusterReport, MemberReport};

/// By name: what a member has there.
type Column = (&'static str, fn(&MemberReport) -> String);

const COLUMNS: [Column; 12] = [
    ("member", |member| member.id.to_string()),
    ("state", state),
    ("votes", |member| if member.votes { "yes" } else { "no" }.to_owned()),
    ("address", |member| member.address.clone()),
    ("cql", |member| member.cql_address.clone()),
    ("data centre", |member| member.data_center.clone()),
    ("rack", |member| member.rack.clone()),
    ("version", |member| member.version.clone()),
    ("protocol", protocol),
    ("primary", |member| member.primaries.to_string()),
    ("in sync", |member| member.replicas.to_string()),
    ("rebuilding", |member| member.learners.to_string()),
];
/// Their cells are numbers.
const NUMBERS: [&str; 4] = ["member", "primary", "in sync", "rebuilding"];
/// What is left out first if there is no room, and so on.
const LEFT_OUT: [&str; 7] = ["protocol", "data centre", "version", "rack", "cql", "votes", "address"];
/// Between columns.
const GAP: usize = 2;

fn state(member: &MemberReport) -> String {
    if member.leaving && member.state == "down" { "down, leaving".to_owned() } else { member.state.clone() }
}

fn protocol(member: &MemberReport) -> String {
    match member.protocol_versions {
        [oldest, latest] if oldest == latest => latest.to_string(),
        [oldest, latest] => format!("{oldest} to {latest}"),
    }
}

/// The table, a line a member, no wider than `width` as far as that can be.
pub(crate) fn members(cluster: &ClusterReport, width: Option<usize>) -> String {
    let cells = |(name, of): &Column| std::iter::once((*name).to_owned()).chain(cluster.members.iter().map(of)).collect::<Vec<_>>();
    let mut columns: Vec<(&str, Vec<String>)> = COLUMNS.iter().map(|column| (column.0, cells(column))).collect();
    let widest = |cells: &[String]| cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
    let mut candidates = LEFT_OUT.iter();
    while columns.iter().map(|(_, cells)| widest(cells) + GAP).sum::<usize>() - GAP > width.unwrap_or(usize::MAX)
        && let Some(candidate) = candidates.next()
    {
        columns.retain(|(name, _)| name != candidate);
    }
    let mut out = String::new();
    for row in 0..=cluster.members.len() {
        let mut line = String::new();
        for (name, cells) in &columns {
            let (cell, width) = (&cells[row], widest(cells));
            line += &if NUMBERS.contains(name) { format!("{cell:>width$}  ") } else { format!("{cell:<width$}  ") };
        }
        out += line.trim_end();
        out.push('\n');
    }
    let left_out: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).filter(|name| columns.iter().all(|(shown, _)| shown != name)).collect();
    if !left_out.is_empty() {
        out += &format!("left out: {} (wider, or --json)\n", left_out.join(", "));
    }
    out
}
