//! `GET /metrics`: a node's figures in Prometheus's text format, or in OpenMetrics.

mod engine;
mod family;
mod openmetrics;
mod requests;

pub(crate) use engine::{largest_tables, table_bytes};
pub(crate) use requests::latencies;

use self::engine::escaped;
use self::family::family;
use crate::status;
use ::node::{BackupFigures, Board, ClusterReport, CoreReport, Held, RebuildReport, Report};
use cql::system::RoleUsage;
use model::Schema;
use std::sync::atomic::Ordering;

/// So many roles have figures.
const ROLES_MAX: usize = 100;

/// The figures in the format that the header `Accept` asks for, and that format's name.
pub(crate) fn answer(board: &Board, certificates: &[CertificateEnd], accept: Option<&str>) -> (&'static str, String) {
    let mut text = text(board);
    write_certificates(&mut text, certificates);
    if accept.is_some_and(openmetrics::is_wanted) {
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", openmetrics::from_text(&text))
    } else {
        ("text/plain; version=0.0.4; charset=utf-8", text)
    }
}

/// Until when a certificate is valid, by the name of its setting.
pub(crate) type CertificateEnd = (&'static str, u64);

fn write_certificates(out: &mut String, certificates: &[CertificateEnd]) {
    let help = "The last second in which a certificate is valid, since 1970, by the setting that names it.";
    let values = certificates.iter().map(|(setting, not_after_s)| (format!("{{setting=\"{setting}\"}}"), *not_after_s));
    family(out, "tarndb_tls_certificate_not_after_timestamp_seconds", "gauge", help, values);
}

/// One text for all.
pub(crate) fn text(board: &Board) -> String {
    let mut out = of_report(&board.report(), &board.schema(), board.backup().figures());
    write_role_uses(&mut out, &board.role_uses().shown(&board.schema()));
    out
}

/// What clients of limited roles use.
fn write_role_uses(out: &mut String, usages: &[RoleUsage]) {
    let mut of_each = |name: &str, kind: &str, help: &str, figure: fn(&RoleUsage) -> u64| {
        let shown = usages.iter().take(ROLES_MAX);
        family(out, name, kind, help, shown.map(|usage| (format!("{{role=\"{}\"}}", escaped(&usage.role)), figure(usage))));
    };
    of_each("tarndb_role_connections", "gauge", "Connections of clients, by role, of roles that have limits.", |usage| {
        usage.connections.into()
    });
    let help = "Requests that were refused because their role has reached a limit.";
    of_each("tarndb_role_requests_refused_total", "counter", help, |usage| usage.refused_requests);
    let help = "Connections that were refused because their role has as many as it may.";
    of_each("tarndb_role_connections_refused_total", "counter", help, |usage| usage.refused_connections);
}

fn of_report(report: &Report, schema: &Schema, backups: &BackupFigures) -> String {
    let mut out = String::new();
    let mut per_core = |name: &str, kind: &str, help: &str, figure: fn(&CoreReport) -> u64| {
        let values = report.cores.iter().map(|core| (format!("{{core=\"{}\"}}", core.core), figure(core)));
        family(&mut out, name, kind, help, values);
    };
    per_core("tarndb_engine_device_used_bytes", "gauge", "Device in use, obsolete records included.", |core| core.device_used_bytes);
    per_core("tarndb_engine_device_capacity_bytes", "gauge", "Device that may be used.", |core| core.device_capacity_bytes);
    per_core("tarndb_connections", "gauge", "Connections of clients, by the core that serves them.", |core| core.connections.into());
    let help = "Requests in flight: those that wait for the device, for other cores or members.";
    per_core("tarndb_requests_in_flight", "gauge", help, |core| core.requests_waiting);
    let help = "Memory of requests that wait for the device, for other cores or members.";
    per_core("tarndb_requests_waiting_bytes", "gauge", help, |core| core.waiting_bytes);
    let help = "Logged batches that their coordinators left unfinished and that are not finished yet.";
    per_core("tarndb_batches_unfinished", "gauge", help, |core| core.unfinished_batches);
    let help = "Slots whose rows still have to be indexed, counted by index.";
    per_core("tarndb_index_slots_left", "gauge", help, |core| core.slots_to_index.into());
    let help = "Vectors in the graphs of indexes on vectors.";
    per_core("tarndb_vectors_linked", "gauge", help, |core| core.vectors_linked);
    let help = "Vectors that the graphs had stored before the start.";
    per_core("tarndb_vectors_restored", "gauge", help, |core| core.vectors_restored);
    let help = "Vectors that are yet to be linked, and rows that are yet to be looked at for them.";
    per_core("tarndb_vectors_left", "gauge", help, |core| core.vectors_left);
    let help = "Memory of the graphs of indexes on vectors.";
    per_core("tarndb_vectors_bytes", "gauge", help, |core| core.vector_bytes);
    let help = "Indexes on vectors without a graph, as there is no memory for it: all rows are compared.";
    per_core("tarndb_vector_indexes_refused", "gauge", help, |core| core.vector_indexes_refused);
    let help = "Slots that materialized views still have to be built from, counted by view.";
    per_core("tarndb_view_slots_left", "gauge", help, |core| core.view_slots_left.into());
    let help = "Slots with writes that have not reached their materialized views and that their coordinators have left.";
    per_core("tarndb_view_slots_behind", "gauge", help, |core| core.views_behind.into());
    let help = "Log-ins that were refused: no such role, or another password.";
    per_core("tarndb_logins_failed_total", "counter", help, |core| core.logins_failed);
    let help = "Clients that were cut before they had done the handshake of TLS or had logged in: their time was over, or others needed their place.";
    per_core("tarndb_clients_cut_total", "counter", help, |core| core.clients_cut);
    let help = "Requests that took longer than the setting slow_query_threshold_ms.";
    per_core("tarndb_slow_requests_total", "counter", help, |core| core.slow_requests);
    let help = "Lines of the audit log that were dropped: the writer did not keep up, or could not write.";
    per_core("tarndb_audit_lines_dropped_total", "counter", help, |core| core.audit_dropped);
    if report.clustered {
        let help = "Requests of clients, and parts of such, that were sent on to other members.";
        per_core("tarndb_cluster_requests_forwarded_total", "counter", help, |core| core.forwarded);
    }
    if let Some(cluster) = &report.cluster {
        of_cluster(&mut out, report, cluster);
    }
    requests::write(&mut out, report);
    requests::write_tables(&mut out, report, schema);
    requests::write_device(&mut out, report);
    engine::write(&mut out, report);
    engine::write_tables(&mut out, &report.cores, schema);
    write_backups(&mut out, backups);
    process(&mut out, std::process::id());
    out
}

fn of_cluster(out: &mut String, report: &Report, cluster: &ClusterReport) {
    let members = ["up", "down", "draining", "shutting_down"].map(|state| {
        let count = cluster.members.iter().filter(|member| member.state == state).count();
        (format!("{{state=\"{state}\"}}"), count as u64)
    });
    family(out, "tarndb_cluster_members", "gauge", "Members by state.", members);
    let sum = |figure: fn(&CoreReport) -> u32| report.cores.iter().map(|core| u64::from(figure(core))).sum::<u64>();
    let role = |role: &str, count| (format!("{{role=\"{role}\"}}"), count);
    let slots = [
        role("primary", sum(|core| core.primaries)),
        role("secondary", sum(|core| core.secondaries)),
        role("learner", sum(|core| core.learners)),
    ];
    family(out, "tarndb_cluster_slots", "gauge", "Slots of this member by its role.", slots);
    let mut one = |name: &str, help: &str, value: u64| family(out, name, "gauge", help, [(String::new(), value)]);
    one("tarndb_cluster_slots_unserved", "Slots that this member is the primary of and does not serve yet.", sum(|core| core.unserved));
    one("tarndb_cluster_slots_unavailable", "Slots of the cluster whose primary is not up.", u64::from(cluster.unavailable_slots));
    one("tarndb_cluster_slots_short", "Slots of the cluster with fewer replicas than asked for.", u64::from(cluster.short_slots));
    one("tarndb_cluster_slots_to_rebuild", "Replicas, counted by slot, that this member has to rebuild.", sum(|core| core.to_rebuild));
    one("tarndb_cluster_slots_to_wipe", "Slots whose rows of before have to go.", sum(|core| core.to_wipe));
    one(
        "tarndb_cluster_slots_to_repair",
        "Slots of this member with damaged rows that are not repaired yet.",
        sum(|core| core.slots_to_repair),
    );
    one("tarndb_cluster_metadata_version", "Newest entry of the metadata that this member has.", cluster.version);
    one(
        "tarndb_cluster_protocol_version",
        "Version of the nodes' protocol that the cluster goes by: the latest that all members know.",
        cluster.protocol_version.into(),
    );
    one("tarndb_cluster_has_leader", "Whether this member knows a leader.", u64::from(cluster.leader.is_some()));
    let repaired = report.cores.iter().map(|core| (format!("{{core=\"{}\"}}", core.core), core.slots_repaired));
    let help = "Slots copied from other replicas because rows of theirs were found damaged.";
    family(out, "tarndb_cluster_slots_repaired_total", "counter", help, repaired);
    let lease = cluster.lease_ms.map_or("+Inf".to_owned(), |lease_ms| format!("{:.3}", lease_ms as f64 / 1e3));
    let help = "How long this member's lease lasts; +Inf for one that is alone.";
    family(out, "tarndb_cluster_lease_seconds", "gauge", help, [(String::new(), lease)]);
    let programs = cluster.members.iter().map(|member| {
        let labels = format!("{{node=\"{}\",version=\"{}\"}}", member.id, member.version);
        (labels, member.protocol_versions[1])
    });
    let help = "Latest version of the nodes' protocol that each member's program knows, with the program's own version.";
    family(out, "tarndb_cluster_member_protocol_version", "gauge", help, programs);
    let nodes = cluster.members.iter().filter(|member| Some(member.id) != cluster.node).map(|member| {
        let pending = report.cores.iter().flat_map(|core| &core.pending).filter(|pending| pending.node == member.id);
        (format!("{{node=\"{}\"}}", member.id), pending.map(|pending| pending.bytes).sum::<u64>())
    });
    let help = "Writes of this member that another one has not acknowledged.";
    family(out, "tarndb_cluster_stream_pending_bytes", "gauge", help, nodes);
    rebuilds(out, report);
}

fn write_backups(out: &mut String, figures: &BackupFigures) {
    let mut one = |name: &str, kind: &str, help: &str, value: u64| family(out, name, kind, help, [(String::new(), value)]);
    one("tarndb_backup_running", "gauge", "Whether a backup runs.", u64::from(figures.running.load(Ordering::Relaxed) > 0));
    let help = "Rows that `tarndb backup` was sent, with their frames.";
    one("tarndb_backup_sent_bytes_total", "counter", help, figures.sent_bytes.load(Ordering::Relaxed));
    let help = "When a backup with this node last became whole, in seconds since 1970; 0 for not since the start.";
    one("tarndb_backup_last_success_timestamp_seconds", "gauge", help, figures.last_success_s.load(Ordering::Relaxed));
    let help = "Rows that `tarndb restore` has written.";
    one("tarndb_restore_written_bytes_total", "counter", help, figures.restored_bytes.load(Ordering::Relaxed));
}

/// What the process takes: the names that Prometheus's client libraries use, and devices, for which these have none. What the kernel does
/// not tell is left out.
fn process(out: &mut String, pid: u32) {
    let mut one = |name: &str, kind: &str, help: &str, value: Option<String>| {
        if let Some(value) = value {
            family(out, name, kind, help, [(String::new(), value)]);
        }
    };
    let figures = io_linux::process_figures(pid);
    let seconds = |value: Option<f64>| value.map(|seconds| format!("{seconds:.2}"));
    let whole = |value: Option<u64>| value.map(|value| value.to_string());
    one("process_cpu_seconds_total", "counter", "CPU time, user and system.", seconds(figures.cpu_s));
    one("process_resident_memory_bytes", "gauge", "Resident memory.", whole(figures.memory));
    one("process_start_time_seconds", "gauge", "Start, in seconds since 1970.", seconds(io_linux::process_start_s(pid)));
    one("process_open_fds", "gauge", "Open files and sockets.", whole(io_linux::process_open_files(pid)));
    let help = "Bytes that the network namespace of the process has received, over all interfaces.";
    one("process_network_receive_bytes_total", "counter", help, whole(figures.network_received));
    let help = "Bytes that the network namespace of the process has sent, over all interfaces.";
    one("process_network_transmit_bytes_total", "counter", help, whole(figures.network_sent));
    let help = "Bytes that the process had devices read.";
    one("tarndb_device_read_bytes_total", "counter", help, whole(figures.device_read));
    let help = "Bytes that the process had devices write.";
    one("tarndb_device_written_bytes_total", "counter", help, whole(figures.device_written));
}

/// What is sent to members that are to have slots of this one's.
fn rebuilds(out: &mut String, report: &Report) {
    let rebuilds = status::rebuilds(&report.cores);
    let mut of_each = |name: &str, kind: &str, help: &str, figure: fn(&RebuildReport) -> u64| {
        family(out, name, kind, help, rebuilds.iter().map(|rebuild| (format!("{{node=\"{}\"}}", rebuild.node), figure(rebuild))));
    };
    of_each("tarndb_cluster_rebuild_slots", "gauge", "Slots that a member is to have and does not have yet.", |rebuild| {
        rebuild.slots.into()
    });
    of_each("tarndb_cluster_rebuild_left_bytes", "gauge", "About how much has to be sent for them.", |rebuild| rebuild.left_bytes);
    of_each("tarndb_cluster_rebuild_sent_bytes_total", "counter", "Rows that members were sent to rebuild them.", |rebuild| {
        rebuild.sent_bytes
    });
    of_each("tarndb_cluster_rebuild_bytes_per_second", "gauge", "How fast that goes.", |rebuild| rebuild.bytes_per_s);
    let help = "Why nothing is sent for a while: the member has no room, or it cannot keep up.";
    of_each("tarndb_cluster_rebuild_dropped", "gauge", help, |rebuild| matches!(rebuild.held, Held::Full | Held::Slow).into());
    let held = rebuilds.iter().flat_map(|rebuild| {
        let by = Held::MEASURED.into_iter().zip(rebuild.held_us);
        by.map(|(by, us)| (format!("{{node=\"{}\",by=\"{}\"}}", rebuild.node, by.name()), format!("{:.3}", us as f64 / 1e6)))
    });
    let help = "How long sending was held back, over all cores: for clients, by slow acknowledgements, by reading from the device.";
    family(out, "tarndb_cluster_rebuild_waited_seconds_total", "counter", help, held);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_members_figures_are_there() {
        let mut report = status::tests::report();
        let rebuild =
            RebuildReport { node: 1, slots: 3, left_bytes: 70, held: Held::Full, held_us: [1_500_000, 0, 0], ..RebuildReport::default() };
        report.cores[0].rebuilds = vec![rebuild];
        let text = of_report(&report, &Schema::empty(), &BackupFigures::default());
        for line in [
            "tarndb_cluster_members{state=\"up\"} 2",
            "tarndb_cluster_members{state=\"down\"} 0",
            "tarndb_cluster_slots{role=\"primary\"} 2048",
            "tarndb_cluster_stream_pending_bytes{node=\"1\"} 9",
            "tarndb_cluster_lease_seconds 0.700",
            "tarndb_cluster_metadata_version 17",
            "tarndb_cluster_protocol_version 3",
            "tarndb_cluster_member_protocol_version{node=\"2\",version=\"0.1.0\"} 4",
            "tarndb_engine_rows{core=\"0\"} 0",
            "tarndb_cluster_rebuild_slots{node=\"1\"} 3",
            "tarndb_cluster_rebuild_left_bytes{node=\"1\"} 70",
            "tarndb_cluster_rebuild_dropped{node=\"1\"} 1",
            "tarndb_cluster_rebuild_waited_seconds_total{node=\"1\",by=\"clients\"} 1.500",
            "tarndb_cluster_requests_forwarded_total{core=\"0\"} 5",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }

    #[test]
    fn every_value_follows_its_help_and_type() {
        let text = of_report(&status::tests::report(), &Schema::empty(), &BackupFigures::default());
        let mut known = Vec::new();
        for line in text.lines() {
            match line.strip_prefix("# TYPE ") {
                Some(rest) => known.push(rest.split(' ').next().unwrap_or("").to_owned()),
                None if line.starts_with('#') => {}
                None => {
                    let name = line.split(['{', ' ']).next().unwrap_or_default();
                    let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
                    assert!(known.last().is_some_and(|known| known == name || Some(known.as_str()) == base), "{line}");
                }
            }
        }
    }

    #[test]
    fn a_benchmark_finds_what_the_process_takes() {
        let text = of_report(&Report::default(), &Schema::empty(), &BackupFigures::default());
        let read = bench::target::read_metrics(&text);
        assert!(read.cpu_s.is_some() && read.memory > Some(0), "{text}");
        assert!(read.network_received.is_some() && read.network_sent.is_some(), "{text}");
        // Some sandboxes do not let a process read its own.
        if std::fs::read_to_string("/proc/self/io").is_ok() {
            assert!(read.device_read.is_some() && read.device_written.is_some(), "{text}");
        }
        assert!(text.contains("\nprocess_start_time_seconds 1") && text.contains("\nprocess_open_fds "), "{text}");
    }

    #[test]
    fn a_node_by_itself_has_no_cluster() {
        let text =
            of_report(&Report { cores: vec![CoreReport::default()], ..Report::default() }, &Schema::empty(), &BackupFigures::default());
        assert!(text.contains("tarndb_engine_rows") && !text.contains("tarndb_cluster"), "{text}");
    }
}
