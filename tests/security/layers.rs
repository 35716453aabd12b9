//! Promise: that a Workspace is made of layers makes no difference to what is captured, whatever a workload does to them.

use isobox_tests::{Project, User, ignored, users};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};

/// Marks of an overlay, as far as the kernel lets a workload set any, on what it may write.
const FORGED: &str = r#"
import os
def attempt(do):
    try: do()
    except OSError: pass
open('empty', 'w').close()
os.mkdir('made')
open('made/in', 'w').write('in\n')
for prefix in ('user', 'trusted'):
    for path in ('.', 'src', 'made', 'README.md', 'empty', 'made/in'):
        for name, value in (('opaque', b'y'), ('opaque', b'x'), ('whiteout', b'y'), ('redirect', b'/etc'), ('metacopy', b''),
                            ('origin', b'x'), ('overlay.opaque', b'y'), ('overlay.whiteout', b'y')):
            attempt(lambda: os.setxattr(path, '%s.overlay.%s' % (prefix, name), value))
open('README.md', 'a').write('more\n')
"#;

/// The device that an overlay marks a name with as gone. Elsewhere anybody may make it.
const WHITEOUTS: &str = r#"
import os
open('README.md', 'a').write('more\n')
for path in ('device', 'src/device'):
    try: os.mknod(path, 0o020000, os.makedev(0, 0))
    except OSError: continue
    os.rename(path, 'src/main.rs')
"#;

/// What is odd, large or in the way. Renaming a directory of the commit fails in an overlay, with which `mv` copes.
const MESSY: &str = r#"
mv src moved && mkdir src && echo other > src/other
mkfifo pipe src/pipe
truncate -s 1T sparse
mkdir closed && echo x > closed/in && chmod 0000 closed
echo y > unreadable && chmod 0000 unreadable
rm run.sh && mkdir run.sh && echo z > run.sh/in
mkdir deep && cd deep && i=0 && while [ $i -lt 200 ]; do mkdir d && cd d && i=$((i+1)); done && echo far > away
"#;

/// Starts `command` in a Workspace of both kinds, which must differ in nothing that is recorded of them: what that is.
fn of_both_kinds(project: &Project, command: &[&str]) -> String {
    let [overlay, copy] = ["overlay", "copy"].map(|kind| {
        let tool = project.isobox(&[&["tool", "-q", "--workspace", kind, "--"], command].concat());
        assert_eq!(tool.code, 0, "{kind}: {tool:?}");
        let listed = project.isobox(&["diff", "--json", "@latest"]).stdout;
        let listed: Value = serde_json::from_str(&listed).expect("a document");
        let patch = project.isobox(&["diff", "@latest"]);
        assert_eq!(patch.code, 0, "{kind}: {patch:?}");
        format!("{}\n{:#}", patch.stdout, listed["files"])
    });
    assert_eq!(overlay, copy);
    overlay
}

fn has_python() -> bool {
    Command::new("/usr/bin/python3").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Does something in a project of each user who can have overlays here.
fn with_overlays(case: &str, test: impl Fn(&Project)) {
    for &user in users() {
        let project = Project::initialised(user);
        if project.has_overlays(case) {
            test(&project);
        }
    }
}

#[test]
fn marks_of_an_overlay_that_a_workload_forges_hide_and_bring_nothing() {
    if !has_python() {
        return ignored("marks of an overlay that a workload forges", "there is no /usr/bin/python3");
    }
    with_overlays("marks of an overlay that a workload forges", |project| {
        let found = of_both_kinds(project, &["/usr/bin/python3", "-c", FORGED]);
        let named = project.isobox(&["diff", "--name-only", "@latest"]).stdout;
        assert_eq!(named, "README.md\nempty\nmade/in\n", "{found}");
        assert_eq!(project.isobox(&["cat", "@latest:README.md"]).stdout, "hello\nmore\n");
        assert_eq!(project.isobox(&["cat", "@latest:made/in"]).stdout, "in\n");
        let tool = project.isobox(&["tool", "-q", "--workspace", "overlay", "--", "/usr/bin/python3", "-c", WHITEOUTS]);
        assert_eq!(tool.code, 0, "{tool:?}");
        assert_eq!(project.isobox(&["diff", "--name-only", "@latest"]).stdout, "README.md\n");
    });
}

#[test]
fn what_is_odd_large_or_in_the_way_is_told_the_same_of_an_overlay_and_of_a_copy() {
    with_overlays("a messy overlay", |project| {
        let found = of_both_kinds(project, &["sh", "-c", MESSY]);
        for path in ["pipe", "src/pipe", "sparse", "moved/main.rs", "src/other", "run.sh/in"] {
            assert!(found.contains(path), "{path}: {found}");
        }
        assert_eq!(project.workspaces(), Vec::<std::path::PathBuf>::new());
    });
}

#[test]
fn renaming_a_directory_of_the_commit_fails_as_between_file_systems_and_the_record_says_so() {
    let case = "a directory of the commit that is renamed in an overlay";
    if !has_python() {
        return ignored(case, "there is no /usr/bin/python3");
    }
    let script = "import errno, os\nos.mkdir('own')\nos.rename('own', 'renamed')\nopen('renamed/in', 'w').write('in\\n')\n\
        try: os.rename('src', 'moved')\nexcept OSError as error: print(errno.errorcode[error.errno])";
    with_overlays(case, |project| {
        for limits in [&[][..], &["--limit", "disk=8MiB"]] {
            let command = ["--", "/usr/bin/python3", "-c", script];
            let arguments = [&["run", "-q", "--workspace", "overlay"], limits, &command].concat();
            let run = project.isobox(&arguments);
            assert_eq!((run.code, run.stdout.as_str()), (0, "EXDEV\n"), "{run:?}");
            assert_eq!(project.isobox(&["diff", "--name-only", "@latest"]).stdout, "renamed/in\n");
            let shown = project.isobox(&["show", "--json", "@latest"]).stdout;
            let record: Value = serde_json::from_str(&shown).expect("a document");
            let limitations = &record["effective_policy"]["limitations"];
            assert!(limitations.to_string().contains("fails with EXDEV"), "{limitations}");
        }
    });
}

/// Files that take long enough to check out for every process to come before it is done.
const MANY_FILES: usize = 3000;

#[test]
fn processes_that_begin_with_the_same_commit_at_once_lie_on_one_copy() {
    with_overlays("processes that begin at once", |project| {
        project.write("many/0", "first\n");
        for n in 1..MANY_FILES {
            project.write(&format!("many/{n}"), &format!("{n}\n"));
        }
        project.commit_all("Many files");
        let begin = |n: usize| {
            let script = format!("cat many/0 && echo {n} >> many/0 && stat -c %i many/{}", MANY_FILES - 1);
            let mut command =
                project.isobox_command(&["tool", "-q", "--workspace", "overlay", "--", "sh", "-c", &script]);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("isobox starts")
        };
        let begun: Vec<_> = (0..6).map(begin).collect();
        let said = begun.into_iter().map(|call| {
            let ended = call.wait_with_output().expect("it ends");
            assert!(ended.status.success(), "{ended:?}");
            String::from_utf8(ended.stdout).expect("text")
        });
        // A file that nobody changed is the same one for all.
        let said: BTreeSet<String> = said.collect();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said.iter().all(|said| said.starts_with("first\n")), "{said:?}");
        assert_eq!(project.workspaces(), Vec::<std::path::PathBuf>::new());
    });
}

#[test]
fn a_hundred_thousand_files_in_an_overlay_are_captured_and_nothing_is_left() {
    if !has_python() {
        return ignored("100,000 files in an overlay", "there is no /usr/bin/python3");
    }
    let project = Project::initialised(User::Current);
    if !project.has_overlays("100,000 files in an overlay") {
        return;
    }
    let script = "import os\nos.mkdir('many')\nfor i in range(100000): os.close(os.open('many/%d' % i, os.O_CREAT | os.O_WRONLY))";
    let tool = project.isobox(&["tool", "-q", "--workspace", "overlay", "--", "/usr/bin/python3", "-c", script]);
    assert_eq!(tool.code, 0, "{tool:?}");
    assert_eq!(project.isobox(&["diff", "--name-only", "@latest"]).stdout.lines().count(), 100_000);
    assert_eq!(project.workspaces(), Vec::<std::path::PathBuf>::new());
}
