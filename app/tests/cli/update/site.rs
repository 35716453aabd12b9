//! Releases as a publisher would lay them out: Release Files by the script of the repository, an index that is signed.

use isobox_tests::{Outcome, checkout, outcome};
use minisign::KeyPair;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The target that this machine's releases are built for.
pub(crate) const PLATFORM: &str = match cfg!(target_arch = "aarch64") {
    true => "aarch64-unknown-linux-musl",
    false => "x86_64-unknown-linux-musl",
};

/// A directory of releases, with the key that signs them.
pub(crate) struct Site {
    directory: TempDir,
    keys: KeyPair,
}

impl Site {
    /// One without any release.
    pub(crate) fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("isobox-site-").tempdir().expect("a directory");
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("chmod");
        fs::create_dir(directory.path().join("public")).expect("a folder");
        let site = Self { directory, keys: KeyPair::generate_unencrypted_keypair().expect("keys") };
        fs::write(site.path("releases.txt"), "isobox-releases/v1\n").expect("an index");
        site.sign();
        site
    }

    /// One with a release, and where it lies.
    pub(crate) fn with_release(version: &str) -> (Self, String) {
        let site = Self::new();
        site.publish_fake(version);
        let url = site.url();
        (site, url)
    }

    /// Where it lies, without a server.
    pub(crate) fn url(&self) -> String {
        format!("file://{}", self.public().display())
    }

    /// What is served.
    pub(crate) fn public(&self) -> PathBuf {
        self.directory.path().join("public")
    }

    /// A file that is served.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.public().join(name)
    }

    /// The public key.
    pub(crate) fn key(&self) -> String {
        self.keys.pk.to_base64()
    }

    /// Publishes `program` as a release for this machine.
    pub(crate) fn publish(&self, version: &str, program: &Path) {
        let packed = self.pack(version, program);
        assert_eq!(packed.code, 0, "{packed:?}");
        self.sign();
    }

    /// Packs `program` by the script of the repository, without signing the index.
    pub(crate) fn pack(&self, version: &str, program: &Path) -> Outcome {
        let mut command = Command::new(checkout().join("scripts/release-archive"));
        command.arg(self.public()).args([version, PLATFORM]).arg(program).env("ISOBOX_GZIP_LEVEL", "1");
        outcome(command.output().expect("run release-archive"))
    }

    /// Publishes a program that says that it is the release `version`; other questions are isobox's.
    pub(crate) fn publish_fake(&self, version: &str) {
        let program = self.directory.path().join("program");
        fs::write(&program, program_text(version)).expect("a program");
        self.publish(version, &program);
    }

    /// Adds a line to the index.
    pub(crate) fn add(&self, line: &str) {
        let text = fs::read_to_string(self.path("releases.txt")).expect("an index");
        fs::write(self.path("releases.txt"), format!("{text}{line}\n")).expect("an index");
        self.sign();
    }

    /// Signs the index as it is.
    pub(crate) fn sign(&self) {
        self.sign_with(&self.keys);
    }

    /// Signs the index with other keys.
    pub(crate) fn sign_with(&self, keys: &KeyPair) {
        let index = fs::File::open(self.path("releases.txt")).expect("an index");
        let signature = minisign::sign(Some(&keys.pk), &keys.sk, index, Some("isobox"), None).expect("a signature");
        fs::write(self.path("releases.txt.minisig"), signature.into_string()).expect("a signature");
    }
}

/// The name of a Release File for this machine.
pub(crate) fn release_file(version: &str) -> String {
    format!("isobox-{version}-{PLATFORM}.tar.gz")
}

/// A program that says that it is the release `version`.
pub(crate) fn program_text(version: &str) -> String {
    let document = format!(r#"{{"schema":"isobox.version/v1","version":"{version}","build":"release"}}"#);
    let isobox = isobox_tests::isobox_program();
    format!(
        "#!/bin/sh\ncase \"$*\" in\n'version --json') echo '{document}' ;;\nversion) echo 'isobox {version}' ;;\n*) exec '{}' \"$@\" ;;\nesac\n",
        isobox.display()
    )
}
