//! A policy file with what it extends: read, merged, and known by one digest.

use super::extends::Extends;
use super::schema::{FileKind, Parsed};
use super::{PolicyProblem, YamlPolicySource, parse_written};
use isobox_domain::content::ContentId;
use isobox_domain::escape::Escaped;
use isobox_ports::{PolicyError, PolicyFile, PolicyPlace, Position};

/// Most policies that extend each other.
const DEEPEST: usize = 8;

/// What the digest of several files begins with, so that it is that of no file.
const HEAD: &[u8] = b"isobox policy with what it extends 1\n";

/// A policy of the chain, as it was read.
struct Link {
    /// `None` for a preset.
    source: Option<YamlPolicySource>,
    /// For people.
    name: String,
    bytes: Vec<u8>,
    parsed: Parsed,
}

impl Link {
    fn of_file(source: YamlPolicySource, bytes: Vec<u8>) -> Result<Self, PolicyError> {
        let parsed = source.parse(&bytes)?;
        let name = Escaped::path(&source.host_path()).to_string();
        Ok(Self { source: Some(source), name, bytes, parsed })
    }

    /// What is wrong with what it extends, told with the line that says so.
    fn refuse(&self, position: Position, problem: String, hint: &str) -> PolicyError {
        let text = String::from_utf8_lossy(&self.bytes);
        let problem = PolicyProblem::at(position, problem).with_hint(Some(hint.to_owned())).in_text(&text);
        let Some(source) = &self.source else {
            // A preset extends nothing, which a test sees to.
            return PolicyError::Io { host_path: self.name.clone(), source: problem.problem.into() };
        };
        source.invalid(problem)
    }
}

/// The policy whose file is `source`, which holds `bytes`, over everything that it extends.
pub(super) fn follow(source: &YamlPolicySource, bytes: Vec<u8>) -> Result<PolicyFile, PolicyError> {
    let mut links = vec![Link::of_file(source.clone(), bytes)?];
    while let Some(next) = extended(&links)? {
        links.push(next);
    }
    Ok(PolicyFile { digest: digest(&links), places: places(&links), written: merged(links) })
}

/// What the last of `links` extends.
fn extended(links: &[Link]) -> Result<Option<Link>, PolicyError> {
    let Some((last, (extends, position))) = links.last().and_then(|last| Some((last, last.parsed.extends.clone()?)))
    else {
        return Ok(None);
    };
    if links.len() >= DEEPEST {
        let problem = format!("more than {DEEPEST} policies extend each other");
        return Err(last.refuse(position, problem, "put what they say into fewer files"));
    }
    match extends {
        Extends::Preset(preset) => {
            let name = format!("preset `{}`", preset.name);
            let parsed = parse_written(preset.text.as_bytes(), FileKind::Project).map_err(|problems| {
                let why = problems.into_iter().next().map(|problem| problem.problem).unwrap_or_default();
                PolicyError::Io { host_path: name.clone(), source: why.into() }
            })?;
            Ok(Some(Link { source: None, name, bytes: preset.text.as_bytes().to_vec(), parsed }))
        }
        Extends::File(path) => {
            let Some(file) = last.source.as_ref().and_then(|source| source.beside(&path)) else { return Ok(None) };
            if links.iter().any(|link| link.source.as_ref().is_some_and(|known| known.host_path() == file.host_path()))
            {
                let problem = format!("`{path}` extends itself, by way of this");
                return Err(last.refuse(position, problem, "one of the files has to extend nothing"));
            }
            match file.bytes()? {
                Some(bytes) => Link::of_file(file, bytes).map(Some),
                None => {
                    let problem = format!("there is no {}, which this extends", Escaped::path(&file.host_path()));
                    Err(last.refuse(position, problem, "the path is meant from the directory of this file"))
                }
            }
        }
    }
}

/// The nearest place of each key.
fn places(links: &[Link]) -> Vec<(String, PolicyPlace)> {
    let mut places: Vec<(String, PolicyPlace)> = Vec::new();
    for (at, link) in links.iter().enumerate() {
        for (key, position) in &link.parsed.places {
            if !places.iter().any(|(known, _)| known == key) {
                let extended = (at > 0).then(|| link.name.clone());
                places.push((key.clone(), PolicyPlace { extended, position: *position }));
            }
        }
    }
    places
}

fn merged(links: Vec<Link>) -> isobox_domain::policy::WrittenPolicy {
    let mut links = links.into_iter().rev().map(|link| link.parsed);
    let last = links.next().map(|parsed| parsed.written).unwrap_or_default();
    links.fold(last, |below, Parsed { written, places, .. }| {
        written.over(below, &|key| places.iter().any(|(known, _)| known == key))
    })
}

/// Of a file that extends nothing, the digest of its bytes. A preset counts with all it says: another version of isobox may
/// say something else by the same name.
fn digest(links: &[Link]) -> ContentId {
    if let [only] = links {
        return ContentId::new(*blake3::hash(&only.bytes).as_bytes());
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(HEAD);
    for link in links {
        hasher.update(&(link.bytes.len() as u64).to_le_bytes()).update(&link.bytes);
    }
    ContentId::new(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests;
