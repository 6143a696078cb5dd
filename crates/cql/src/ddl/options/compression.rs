//! `compression = {'class': …}`: checked as Cassandra does, kept as it was given, and what it means for pages of rows.

use crate::ddl::DdlError;
use crate::ddl::error::TableOptionError;
use crate::ddl::number::java_double;
use base::Compression;
use std::collections::BTreeMap;

const PACKAGE: &str = "org.apache.cassandra.io.compress.";
const CLASS: &str = "class";
const ENABLED: &str = "enabled";
const CHUNK_LENGTH: &str = "chunk_length_in_kb";
const MIN_RATIO: &str = "min_compress_ratio";
const LEVEL: &str = "compression_level";

/// The compressors and their own options.
const COMPRESSORS: &[(&str, &[&str])] = &[
    ("LZ4Compressor", &["lz4_compressor_type", "lz4_high_compressor_level"]),
    ("SnappyCompressor", &[]),
    ("DeflateCompressor", &[]),
    ("ZstdCompressor", &[LEVEL]),
    ("NoopCompressor", &[]),
];

pub(super) fn default() -> BTreeMap<String, String> {
    BTreeMap::from([(CHUNK_LENGTH.to_owned(), "16".to_owned()), (CLASS.to_owned(), format!("{PACKAGE}LZ4Compressor"))])
}

fn disabled() -> BTreeMap<String, String> {
    BTreeMap::from([(ENABLED.to_owned(), "false".to_owned())])
}

/// What pages are compressed with. There are two compressors; of the others each stands for the one that is nearest to what it gives.
pub(super) fn of(entries: &BTreeMap<String, String>) -> Compression {
    let class = entries.get(CLASS).and_then(|class| class.strip_prefix(PACKAGE));
    match class {
        Some("ZstdCompressor") => Compression::Zstd { level: zstd_level(entries).unwrap_or(Compression::ZSTD_LEVEL_DEFAULT) },
        Some("DeflateCompressor") => Compression::Zstd { level: Compression::ZSTD_LEVEL_DEFAULT },
        Some("LZ4Compressor" | "SnappyCompressor") => Compression::Lz4,
        _ => Compression::None,
    }
}

fn zstd_level(entries: &BTreeMap<String, String>) -> Result<i32, DdlError> {
    let Some(text) = entries.get(LEVEL) else { return Ok(Compression::ZSTD_LEVEL_DEFAULT) };
    let level = text.parse().map_err(|_| TableOptionError::ZstdLevelNumber(text.clone()))?;
    if Compression::ZSTD_LEVELS.contains(&level) { Ok(level) } else { Err(DdlError::TableOption(TableOptionError::ZstdLevel(level))) }
}

pub(super) fn compression(mut entries: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, DdlError> {
    if entries.is_empty() {
        return Ok(disabled());
    }
    // As Java reads a boolean: whatever is not true is false.
    if entries.remove(ENABLED).is_some_and(|enabled| !enabled.eq_ignore_ascii_case("true")) {
        return if entries.is_empty() { Ok(disabled()) } else { Err(DdlError::TableOption(TableOptionError::CompressionDisabled)) };
    }
    let class = entries.remove(CLASS).ok_or(TableOptionError::NoCompressionClass)?;
    if class.is_empty() {
        return Err(TableOptionError::EmptyCompressionClass.into());
    }
    let class = if class.contains('.') { class } else { format!("{PACKAGE}{class}") };
    let known = class.strip_prefix(PACKAGE).and_then(|name| COMPRESSORS.iter().find(|(known, _)| *known == name));
    let (name, options) = known.ok_or_else(|| TableOptionError::CompressionClass(class.clone()))?;
    if *name == "ZstdCompressor" {
        zstd_level(&entries)?;
    }
    let unknown = entries.keys().find(|name| ![CHUNK_LENGTH, MIN_RATIO].contains(&name.as_str()) && !options.contains(&name.as_str()));
    if let Some(unknown) = unknown {
        return Err(TableOptionError::CompressionOption(unknown.clone()).into());
    }
    let chunk_length: u32 =
        entries.get(CHUNK_LENGTH).map_or(Ok(16), |text| text.parse()).map_err(|_| TableOptionError::CompressionNumber(CHUNK_LENGTH))?;
    if !chunk_length.is_power_of_two() {
        return Err(TableOptionError::ChunkLength.into());
    }
    if let Some(ratio) = entries.get_mut(MIN_RATIO) {
        *ratio = java_double(ratio.parse().map_err(|_| TableOptionError::CompressionNumber(MIN_RATIO))?);
    }
    entries.insert(CHUNK_LENGTH.to_owned(), chunk_length.to_string());
    entries.insert(CLASS.to_owned(), class);
    Ok(entries)
}
