//! How the memory limit is divided.

/// What a process takes besides its shards: code, connections, the HTTP port, huge pages that are used in part.
const PROCESS_BYTES: u64 = 40 << 20;

/// The least and the most that a core's connections may hold together in requests, and again in replies. Two and a half times as much is
/// set aside for both.
const REQUESTS_BYTES_LEAST: u64 = 8 << 20;
const REQUESTS_BYTES_MOST: u64 = 64 << 20;

/// A shard that has less than this for index and frames cannot work.
const SHARD_BYTES_LEAST: u64 = 32 << 20;

/// What has which part of the memory limit.
pub(crate) struct MemoryShares {
    /// Index and frames of one shard.
    pub(crate) shard_bytes: u64,
    /// Requests of one core's connections.
    pub(crate) requests_bytes: u64,
    /// Prepared statements of all connections.
    pub(crate) statements_bytes: u64,
}

impl MemoryShares {
    /// Divides `limit` among `cores`, each of which has `stable_bytes` of stable memory. If it is too little, the error is what would be enough.
    pub(crate) fn of(limit: u64, cores: u16, stable_bytes: u64) -> Result<Self, u64> {
        // A sixteenth is left for what allocators waste.
        let core_bytes = (limit - limit / 16).saturating_sub(PROCESS_BYTES) / u64::from(cores);
        let requests_bytes = (core_bytes / 8).clamp(REQUESTS_BYTES_LEAST, REQUESTS_BYTES_MOST);
        let statements_bytes = limit / 32;
        let shard_bytes = core_bytes.saturating_sub(stable_bytes + requests_bytes * 5 / 2 + statements_bytes / u64::from(cores));
        if shard_bytes < SHARD_BYTES_LEAST {
            let least = SHARD_BYTES_LEAST + REQUESTS_BYTES_LEAST * 5 / 2 + stable_bytes;
            return Err((PROCESS_BYTES + u64::from(cores) * least) / 15 * 16 / 30 * 32);
        }
        Ok(Self { shard_bytes, requests_bytes, statements_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_within_the_limit() {
        for (limit_mib, cores) in [(256, 1), (512, 2), (1 << 10, 4), (64 << 10, 16), (1 << 20, 64)] {
            let (limit, stable_bytes) = (limit_mib << 20, 24 << 20);
            let shares = MemoryShares::of(limit, cores, stable_bytes);
            let shares = shares.unwrap_or_else(|needed| panic!("{limit_mib} MiB for {cores} cores: {needed} B are needed"));
            let core_bytes = shares.shard_bytes + shares.requests_bytes * 5 / 2 + stable_bytes;
            assert!(u64::from(cores) * core_bytes + shares.statements_bytes + PROCESS_BYTES <= limit - limit / 16);
        }
    }

    #[test]
    fn who_gives_too_little_hears_what_is_nearly_enough() {
        let needed = MemoryShares::of(64 << 20, 2, 24 << 20).err().expect("too little");
        assert!(MemoryShares::of(needed * 11 / 10, 2, 24 << 20).is_ok());
    }
}
