//! A terminal of a given width, and what a program shows on it.

use nix::pty::{Winsize, openpty};
use std::fs::File;
use std::io::{self, Read, Write};
use std::process::Command;

/// Rows of the terminals: what an ordinary one has.
const ROWS: u16 = 24;

/// Runs `command` with standard output and standard error on a terminal of `columns` columns; its exit code, and what is
/// shown, with a terminal's ends of lines.
pub fn on_a_terminal(command: Command, columns: u16) -> (i32, String) {
    run(command, columns, None)
}

/// The same with standard input on the terminal too, where somebody types `typed`, which is shown as well.
pub fn typed_on_a_terminal(command: Command, columns: u16, typed: &str) -> (i32, String) {
    run(command, columns, Some(typed))
}

fn run(mut command: Command, columns: u16, typed: Option<&str>) -> (i32, String) {
    let size = Winsize { ws_row: ROWS, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let pty = openpty(&size, None).expect("a terminal");
    let copy = || pty.slave.try_clone().expect("a copy");
    if typed.is_some() {
        command.stdin(copy());
    }
    command.stdout(copy()).stderr(copy());
    let mut child = command.spawn().expect("run a program");
    // The last copies of the terminal's other side are the child's.
    drop((command, pty.slave));
    let mut master = File::from(pty.master);
    master.write_all(typed.unwrap_or_default().as_bytes()).expect("type");
    let mut shown = Vec::new();
    // A terminal whose last program has gone reads as EIO; see pty(7).
    let read = master.read_to_end(&mut shown);
    assert!(read.is_ok() || read.is_err_and(|error: io::Error| error.raw_os_error() == Some(nix::libc::EIO)));
    let code = child.wait().expect("wait").code().expect("an exit code");
    (code, String::from_utf8(shown).expect("text"))
}
