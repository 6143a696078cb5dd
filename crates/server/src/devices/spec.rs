//! A device as it is configured: `PATH`, or `PATH=SIZE` to use only so much of it or to make a file.

use crate::size::Size;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::str::FromStr;

/// One entry of the list of devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeviceSpec {
    pub(crate) path: PathBuf,
    pub(crate) size: Option<Size>,
}

impl FromStr for DeviceSpec {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (path, size) = match text.rsplit_once('=') {
            Some((path, size)) => (path, Some(size.parse().map_err(|error| format!("{error} (a device is PATH or PATH=SIZE)"))?)),
            None => (text, None),
        };
        if path.is_empty() {
            return Err("a device is PATH or PATH=SIZE, and this one has no path".to_owned());
        }
        Ok(Self { path: PathBuf::from(path), size })
    }
}

impl Serialize for DeviceSpec {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.size {
            Some(size) => serializer.collect_str(&format_args!("{}={size}", self.path.display())),
            None => serializer.collect_str(&self.path.display()),
        }
    }
}

impl<'de> Deserialize<'de> for DeviceSpec {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_size_may_follow_the_path() {
        let parse = |text: &str| text.parse::<DeviceSpec>();
        assert_eq!(parse("/dev/nvme0n1"), Ok(DeviceSpec { path: "/dev/nvme0n1".into(), size: None }));
        assert_eq!(parse("/data/a=10GiB"), Ok(DeviceSpec { path: "/data/a".into(), size: Some(Size(10 << 30)) }));
        assert!(parse("/data/a=lots").unwrap_err().contains("`lots` is not a size"));
        assert!(parse("=10GiB").unwrap_err().contains("no path"));
        assert!(parse("").unwrap_err().contains("no path"));
    }
}
