//! A terminal with a review on it.

use isobox_tests::{Project, isobox_program};
use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::termios::{LocalModes, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long a screen may take, under whatever load.
const PATIENCE: Duration = Duration::from_secs(20);

/// isobox on a terminal, and what that shows.
pub(super) struct Screen {
    child: Child,
    master: File,
    slave: OwnedFd,
    shows: Receiver<Vec<u8>>,
    parser: vt100::Parser,
    /// Every byte that the terminal was sent.
    pub(super) raw: Vec<u8>,
}

impl Screen {
    /// Starts isobox with standard input, output and error on a terminal of so many rows and columns.
    pub(super) fn start(project: &Project, arguments: &[&str], (rows, columns): (u16, u16)) -> Self {
        Self::start_with(project, arguments, (rows, columns), &[("LANG", "C.UTF-8"), ("NO_COLOR", "")])
    }

    /// The same with variables.
    pub(super) fn start_with(
        project: &Project,
        arguments: &[&str],
        size: (u16, u16),
        variables: &[(&str, &str)],
    ) -> Self {
        let mut command = project.command("setsid");
        command.args(["--ctty", "--wait"]).arg(isobox_program()).args(arguments);
        command.env_remove("LC_ALL").env_remove("LC_CTYPE").envs(variables.iter().copied());
        Self::show(command, size)
    }

    /// Starts isobox as a job of a shell that says when it was stopped, and brings it back after a line was typed.
    pub(super) fn start_as_job(project: &Project, arguments: &[&str], size: (u16, u16)) -> Self {
        let script = "set -m; \"$@\"; echo \"stopped: $?\"; read -r line; fg > /dev/null";
        let mut command = project.command("setsid");
        command.args(["--ctty", "--wait", "sh", "-c", script, "sh"]).arg(isobox_program()).args(arguments);
        command.env("LANG", "C.UTF-8");
        Self::show(command, size)
    }

    fn show(mut command: Command, (rows, columns): (u16, u16)) -> Self {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(&size, None).expect("a terminal");
        let copy = || pty.slave.try_clone().expect("a copy");
        // With the terminal as its controlling one, as in a window.
        command.env("TERM", "xterm-256color");
        let child = command.stdin(copy()).stdout(copy()).stderr(copy()).spawn().expect("run isobox");
        let master = File::from(pty.master);
        let mut screen = master.try_clone().expect("a copy");
        let (tell, shows) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = screen.read(&mut buffer)
                && tell.send(buffer[..length].to_vec()).is_ok()
            {}
        });
        let parser = vt100::Parser::new(nonzero(rows), nonzero(columns), 0);
        Self { child, master, slave: pty.slave, shows, parser, raw: Vec::new() }
    }

    /// Types keys.
    pub(super) fn types(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("type");
    }

    /// Types keys, and waits for the screen that they lead to.
    pub(super) fn does(&mut self, keys: &str, shows: &str) -> String {
        self.types(keys);
        self.wait_for(shows)
    }

    /// Waits until `text` is on the screen; the screen.
    pub(super) fn wait_for(&mut self, text: &str) -> String {
        self.wait(&format!("`{text}`"), |screen| screen.contains(text))
    }

    /// Waits for a screen.
    pub(super) fn wait(&mut self, what: &str, is_it: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let screen = self.parser.screen().contents();
            if is_it(&screen) {
                return screen;
            }
            match self.shows.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.take(&bytes),
                Err(error) => panic!("{error}: {what} is not on\n{screen}"),
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.parser.process(bytes);
        self.raw.extend_from_slice(bytes);
    }

    /// Whether any cell of the screen has a colour.
    pub(super) fn is_coloured(&self) -> bool {
        let screen = self.parser.screen();
        let (rows, columns) = screen.size();
        let (rows, columns) = (rows.get(), columns.get());
        let mut cells = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        cells.any(|(row, column)| screen.cell(row, column).is_some_and(|cell| cell.fgcolor() != vt100::Color::Default))
    }

    /// Gives the terminal another size.
    pub(super) fn resize(&mut self, rows: u16, columns: u16) {
        let size = rustix::termios::Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        self.parser.screen_mut().set_size(nonzero(rows), nonzero(columns));
        tcsetwinsize(&self.master, size).expect("another size");
    }

    /// The process of isobox itself.
    pub(super) fn process(&self) -> Pid {
        let own = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{own}/task/{own}/children")).expect("children");
        let is_isobox = std::fs::read_to_string(format!("/proc/{own}/comm")).is_ok_and(|name| name.trim() == "isobox");
        let child = children.split_whitespace().next().and_then(|id| id.parse().ok());
        let id = if is_isobox { Some(own) } else { child };
        Pid::from_raw(id.expect("a process").try_into().expect("a process"))
    }

    /// Whether the ordinary screen is shown, in the modes that a shell wants.
    pub(super) fn is_given_back(&self) -> bool {
        let modes = tcgetattr(&self.slave).expect("the modes of the terminal").local_modes;
        let screen = self.parser.screen();
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
            && !screen.alternate_screen()
            && !screen.hide_cursor()
    }

    /// Sends a signal.
    pub(super) fn signal(&self, signal: Signal) {
        kill(self.process(), signal).expect("a signal");
    }

    /// Waits for its end: its exit code, if it has one, and what is on the ordinary screen.
    pub(super) fn ends(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().expect("wait").code();
        while let Ok(bytes) = self.shows.recv_timeout(Duration::from_millis(300)) {
            self.take(&bytes);
        }
        assert!(self.is_given_back(), "the terminal is not as it was");
        (code, self.parser.screen().contents())
    }
}

fn nonzero(count: u16) -> NonZero<u16> {
    NonZero::new(count).expect("at least one")
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
