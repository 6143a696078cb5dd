//! The settings of the audit log, checked.

use crate::settings::{AuditWhenFull, Settings, without_empty};
use crate::size::Size;
use node::{AuditFilter, Categories, Category, Names};
use std::path::PathBuf;

const SYSLOG: &str = "syslog";
const SYSLOG_SOCKET: &str = "/dev/log";
const FILE_SIZE_LEAST: Size = Size(64 << 10);
const FILES_MOST: u16 = 1_000;

/// What drivers read by themselves, again and again.
const KEYSPACES_EXCLUDED: [&str; 3] = ["system", "system_schema", "system_virtual_schema"];

/// Why settings of the audit log are none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AuditSettingsError {
    /// A category is none.
    #[error("{key} has `{name}`: a category is query, dml, ddl, dcl, auth, error, prepare or other")]
    Category { key: &'static str, name: String },
    /// There is no log.
    #[error("{key} is given without audit_log: name the file, or syslog")]
    NoLog { key: &'static str },
    /// Its file is too small.
    #[error("audit_file_size is {0}, but must be at least {FILE_SIZE_LEAST}")]
    FileSize(Size),
    /// Too few or too many files.
    #[error("audit_files is {0}, but must be from 1 to {FILES_MOST}")]
    Files(u16),
    /// The name of no file.
    #[error("audit_log is empty: name the file, or syslog")]
    Empty,
}

impl AuditSettingsError {
    /// The setting that is wrong.
    pub(crate) fn key(&self) -> &'static str {
        match self {
            Self::Category { key, .. } | Self::NoLog { key } => key,
            Self::FileSize(_) => "audit_file_size",
            Self::Files(_) => "audit_files",
            Self::Empty => "audit_log",
        }
    }
}

/// Where lines go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AuditTarget {
    /// This file, and those that it was before.
    File { path: PathBuf, bytes_max: u64, files: u16 },
    /// The socket of syslog.
    Syslog { socket: PathBuf },
}

/// How a node audits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuditSettings {
    pub(crate) target: AuditTarget,
    pub(crate) filter: AuditFilter,
    pub(crate) when_full: AuditWhenFull,
    /// The settings with the values that count, by name.
    pub(crate) shown: Vec<(&'static str, String)>,
}

/// All settings of the audit log, as they are shown where there is none.
pub(crate) const NOT_AUDITED: [(&str, &str); 10] = [
    ("audit_log", ""),
    ("audit_included_categories", ""),
    ("audit_excluded_categories", ""),
    ("audit_included_keyspaces", ""),
    ("audit_excluded_keyspaces", ""),
    ("audit_included_roles", ""),
    ("audit_excluded_roles", ""),
    ("audit_when_full", ""),
    ("audit_file_size", ""),
    ("audit_files", ""),
];

impl AuditSettings {
    /// `None` without an audit log.
    pub(crate) fn new(settings: &Settings) -> Result<Option<Self>, AuditSettingsError> {
        let Some(log) = &settings.audit_log else { return no_log(settings).map(|()| None) };
        let bytes_max = settings.audit_file_size.unwrap_or(Size(256 << 20));
        let files = settings.audit_files.unwrap_or(8);
        if bytes_max < FILE_SIZE_LEAST {
            return Err(AuditSettingsError::FileSize(bytes_max));
        }
        if !(1..=FILES_MOST).contains(&files) {
            return Err(AuditSettingsError::Files(files));
        }
        let target = match (log.as_str(), log.strip_prefix("syslog:")) {
            ("", _) | (_, Some("")) => return Err(AuditSettingsError::Empty),
            (SYSLOG, _) => AuditTarget::Syslog { socket: SYSLOG_SOCKET.into() },
            (_, Some(socket)) => AuditTarget::Syslog { socket: socket.into() },
            (path, None) => AuditTarget::File { path: path.into(), bytes_max: bytes_max.0, files },
        };
        let names = |names: &Option<Vec<String>>| names.clone().map_or_else(Vec::new, without_empty);
        let excluded_keyspaces = match &settings.audit_excluded_keyspaces {
            Some(_) => names(&settings.audit_excluded_keyspaces),
            None => KEYSPACES_EXCLUDED.map(str::to_owned).to_vec(),
        };
        let when_full = settings.audit_when_full.unwrap_or(AuditWhenFull::Drop);
        let shown = vec![
            ("audit_log", log.clone()),
            ("audit_included_categories", names(&settings.audit_included_categories).join(",")),
            ("audit_excluded_categories", names(&settings.audit_excluded_categories).join(",")),
            ("audit_included_keyspaces", names(&settings.audit_included_keyspaces).join(",")),
            ("audit_excluded_keyspaces", excluded_keyspaces.join(",")),
            ("audit_included_roles", names(&settings.audit_included_roles).join(",")),
            ("audit_excluded_roles", names(&settings.audit_excluded_roles).join(",")),
            ("audit_when_full", if when_full == AuditWhenFull::Drop { "drop" } else { "block" }.to_owned()),
            ("audit_file_size", bytes_max.to_string()),
            ("audit_files", files.to_string()),
        ];
        let filter = AuditFilter {
            categories: Categories::new(
                &categories("audit_included_categories", &names(&settings.audit_included_categories))?,
                &categories("audit_excluded_categories", &names(&settings.audit_excluded_categories))?,
            ),
            roles: Names::new(names(&settings.audit_included_roles), names(&settings.audit_excluded_roles)),
            keyspaces: Names::new(names(&settings.audit_included_keyspaces), excluded_keyspaces),
        };
        Ok(Some(Self { target, filter, when_full, shown }))
    }
}

/// Refuses what is about an audit log where there is none.
fn no_log(settings: &Settings) -> Result<(), AuditSettingsError> {
    let given = [
        ("audit_included_categories", settings.audit_included_categories.is_some()),
        ("audit_excluded_categories", settings.audit_excluded_categories.is_some()),
        ("audit_included_keyspaces", settings.audit_included_keyspaces.is_some()),
        ("audit_excluded_keyspaces", settings.audit_excluded_keyspaces.is_some()),
        ("audit_included_roles", settings.audit_included_roles.is_some()),
        ("audit_excluded_roles", settings.audit_excluded_roles.is_some()),
        ("audit_when_full", settings.audit_when_full.is_some()),
        ("audit_file_size", settings.audit_file_size.is_some()),
        ("audit_files", settings.audit_files.is_some()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((key, _)) => Err(AuditSettingsError::NoLog { key }),
        None => Ok(()),
    }
}

fn categories(key: &'static str, names: &[String]) -> Result<Vec<Category>, AuditSettingsError> {
    let category = |name: &String| Category::from_name(name).ok_or_else(|| AuditSettingsError::Category { key, name: name.clone() });
    names.iter().map(category).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_a_file_or_syslog() {
        let target = |log: &str| {
            let settings = Settings { audit_log: Some(log.to_owned()), ..Settings::default() };
            AuditSettings::new(&settings).map(|settings| settings.expect("a log is given").target)
        };
        assert_eq!(target("/var/audit.log"), Ok(AuditTarget::File { path: "/var/audit.log".into(), bytes_max: 256 << 20, files: 8 }));
        assert_eq!(target("syslog"), Ok(AuditTarget::Syslog { socket: "/dev/log".into() }));
        assert_eq!(target("syslog:/run/log"), Ok(AuditTarget::Syslog { socket: "/run/log".into() }));
        assert_eq!(target(""), Err(AuditSettingsError::Empty));
    }

    #[test]
    fn what_is_about_no_log_or_no_category_is_refused() {
        let settings = Settings { audit_files: Some(3), ..Settings::default() };
        assert_eq!(AuditSettings::new(&settings), Err(AuditSettingsError::NoLog { key: "audit_files" }));
        let settings = Settings {
            audit_log: Some("a".to_owned()),
            audit_excluded_categories: Some(vec!["DDL".to_owned(), "selects".to_owned()]),
            ..Settings::default()
        };
        let key = "audit_excluded_categories";
        assert_eq!(AuditSettings::new(&settings), Err(AuditSettingsError::Category { key, name: "selects".to_owned() }));
    }
}
