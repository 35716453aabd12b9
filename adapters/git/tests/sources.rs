//! Every kind of repository that a Workspace can be made from, or an answer that says why not.

mod fixture;

use fixture::{Place, chain, commit, create, git, git_command, root, trial};
use isobox_domain::repo_path::RepoPath;
use isobox_domain::source::{Cleanliness, DirtyState};
use isobox_git::GixRepository;
use isobox_ports::{RepositoryError, TrustedRepository};
use libtest_mimic::Trial;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    fixture::run(|| {
        let mut trials = vec![
            trial("a_subdirectory_is_found_through_links_and_odd_names", subdirectories),
            trial("a_linked_worktree_is_a_source_of_its_own", linked_worktree),
            trial("a_detached_head_gives_a_workspace_without_a_branch", detached_head),
            trial("a_shallow_repository_has_no_root_commit", shallow),
            trial("the_root_of_history_is_the_same_with_and_without_what_is_known_of_it", root_of_history),
            trial("a_sparse_repository_gives_every_file_and_says_so", sparse),
            trial("a_sha256_repository_is_a_source", sha256),
            trial("submodules_are_checked_out_where_their_objects_are_and_told_otherwise", submodules),
            trial("a_packed_repository_with_deltas_is_a_source", packed),
            trial("a_partial_clone_is_refused", partial_clone),
            trial("a_bare_repository_is_refused", bare),
            trial("a_repository_with_references_in_another_format_is_refused", reftable),
            trial("a_repository_without_commits_is_found_but_is_no_source", unborn),
            trial("a_directory_outside_of_any_repository_is_refused", no_repository),
            trial("the_git_directory_itself_is_refused", git_directory),
            trial("a_repository_without_its_head_commit_says_so", corrupt),
            trial("every_kind_of_dirt_is_named", dirt),
            trial("what_is_staged_is_dirt_whatever_git_noted_of_the_tree_of_the_index", staged_beside_a_note),
            trial("a_submodule_at_another_commit_or_with_changes_is_dirt", dirty_submodule),
            trial("what_configuration_or_the_project_ignores_is_clean", ignored_is_clean),
            trial("a_replaced_tree_of_head_makes_nothing_dirty", replaced_is_clean),
            trial("content_is_named_as_git_would_name_it", content_is_named),
        ];
        trials.extend(ownership());
        trials
    })
}

fn content_is_named() {
    let place = Place::new();
    let app = place.repository("app");
    fs::write(app.join(".gitattributes"), "*.txt text\n*.bin -text\n").expect("write");
    let repository = GixRepository::discover(&app).expect("a repository");
    for name in ["a.txt", "a.bin"] {
        fs::write(app.join(name), "one\r\n").expect("write");
        let path = RepoPath::parse(name).expect("a path");
        let named = repository.blob_name(&path, b"one\r\n").expect("a name").to_string();
        assert_eq!(named, git(&app, ["hash-object", name]).trim(), "{name}");
    }
}

fn subdirectories() {
    let place = Place::new();
    let app = place.repository("a\npp");
    for name in ["..x/deep", "b\u{e9}"] {
        fs::create_dir_all(app.join(name)).expect("a directory is made");
        symlink(app.join(name), place.join("link")).expect("a link is made");
        let repository = GixRepository::discover(&place.join("link")).expect("it is found");
        assert_eq!(repository.root(), app);
        assert_eq!(repository.common_dir(), app.join(".git"));
        assert_eq!(repository.prefix().map(|prefix| prefix.as_bytes()), Some(name.as_bytes()));
        fs::remove_file(place.join("link")).expect("the link is removed");
    }
    assert_eq!(GixRepository::discover(&app).expect("it is found").prefix(), None);
}

fn linked_worktree() {
    let place = Place::new();
    let app = place.repository("app");
    git(&app, ["worktree", "add", "--quiet", "-b", "topic/x", "../linked"]);
    fs::write(place.join("linked/more"), "x").expect("a file is written");
    commit(&place.join("linked"));
    let linked = GixRepository::discover(&place.join("linked")).expect("it is found");
    let source = linked.source().expect("it is a source");
    assert_eq!(linked.root(), place.join("linked"));
    assert_eq!(linked.common_dir(), app.join(".git"));
    assert_eq!(source.branch, Some(b"refs/heads/topic/x".to_vec()));
    assert_ne!(source.root_commit, Some(source.commit));
    assert_eq!(linked.cleanliness().expect("it is looked at"), Cleanliness::Clean);
    let (_, workspace) = create(&place, &place.join("linked"));
    assert_eq!(fs::read(root(&workspace).join("more")).expect("the file is there"), b"x");
    assert_eq!(git(root(&workspace), ["branch", "--format", "%(refname)"]), "refs/heads/topic/x");
}

fn detached_head() {
    let place = Place::new();
    let app = place.repository("app");
    git(&app, ["checkout", "--quiet", "--detach"]);
    let source = GixRepository::discover(&app).and_then(|repository| repository.source()).expect("it is a source");
    assert_eq!(source.branch, None);
    let (_, workspace) = create(&place, &app);
    assert_eq!(git(root(&workspace), ["rev-parse", "HEAD"]), source.commit.to_string());
    assert_eq!(git(root(&workspace), ["branch", "--format", "%(refname)", "--list", "*"]).matches("refs/").count(), 0);
}

fn shallow() {
    let place = Place::new();
    let app = place.repository("app");
    commit(&app);
    git(place.path(), ["clone", "--quiet", "--depth", "1", &format!("file://{}", app.display()), "shallow"]);
    let repository = GixRepository::discover(&place.join("shallow")).expect("it is found");
    assert_eq!(repository.source().expect("it is a source").root_commit, None);
    let (_, workspace) = create(&place, &place.join("shallow"));
    assert_eq!(git(root(&workspace), ["status", "--porcelain"]), "");
}

fn root_of_history() {
    let place = Place::new();
    let app = place.repository("app");
    let root = git(&app, ["rev-parse", "HEAD"]);
    git(&app, ["checkout", "--quiet", "--orphan", "other"]);
    git(&app, ["commit", "--quiet", "-m", "another root"]);
    git(&app, ["checkout", "--quiet", "main"]);
    git(&app, ["merge", "--quiet", "--allow-unrelated-histories", "-m", "both", "other"]);
    let found = || {
        let source = GixRepository::discover(&app).and_then(|repository| repository.source());
        source.expect("it is a source").root_commit.map(|root| root.to_string())
    };
    assert_eq!(found(), Some(root.clone()));
    fs::create_dir(app.join(".git/isobox")).expect("isobox's directory is made");
    create(&place, &app);
    let known = fs::read_to_string(app.join(".git/isobox/history")).expect("it is kept");
    assert_eq!(known, format!("{} {root}\n", git(&app, ["rev-parse", "HEAD"])));
    commit(&app);
    assert_eq!(found(), Some(root.clone()));
    // A commit that is not in this history says nothing of it.
    let other = git(&app, ["rev-parse", "other"]);
    for wrong in [format!("{other} {other}\n"), "nonsense".into(), String::new()] {
        fs::write(app.join(".git/isobox/history"), wrong).expect("it is written");
        assert_eq!(found(), Some(root.clone()));
    }
}

fn sparse() {
    let place = Place::new();
    let app = place.repository("app");
    fs::create_dir(app.join("hidden")).expect("a directory is made");
    fs::write(app.join("hidden/file"), "x").expect("a file is written");
    commit(&app);
    git(&app, ["sparse-checkout", "set", "--cone", "elsewhere"]);
    assert!(!app.join("hidden").exists());
    assert_eq!(dirt_of(&app), []);
    git(&app, ["sparse-checkout", "set", "--cone", "--sparse-index", "elsewhere"]);
    let repository = GixRepository::discover(&app).expect("it is found");
    assert_eq!(repository.cleanliness().expect("it is looked at"), Cleanliness::Clean);
    let (_, workspace) = create(&place, &app);
    assert_eq!(fs::read(root(&workspace).join("hidden/file")).expect("the file is there"), b"x");
    assert_eq!(
        workspace.notices,
        ["the repository is checked out sparsely; the workspace has every file of the commit"]
    );
}

fn sha256() {
    let place = Place::new();
    git(place.path(), ["init", "--quiet", "-b", "main", "--object-format=sha256", "app"]);
    let app = place.join("app");
    fs::write(app.join("file"), "x").expect("a file is written");
    commit(&app);
    commit(&app);
    let (_, workspace) = create(&place, &app);
    assert_eq!(git(root(&workspace), ["rev-parse", "HEAD"]), git(&app, ["rev-parse", "HEAD"]));
    assert_eq!(git(root(&workspace), ["status", "--porcelain"]), "");
    git(root(&workspace), ["fsck", "--strict"]);
}

fn submodules() {
    let place = Place::new();
    let inner = place.repository("inner");
    let middle = place.repository("middle");
    git(&middle, ["submodule", "--quiet", "add", inner.to_str().expect("UTF-8"), "deep/inner"]);
    commit(&middle);
    let app = place.repository("app");
    for name in ["vendor/middle", "absent"] {
        git(&app, ["submodule", "--quiet", "add", middle.to_str().expect("UTF-8"), name]);
    }
    commit(&app);
    git(&app, ["submodule", "--quiet", "update", "--init", "--recursive", "vendor/middle"]);
    git(&app, ["submodule", "--quiet", "deinit", "-f", "absent"]);
    fs::remove_dir_all(app.join(".git/modules/absent")).expect("the objects are removed");
    let repository = GixRepository::discover(&app).expect("it is found");
    assert_eq!(repository.cleanliness().expect("it is looked at"), Cleanliness::Clean);
    let (_, workspace) = create(&place, &app);
    let root = root(&workspace);
    assert_eq!(fs::read(root.join("vendor/middle/README.md")).expect("it is there"), b"a line\n");
    assert_eq!(fs::read(root.join("vendor/middle/deep/inner/README.md")).expect("it is there"), b"a line\n");
    assert!(!root.join("vendor/middle/.git").exists());
    assert_eq!(fs::read_dir(root.join("absent")).expect("the directory is there").count(), 0);
    let notice = "submodule `absent` is an empty directory in the workspace: its commit is not in the repository";
    assert_eq!(workspace.notices, [notice]);
    assert_eq!(git(root, ["status", "--porcelain"]), "");
}

fn packed() {
    let place = Place::new();
    let app = place.repository("app");
    let line = |number: u32| format!("line {number} of a text that is long enough for deltas\n");
    for version in 0..5 {
        let text: String = (version..400 + version).map(line).collect();
        fs::write(app.join("text"), &text).expect("a file is written");
        fs::write(app.join("copy"), text + "one more\n").expect("a file is written");
        commit(&app);
    }
    git(&app, ["repack", "-adfq"]);
    git(&app, ["prune-packed", "-q"]);
    let (_, workspace) = create(&place, &app);
    assert_eq!(
        fs::read(root(&workspace).join("copy")).expect("it is there"),
        fs::read(app.join("copy")).expect("so is it")
    );
    git(root(&workspace), ["fsck", "--strict", "--full"]);
}

fn partial_clone() {
    let place = Place::new();
    let app = place.repository("app");
    git(&app, ["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", app.display());
    git(place.path(), ["clone", "--quiet", "--filter=blob:none", "--no-checkout", &url, "partial"]);
    assert_eq!(
        refusal(&place.join("partial")),
        format!(
            "the repository at {} is a partial clone: objects may be missing, and isobox fetches none",
            place.join("partial").display()
        )
    );
}

fn reftable() {
    let place = Place::new();
    git(place.path(), ["init", "--quiet", "--ref-format=reftable", "app"]);
    commit(&place.join("app"));
    assert_eq!(
        refusal(&place.join("app")),
        format!(
            "the repository at {} keeps its references in a format that isobox does not read",
            place.join("app").display()
        )
    );
}

fn bare() {
    let place = Place::new();
    git(place.path(), ["init", "--quiet", "--bare", "bare.git"]);
    let bare = place.join("bare.git");
    assert_eq!(refusal(&bare), format!("the repository at {} is bare: it has no working tree", bare.display()));
}

fn unborn() {
    let place = Place::new();
    git(place.path(), ["init", "--quiet", "app"]);
    let repository = GixRepository::discover(&place.join("app")).expect("it is found");
    let Err(RepositoryError::Refused { reason, hint }) = repository.source() else { panic!("it is no source") };
    assert_eq!(reason, format!("the repository at {} has no commit yet", place.join("app").display()));
    assert_eq!(hint.as_deref(), Some("make a first commit: `git add -A && git commit`"));
}

fn no_repository() {
    let place = Place::new();
    assert_eq!(refusal(place.path()), format!("{} is not inside a Git repository", place.path().display()));
}

fn git_directory() {
    let place = Place::new();
    let inside = place.repository("app").join(".git/refs");
    assert_eq!(
        refusal(&inside),
        format!("{} is no directory of the working tree: it has a component `.git`", inside.display())
    );
}

fn corrupt() {
    let place = Place::new();
    let app = place.repository("app");
    let head = git(&app, ["rev-parse", "HEAD"]);
    fs::remove_file(app.join(".git/objects").join(&head[..2]).join(&head[2..])).expect("the object is removed");
    let repository = GixRepository::discover(&app).expect("it is found");
    let error = repository.source().expect_err("its commit is not there");
    assert!(chain(&error).starts_with(&format!("read commit {head}: ")), "{}", chain(&error));
}

fn ownership() -> Vec<Trial> {
    let as_root = nix::unistd::geteuid().is_root();
    let tests: [(&str, fn()); 3] = [
        ("a_repository_of_another_user_is_refused_by_the_owners_uid", foreign),
        ("a_repository_of_the_user_who_called_sudo_is_found", of_who_called_sudo),
        ("a_repository_of_another_user_is_found_where_the_user_says_it_is_safe", foreign_but_safe),
    ];
    let name = |name| if as_root { String::from(name) } else { format!("{name} (only root can give files away)") };
    tests
        .map(|(test, run)| {
            Trial::test(name(test), move || {
                run();
                Ok(())
            })
            .with_ignored_flag(!as_root)
        })
        .into()
}

fn foreign() {
    let place = Place::new();
    let app = place.repository("app");
    give_away(&app.join(".git"));
    let app = app.display();
    assert_eq!(
        refusal(&place.join("app")),
        format!("the repository at {app} is not yours: {app}/.git belongs to the user with uid 12345")
    );
}

fn foreign_but_safe() {
    let place = Place::trusted();
    let app = place.repository("app");
    give_away(&app);
    let repository = GixRepository::discover(&app).expect("it is found");
    assert_eq!(repository.cleanliness().expect("it is looked at"), Cleanliness::Clean);
}

fn of_who_called_sudo() {
    let place = Place::new();
    let app = place.repository("app");
    give_to(fixture::SUDO_UID, &app);
    give_to(fixture::SUDO_UID, &app.join(".git"));
    assert_eq!(dirt_of(&app), []);
}

fn give_away(path: &Path) {
    give_to(12345, path);
}

fn give_to(uid: u32, path: &Path) {
    nix::unistd::chown(path, Some(uid.into()), None).expect("root can give files away");
}

fn dirt() {
    let place = Place::new();
    let app = place.repository("app");
    for name in ["deleted", "mode", "staged", "unstaged"] {
        fs::write(app.join(name), "x").expect("a file is written");
    }
    commit(&app);
    git(&app, ["checkout", "--quiet", "-b", "other"]);
    fs::write(app.join("README.md"), "other\n").expect("a file is written");
    commit(&app);
    git(&app, ["checkout", "--quiet", "main"]);
    fs::write(app.join("README.md"), "main\n").expect("a file is written");
    commit(&app);
    git_command(&app).args(["merge", "--quiet", "other"]).output().expect("git starts");
    fs::remove_file(app.join("deleted")).expect("a file is removed");
    git(&app, ["update-index", "--chmod=+x", "mode"]);
    fs::write(app.join("staged"), "other").expect("a file is written");
    git(&app, ["add", "staged"]);
    fs::write(app.join("unstaged"), "y").expect("a file is written");
    fs::create_dir(app.join("untracked")).expect("a directory is made");
    fs::write(app.join("untracked").join(OsStr::from_bytes(b"\xff\n")), "").expect("a file is written");
    let expected = [
        ("README.md", DirtyState::Unmerged),
        ("deleted", DirtyState::Unstaged),
        ("mode", DirtyState::Staged),
        ("mode", DirtyState::Unstaged),
        ("staged", DirtyState::Staged),
        ("unstaged", DirtyState::Unstaged),
        ("untracked", DirtyState::Untracked),
    ];
    assert_eq!(dirt_of(&app), expected.map(|(path, state)| (path.to_owned(), state)));
}

fn staged_beside_a_note() {
    let place = Place::new();
    let app = place.repository("app");
    fs::write(app.join("a"), "one").expect("a file is written");
    commit(&app);
    fs::write(app.join("a"), "two").expect("a file is written");
    commit(&app);
    assert_eq!(dirt_of(&app), []);
    // The index is the tree of a commit that HEAD is not at.
    let newest = git(&app, ["rev-parse", "HEAD"]);
    git(&app, ["update-ref", "HEAD", "HEAD~1"]);
    assert_eq!(dirt_of(&app), [("a".to_owned(), DirtyState::Staged)]);
    git(&app, ["update-ref", "HEAD", newest.trim()]);
    assert_eq!(dirt_of(&app), []);
    // As many entries as before.
    git(&app, ["mv", "a", "b"]);
    let (a, b) = (("a".to_owned(), DirtyState::Staged), ("b".to_owned(), DirtyState::Staged));
    assert_eq!(dirt_of(&app), [a, b]);
    git(&app, ["reset", "--quiet", "--hard"]);
    assert_eq!(dirt_of(&app), []);
    fs::write(app.join("meant"), "").expect("a file is written");
    git(&app, ["add", "--intent-to-add", "meant"]);
    assert_eq!(dirt_of(&app).len(), 1);
}

fn dirty_submodule() {
    let place = Place::new();
    let inner = place.repository("inner");
    let app = place.repository("app");
    git(&app, ["submodule", "--quiet", "add", inner.to_str().expect("UTF-8"), "sub"]);
    commit(&app);
    // Comparing a file of the submodule runs its clean filter, if isobox lets that happen.
    let marker = Place::home().join("executed");
    git(&app.join("sub"), ["config", "filter.own.clean", &format!("touch {}; cat", marker.display())]);
    fs::write(app.join("sub/.gitattributes"), "* filter=own\n").expect("a file is written");
    assert_eq!(dirt_of(&app), [("sub".to_owned(), DirtyState::Unstaged)]);
    fs::remove_file(app.join("sub/.gitattributes")).expect("it is removed");
    assert_eq!(dirt_of(&app), []);
    commit(&app.join("sub"));
    assert_eq!(dirt_of(&app), [("sub".to_owned(), DirtyState::Unstaged)]);
}

fn ignored_is_clean() {
    let place = Place::new();
    let app = place.repository("app");
    fs::write(app.join(".gitignore"), "/.isobox/tasks/\n").expect("a file is written");
    fs::write(app.join("a file"), "x\n").expect("a file is written");
    commit(&app);
    fs::create_dir_all(app.join(".isobox/tasks/task-0123456789abcdef")).expect("a view is made");
    fs::write(app.join(".isobox/tasks/task-0123456789abcdef/record.json"), "{}").expect("a view is made");
    fs::write(app.join("ignored-by-the-user"), "x").expect("a file is written");
    // Same bytes, other times: only reading tells that nothing changed.
    fs::write(app.join("a file"), "x\n").expect("a file is written");
    assert_eq!(dirt_of(&app), []);
}

fn dirt_of(directory: &Path) -> Vec<(String, DirtyState)> {
    let repository = GixRepository::discover(directory).expect("it is found");
    match repository.cleanliness().expect("it is looked at") {
        Cleanliness::Clean => vec![],
        Cleanliness::Dirty { first, count } => {
            assert_eq!(first.len() as u64, count);
            first.into_iter().map(|entry| (String::from_utf8(entry.path).expect("UTF-8"), entry.state)).collect()
        }
    }
}

fn refusal(directory: &Path) -> String {
    match GixRepository::discover(directory) {
        Err(RepositoryError::Refused { reason, hint: Some(_) }) => reason,
        Err(other) => panic!("expected a refusal with a hint, found: {}", chain(&other)),
        Ok(_) => panic!("expected a refusal of {}", directory.display()),
    }
}

fn replaced_is_clean() {
    let place = Place::new();
    let app = place.repository("app");
    commit(&app);
    let before = git(&app, ["rev-parse", "HEAD^{tree}"]);
    fs::write(app.join("other"), "other\n").expect("a file is written");
    commit(&app);
    let repository = GixRepository::discover(&app).expect("it is found");
    assert_eq!(repository.cleanliness().expect("it is looked at"), Cleanliness::Clean);
    git(&app, ["replace", &git(&app, ["rev-parse", "HEAD^{tree}"]), &before]);
    assert_ne!(git(&app, ["status", "--porcelain"]), "", "git compares with the replacement");
    let repository = GixRepository::discover(&app).expect("it is found");
    assert_eq!(repository.cleanliness().expect("it is looked at"), Cleanliness::Clean);
}
