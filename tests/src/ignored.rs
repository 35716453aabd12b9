//! Cases that this machine cannot run: said aloud, and counted.

use std::fs::File;
use std::io::Write;

/// Says that a case is ignored here, and why.
///
/// A test that has begun can no longer tell the harness to ignore it; the line goes to the file that
/// `ISOBOX_IGNORED_LOG` names too, so that whoever runs the tests can count.
#[allow(clippy::print_stdout, reason = "the harness shows what a test prints")]
pub fn ignored(case: &str, reason: &str) {
    println!("ignored: {case}: {reason}");
    let Some(log) = std::env::var_os("ISOBOX_IGNORED_LOG") else { return };
    let mut log = File::options().append(true).create(true).open(log).expect("open the log of ignored cases");
    // One write, so that lines of tests that run at once do not mix.
    log.write_all(format!("{case}: {}\n", reason.replace('\n', " ")).as_bytes())
        .expect("write the log of ignored cases");
}
