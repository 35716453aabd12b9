//! Sessions on a terminal: what is typed and shown there, and how it is left.

use crate::support::document;
use isobox_tests::{Project, User, isobox_program, users};
use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::termios::{LocalModes, tcgetattr, tcsetwinsize};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long a session may take to show something, under whatever load.
const PATIENCE: Duration = Duration::from_secs(60);

const BACKENDS: [&str; 3] = ["--backend=bubblewrap", "--backend=landlock", "--backend=host"];

/// A session on a terminal of 24 rows and 80 columns.
struct Session {
    child: Child,
    master: File,
    slave: OwnedFd,
    shows: Receiver<Vec<u8>>,
    /// Everything that was shown.
    all: Vec<u8>,
    /// How much of it was waited for.
    seen: usize,
}

impl Session {
    fn start(project: &Project, arguments: &[&str]) -> Self {
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(&size, None).expect("a terminal");
        let copy = || pty.slave.try_clone().expect("a copy");
        // With the terminal as its controlling one, as in a window.
        let mut command = project.command("setsid");
        command.args(["--ctty", "--wait"]).arg(isobox_program()).args(arguments).env("PS1", "$ ").env("TERM", "xterm");
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
        Self { child, master, slave: pty.slave, shows, all: Vec::new(), seen: 0 }
    }

    fn types(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("type");
    }

    /// Waits until `text` is shown after what was waited for before. The keys that make it must not show it themselves.
    fn wait_for(&mut self, text: &str) {
        let end = Instant::now() + PATIENCE;
        loop {
            let found = self.all[self.seen..].windows(text.len()).position(|window| window == text.as_bytes());
            if let Some(at) = found {
                self.seen += at + text.len();
                return;
            }
            match self.shows.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.all.extend(bytes),
                Err(error) => panic!("{error}: `{text}` is not in {:?}", String::from_utf8_lossy(&self.all)),
            }
        }
    }

    /// Types a line, and waits for what it shows.
    fn does(&mut self, line: &str, shows: &str) {
        self.types(&format!("{line}\r"));
        self.wait_for(shows);
    }

    fn is_raw(&self) -> bool {
        let modes = tcgetattr(&self.slave).expect("the modes of the terminal").local_modes;
        !modes.intersects(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    fn resize(&self, rows: u16, columns: u16) {
        let size = rustix::termios::Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.master, size).expect("another size");
    }

    /// The process of isobox itself, which the one that was started waits for, or is.
    fn isobox(&self) -> Pid {
        let own = self.child.id();
        let children = fs::read_to_string(format!("/proc/{own}/task/{own}/children")).expect("children");
        let is_isobox = fs::read_to_string(format!("/proc/{own}/comm")).is_ok_and(|name| name.trim() == "isobox");
        let pid = if is_isobox {
            own
        } else {
            children.split_whitespace().next().expect("a child").parse().expect("a number")
        };
        Pid::from_raw(pid.try_into().expect("a process"))
    }

    fn signal(&self, signal: Signal) {
        kill(self.isobox(), signal).expect("a signal");
    }

    fn waits_until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(Instant::now() < end, "{what}: not within {PATIENCE:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn is_stopped(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.isobox())).expect("its state");
        stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T'))
    }

    /// Waits for its end: its exit code, and everything that was shown.
    fn ends(mut self) -> (i32, Vec<u8>) {
        let code = self.child.wait().expect("wait").code().expect("an exit code");
        assert!(!self.is_raw(), "the terminal is left as nobody can use it");
        while let Ok(bytes) = self.shows.recv_timeout(Duration::from_millis(300)) {
            self.all.extend(bytes);
        }
        (code, std::mem::take(&mut self.all))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A session of the standard shell for every user and backend.
fn in_a_shell(act: impl Fn(&Project, Session)) {
    for user in users() {
        for backend in BACKENDS {
            let project = Project::initialised(*user);
            let mut session = Session::start(&project, &["run", "-q", backend, "--", "sh", "-i"]);
            session.does("PS1='% '; echo rea''dy", "ready");
            act(&project, session);
        }
    }
}

#[test]
fn a_session_has_a_terminal_of_the_callers_size_at_all_times() {
    in_a_shell(|project, mut session| {
        session.does("stty size; tty; echo do''ne", "24 80\r\n/dev/pts/");
        // It is told of another size: nobody has to ask.
        session.does("sh -c 'trap \"stty size; exit\" WINCH; echo se\"\"t; while :; do sleep 0.05; done'", "set");
        session.resize(40, 100);
        session.wait_for("40 100\r\n");
        session.types("exit 7\r");
        assert_eq!(session.ends().0, 7);
        let record = document(&project.isobox(&["show", "--json", "@latest"]));
        assert_eq!(record["terminal"], serde_json::json!({ "columns": 80, "rows": 24 }));
        assert!(record["result"]["stdin"].is_null(), "{record}");
    });
}

#[test]
fn keys_reach_the_foreground_job_and_not_isobox() {
    in_a_shell(|_, mut session| {
        session.does("sh -c 'echo sta''rted; exec sleep 36000'", "started");
        session.types("\x03");
        session.does("echo ali''ve", "alive");
        // Job control: the job is stopped, and the shell goes on.
        session.does("sh -c 'echo sta''rted; exec sleep 36000'", "started");
        session.types("\x1a");
        session.wait_for("topped");
        session.does("jobs; echo jo''bs", "jobs");
        session.does("kill -9 %1; fg; echo go''ne", "gone");
        session.types("\x04");
        assert_eq!(session.ends().0, 0);
    });
}

#[test]
fn a_program_that_reads_single_keys_gets_every_one() {
    in_a_shell(|_, mut session| {
        session.does(
            "stty raw -echo; echo re''ad; dd bs=1 count=4 2> /dev/null | od -An -tx1; stty sane; echo do''ne",
            "read",
        );
        session.types("q\x03\x1a\x1b");
        session.wait_for("71 03 1a 1b");
        session.wait_for("done");
        session.types("exit\r");
        session.ends();
    });
}

#[test]
fn what_was_shown_is_on_record_byte_for_byte() {
    in_a_shell(|project, mut session| {
        session.does("printf '\\033[31mr\\303\\251d\\033[0m\\a\\377'; seq 1 3000; echo en''d", "end");
        session.types("exit\r");
        let (code, shown) = session.ends();
        assert_eq!(code, 0);
        let output = project.isobox_command(&["logs", "@latest"]).output().expect("run isobox");
        assert!(output.stdout.len() > 10_000, "{} bytes", output.stdout.len());
        let is_there = shown.windows(output.stdout.len()).any(|window| window == output.stdout);
        assert!(is_there, "{:?}\n{:?}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&shown));
    });
}

#[test]
fn a_terminal_is_given_back_when_isobox_is_told_to_end() {
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT] {
        let project = Project::initialised(User::Current);
        let mut session =
            Session::start(&project, &["run", "-q", "--", "sh", "-c", "echo sta''rted; exec sleep 36000"]);
        session.wait_for("started");
        assert!(session.is_raw());
        session.signal(signal);
        assert_eq!(session.ends().0, 128 + signal as i32);
        let record = document(&project.isobox(&["show", "--json", "@latest"]));
        assert_eq!(record["outcome"], "interruption");
    }
}

#[test]
fn a_terminal_is_given_back_for_as_long_as_isobox_is_stopped() {
    in_a_shell(|_, mut session| {
        assert!(session.is_raw());
        session.signal(Signal::SIGTSTP);
        session.waits_until("a stop", Session::is_stopped);
        assert!(!session.is_raw());
        session.resize(30, 90);
        session.signal(Signal::SIGCONT);
        session.waits_until("a raw terminal", Session::is_raw);
        session.does("stty size", "30 90\r\n");
        session.types("exit\r");
        session.ends();
    });
}

#[test]
fn a_tool_call_never_gets_a_terminal() {
    let project = Project::initialised(User::Current);
    let script = "tty; (: < /dev/tty) 2> /dev/null || echo no''ne";
    let mut session = Session::start(&project, &["tool", "-q", "--", "sh", "-c", script]);
    session.wait_for("not a tty");
    session.wait_for("none");
    assert_eq!(session.ends().0, 0);
    let record = document(&project.isobox(&["show", "--json", "@latest"]));
    assert!(record["terminal"].is_null());
}
