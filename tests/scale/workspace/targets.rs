//! What is asked of a tool call, as limits of what was found.

use crate::contestants::{BARE, CAPTURE, CAPTURE_MANY, CLONE, COLD, CREATION, DIFF, NEXT, OPEN_AT_ONCE, STATUS, WARM};
use crate::measure::Measured;
use crate::repository::Size;

/// One limit.
pub(crate) struct Target {
    what: String,
    found: f64,
    most: f64,
}

impl Target {
    /// Whether it holds.
    pub(crate) fn holds(&self) -> bool {
        self.found <= self.most
    }

    /// It and what was found, for people.
    pub(crate) fn shown(&self) -> String {
        format!("{}: {:.2} of at most {:.2}", self.what, self.found, self.most)
    }
}

/// What is asked in a repository of the size that was measured.
pub(crate) fn of(measured: &Measured) -> Vec<Target> {
    let size = measured.size;
    let target = |what: &str, found, most| Target { what: format!("{size:?}, {what}"), found, most };
    let mut targets = vec![target("peak memory of isobox in MiB", measured.peak_mib(), 64.0)];
    targets.push(target("making a workspace: ms", measured.ms(CREATION), 1.0));
    let (warm, cold) = (measured.ms(WARM), measured.ms(COLD));
    if size == Size::Tiny {
        targets.push(target("warm: times a bare bwrap", warm / measured.ms(BARE), 2.5));
    }
    if size == Size::Large {
        targets.push(target("warm: ms beyond git status", warm - measured.ms(STATUS), 30.0));
        targets.push(target("capture of one changed file: ms", measured.ms(CAPTURE), 10.0));
        targets.push(target(
            "capture of many changed files: times git diff",
            measured.ms(CAPTURE_MANY) / measured.ms(DIFF),
            1.0,
        ));
        let open = |bytes: u64| bytes as f64 / 1e6 / OPEN_AT_ONCE as f64;
        targets.push(target("open at once: MB on disk, each", open(measured.open.disk_bytes), 0.1));
        targets.push(target("open at once: MB of isobox in memory, each", open(measured.open.memory_bytes), 3.0));
        // The rest of the call is not the building.
        let building = cold - warm;
        targets.push(target("first build: times git clone", building / measured.ms(CLONE), 1.0));
        targets.push(target("next commit: share of a first build", (measured.ms(NEXT) - warm) / building, 0.05));
    }
    targets
}

/// Prints what was asked for, and what was found.
#[expect(clippy::print_stdout, reason = "the figures are to be seen")]
pub(crate) fn print(targets: &[Target]) {
    println!("| target | found | at most | |\n|---|---|---|---|");
    for target in targets {
        let verdict = if target.holds() { "holds" } else { "**does not hold**" };
        println!("| {} | {:.2} | {:.2} | {verdict} |", target.what, target.found, target.most);
    }
}
