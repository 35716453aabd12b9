//! Where cargo noted the URL that it fetched something from, if a password stands in it.

use std::fs::{self, DirEntry, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Longest file that is searched for a password. One that is longer may hold one.
const LONGEST_SEARCHED: u64 = 1 << 20;

/// What lies in a directory that is searched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// Directories of Git, at any depth, and source.
    Source,
    /// What Git keeps of a repository, and of the submodules in it.
    Git,
    /// What Git notes of each change of a branch.
    Logs,
}

/// The files of a part of cargo's cache that may hold a password, by where they are.
pub(super) fn with_password(part: &str, host_path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    match part {
        "cargo-registry" => {
            for index in in_each(host_path.join("index"), &mut found) {
                // A registry may have a password in the URL that it has packages from.
                let settings = index.join("config.json");
                found.extend(holds_password(&settings).then_some(settings));
                search(index.join(".git"), Inside::Git, &mut found);
            }
        }
        "cargo-git" => {
            for repository in in_each(host_path.join("db"), &mut found) {
                search(repository, Inside::Git, &mut found);
            }
            for repository in in_each(host_path.join("checkouts"), &mut found) {
                for checkout in in_each(repository, &mut found) {
                    search_checkout(checkout, &mut found);
                }
            }
        }
        _ => {}
    }
    found
}

fn search_checkout(checkout: PathBuf, found: &mut Vec<PathBuf>) {
    // Cargo makes a repository of its own at the place of each submodule.
    match fs::symlink_metadata(checkout.join(".gitmodules")).is_ok() {
        true => search(checkout, Inside::Source, found),
        false => search(checkout.join(".git"), Inside::Git, found),
    }
}

fn search(directory: PathBuf, inside: Inside, found: &mut Vec<PathBuf>) {
    let mut open = vec![(directory, inside)];
    while let Some((directory, inside)) = open.pop() {
        for entry in entries(&directory, found) {
            let (path, name) = (entry.path(), entry.file_name());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let inner = match (inside, name.to_str()) {
                    (Inside::Source, Some(".git")) => Inside::Git,
                    (Inside::Git, Some("logs")) => Inside::Logs,
                    _ => inside,
                };
                open.push((path, inner));
            } else if is_note(inside, name.to_str()) && holds_password(&path) {
                found.push(path);
            }
        }
    }
}

fn is_note(inside: Inside, name: Option<&str>) -> bool {
    match inside {
        Inside::Source => false,
        Inside::Git => matches!(name, Some("FETCH_HEAD" | "config" | "config.worktree")),
        Inside::Logs => true,
    }
}

/// What lies in `directory`, which is `found` itself if it cannot be looked into.
fn entries(directory: &Path, found: &mut Vec<PathBuf>) -> Vec<DirEntry> {
    match fs::read_dir(directory).and_then(Iterator::collect) {
        Ok(entries) => entries,
        Err(error) => {
            let is_nothing = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
            found.extend((!is_nothing).then(|| directory.to_owned()));
            Vec::new()
        }
    }
}

fn in_each(directory: PathBuf, found: &mut Vec<PathBuf>) -> Vec<PathBuf> {
    entries(&directory, found).iter().map(DirEntry::path).collect()
}

/// What is there and cannot be read may hold one.
fn holds_password(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(found) => !found.is_file() || search_text(path).unwrap_or(true),
        Err(error) => error.kind() != ErrorKind::NotFound && error.kind() != ErrorKind::NotADirectory,
    }
}

fn search_text(path: &Path) -> io::Result<bool> {
    let mut text = Vec::new();
    File::open(path)?.take(LONGEST_SEARCHED + 1).read_to_end(&mut text)?;
    Ok(text.len() as u64 > LONGEST_SEARCHED || has_password(&String::from_utf8_lossy(&text)))
}

fn has_password(text: &str) -> bool {
    let words = text.split_whitespace();
    words.flat_map(|word| word.split("://").skip(1)).any(|rest| {
        let authority = rest.split('/').next().unwrap_or_default();
        authority.rsplit_once('@').is_some_and(|(user, _)| user != "git")
    })
}
