//! Whom S3 knows us as: from the environment or a file, never from the command line.
//!
//! | looked at | when |
//! |---|---|
//! | `--s3-credentials-file`, or with `--s3-profile` alone the shared file | when they are given |
//! | `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN` | else, when both keys are set |
//! | `AWS_SHARED_CREDENTIALS_FILE`, or `~/.aws/credentials`, of profile `AWS_PROFILE` or `default` | else |

use super::error::S3Error;
use crate::secret_files::{SecretFileError, read_secrets};
use std::fmt;
use std::path::{Path, PathBuf};

const PROFILE: &str = "default";

/// What requests are signed with.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Credentials {
    pub(super) access_key_id: String,
    pub(super) secret_access_key: String,
    /// Of credentials that expire.
    pub(super) session_token: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Credentials")
    }
}

/// Where they come from; read again when S3 says that they have expired.
#[derive(Clone, Debug)]
pub(super) enum CredentialsSource {
    Environment,
    File { path: PathBuf, profile: String },
}

impl CredentialsSource {
    /// Where to look: what the options say, then the environment, then the shared file.
    pub(super) fn new(file: Option<&Path>, profile: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> Result<Self, S3Error> {
        let is_set = variable("AWS_ACCESS_KEY_ID").is_some() && variable("AWS_SECRET_ACCESS_KEY").is_some();
        if file.is_none() && profile.is_none() && is_set {
            return Ok(Self::Environment);
        }
        let shared = || variable("AWS_SHARED_CREDENTIALS_FILE").map(PathBuf::from);
        let home = || variable("HOME").map(|home| Path::new(&home).join(".aws/credentials"));
        let none = || S3Error::NoCredentials { looked: "HOME is not set either".to_owned() };
        let path = file.map(Path::to_owned).or_else(shared).or_else(home).ok_or_else(none)?;
        if file.is_none() && profile.is_none() && !path.exists() {
            return Err(S3Error::NoCredentials { looked: format!("there is no {} either", path.display()) });
        }
        let profile = profile.map(str::to_owned).or_else(|| variable("AWS_PROFILE")).unwrap_or_else(|| PROFILE.to_owned());
        Ok(Self::File { path, profile })
    }

    /// The credentials as they are now.
    pub(super) fn read(&self, variable: impl Fn(&str) -> Option<String>) -> Result<Credentials, S3Error> {
        match self {
            Self::Environment => {
                let gone = || S3Error::NoCredentials { looked: "the environment has them no more".to_owned() };
                Ok(Credentials {
                    access_key_id: variable("AWS_ACCESS_KEY_ID").ok_or_else(gone)?,
                    secret_access_key: variable("AWS_SECRET_ACCESS_KEY").ok_or_else(gone)?,
                    session_token: variable("AWS_SESSION_TOKEN"),
                })
            }
            Self::File { path, profile } => {
                let refused = |why: String| S3Error::CredentialsFile { path: path.clone(), why };
                let text = read_secrets(path).map_err(|error| match error {
                    SecretFileError::Read(error) => refused(error.to_string()),
                    SecretFileError::Mode(mode) => {
                        refused(format!("it has mode {mode:03o}, so others can read or change it; chmod 600 it"))
                    }
                })?;
                let text = String::from_utf8(text).map_err(|_| refused("it is no text in UTF-8".to_owned()))?;
                of_profile(&text, profile).map_err(refused)
            }
        }
    }
}

/// What a file says of a profile.
fn of_profile(text: &str, profile: &str) -> Result<Credentials, String> {
    let (mut is_meant, mut is_there) = (false, false);
    let [mut id, mut secret, mut token] = [None, None, None];
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            is_meant = name.trim() == profile;
            is_there |= is_meant;
        } else if let Some((name, value)) = line.split_once('=').filter(|_| is_meant && !line.starts_with(['#', ';'])) {
            let value = Some(value.trim()).filter(|value| !value.is_empty()).map(str::to_owned);
            match name.trim() {
                "aws_access_key_id" => id = value,
                "aws_secret_access_key" => secret = value,
                "aws_session_token" => token = value,
                _ => {}
            }
        }
    }
    match (id, secret) {
        (Some(access_key_id), Some(secret_access_key)) => Ok(Credentials { access_key_id, secret_access_key, session_token: token }),
        _ if !is_there => Err(format!("it has no profile [{profile}]; --s3-profile or AWS_PROFILE names one")),
        _ => Err(format!("profile [{profile}] lacks aws_access_key_id or aws_secret_access_key")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::Folder;
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt;

    const FILE: &str = "# mine\n[default]\naws_access_key_id = A\naws_secret_access_key=B=\n\n[other]\n; no\naws_access_key_id=C\naws_secret_access_key = D\naws_session_token = E\nregion = x\n[half]\naws_access_key_id=F\n";

    #[test]
    fn a_profile_is_read_from_a_file() {
        let read = |profile: &str| of_profile(FILE, profile);
        let credentials = read("default").unwrap();
        assert_eq!(
            (credentials.access_key_id.as_str(), credentials.secret_access_key.as_str(), credentials.session_token),
            ("A", "B=", None)
        );
        assert_eq!(read("other").unwrap().session_token.as_deref(), Some("E"));
        assert!(read("half").unwrap_err().contains("lacks"));
        assert!(read("none").unwrap_err().contains("no profile [none]"));
    }

    #[test]
    fn options_come_before_the_environment_and_that_before_the_shared_file() {
        let variables = |list: &[(&'static str, &'static str)]| {
            let map: BTreeMap<_, _> = list.iter().copied().collect();
            move |name: &str| map.get(name).map(|value| (*value).to_owned())
        };
        let keys = [("AWS_ACCESS_KEY_ID", "A"), ("AWS_SECRET_ACCESS_KEY", "B"), ("HOME", "/nowhere")];
        let source = |file: Option<&str>, profile, list: &[_]| CredentialsSource::new(file.map(Path::new), profile, variables(list));
        assert!(matches!(source(None, None, &keys), Ok(CredentialsSource::Environment)));
        assert!(
            matches!(source(Some("/f"), None, &keys), Ok(CredentialsSource::File { path, profile }) if path == Path::new("/f") && profile == PROFILE)
        );
        let shared = Path::new("/nowhere/.aws/credentials");
        assert!(
            matches!(source(None, Some("p"), &keys), Ok(CredentialsSource::File { path, profile }) if path == shared && profile == "p")
        );
        let error = source(None, None, &keys[1..]).unwrap_err();
        assert!(error.to_string().contains("there is no /nowhere/.aws/credentials either"), "{error}");
        assert!(matches!(source(None, None, &[]), Err(S3Error::NoCredentials { .. })));
    }

    #[test]
    fn a_file_that_others_can_read_is_refused_and_no_secret_is_shown() {
        let folder = Folder::made("credentials");
        let path = folder.join("credentials");
        std::fs::write(&path, FILE).unwrap();
        let source = CredentialsSource::File { path: path.clone(), profile: "default".to_owned() };
        let read = |mode| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            source.read(|_| None)
        };
        assert!(read(0o644).unwrap_err().to_string().contains("mode 644"));
        assert_eq!(format!("{:?}", read(0o600).unwrap()), "Credentials");
        std::fs::write(&path, b"[default]\naws_access_key_id = \xe9\n").unwrap();
        assert!(read(0o600).unwrap_err().to_string().contains("no text in UTF-8"));
        std::fs::write(&path, " ".repeat(1 << 20)).unwrap();
        assert!(read(0o600).unwrap_err().to_string().contains("more than 65536 bytes"));
        std::fs::remove_file(&path).unwrap();
        assert!(source.read(|_| None).is_err());
    }
}
