//! Prometheus's text format.

use std::fmt::Write;

/// Appends all values of one name, each with its labels.
pub(super) fn family<V: std::fmt::Display>(
    out: &mut String,
    name: &str,
    kind: &str,
    help: &str,
    values: impl IntoIterator<Item = (String, V)>,
) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
    for (labels, value) in values {
        let _ = writeln!(out, "{name}{labels} {value}");
    }
}
