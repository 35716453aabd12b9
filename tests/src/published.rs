//! Source trees that others published, fetched from where this machine fetches packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Fetches the newest Debian or Ubuntu source of `package` and unpacks what its authors released into `tree`.
///
/// The error says why this machine cannot do that.
pub fn debian_source(package: &str, scratch: &Path, tree: &Path) -> Result<(), String> {
    let apt = scratch.join("apt");
    for folder in ["lists/partial", "cache/archives/partial", "parts", "source"] {
        fs::create_dir_all(apt.join(folder)).map_err(|error| error.to_string())?;
    }
    fs::write(apt.join("parts/source.sources"), source_list()?).map_err(|error| error.to_string())?;
    run(apt_get(&apt).args(["update", "-qq"]))?;
    run(apt_get(&apt).current_dir(apt.join("source")).args(["source", "--download-only", "-qq", package]))?;
    let archive = original_archive(&apt.join("source"))?;
    fs::create_dir_all(tree).map_err(|error| error.to_string())?;
    run(Command::new("tar").arg("xf").arg(archive).arg("--strip-components=1").arg("-C").arg(tree))
}

/// A deb822 stanza for the sources of the distribution that runs here.
fn source_list() -> Result<String, String> {
    let release = fs::read_to_string("/etc/os-release").map_err(|error| error.to_string())?;
    let field = |name: &str| {
        let mut lines = release.lines().filter_map(|line| line.split_once('='));
        lines.find(|(key, _)| *key == name).map(|(_, value)| value.trim_matches('"').to_owned()).unwrap_or_default()
    };
    let (address, keyring) = match field("ID").as_str() {
        "debian" => ("http://deb.debian.org/debian", "debian-archive-keyring"),
        "ubuntu" => ("http://archive.ubuntu.com/ubuntu", "ubuntu-archive-keyring"),
        other => return Err(format!("no Debian or Ubuntu machine, but `{other}`")),
    };
    let suite = field("VERSION_CODENAME");
    Ok(format!(
        "Types: deb-src\nURIs: {address}\nSuites: {suite}\nComponents: main\nSigned-By: /usr/share/keyrings/{keyring}.gpg\n"
    ))
}

fn apt_get(apt: &Path) -> Command {
    let mut command = Command::new("apt-get");
    let set = |name: &str, place: &str| format!("{name}={}", apt.join(place).display());
    command.arg("-o").arg(set("Dir::State::lists", "lists")).arg("-o").arg(set("Dir::Cache", "cache"));
    command.arg("-o").arg(set("Dir::Etc::sourceparts", "parts")).args(["-o", "Dir::Etc::sourcelist=/dev/null"]);
    command.args(["-o", "Acquire::Retries=3", "-o", "Acquire::http::Timeout=20"]);
    command
}

fn original_archive(directory: &Path) -> Result<PathBuf, String> {
    let entries = fs::read_dir(directory).map_err(|error| error.to_string())?.flatten().map(|entry| entry.path());
    let is_original = |path: &PathBuf| {
        path.to_string_lossy().contains(".orig.tar.") && path.extension().is_some_and(|end| end != "asc")
    };
    entries.into_iter().find(is_original).ok_or_else(|| "the source package has no original archive".to_owned())
}

/// Fetches the crate `name` in exactly `version` with cargo, and copies what its authors published to `tree`.
///
/// The error says why this machine cannot do that.
pub fn crate_source(name: &str, version: &str, scratch: &Path, tree: &Path) -> Result<(), String> {
    let asking = scratch.join("asking");
    fs::create_dir_all(asking.join("src")).map_err(|error| error.to_string())?;
    fs::write(asking.join("src/lib.rs"), "").map_err(|error| error.to_string())?;
    let manifest = format!(
        "[package]\nname = \"asking\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[dependencies]\n{name} = \"={version}\"\n[workspace]\n"
    );
    fs::write(asking.join("Cargo.toml"), manifest).map_err(|error| error.to_string())?;
    let metadata = Command::new("cargo").args(["metadata", "--format-version=1"]).current_dir(&asking).output();
    let metadata = metadata.map_err(|error| format!("cargo: {error}"))?;
    let told = String::from_utf8_lossy(&metadata.stderr).into_owned();
    let document: serde_json::Value = serde_json::from_slice(&metadata.stdout).map_err(|_| told)?;
    let packages = document["packages"].as_array().ok_or("cargo metadata names no packages")?;
    let package = packages.iter().find(|package| package["name"] == name).ok_or("the crate was not resolved")?;
    let published = Path::new(package["manifest_path"].as_str().ok_or("a crate without a path")?).parent();
    run(Command::new("cp").arg("-r").arg(published.ok_or("a crate without a directory")?).arg(tree))
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}
