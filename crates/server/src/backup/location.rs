//! Where a backup is: a directory, or what is under a prefix of a bucket of S3.

use crate::s3::S3Address;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A place for a backup, as the command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    Folder(PathBuf),
    Bucket(S3Address),
}

/// What begins as an address of S3 and is none.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is no s3://BUCKET/PREFIX: a bucket has 3 to 63 of a-z, 0-9, dots and hyphens, and a prefix no empty parts")]
pub(crate) struct NoLocation;

impl Location {
    /// The place beside this one that has the last name of another.
    pub(crate) fn beside(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Folder(here), Self::Folder(other)) => Some(Self::Folder(named(here)?.parent()?.join(other.file_name()?))),
            (Self::Bucket(here), Self::Bucket(other)) => here.beside(other).map(Self::Bucket),
            _ => None,
        }
    }

    /// Whether both names are of one place.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.absolute() == other.absolute()
    }

    /// As it is known from other directories, too.
    pub(crate) fn absolute(&self) -> String {
        match self {
            Self::Folder(folder) => canonical(folder).display().to_string(),
            Self::Bucket(_) => self.to_string(),
        }
    }

    /// What a backup takes, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Folder(_) => "a directory",
            Self::Bucket(_) => "a prefix",
        }
    }
}

/// With its name at the end, as which it may be a link; `.` and `..` say none.
fn named(folder: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(folder).ok()?;
    Some(if absolute.file_name().is_some() { absolute } else { canonical(&absolute) })
}

/// Without `.`, `..` and links, if it is there.
fn canonical(folder: &Path) -> PathBuf {
    std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned())
}

impl FromStr for Location {
    type Err = NoLocation;
    fn from_str(text: &str) -> Result<Self, NoLocation> {
        if text.starts_with(S3Address::SCHEME) {
            S3Address::parse(text).map(Self::Bucket).ok_or(NoLocation)
        } else {
            Ok(Self::Folder(text.into()))
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => folder.display().fmt(out),
            Self::Bucket(address) => address.fmt(out),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    #[test]
    fn a_place_is_a_directory_or_a_prefix() {
        assert_eq!("/backups/s3".parse(), Ok(Location::Folder("/backups/s3".into())));
        assert_eq!("s3://backups/monday".parse::<Location>().map(|place| place.to_string()), Ok("s3://backups/monday".to_owned()));
        let place = |text: &str| text.parse::<Location>().ok();
        let beside = |one: &str, other: &str| place(one).zip(place(other)).and_then(|(one, other)| one.beside(&other));
        assert_eq!(beside("/b/tuesday", "/a/monday"), place("/b/monday"));
        assert_eq!(beside("s3://new/x/tuesday", "s3://old/monday"), place("s3://new/x/monday"));
        assert_eq!(beside("s3://new/tuesday", "s3://old/monday"), place("s3://new/monday"));
        assert_eq!((beside("/b/tuesday", "s3://old/monday"), beside("s3://new", "s3://old/monday")), (None, None));
        let above =
            std::env::current_dir().ok().and_then(|here| std::fs::canonicalize(here).ok()?.parent().map(|above| above.join("monday")));
        assert_eq!(beside(".", "/a/monday"), above.map(Location::Folder));
        assert_eq!("s3://".parse::<Location>(), Err(NoLocation));
    }

    #[test]
    fn a_link_is_beside_what_has_its_name_beside_it() {
        let folder = Folder::made("beside");
        std::fs::create_dir_all(folder.join("disk/a/b")).unwrap();
        std::os::unix::fs::symlink(folder.join("disk/a"), folder.join("tuesday")).unwrap();
        let place = |name: &str| Location::Folder(folder.join(name));
        let beside = |name: &str| place(name).beside(&place("old/monday"));
        assert_eq!(beside("tuesday"), Some(place("monday")));
        let a = std::fs::canonicalize(folder.join("disk")).unwrap();
        assert_eq!(beside("tuesday/b/.."), Some(Location::Folder(a.join("monday"))));
        assert!(place("tuesday").is_same(&place("disk/a")) && !place("tuesday").is_same(&place("disk")));
    }
}
