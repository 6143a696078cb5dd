//! Whether the data of a run fits on the device.

use super::error::RunError;
use super::options::Options;
use crate::target::TargetSpec;

/// Bytes on the device for each byte of data: room for what is being rewritten.
const DISK_BY_DATA: u64 = 3;

/// Why the data does not fit on the device, if it doesn't. Targets and rounds run one after the other; a round removes what the one before it
/// left.
pub(super) fn room_for(options: &Options) -> Result<Option<RunError>, RunError> {
    if options.targets.iter().all(|target| matches!(target, TargetSpec::Server { .. })) {
        return Ok(None);
    }
    let free = io_linux::free_bytes(&options.out).map_err(|source| RunError::File { path: options.out.clone(), source })?;
    let replicas = options.targets.iter().map(|target| target.nodes().min(options.study.replication)).max().unwrap_or(1);
    let data = options.study.data_bytes().saturating_mul(replicas.into());
    let needed = data.saturating_mul(DISK_BY_DATA).saturating_add(1 << 30);
    if free >= needed {
        return Ok(None);
    }
    let fits = options.scale * free.saturating_sub(1 << 30) as f64 / needed as f64 * 0.9;
    let suggestion = if fits > 0.0 { format!("{fits:.2e}") } else { "of less".to_owned() };
    Ok(Some(RunError::Room { path: options.out.clone(), free, needed, suggestion }))
}
