//! To whom belongs what is written, and who may read it.

use super::fixture::{ChangeSet, Fixture, Node, RECEIPT};
use isobox_domain::change::Mode;
use isobox_ports::{Landing, Route, TrustedRepository};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

#[test]
fn a_replaced_file_keeps_its_permissions() {
    let fixture = Fixture::new(&[(b"private", Mode::File, b"1"), (b"tool", Mode::File, b"2")]);
    let mode = |name: &str, bits| {
        fs::set_permissions(fixture.root().join(name), fs::Permissions::from_mode(bits)).expect("it is set");
    };
    mode("private", 0o600);
    mode("tool", 0o640);
    let mut set = ChangeSet::default();
    set.delete(b"private", Mode::File, b"1").add(b"private", Mode::File, b"1a");
    set.delete(b"tool", Mode::File, b"2").add(b"tool", Mode::Executable, b"2");
    fixture.promote(&set, &Route::Files).expect("it is promoted");
    assert_eq!(fixture.tree()[b"private".as_slice()], Node::File(0o600, b"1a".to_vec()));
    assert_eq!(fixture.tree()[b"tool".as_slice()], Node::File(0o750, b"2".to_vec()));
}

#[test]
fn what_root_writes_belongs_to_the_owner_of_the_repository() {
    if !nix::unistd::geteuid().is_root() {
        return println!("ignored: only root can give files away");
    }
    let fixture = Fixture::new(&[(b"a", Mode::File, b"1"), (b"theirs", Mode::File, b"2")]);
    let status = std::process::Command::new("chown").args(["-R", "12345:12346"]).arg(fixture.root()).status();
    assert!(status.expect("chown is there").success());
    chown(fixture.root().join("theirs"), Some(12347), Some(12348)).expect("it is given away");
    fs::set_permissions(fixture.root(), fs::Permissions::from_mode(0o770)).expect("it is set");
    let repository = crate::git_config::open(&fixture.root(), gix::sec::Trust::Full).expect("it is opened");
    let common_dir = repository.common_dir().canonicalize().expect("a path");
    let repository = crate::GixRepository::new(repository.into_sync(), fixture.root(), common_dir, None);
    let mut set = ChangeSet::default();
    set.delete(b"theirs", Mode::File, b"2").add(b"theirs", Mode::File, b"3").add(b"new/b", Mode::Executable, b"4");
    let mut promotion = repository.begin_promotion().expect("the lock");
    promotion.apply(set.lines(), &set, Landing::without_commit(&Route::Index), RECEIPT).expect("it is applied");
    assert_eq!(owned_by_root(&fixture), "", "the owner can settle what root leaves");
    promotion.finish().expect("it is finished");
    drop(promotion);
    let stat = |name: &str| {
        let metadata = fixture.root().join(name).symlink_metadata().expect(name);
        (metadata.uid(), metadata.gid(), metadata.mode() & 0o777)
    };
    assert_eq!(stat("theirs"), (12347, 12348, 0o644));
    assert_eq!(stat("new"), (12345, 12346, 0o770));
    assert_eq!(stat("new/b"), (12345, 12346, 0o770));
    for entry in ["index", "isobox", "isobox/promotion.lock"] {
        assert_eq!(stat(&format!(".git/{entry}")).0, 12345, "{entry}");
    }
    assert_eq!(owned_by_root(&fixture), "");
}

fn owned_by_root(fixture: &Fixture) -> String {
    let find = std::process::Command::new("find").arg(fixture.root()).args(["-uid", "0"]).output();
    String::from_utf8(find.expect("find is there").stdout).expect("UTF-8")
}
