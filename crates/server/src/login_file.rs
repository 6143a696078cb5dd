//! A file with a login: one line, `ROLE:PASSWORD`. Whoever else can read it can log in.

use crate::secret_files::{SecretFileError, read_secrets};
use std::path::Path;

/// The role and its password.
///
/// # Errors
/// Why the file cannot be used.
pub(crate) fn read_login(path: &Path) -> Result<(String, String), String> {
    let bytes = read_secrets(path).map_err(|error| match error {
        SecretFileError::Read(error) => error.to_string(),
        SecretFileError::Mode(mode) => format!("it has mode {mode:03o}, so others can read or change it; chmod 600 it"),
    })?;
    let text = String::from_utf8(bytes).map_err(|_| "it is no text in UTF-8".to_owned())?;
    let line = text.trim_end_matches(['\r', '\n']);
    let (role, password) = line.split_once(':').filter(|_| !line.contains('\n')).ok_or("it has no such line")?;
    Ok((role.to_owned(), password.to_owned()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::Folder;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_login_is_one_line_that_others_cannot_read() {
        let folder = Folder::made("login-file");
        let path = folder.join("login");
        let read = |text: &str, mode: u32| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            read_login(&path)
        };
        assert_eq!(read("ops:a:b\r\n", 0o600), Ok(("ops".to_owned(), "a:b".to_owned())));
        assert_eq!(read("ops:x", 0o640), Ok(("ops".to_owned(), "x".to_owned())), "Kubernetes gives secrets to a group");
        assert!(read("ops:x", 0o644).unwrap_err().contains("mode 644"));
        for wrong in ["", "ops", "ops:x\nmore:y\n"] {
            assert_eq!(read(wrong, 0o600), Err("it has no such line".to_owned()));
        }
        assert!(read_login(&folder.join("none")).is_err());
    }
}
