//! What pristine copies cost: not run by default, and worth something in a release build on a quiet machine only.

use crate::fixture::{Place, git, git_command};
use crate::scene::{Scene, as_overlay, overlay};
use isobox_ports::{WorkspaceRequest, Workspaces};
use libtest_mimic::Trial;
use std::fs;
use std::io::{BufWriter, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

const FILES: usize = 50_000;

pub(crate) fn trials() -> Vec<Trial> {
    let scale =
        Trial::test("a_first_copy_costs_no_more_than_a_clone_and_the_next_a_twentieth (takes a minute)", || {
            costs();
            Ok(())
        });
    vec![scale.with_ignored_flag(true)]
}

#[expect(clippy::print_stdout, reason = "whoever runs it wants the numbers")]
fn costs() {
    let scene = repository();
    let clone = fastest(2, || {
        fs::remove_dir_all(scene.place.join("clone")).unwrap_or_default();
        git(scene.place.path(), ["clone", "--quiet", "app", "clone"]);
    });
    let whole = fastest(2, || {
        fs::remove_dir_all(scene.cache()).unwrap_or_default();
        scene.tree();
    });
    let overlay = overlay_cost(&scene);
    for number in 0..100 {
        fs::write(scene.app.join(path(number * 457)), format!("changed {number}\n")).expect("a file is written");
    }
    git(&scene.app, ["add", "-A"]);
    git(&scene.app, ["commit", "--quiet", "-m", "next"]);
    let started = Instant::now();
    scene.tree();
    let next = started.elapsed();
    println!("clone {clone:?}, whole copy {whole:?}, next copy {next:?}, overlay {overlay:?}");
    assert!(whole <= clone, "{whole:?} for a copy, {clone:?} for a clone");
    assert!(next * 20 <= whole, "{next:?} for the next copy");
    assert!(overlay <= Duration::from_millis(1), "{overlay:?} for an overlay");
    let again = overlay_cost(&scene);
    assert!(again <= Duration::from_millis(1), "{again:?} for an overlay on two layers");
}

fn fastest(times: usize, run: impl Fn()) -> Duration {
    let measured = (0..times).map(|_| {
        let started = Instant::now();
        run();
        started.elapsed()
    });
    measured.min().unwrap_or_default()
}

/// The median of what an overlay costs a process that had nothing to do with the cache before.
fn overlay_cost(scene: &Scene) -> Duration {
    let source = scene.source();
    let request = WorkspaceRequest { source: &source, form: as_overlay() };
    let mut measured: Vec<_> = (0..101)
        .map(|_| {
            let workspaces = scene.workspaces();
            let started = Instant::now();
            let reserved = workspaces.reserve(&request).expect("a place is reserved");
            workspaces.lay_out(&reserved, &request).expect("it is laid out");
            let workspace = workspaces.create(&reserved, &request).expect("it is made");
            let elapsed = started.elapsed();
            overlay(&workspace);
            workspaces.dispose(&workspace.state).expect("it is removed");
            elapsed
        })
        .collect();
    measured.sort();
    measured[measured.len() / 2]
}

fn path(number: usize) -> String {
    format!("d{}/e{}/file-{number}.txt", number / 2000, number / 50)
}

fn repository() -> Scene {
    let place = Place::new();
    let app = place.join("app");
    git(place.path(), ["init", "--quiet", "-b", "main", "app"]);
    let mut import =
        git_command(&app).args(["fast-import", "--quiet"]).stdin(Stdio::piped()).spawn().expect("git starts");
    let mut out = BufWriter::new(import.stdin.take().expect("it is piped"));
    let mut commit =
        b"commit refs/heads/main\ncommitter Bo <bo@example.org> 1700000000 +0000\ndata 5\nfirst\n".to_vec();
    for number in 0..FILES {
        let content: String = (0..100).map(|line| format!("line {} of file {number}\n", line * number)).collect();
        write!(out, "blob\nmark :{}\ndata {}\n{content}\n", number + 1, content.len()).expect("it is written");
        commit.extend(format!("M 100644 :{} {}\n", number + 1, path(number)).into_bytes());
    }
    out.write_all(&commit).and_then(|()| out.flush()).expect("it is written");
    drop(out);
    assert!(import.wait().expect("git ends").success());
    git(&app, ["reset", "--quiet", "--hard"]);
    Scene { place, app }
}
