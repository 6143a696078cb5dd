//! Names the build: the version, and the commit where the sources are a work tree of git. A source archive has the version alone.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let version = env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    // Only the repository's own: an archive may have been unpacked within another one. In a linked work tree `.git` is a file.
    let commit = if root.join(".git").exists() { commit(&root) } else { None };
    let build = commit.map_or(version.clone(), |commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=TARNDB_BUILD={build}");
}

fn commit(root: &Path) -> Option<String> {
    let commit = git(root, &["rev-parse", "--short=12", "HEAD"])?;
    // What changes with a commit or another branch. A file that is not there would have cargo build anew each time.
    let branch = git(root, &["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "logs/HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        let path = git(root, &["rev-parse", "--git-path", name]).map(|path| root.join(path));
        if let Some(path) = path.filter(|path| path.is_file()) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    Some(commit)
}

/// What git prints, a line; nothing where it cannot tell.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    // Variables of a hook that builds would name another repository.
    let mut command = Command::new("git");
    command.arg("-C").arg(root).args(arguments).env_remove("GIT_DIR").env_remove("GIT_WORK_TREE");
    let done = command.output().ok().filter(|done| done.status.success())?;
    String::from_utf8(done.stdout).ok().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}
