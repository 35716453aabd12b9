//! The adapters of this crate keep what every adapter of their ports keeps.

use flate2::{Compression, write::GzEncoder};
use isobox_domain::release::{ReleaseFile, Version};
use isobox_domain::update_target::UpdateTarget;
use isobox_ports::contract::installation::{self, InstallationFixture};
use isobox_ports::contract::release_source::{self, ReleaseSourceFixture, Signature};
use isobox_ports::{Installation, ReleaseSource};
use isobox_release::{FsInstallation, INDEX_NAME, Place, SignedReleaseSource, TrustedKeys};
use libtest_mimic::Arguments;
use minisign::KeyPair;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tar::{Builder, Header};
use tempfile::TempDir;

/// Releases in a directory, by a file URL.
struct Publisher {
    directory: TempDir,
    pair: KeyPair,
    source: SignedReleaseSource,
}

impl Publisher {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let pair = KeyPair::generate_unencrypted_keypair().expect("a key");
        let place = Place::parse(&format!("file://{}", directory.path().display())).expect("a place");
        let keys = TrustedKeys::parse(&pair.pk.to_base64()).expect("a key");
        let source = SignedReleaseSource::new(place, keys, Duration::from_secs(60));
        Self { directory, pair, source }
    }
}

impl ReleaseSourceFixture for Publisher {
    fn source(&self) -> &dyn ReleaseSource {
        &self.source
    }

    fn publish(&self, index: &[u8], signature: Signature) {
        let sign = |pair: &KeyPair, content: &[u8]| {
            minisign::sign(Some(&pair.pk), &pair.sk, content, None, None).expect("a signature").into_string()
        };
        let signature = match signature {
            Signature::Trusted => sign(&self.pair, index),
            Signature::Foreign => sign(&KeyPair::generate_unencrypted_keypair().expect("a key"), index),
            Signature::OfOtherBytes => sign(&self.pair, &[index, b"\n"].concat()),
        };
        self.put(INDEX_NAME, index);
        self.put(&format!("{INDEX_NAME}.minisig"), signature.as_bytes());
    }

    fn put(&self, name: &str, content: &[u8]) {
        fs::write(self.directory.path().join(name), content).expect("write");
    }
}

/// A script that says that it is an isobox.
struct Program(TempDir);

impl Program {
    fn new() -> Self {
        let program = Self(tempfile::tempdir().expect("a temporary directory"));
        fs::write(program.path(), says(&Version::new(1, 0, 0))).expect("write");
        fs::set_permissions(program.path(), Permissions::from_mode(0o755)).expect("chmod");
        program
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("isobox")
    }
}

fn says(version: &Version) -> String {
    let said = format!(r#"{{"schema":"isobox.version/v1","version":"{version}","build":"release"}}"#);
    format!("#!/bin/sh\necho '{said}'\n")
}

impl InstallationFixture for Program {
    fn installation(&self) -> &dyn Installation {
        &FsInstallation
    }

    fn target(&self) -> UpdateTarget {
        UpdateTarget::alone(self.path().into_os_string().into_encoded_bytes())
    }

    fn packed(&self, release: &ReleaseFile, version: &Version) -> Vec<u8> {
        let (program, mut header) = (says(version), Header::new_ustar());
        header.set_size(program.len() as u64);
        let mut tar = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        tar.append_data(&mut header, release.program_path(), program.as_bytes()).expect("it is packed");
        tar.into_inner().and_then(GzEncoder::finish).expect("it is compressed")
    }

    fn names(&self) -> Vec<String> {
        let entries =
            fs::read_dir(self.0.path()).expect("a directory").map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = entries.map(|name| name.into_string().expect("text")).collect();
        names.sort();
        names
    }
}

fn main() -> ExitCode {
    let mut trials = release_source::cases("signed", Publisher::new);
    trials.extend(installation::cases("files", Program::new));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
