//! The storage engine of one shard: index in DRAM, records in a log on flash.
