//! What a node says of itself and its cluster, for programs (JSON) and for people (a table).

use crate::status_table::members;
use ::node::{ClusterReport, CoreReport, Held, RebuildReport, Report};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// `GET /status`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Status {
    /// Whether there are no problems.
    pub(crate) healthy: bool,
    /// What is not as it should be, in words.
    pub(crate) problems: Vec<String>,
    /// The version of the program that answers.
    pub(crate) version: String,
    /// What the node knows.
    #[serde(flatten)]
    pub(crate) report: Report,
}

impl Status {
    pub(crate) fn new(report: Report, ready: bool) -> Self {
        let mut problems = Vec::new();
        match &report.cluster {
            Some(cluster) => find_problems(cluster, &report.cores, &mut problems),
            None if report.clustered => problems.push("this node has no part in its cluster yet; its log may say why".to_owned()),
            None => {}
        }
        if !ready {
            problems.push("this node is starting".to_owned());
        }
        let full = report.cores.iter().filter(|core| core.is_full).count();
        if full > 0 {
            problems.push(format!(
                "this node has no room on {full} of {} cores, on its device or in memory for the index: writes are refused",
                report.cores.len()
            ));
        }
        find_damage(&report, &mut problems);
        Self { healthy: problems.is_empty(), problems, version: env!("CARGO_PKG_VERSION").to_owned(), report }
    }
}

/// Damage that was found since the start is none any more once other replicas have repaired it.
fn find_damage(report: &Report, problems: &mut Vec<String>) {
    let sum = |figure: fn(&CoreReport) -> u64| report.cores.iter().map(figure).sum::<u64>();
    let damaged = if report.clustered { sum(|core| core.damaged_at_start) } else { sum(|core| core.damaged_records) };
    let slots = sum(|core| core.slots_to_repair.into());
    if damaged > 0 {
        problems.push(format!("{damaged} damaged records were found on this node's device"));
    }
    if slots > 0 {
        problems.push(format!("{slots} slots of this node have damaged rows, which are yet to be copied from other replicas"));
    }
    let mut members: BTreeMap<u32, u64> = BTreeMap::new();
    for (node, slots) in report.cores.iter().flat_map(|core| &core.damaged_members) {
        *members.entry(*node).or_default() += u64::from(*slots);
    }
    for (node, slots) in members {
        problems.push(format!("member {node} has found damaged rows on its device: it gets {slots} slots anew from this node"));
    }
}

fn find_problems(cluster: &ClusterReport, cores: &[CoreReport], problems: &mut Vec<String>) {
    let Some(me) = cluster.node else {
        return problems.push("this node has not been taken in yet".to_owned());
    };
    if is_without(cluster, me) {
        return problems.push(format!("this node was member {me} and has been removed: end it"));
    }
    if cluster.leader.is_none() {
        problems.push("this node knows no leader: it reaches no majority".to_owned());
    }
    if cluster.lease_ms == Some(0) {
        problems.push("this node has no lease: it serves nothing".to_owned());
    }
    for member in &cluster.members {
        if matches!(member.state.as_str(), "down" | "shutting_down") {
            problems.push(format!("member {} is {}", member.id, member.state));
        }
        if member.learners > 0 {
            problems.push(format!("member {} is being rebuilt with {} slots", member.id, member.learners));
        }
    }
    if cluster.unavailable_slots > 0 {
        problems.push(format!("{} slots are not available: their primary is down", cluster.unavailable_slots));
    }
    if cluster.short_slots > 0 {
        problems.push(format!("{} slots have fewer replicas than their keyspaces ask for", cluster.short_slots));
    }
    for rebuild in rebuilds(cores) {
        match rebuild.held {
            Held::Full => problems.push(format!("member {} cannot be rebuilt: it has no room", rebuild.node)),
            Held::Slow => problems.push(format!("member {} cannot be rebuilt: it cannot keep up with the writes", rebuild.node)),
            _ => {}
        }
    }
    let unserved: u32 = cores.iter().map(|core| core.unserved).sum();
    if unserved > 0 {
        problems.push(format!("{unserved} slots are being taken over by this node"));
    }
}

/// What this node has to send to each member that is to have slots of its.
pub(crate) fn rebuilds(cores: &[CoreReport]) -> Vec<RebuildReport> {
    let mut rebuilds: BTreeMap<u32, RebuildReport> = BTreeMap::new();
    for core in cores.iter().flat_map(|core| &core.rebuilds) {
        let rebuild = rebuilds.entry(core.node).or_insert_with(|| RebuildReport { node: core.node, ..RebuildReport::default() });
        rebuild.slots += core.slots;
        rebuild.left_bytes += core.left_bytes;
        rebuild.sent_bytes += core.sent_bytes;
        rebuild.bytes_per_s += core.bytes_per_s;
        rebuild.held = rebuild.held.max(core.held);
        rebuild.held_us.iter_mut().zip(core.held_us).for_each(|(sum, held_us)| *sum += held_us);
    }
    rebuilds.into_values().collect()
}

/// What a rebuild waits for, in words.
fn held(held: Held) -> &'static str {
    match held {
        Held::No => "",
        Held::Clients => ", held back for clients",
        Held::Replica => ", held back by how fast the member acknowledges it",
        Held::Device => ", held back by reading from the device",
        Held::Slow => ", dropped for a while: the member cannot keep up with the writes",
        Held::Full => ", dropped for a while: the member has no room",
        Held::Unasked => ", the member has not asked for it yet",
    }
}

/// Whether the node is no member of its cluster any more.
pub(crate) fn is_removed(report: &Report) -> bool {
    report.cluster.as_ref().is_some_and(|cluster| cluster.node.is_some_and(|me| is_without(cluster, me)))
}

/// Before anything is known of members, nobody is removed.
fn is_without(cluster: &ClusterReport, node: u32) -> bool {
    !cluster.members.is_empty() && cluster.members.iter().all(|member| member.id != node)
}

/// For people.
impl fmt::Display for Status {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(None, out)
    }
}

impl Status {
    /// For people, with a table of members that is no wider than so many columns, as far as it can be.
    pub(crate) fn within(&self, columns: Option<usize>) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(columns, &mut out);
        out
    }

    fn write(&self, columns: Option<usize>, out: &mut impl fmt::Write) -> fmt::Result {
        match &self.report.cluster {
            Some(cluster) => table(cluster, columns, out)?,
            None if self.report.clustered => writeln!(out, "a member of a cluster, version {}", self.version)?,
            None => writeln!(out, "a node by itself, version {}", self.version)?,
        }
        let sum = |figure: fn(&CoreReport) -> u64| self.report.cores.iter().map(figure).sum::<u64>();
        writeln!(
            out,
            "this node: {} rows, {} live, {} of {} of its device in use",
            sum(|core| core.rows),
            base::format_size(sum(|core| core.live_bytes)),
            base::format_size(sum(|core| core.device_used_bytes)),
            base::format_size(sum(|core| core.device_capacity_bytes)),
        )?;
        for rebuild in rebuilds(&self.report.cores).iter().filter(|rebuild| rebuild.slots > 0) {
            let (left, rate) = (base::format_size(rebuild.left_bytes), base::format_size(rebuild.bytes_per_s));
            writeln!(
                out,
                "it rebuilds member {}: {} slots, about {left} left, {rate}/s{}",
                rebuild.node,
                rebuild.slots,
                held(rebuild.held)
            )?;
        }
        let to_wipe: u32 = self.report.cores.iter().map(|core| core.to_wipe).sum();
        if to_wipe > 0 {
            writeln!(out, "it empties {to_wipe} slots of rows from before")?;
        }
        match &self.problems[..] {
            [] => writeln!(out, "healthy"),
            problems => problems.iter().try_for_each(|problem| writeln!(out, "problem: {problem}")),
        }
    }
}

fn table(cluster: &ClusterReport, columns: Option<usize>, out: &mut impl fmt::Write) -> fmt::Result {
    let name = |node: Option<u32>| node.map_or("nobody".to_owned(), |node| format!("member {node}"));
    let (name_of, leader, version) = (&cluster.name, name(cluster.leader), cluster.version);
    writeln!(out, "cluster {name_of}, led by {leader}, seen by {} at entry {version} of its metadata", name(cluster.node))?;
    writeln!(out, "members speak version {} of the nodes' protocol, which all of them know\n", cluster.protocol_version)?;
    writeln!(out, "{}", members(cluster, columns))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use super::*;
    use ::node::{MemberReport, PendingReport};

    pub(crate) fn report() -> Report {
        let member = |id: u32, state: &str, primaries, replicas| MemberReport {
            id,
            state: state.to_owned(),
            votes: id == 1,
            address: format!("10.0.0.{id}:7000"),
            cql_address: format!("10.0.0.{id}:9042"),
            rack: format!("r{id}"),
            data_center: "dc".to_owned(),
            version: "0.1.0".to_owned(),
            protocol_versions: [3, 2 + id as u16],
            cores: 1,
            primaries,
            replicas,
            ..MemberReport::default()
        };
        let cluster = ClusterReport {
            name: "tarn".to_owned(),
            id: "0".repeat(32),
            node: Some(2),
            version: 17,
            protocol_version: 3,
            leader: Some(1),
            lease_ms: Some(700),
            members: vec![member(1, "up", 2048, 4096), member(2, "up", 2048, 4096)],
            ..ClusterReport::default()
        };
        let core =
            CoreReport { primaries: 2048, forwarded: 5, pending: vec![PendingReport { node: 1, bytes: 9 }], ..CoreReport::default() };
        Report { clustered: true, cluster: Some(cluster), cores: vec![core] }
    }

    #[test]
    fn a_status_goes_through_json() {
        let written = serde_json::to_string(&Status::new(report(), true)).unwrap();
        let read: Status = serde_json::from_str(&written).unwrap();
        assert_eq!(read.report, report());
        assert!(read.healthy && read.problems.is_empty());
        for name in ["\"healthy\":true", "\"clustered\":true", "\"lease_ms\":700", "\"primaries\":2048"] {
            assert!(written.contains(name), "{name} in {written}");
        }
    }

    #[test]
    fn people_get_a_table() {
        let shown = Status::new(report(), true).to_string();
        let expected = "\
cluster tarn, led by member 1, seen by member 2 at entry 17 of its metadata
members speak version 3 of the nodes' protocol, which all of them know

member  state  votes  address        cql            data centre  rack  version  protocol  primary  in sync  rebuilding
     1  up     yes    10.0.0.1:7000  10.0.0.1:9042  dc           r1    0.1.0    3            2048     4096           0
     2  up     no     10.0.0.2:7000  10.0.0.2:9042  dc           r2    0.1.0    3 to 4       2048     4096           0

this node: 0 rows, 0 B live, 0 B of 0 B of its device in use
healthy
";
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_table_is_as_wide_as_the_terminal() {
        let widest = |columns| Status::new(report(), true).within(Some(columns)).lines().skip(3).map(str::len).max();
        let shown = Status::new(report(), true).within(Some(80));
        let expected = "\
member  state  votes  address        cql            primary  in sync  rebuilding
     1  up     yes    10.0.0.1:7000  10.0.0.1:9042     2048     4096           0
     2  up     no     10.0.0.2:7000  10.0.0.2:9042     2048     4096           0
left out: data centre, rack, version, protocol (wider, or --json)
";
        assert!(shown.contains(expected), "{shown}");
        for columns in 70..140 {
            assert!(widest(columns) <= Some(columns), "{columns}");
        }
        assert!(!Status::new(report(), true).within(Some(118)).contains("left out"));
        assert!(Status::new(report(), true).within(Some(1)).contains("member  state"), "what counts stays");
    }

    #[test]
    fn rebuilds_are_shown_with_what_holds_them_back() {
        let mut report = report();
        let rebuild =
            |slots, held| RebuildReport { node: 3, slots, left_bytes: 3 << 20, bytes_per_s: 1 << 20, held, ..RebuildReport::default() };
        report.cores[0].rebuilds = vec![rebuild(7, Held::No)];
        report.cores.push(CoreReport { core: 1, to_wipe: 2, rebuilds: vec![rebuild(5, Held::Clients)], ..CoreReport::default() });
        let shown = Status::new(report.clone(), true).to_string();
        assert!(shown.contains("it rebuilds member 3: 12 slots, about 6 MiB left, 2 MiB/s, held back for clients\n"), "{shown}");
        assert!(shown.contains("it empties 2 slots of rows from before\n"), "{shown}");
        report.cores[1].rebuilds = vec![rebuild(5, Held::Full)];
        report.cores[1].is_full = true;
        let expected = [
            "member 3 cannot be rebuilt: it has no room",
            "this node has no room on 1 of 2 cores, on its device or in memory for the index: writes are refused",
        ];
        assert_eq!(Status::new(report, true).problems, expected);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let problems = |change: fn(&mut ClusterReport)| {
            let mut report = report();
            change(report.cluster.as_mut().unwrap());
            Status::new(report, true).problems
        };
        assert_eq!(problems(|cluster| cluster.members[0].state = "down".to_owned()), ["member 1 is down"]);
        assert_eq!(problems(|cluster| cluster.members[1].learners = 5), ["member 2 is being rebuilt with 5 slots"]);
        assert_eq!(problems(|cluster| cluster.unavailable_slots = 3), ["3 slots are not available: their primary is down"]);
        assert_eq!(problems(|cluster| cluster.lease_ms = Some(0)), ["this node has no lease: it serves nothing"]);
        assert_eq!(problems(|cluster| cluster.leader = None), ["this node knows no leader: it reaches no majority"]);
        assert_eq!(problems(|cluster| cluster.short_slots = 1), ["1 slots have fewer replicas than their keyspaces ask for"]);
        assert_eq!(problems(|cluster| cluster.node = None), ["this node has not been taken in yet"]);
        assert!(problems(|cluster| cluster.lease_ms = None).is_empty(), "a member that is alone needs no lease");
        assert_eq!(problems(|cluster| cluster.node = Some(7)), ["this node was member 7 and has been removed: end it"]);
        let alone = Status::new(Report::default(), true);
        assert!(alone.healthy && alone.to_string().starts_with("a node by itself"), "{alone}");
    }
}
