//! What of the host an installed program needs to start: itself, its interpreter, and where both are installed.

use crate::read_paths::ReadPaths;
use isobox_domain::escape::Escaped;
use isobox_domain::system_directories::is_of_system;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// Most links from one to the next, as the kernel has it; see path_resolution(7).
const MOST_LINKS: usize = 40;
/// Most interpreters of interpreters, as the kernel has it; see execve(2).
const MOST_INTERPRETERS: usize = 4;
/// Longest first line that the kernel looks at, in bytes.
const LONGEST_FIRST_LINE: u64 = 256;
/// Directories that people keep other things in than what is installed.
const PEOPLES: [&str; 6] = ["Desktop", "Documents", "Downloads", "Music", "Pictures", "Videos"];

/// A program as a Sandbox has to show it.
#[derive(Debug, Default)]
pub(crate) struct HostProgram {
    /// Names that have to be on PATH: the program's own, and its interpreters'. With the path under which each was found,
    /// and the one that leads to it inside.
    pub(crate) names: Vec<(Vec<u8>, PathBuf, PathBuf)>,
    /// Files and directories that have to be shown, links resolved.
    pub(crate) shown: Vec<PathBuf>,
}

/// Looks up what `written`, a name or a path, needs. An error says why it cannot be had.
pub(crate) fn resolve(written: &[u8], path: &[u8], paths: &ReadPaths) -> Result<HostProgram, String> {
    let found = find(written, path, paths)?;
    let mut program = HostProgram::default();
    program.add(&found, true, Lookup { path, paths, depth: 0 })?;
    Ok(program)
}

#[derive(Clone, Copy)]
struct Lookup<'a> {
    path: &'a [u8],
    paths: &'a ReadPaths,
    depth: usize,
}

fn find(written: &[u8], path: &[u8], paths: &ReadPaths) -> Result<PathBuf, String> {
    if written.contains(&b'/') {
        let home = paths.home().map(|home| home.as_os_str().as_bytes());
        let absolute =
            isobox_domain::policy::read::expand_home(written, home).map_err(|refusal| refusal.to_string())?;
        let absolute = PathBuf::from(OsStr::from_bytes(&absolute));
        return is_program(&absolute).then_some(absolute).ok_or_else(|| "there is no executable file".to_owned());
    }
    let directories = path.split(|byte| *byte == b':').filter(|directory| directory.starts_with(b"/"));
    let mut candidates =
        directories.map(|directory| Path::new(OsStr::from_bytes(directory)).join(OsStr::from_bytes(written)));
    candidates.find(|candidate| is_program(candidate)).ok_or_else(|| "there is no such program on PATH".to_owned())
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

impl HostProgram {
    fn add(&mut self, found: &Path, is_named: bool, lookup: Lookup<'_>) -> Result<(), String> {
        if lookup.depth > MOST_INTERPRETERS {
            return Err(format!("{} has too many interpreters", Escaped::path(found)));
        }
        let hops = hops(found)?;
        let Some(file) = hops.last() else { return Err("it leads nowhere".to_owned()) };
        for (place, hop) in hops.iter().enumerate() {
            let before = place.checked_sub(1).and_then(|before| hops.get(before)).map(PathBuf::as_path);
            self.show(hop, before, hop == file, lookup.paths)?;
        }
        if is_named {
            let target = if self.is_shown(&hops[0]) { &hops[0] } else { file };
            let name = found.file_name().unwrap_or_default().as_bytes().to_vec();
            self.names.push((name, found.to_owned(), target.clone()));
        }
        match first_line(file) {
            None => Ok(()),
            Some(line) => self.add_interpreter(&line, Lookup { depth: lookup.depth + 1, ..lookup }),
        }
    }

    fn add_interpreter(&mut self, line: &[u8], lookup: Lookup<'_>) -> Result<(), String> {
        let mut words = line.split(|byte| b" \t".contains(byte)).filter(|word| !word.is_empty());
        let Some(interpreter) = words.next() else { return Ok(()) };
        if !interpreter.ends_with(b"/env") {
            let interpreter = Path::new(OsStr::from_bytes(interpreter));
            return match is_program(interpreter) {
                true => self.add(interpreter, false, lookup),
                false => Err(format!("its interpreter {} is not there", Escaped::path(interpreter))),
            };
        }
        // env(1): options and assignments come before the name.
        let name = words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='));
        let Some(name) = name else { return Ok(()) };
        let found =
            find(name, lookup.path, lookup.paths).map_err(|why| format!("its interpreter {}: {why}", Escaped(name)))?;
        self.add(&found, true, lookup)
    }

    fn is_shown(&self, path: &Path) -> bool {
        is_of_system(path.as_os_str().as_bytes()) || self.shown.iter().any(|shown| path.starts_with(shown))
    }

    /// Shows what is installed around `path`, the largest that may be: a link alone needs nothing to be shown.
    fn show(&mut self, path: &Path, before: Option<&Path>, is_file: bool, paths: &ReadPaths) -> Result<(), String> {
        if self.is_shown(path) {
            return Ok(());
        }
        let admitted = |candidate: &PathBuf| paths.resolve_one(candidate.as_os_str().as_bytes()).is_ok();
        let wider = installations(path, before, paths.home()).into_iter().find(admitted);
        let shown = match (wider, is_file) {
            (Some(installation), _) => installation,
            (None, false) => return Ok(()),
            (None, true) => {
                paths.resolve_one(path.as_os_str().as_bytes()).map_err(|error| chain(&error))?;
                path.to_owned()
            }
        };
        self.shown.push(shown);
        Ok(())
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    error.source().map_or(error.to_string(), |source| format!("{error}: {source}"))
}

/// Every path on the way from `found` to the file, links in directories resolved.
fn hops(found: &Path) -> Result<Vec<PathBuf>, String> {
    let mut hops = Vec::new();
    let mut next = found.to_owned();
    while hops.len() < MOST_LINKS {
        let (Some(parent), Some(name)) = (next.parent(), next.file_name()) else { break };
        let look = |error: std::io::Error| format!("{}: {error}", Escaped::path(&next));
        let place = fs::canonicalize(parent).map_err(look)?.join(name);
        let is_link = fs::symlink_metadata(&place).map_err(look)?.is_symlink();
        hops.push(place.clone());
        if !is_link {
            return Ok(hops);
        }
        let target = fs::read_link(&place).map_err(look)?;
        next = place.parent().unwrap_or(Path::new("/")).join(target);
    }
    Err(format!("{} leads from link to link", Escaped::path(found)))
}

/// Where a program at `path` may be installed, the widest first. `before` is the link that leads to it.
fn installations(path: &Path, before: Option<&Path>, home: Option<&Path>) -> Vec<PathBuf> {
    let mut candidates = Vec::new();
    let parent = path.parent().unwrap_or(Path::new("/"));
    if let Some(prefix) = parent.parent().filter(|_| parent.ends_with("bin")) {
        let is_prefix = ["lib", "lib64", "libexec", "pyvenv.cfg"].iter().any(|part| prefix.join(part).exists());
        candidates.extend(is_prefix.then(|| prefix.to_owned()));
    }
    let is_modules = |component: &Component<'_>| component.as_os_str() == "node_modules";
    if let Some(place) = path.components().position(|component| is_modules(&component)) {
        candidates.push(path.components().take(place + 1).collect());
    }
    // A link that leads elsewhere leads into what was installed there.
    let is_elsewhere = before.is_some_and(|before| before.parent() != Some(parent));
    let is_own = !parent.components().any(|component| PEOPLES.iter().any(|name| component.as_os_str() == *name));
    let depth = home.and_then(|home| parent.strip_prefix(home).ok()).unwrap_or(parent).components().count();
    if is_elsewhere && is_own && depth >= 2 && !parent.ends_with("bin") {
        candidates.push(parent.to_owned());
    }
    candidates
}

/// What stands after `#!`, if that is what the file begins with.
fn first_line(file: &Path) -> Option<Vec<u8>> {
    let mut start = Vec::new();
    // A program that its user may execute and not read is none with an interpreter.
    File::open(file).ok()?.take(LONGEST_FIRST_LINE).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    Some(line.trim_ascii().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up_host::Host;
    use std::os::unix::fs::symlink;

    fn host() -> Host {
        Host::with(&["home/.ssh", "home/.local/bin", "home/.local/share/keyrings"])
    }

    impl Host {
        fn program(&self, below: &str, content: &str) -> PathBuf {
            let path = self.path(below);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        }

        fn find(&self, name: &str, directories: &[&str]) -> Result<HostProgram, String> {
            let path: Vec<String> = directories.iter().map(|below| self.path(below).display().to_string()).collect();
            resolve(name.as_bytes(), path.join(":").as_bytes(), &ReadPaths::new(Some(&self.path("home")), &[]))
        }
    }

    #[test]
    fn a_node_program_comes_with_its_prefix_and_its_interpreter() {
        let host = host();
        let prefix = "home/.nvm/versions/node/v20";
        host.program(&format!("{prefix}/bin/node"), "\x7fELF");
        host.program(&format!("{prefix}/lib/node_modules/agent/cli.js"), "#!/usr/bin/env node\n");
        symlink("../lib/node_modules/agent/cli.js", host.path(prefix).join("bin/agent")).unwrap();
        let found = host.find("agent", &[&format!("{prefix}/bin")]).unwrap();
        assert_eq!(found.shown, [host.path(prefix)]);
        let names: Vec<_> = found.names.iter().map(|(name, ..)| String::from_utf8_lossy(name).into_owned()).collect();
        assert_eq!(names, ["agent", "node"]);
        assert_eq!(found.names[0].2, host.path(prefix).join("bin/agent"));
    }

    #[test]
    fn a_python_program_comes_with_its_environment_and_the_python_behind_it() {
        let host = host();
        let (venv, python) = ("home/.local/share/pipx/venvs/agent", "home/.pyenv/versions/3.12");
        host.program(&format!("{python}/bin/python3.12"), "\x7fELF");
        fs::create_dir(host.path(python).join("lib")).unwrap();
        let script = format!("#!{}/bin/python\n", host.path(venv).display());
        host.program(&format!("{venv}/bin/agent"), &script);
        fs::write(host.path(venv).join("pyvenv.cfg"), "").unwrap();
        symlink(host.path(python).join("bin/python3.12"), host.path(venv).join("bin/python")).unwrap();
        symlink(host.path(venv).join("bin/agent"), host.path("home/.local/bin/agent")).unwrap();
        let found = host.find("agent", &["home/.local/bin"]).unwrap();
        assert_eq!(found.shown, [host.path(venv), host.path(python)]);
        assert_eq!(found.names[0].2, host.path(venv).join("bin/agent"));
    }

    #[test]
    fn no_more_than_the_file_is_shown_where_it_lies_among_other_things() {
        let host = host();
        let alone = host.program("home/.local/bin/alone", "\x7fELF");
        assert_eq!(host.find("alone", &["home/.local/bin"]).unwrap().shown, [alone]);
        let download = host.program("home/Downloads/x/tool", "\x7fELF");
        symlink(&download, host.path("home/.local/bin/tool")).unwrap();
        assert_eq!(host.find("tool", &["home/.local/bin"]).unwrap().shown, [download]);
    }

    #[test]
    fn what_cannot_be_had_is_told_with_the_reason() {
        let host = host();
        host.program("home/.ssh/tool", "\x7fELF");
        host.program("bin/script", "#!/nonexistent/python\n");
        symlink("loop", host.path("bin/loop")).unwrap();
        for (name, directory, part) in [
            ("absent", "bin", "no such program"),
            ("loop", "bin", "no such program"),
            ("tool", "home/.ssh", "cannot be exposed"),
            ("script", "bin", "/nonexistent/python is not there"),
        ] {
            let refused = host.find(name, &[directory]).unwrap_err();
            assert!(refused.contains(part), "{name}: {refused}");
        }
    }
}
