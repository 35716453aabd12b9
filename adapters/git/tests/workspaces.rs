//! What a Workspace is made of, and how it is removed.

mod fixture;

use fixture::{Place, chain, commit, create, git, git_command, root, trial};
use isobox_git::{GixRepository, GixWorkspaces};
use isobox_ports::fake::RecordingSink;
use isobox_ports::{TrustedRepository, WorkspaceError, WorkspaceForm, WorkspaceRequest, Workspaces};
use libtest_mimic::Trial;
use nix::fcntl::{OFlag, openat};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::{Mode, mkdirat};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::{ExitCode, Stdio};

fn main() -> ExitCode {
    fixture::run(|| {
        let as_root = nix::unistd::geteuid().is_root();
        let name = "no_space_left_is_said_and_leaves_nothing";
        let name = if as_root { name.into() } else { format!("{name} (only root can mount a small file system)") };
        let full = Trial::test(name, || {
            no_space_left();
            Ok(())
        });
        vec![
            full.with_ignored_flag(!as_root),
            trial("git_inside_finds_nothing_changed_without_reading_a_file", status_reads_nothing),
            trial("git_inside_commits_as_the_host_user", commits_as_the_host_user),
            trial("git_inside_has_the_pinned_commit_alone", has_the_pinned_commit_alone),
            trial("git_inside_names_no_path_of_the_host_no_remote_and_no_hook", names_no_path_of_the_host),
            trial("conversions_are_those_of_git_and_no_filter_is_run", conversions),
            trial("modes_do_not_depend_on_the_umask", modes),
            trial("a_path_that_cannot_be_created_is_refused_and_leaves_nothing", odd_paths_are_refused),
            trial("a_link_of_the_commit_leads_no_file_outside", links_lead_nowhere),
            trial("many_files_are_as_in_the_commit", many_files),
            trial("directories_of_any_depth_are_removed", deep_directories),
            trial("two_removals_at_once_leave_nothing", two_removals),
        ]
    })
}

fn status_reads_nothing() {
    let place = Place::new();
    let app = place.repository("app");
    let (_, workspace) = create(&place, &app);
    let root = root(&workspace);
    assert_eq!(git(root, ["status", "--porcelain", "--ignored"]), "");
    // Other bytes behind the same size and time: who does not look at the ctime sees a change only by reading.
    let modified = root.join("README.md").metadata().and_then(|metadata| metadata.modified()).expect("it is there");
    let mut file = fs::OpenOptions::new().write(true).open(root.join("README.md")).expect("it opens");
    file.write_all(b"A LINE\n").expect("it is written");
    file.set_modified(modified).expect("its time is set");
    git(root, ["config", "core.trustctime", "false"]);
    assert_eq!(git(root, ["status", "--porcelain"]), "");
    file.set_modified(std::time::SystemTime::now()).expect("its time is set");
    assert_eq!(git(root, ["status", "--porcelain"]), " M README.md");
}

fn commits_as_the_host_user() {
    let place = Place::new();
    let app = place.repository("app");
    let (_, workspace) = create(&place, &app);
    let root = root(&workspace);
    fs::write(root.join("new"), "x").expect("a file is written");
    git(root, ["checkout", "--quiet", "-b", "topic"]);
    git(root, ["add", "new"]);
    let mut command = git_command(root);
    for key in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
        command.env_remove(key);
    }
    assert!(command.args(["commit", "--quiet", "-m", "mine"]).status().expect("git starts").success());
    assert_eq!(git(root, ["log", "-1", "--format=%an <%ae>"]), "Ana \"Quote\" Álvarez <ana@example.org>");
    git(root, ["fsck", "--strict"]);
    git(root, ["gc", "--quiet"]);
    assert_eq!(git(root, ["diff", "--stat", "HEAD~1"]).lines().count(), 2);
}

fn has_the_pinned_commit_alone() {
    let place = Place::new();
    let app = place.repository("app");
    fs::write(app.join("README.md"), "an old secret\n").expect("a file is written");
    commit(&app);
    fs::write(app.join("README.md"), "now\n").expect("a file is written");
    commit(&app);
    git(&app, ["branch", "other", "HEAD~1"]);
    git(&app, ["repack", "-adq"]);
    let (_, workspace) = create(&place, &app);
    let all = |root: &Path| git(root, ["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
    let expected = git(&app, ["rev-parse", "HEAD", "HEAD^{tree}", "HEAD:README.md"]);
    let sorted = |text: &str| text.lines().map(String::from).collect::<BTreeSet<_>>();
    assert_eq!(sorted(&all(root(&workspace))), sorted(&expected));
    assert_eq!(git(root(&workspace), ["rev-list", "--count", "--all"]), "1");
}

fn names_no_path_of_the_host() {
    let place = Place::new();
    let app = place.repository("app");
    git(&app, ["remote", "add", "origin", "/somewhere/on/the/host"]);
    let (_, workspace) = create(&place, &app);
    let root = root(&workspace);
    assert_eq!(git(root, ["remote"]), "");
    assert!(!root.join(".git/hooks").exists());
    let everything =
        git_command(root).args(["grep", "-r", "--no-index", "-la", "--", "/somewhere\\|/app", ".git"]).output();
    assert_eq!(everything.expect("git starts").stdout.as_bstr_text(), "");
}

fn conversions() {
    let place = Place::new();
    let app = place.repository("app");
    let attributes = "*.crlf text eol=crlf\n*.auto text=auto\n*.id ident\n*.bin binary\n[attr]wide working-tree-encoding=UTF-16LE-BOM\n\
                      *.wide wide\n*.utf16 working-tree-encoding=utf-16 text eol=crlf\n*.utf32 working-tree-encoding=UTF-32BE\n*.latin working-tree-encoding=ISO-8859-1\n*.lfs filter=evil -text\n*.slow filter=evil-process\n";
    fs::write(app.join(".gitattributes"), attributes).expect("the attributes are written");
    fs::create_dir(app.join("sub")).expect("a directory is made");
    fs::write(app.join("sub/.gitattributes"), "*.auto eol=crlf\n*.id -ident\n").expect("the attributes are written");
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    for directory in ["", "sub/"] {
        for name in ["a.crlf", "b.auto", "c.id", "d.bin", "\u{e9}.auto", "plain"] {
            fs::write(app.join(format!("{directory}{name}")), "one $Id$\ntwo $Id: 12 $ $Id: a b c $\n")
                .expect("a file is written");
        }
        fs::write(app.join(format!("{directory}h.lfs")), pointer).expect("a file is written");
        fs::write(app.join(format!("{directory}i.slow")), "s").expect("a file is written");
    }
    let wide: Vec<u8> = "\u{feff}w\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(app.join("e.wide"), &wide).expect("a file is written");
    fs::write(app.join("f.utf16"), &wide).expect("a file is written");
    fs::write(app.join("g.utf32"), b"\0\0\0x\0\x01\xf6\x00").expect("a file is written");
    fs::write(app.join("j.latin"), b"\xe9").expect("a file is written");
    // Nobody's but this repository's: the Workspace follows the commit alone.
    fs::write(app.join(".git/info/attributes"), "plain eol=crlf\n").expect("the attributes are written");
    commit(&app);
    let url = format!("file://{}", app.display());
    git(place.path(), ["clone", "--quiet", &url, "clone"]);
    let (workspaces, workspace) = create(&place, &app);
    let tracked = git(&place.join("clone"), ["ls-files", "-z"]);
    for name in tracked.split_terminator('\0') {
        let ours = fs::read(root(&workspace).join(name)).expect("it is there");
        let theirs = fs::read(place.join("clone").join(name)).expect("so is theirs");
        assert_eq!(ours.as_bstr_text(), theirs.as_bstr_text(), "{name}");
    }
    assert_eq!(git(root(&workspace), ["status", "--porcelain"]), "");
    assert_eq!(
        workspace.notices,
        ["evil", "evil-process"].map(|name| format!(
            "filter `{name}` was not run: files with it (2) are in the workspace as Git stores them"
        ))
    );
    let mut sink = RecordingSink::default();
    workspaces.capture(&workspace.state, &workspace.mount, &mut sink).expect("it is captured");
    assert_eq!(sink.lines, []);
}

fn modes() {
    let place = Place::new();
    let app = place.repository("app");
    fs::create_dir(app.join("bin")).expect("a directory is made");
    fixture::write_program(&app.join("bin/tool"), "#!/bin/sh\n");
    commit(&app);
    let (_, workspace) = create(&place, &app);
    let root = root(&workspace);
    let mode = |path: &Path| path.metadata().expect("it is there").mode() & 0o7777;
    assert_eq!(mode(&root.join("README.md")), 0o644);
    assert_eq!(mode(&root.join("bin/tool")), 0o755);
    assert_eq!(mode(&root.join("bin")), 0o755);
    let container = root.parent().expect("it has a parent");
    assert_eq!(mode(container), 0o700);
    assert_eq!(mode(container.parent().expect("it has a parent")), 0o700);
}

fn odd_paths_are_refused() {
    let place = Place::new();
    let app = place.repository("app");
    let blob = git(&app, ["rev-parse", "HEAD:README.md"]);
    let long = "x".repeat(256);
    for name in [".GIT", "..", long.as_str()] {
        commit_tree(&app, &format!("100644 blob {blob}\t{name}\n"));
        let error = refused(&place, &app);
        assert!(error.contains(&format!("has the path `{name}`, which cannot be created")), "{error}");
    }
}

fn links_lead_nowhere() {
    let place = Place::new();
    let app = place.repository("app");
    fs::create_dir(place.join("outside")).expect("a directory is made");
    symlink(place.join("outside"), app.join("link")).expect("a link is made");
    commit(&app);
    let link = git(&app, ["rev-parse", "HEAD:link"]);
    let tree = git(&app, ["rev-parse", "HEAD^{tree}"]);
    commit_tree(&app, &format!("120000 blob {link}\tlink\n040000 tree {tree}\tlink\n"));
    let error = refused(&place, &app);
    assert!(error.contains("which cannot be created here"), "{error}");
    assert_eq!(fs::read_dir(place.join("outside")).expect("it is read").count(), 0);
}

/// Moves the branch to a commit of this tree.
fn commit_tree(app: &Path, tree: &str) {
    let mut mktree =
        git_command(app).arg("mktree").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("git starts");
    mktree.stdin.take().expect("it is piped").write_all(tree.as_bytes()).expect("it is written");
    let tree = mktree.wait_with_output().expect("git ends").stdout;
    let commit =
        git(app, ["commit-tree", "-m", "odd", OsStr::from_bytes(tree.trim_ascii()).to_str().expect("hex digits")]);
    git(app, ["update-ref", "HEAD", &commit]);
}

/// Why no Workspace can be made from `app`; nothing of it is left.
fn refused(place: &Place, app: &Path) -> String {
    let repository = GixRepository::discover(app).expect("it is found");
    let source = repository.source().expect("it is a source");
    let workspaces = GixWorkspaces::new(repository, place.workspaces_root(), None);
    let request = WorkspaceRequest { source: &source, form: WorkspaceForm::Copy };
    let reserved = workspaces.reserve(&request).expect("a place is reserved");
    let error = workspaces.create(&reserved, &request).expect_err("it is refused");
    assert!(matches!(error, WorkspaceError::Refused { .. }), "{}", chain(&error));
    assert_eq!(fs::read_dir(place.workspaces_root()).map_or(0, Iterator::count), 0);
    chain(&error)
}

/// Enough for every thread, with directories that two of them share.
fn many_files() {
    let place = Place::new();
    let app = place.repository("app");
    for number in 0..900 {
        let directory = app.join(format!("d{}/e{}", number / 400, number / 40));
        fs::create_dir_all(&directory).expect("a directory is made");
        fs::write(directory.join(format!("f{number}")), format!("{number}\n")).expect("a file is written");
    }
    commit(&app);
    let (workspaces, workspace) = create(&place, &app);
    assert_eq!(git(root(&workspace), ["status", "--porcelain"]), "");
    assert_eq!(git(root(&workspace), ["ls-files"]).lines().count(), 901);
    git(root(&workspace), ["fsck", "--strict"]);
    let mut sink = RecordingSink::default();
    workspaces.capture(&workspace.state, &workspace.mount, &mut sink).expect("it is captured");
    assert_eq!(sink.lines, []);
}

fn no_space_left() {
    let place = Place::new();
    let app = place.repository("app");
    fs::write(app.join("large"), vec![b'x'; 1 << 20]).expect("a file is written");
    commit(&app);
    fs::create_dir_all(place.workspaces_root()).expect("a directory is made");
    // Of this thread and those that it starts alone.
    unshare(CloneFlags::CLONE_FS | CloneFlags::CLONE_NEWNS).expect("a mount namespace is made");
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_PRIVATE | MsFlags::MS_REC, None::<&str>).expect("it is private");
    let small = Some("size=256k");
    mount(Some("tmpfs"), &place.workspaces_root(), Some("tmpfs"), MsFlags::empty(), small).expect("it is mounted");
    let repository = GixRepository::discover(&app).expect("it is found");
    let source = repository.source().expect("it is a source");
    let workspaces = GixWorkspaces::new(repository, place.workspaces_root(), None);
    let request = WorkspaceRequest { source: &source, form: WorkspaceForm::Copy };
    let reserved = workspaces.reserve(&request).expect("a place is reserved");
    let error = workspaces.create(&reserved, &request).expect_err("there is no space");
    assert!(matches!(error, WorkspaceError::Full { .. }), "{}", chain(&error));
    assert_eq!(fs::read_dir(place.workspaces_root()).expect("it is read").count(), 0);
    umount2(&place.workspaces_root(), MntFlags::MNT_DETACH).expect("it is unmounted");
}

fn deep_directories() {
    let place = Place::new();
    let app = place.repository("app");
    let (workspaces, workspace) = create(&place, &app);
    let open = OFlag::O_DIRECTORY | OFlag::O_RDONLY;
    let mut directory = nix::fcntl::open(root(&workspace), open, Mode::empty()).expect("the root opens");
    for _ in 0..3000 {
        mkdirat(&directory, "d", Mode::S_IRWXU).expect("a directory is made");
        directory = openat(&directory, "d", open, Mode::empty()).expect("it opens");
    }
    drop(directory);
    workspaces.dispose(&workspace.state).expect("it is removed");
    assert_eq!(fs::read_dir(place.workspaces_root()).expect("it is read").count(), 0);
}

fn two_removals() {
    let place = Place::new();
    let app = place.repository("app");
    let (workspaces, workspace) = create(&place, &app);
    for number in 0..300 {
        fs::create_dir_all(root(&workspace).join(format!("a{number}/b/c"))).expect("directories are made");
        fs::write(root(&workspace).join(format!("a{number}/b/c/file")), "x").expect("a file is written");
    }
    let dispose = || workspaces.dispose(&workspace.state).map_err(|e| chain(&e));
    let (first, second) = std::thread::scope(|scope| {
        let other = scope.spawn(dispose);
        (dispose(), other.join().expect("it ends"))
    });
    assert_eq!((first, second), (Ok(()), Ok(())));
    assert_eq!(fs::read_dir(place.workspaces_root()).expect("it is read").count(), 0);
}

trait Text {
    fn as_bstr_text(&self) -> String;
}

impl Text for Vec<u8> {
    /// Readable in a failed assertion, and different for different bytes.
    fn as_bstr_text(&self) -> String {
        self.escape_ascii().to_string()
    }
}
