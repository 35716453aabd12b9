//! Uncommitted changes in a Workspace: what is taken along, what is refused, and that nothing outside is read.

mod fixture;

use fixture::{Place, chain, commit, create, git, git_command, root, trial, write};
use isobox_domain::change::{ChangeKind, Mode};
use isobox_domain::source::Cleanliness;
use isobox_git::{GixRepository, GixWorkspaces};
use isobox_ports::fake::RecordingSink;
use isobox_ports::{TrustedRepository, Workspace, WorkspaceError, WorkspaceForm, WorkspaceRequest, Workspaces};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    fixture::run(|| {
        vec![
            trial("everything_that_git_calls_uncommitted_is_taken_along_and_nothing_else", everything_is_taken_along),
            trial("what_git_status_was_told_not_to_show_is_taken_along_too", hidden_is_taken_along),
            trial("files_and_directories_take_each_others_place", places_are_taken),
            trial("what_was_staged_and_taken_back_is_no_change", taken_back_is_no_change),
            trial("what_is_behind_a_link_is_not_read", links_are_not_followed),
            trial("what_no_change_set_can_hold_is_refused_by_name", unfit_is_refused),
            trial("a_head_that_moved_is_refused", moved_head_is_refused),
            trial("a_retained_workspace_has_its_files_and_nothing_beside_them", retained_alone),
        ]
    })
}

/// A repository with files of all kinds.
fn repository(place: &Place) -> PathBuf {
    let app = place.repository("app");
    for (path, mode, content) in [
        (".gitignore", Mode::File, "*.log\n"),
        ("deleted", Mode::File, "deleted\n"),
        ("directory/deep/file", Mode::File, "deep\n"),
        ("link", Mode::Symlink, "README.md"),
        ("staged", Mode::File, "committed\n"),
        ("tool", Mode::File, "#!/bin/sh\n"),
    ] {
        write(&app.join(path), mode, content.as_bytes());
    }
    commit(&app);
    app
}

fn add_snapshot(place: &Place, app: &Path) -> (GixWorkspaces, Workspace, Result<(), WorkspaceError>) {
    let (workspaces, workspace) = create(place, app);
    let source = GixRepository::discover(app).and_then(|repository| repository.source()).expect("it is pinned");
    let request = WorkspaceRequest { source: &source, form: WorkspaceForm::Copy };
    let added = workspaces.add_snapshot(&workspace.state, &request);
    (workspaces, workspace, added)
}

fn with_snapshot(place: &Place, app: &Path) -> (GixWorkspaces, Workspace, RecordingSink) {
    let (workspaces, workspace, added) = add_snapshot(place, app);
    added.unwrap_or_else(|error| panic!("{}", chain(&error)));
    let mut captured = RecordingSink::default();
    workspaces.capture(&workspace.state, &workspace.mount, &mut captured).expect("it is captured");
    assert_eq!(captured.lines, [], "nobody changed anything yet");
    let mut sink = RecordingSink::default();
    workspaces.snapshot(&workspace.state, &mut sink).expect("it is told");
    (workspaces, workspace, sink)
}

fn kinds(sink: &RecordingSink) -> Vec<(String, ChangeKind)> {
    sink.changes().map(|change| (change.path.to_string(), change.kind())).collect()
}

/// What Git would track of a working tree: kind and content.
fn tracked(root: &Path) -> BTreeMap<String, (bool, Vec<u8>)> {
    let listed = git(root, ["ls-files", "--cached", "--others", "--exclude-standard", "-z"]);
    let mut found = BTreeMap::new();
    for path in listed.split('\0').filter(|path| !path.is_empty()) {
        let host_path = root.join(path);
        let Ok(metadata) = host_path.symlink_metadata() else { continue };
        let content = match metadata.is_symlink() {
            true => fs::read_link(&host_path).expect("a link").into_os_string().into_encoded_bytes(),
            false if metadata.is_file() => fs::read(&host_path).expect("a file"),
            false => continue,
        };
        found.insert(path.to_owned(), (metadata.permissions().mode() & 0o100 != 0, content));
    }
    found
}

fn everything_is_taken_along() {
    let place = Place::new();
    let app = repository(&place);
    fs::write(app.join("README.md"), "changed\r\n").expect("write");
    fs::remove_file(app.join("deleted")).expect("remove");
    fs::write(app.join("staged"), "staged\n").expect("write");
    git(&app, ["add", "staged"]);
    fs::write(app.join("staged"), "and changed again\n").expect("write");
    git(&app, ["rm", "-q", "--cached", "tool"]);
    fs::set_permissions(app.join("tool"), fs::Permissions::from_mode(0o755)).expect("a mode");
    fs::remove_file(app.join("link")).expect("remove");
    symlink("/etc/passwd", app.join("link")).expect("a link");
    for (path, content) in [("new/deep/er", "new"), ("new/é\n", "odd"), ("build.log", "ignored"), ("forced.log", "no")]
    {
        write(&app.join(path), Mode::File, content.as_bytes());
    }
    git(&app, ["add", "-f", "forced.log"]);
    let before = git(&app, ["status", "--porcelain"]);
    let (_, workspace, sink) = with_snapshot(&place, &app);
    let expected = [
        ("README.md", ChangeKind::Modified),
        ("deleted", ChangeKind::Deleted),
        ("forced.log", ChangeKind::Added),
        ("link", ChangeKind::Modified),
        ("new/deep/er", ChangeKind::Added),
        ("new/é\\n", ChangeKind::Added),
        ("staged", ChangeKind::Modified),
        ("tool", ChangeKind::Modified),
    ];
    assert_eq!(kinds(&sink), expected.map(|(path, kind)| (path.to_owned(), kind)));
    assert_eq!(sink.after(b"tool").expect("it is there").0, Mode::Executable);
    assert_eq!(sink.after(b"link"), Some((Mode::Symlink, b"/etc/passwd".to_vec())));
    let mut there = tracked(root(&workspace));
    let forced = (false, fs::read(root(&workspace).join("forced.log")).expect("it is there, though it is ignored"));
    there.insert("forced.log".to_owned(), forced);
    assert_eq!(there, tracked(&app));
    assert!(!root(&workspace).join("build.log").exists());
    assert_eq!(git(&app, ["status", "--porcelain"]), before, "the source is as it was");
}

fn hidden_is_taken_along() {
    let place = Place::new();
    let app = repository(&place);
    git(&app, ["config", "status.showUntrackedFiles", "no"]);
    write(&app.join("new/file"), Mode::File, b"new");
    let repository = GixRepository::discover(&app).expect("a repository");
    assert_eq!(repository.cleanliness().expect("it is looked at"), Cleanliness::Clean, "as `git status` says");
    let (_, workspace, sink) = with_snapshot(&place, &app);
    assert_eq!(kinds(&sink), [("new/file".to_owned(), ChangeKind::Added)]);
    assert_eq!(fs::read(root(&workspace).join("new/file")).expect("it is there"), b"new");
}

fn places_are_taken() {
    let place = Place::new();
    let app = repository(&place);
    fs::remove_dir_all(app.join("directory")).expect("remove");
    fs::write(app.join("directory"), "a file now").expect("write");
    fs::remove_file(app.join("staged")).expect("remove");
    write(&app.join("staged/now/a"), Mode::Executable, b"directory");
    let (_, workspace, sink) = with_snapshot(&place, &app);
    let expected = [
        ("directory", ChangeKind::Added),
        ("directory/deep/file", ChangeKind::Deleted),
        ("staged", ChangeKind::Deleted),
        ("staged/now/a", ChangeKind::Added),
    ];
    assert_eq!(kinds(&sink), expected.map(|(path, kind)| (path.to_owned(), kind)));
    assert_eq!(tracked(root(&workspace)), tracked(&app));
}

fn taken_back_is_no_change() {
    let place = Place::new();
    let app = repository(&place);
    fs::write(app.join("staged"), "staged\n").expect("write");
    git(&app, ["add", "staged"]);
    fs::write(app.join("staged"), "committed\n").expect("write");
    let (_, _, sink) = with_snapshot(&place, &app);
    assert_eq!(sink.lines, []);
}

fn links_are_not_followed() {
    let place = Place::new();
    let app = repository(&place);
    write(&place.join("outside/deep/file"), Mode::File, b"a secret");
    fs::remove_dir_all(app.join("directory")).expect("remove");
    symlink(place.join("outside"), app.join("directory")).expect("a link");
    let (_, workspace, sink) = with_snapshot(&place, &app);
    assert_eq!(sink.after(b"directory").expect("a link").0, Mode::Symlink);
    assert!(sink.contents.values().all(|content| content != b"a secret"));
    assert!(root(&workspace).join("directory").symlink_metadata().expect("it is there").is_symlink());
}

fn unfit_is_refused() {
    type Spoil = fn(&Place, &Path);
    let cases: [(&str, Spoil); 5] = [
        ("nested cannot be part of a snapshot: it is a repository of its own", |place, app| {
            place.repository("app/nested");
            assert!(app.join("nested/.git").exists());
        }),
        ("module cannot be part of a snapshot: it is a submodule", |place, app| {
            let other = place.repository("other");
            git(app, ["submodule", "add", "--quiet", &other.display().to_string(), "module"]);
            commit(app);
            fs::write(app.join("module/README.md"), "changed").expect("write");
        }),
        ("README.md cannot be part of a snapshot: it is in conflict", |_, app| {
            git(app, ["checkout", "-q", "-b", "other"]);
            fs::write(app.join("README.md"), "theirs\n").expect("write");
            commit(app);
            git(app, ["checkout", "-q", "main"]);
            fs::write(app.join("README.md"), "ours\n").expect("write");
            commit(app);
            let merged = git_command(app).args(["merge", "-q", "other"]).output().expect("git starts");
            assert!(!merged.status.success(), "there is a conflict");
        }),
        ("README.md cannot be part of a snapshot: it is no file", |_, app| {
            fs::remove_file(app.join("README.md")).expect("remove");
            nix::unistd::mkfifo(&app.join("README.md"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        }),
        ("huge cannot be part of a snapshot: it is longer than 256 MiB", |_, app| {
            fs::File::create(app.join("huge")).and_then(|file| file.set_len((256 << 20) + 1)).expect("a hole");
        }),
    ];
    for (expected, spoil) in cases {
        let place = Place::new();
        let app = repository(&place);
        spoil(&place, &app);
        let (workspaces, workspace, added) = add_snapshot(&place, &app);
        let Err(WorkspaceError::Refused { reason, hint: Some(_) }) = added else { panic!("{expected}: {added:?}") };
        assert!(reason.contains(expected), "{reason}");
        workspaces.dispose(&workspace.state).expect("it is disposed");
        assert_eq!(fs::read_dir(place.workspaces_root()).expect("it is there").count(), 0);
    }
}

fn moved_head_is_refused() {
    let place = Place::new();
    let app = repository(&place);
    let (workspaces, workspace) = create(&place, &app);
    let source = GixRepository::discover(&app).and_then(|repository| repository.source()).expect("it is pinned");
    fs::write(app.join("README.md"), "committed meanwhile\n").expect("write");
    commit(&app);
    let request = WorkspaceRequest { source: &source, form: WorkspaceForm::Copy };
    let refused = workspaces.add_snapshot(&workspace.state, &request);
    let Err(WorkspaceError::Refused { reason, .. }) = refused else { panic!("{refused:?}") };
    assert!(reason.starts_with("HEAD of "), "{reason}");
}

fn retained_alone() {
    let place = Place::new();
    let app = repository(&place);
    fs::write(app.join("README.md"), "changed\n").expect("write");
    let (workspaces, workspace, _) = with_snapshot(&place, &app);
    let retained = workspaces.retain(&workspace.state).expect("it is retained");
    assert_eq!(fs::read_to_string(retained.join("README.md")).expect("it is read"), "changed\n");
    assert_eq!(fs::read_dir(retained.parent().expect("a parent")).expect("it is there").count(), 1);
}
