//! What a capture costs in a repository of 50,000 files: figures, beside those of `git diff`.

mod support;

use isobox_domain::change::ChangeLine;
use isobox_domain::content::{ContentId, ContentRef};
use isobox_ports::{CaptureSink, CapturedRefs, Cause, OverlayKind, StoreError, WorkspaceMount};
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};
use support::overlay::Laid;
use support::{Scene, git, write};

const FILES: usize = 50_000;
const ROUNDS: usize = 7;

/// Keeps nothing but the number of lines.
#[derive(Default)]
struct Counted {
    lines: usize,
    nothing: io::Sink,
}

impl CaptureSink for Counted {
    fn content(&mut self, content: &mut dyn Read) -> Result<ContentRef, Cause> {
        let mut hasher = blake3::Hasher::new();
        let length = io::copy(content, &mut hasher)?;
        Ok(ContentRef { id: ContentId::new(*hasher.finalize().as_bytes()), length })
    }

    fn line(&mut self, _line: ChangeLine) -> Result<(), Cause> {
        self.lines += 1;
        Ok(())
    }

    fn patch(&mut self) -> &mut dyn Write {
        &mut self.nothing
    }

    fn workspace_git(&mut self) -> &mut dyn Write {
        &mut self.nothing
    }

    fn finish(self: Box<Self>) -> Result<CapturedRefs, StoreError> {
        Ok(CapturedRefs::default())
    }
}

fn path(number: usize) -> Vec<u8> {
    format!("module{:03}/part{}/file{number:05}.txt", number / 250, number / 50 % 5).into_bytes()
}

fn content(number: usize, change: &str) -> String {
    let line = |line| if line == 20 { format!("{change} {line}\n") } else { format!("line {line} of file {number}\n") };
    (0..60).map(line).collect()
}

fn median(action: impl Fn()) -> Duration {
    let time = || {
        let start = Instant::now();
        action();
        start.elapsed()
    };
    let mut times: Vec<_> = (0..ROUNDS).map(|_| time()).collect();
    times.sort_unstable();
    times[ROUNDS / 2]
}

/// Peak and current memory of this process in KiB.
fn memory() -> (usize, usize) {
    let status = fs::read_to_string("/proc/self/status").expect("it is read");
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).expect("it is there");
    let number = |name| field(name).trim().trim_end_matches(" kB").parse().expect("a number");
    (number("VmHWM:"), number("VmRSS:"))
}

fn change(root: &Path, step: usize) {
    (0..FILES).step_by(step).for_each(|number| write(root, &path(number), content(number, "changed")));
}

#[test]
#[ignore = "writes 50,000 files and prints figures; memory is measured of the whole process, so it runs alone"]
fn a_capture_costs_what_changed_and_not_what_there_is() {
    let scene = Scene::new(|root| (0..FILES).for_each(|number| write(root, &path(number), content(number, "line"))));
    for (name, step) in [("1 changed file", FILES), ("10,000 changed files", 5)] {
        let laid = Laid::on(&scene, scene.first(), OverlayKind::Unprivileged);
        change(&laid.upper(), step);
        let mount = WorkspaceMount::Overlay(laid.overlay.clone());
        let capture = || {
            let mut sink = Counted::default();
            scene.capture_mount(scene.first(), &mount, &mut sink).expect("it is captured");
            assert_eq!(sink.lines, FILES / step);
        };
        fs::write("/proc/self/clear_refs", "5").expect("the peak is reset");
        let (_, before) = memory();
        capture();
        let (peak, _) = memory();
        let time = median(capture);
        let clone = scene.clone(&format!("clone{step}"));
        git(&clone, &["update-index", "--refresh"]);
        change(&clone, step);
        let diff = median(|| assert!(git(&clone, &["diff"]).status.success()));
        println!("{name}: {time:?}, git diff {diff:?}, memory {} MiB, {} MiB before", peak / 1024, before / 1024);
        assert!(peak - before < 64 * 1024, "{} KiB more memory", peak - before);
    }
}
