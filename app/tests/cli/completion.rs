//! Completion as it works in a shell: keys are typed into an interactive one, and what it shows is looked at.

use crate::support::tool;
use isobox_tests::{Project, User, ignored, isobox_program};
use std::fs::DirBuilder;
use std::io::{Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long a shell may take to show something, under whatever load.
const PATIENCE: Duration = Duration::from_secs(60);

/// Shells, how each is started without anybody's settings, and how it learns to complete isobox.
const SHELLS: [(&str, &str, &str); 3] = [
    ("bash", "bash --norc --noprofile -i", "source <(isobox completions bash)"),
    ("zsh", "zsh -f -i", "autoload -U compinit && compinit -u -D; source <(isobox completions zsh)"),
    ("fish", "fish --no-config -i", "isobox completions fish | source"),
];

/// An interactive shell on a terminal, in the repository of a project.
struct Shell {
    child: Child,
    keys: ChildStdin,
    shows: Receiver<Vec<u8>>,
    shown: String,
}

impl Shell {
    /// Starts the shell and lets it learn; `None` if it is not here.
    fn start(project: &Project, (name, program, learn): (&str, &str, &str)) -> Option<Self> {
        let is_here = project.command("sh").args(["-c", &format!("command -v {name}")]).stdout(Stdio::null()).status();
        if !is_here.expect("run sh").success() {
            ignored(&format!("completion in {name}"), "it is not installed");
            return None;
        }
        let mut script = project.command("script");
        let bin = isobox_program().parent().expect("a directory").to_owned();
        script.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display())).env("TERM", "xterm");
        // Where fish puts what its processes tell each other, if it is private; else that lies in `/tmp` or the repository.
        let runtime = project.scratch().join("runtime");
        DirBuilder::new().recursive(true).mode(0o700).create(&runtime).expect("a private folder");
        script.env("XDG_RUNTIME_DIR", runtime);
        script.args(["-qefc", program, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = script.spawn().expect("run script");
        let (keys, mut out) = (child.stdin.take().expect("keys"), child.stdout.take().expect("a screen"));
        let (tell, shows) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = out.read(&mut buffer)
                && tell.send(buffer[..length].to_vec()).is_ok()
            {}
        });
        let mut shell = Self { child, keys, shows, shown: String::new() };
        // In two pieces, so that the echo of what is typed is not taken for it.
        shell.type_keys(&format!("{learn}; echo rea''dy\r"));
        shell.wait_for("ready");
        Some(shell)
    }

    fn type_keys(&mut self, keys: &str) {
        self.shown.clear();
        self.keys.write_all(keys.as_bytes()).expect("type");
    }

    fn wait_for(&mut self, word: &str) {
        let end = Instant::now() + PATIENCE;
        while !self.shown.contains(word) {
            match self.shows.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.shown.push_str(&String::from_utf8_lossy(&bytes)),
                Err(error) => panic!("{error}: `{word}` is not in {:?}", self.shown),
            }
        }
    }

    /// Types keys that end with Tab, waits until the shell shows `completed`, and executes the line; waits for what that says.
    fn complete(&mut self, keys: &str, completed: &str, says: &str) {
        self.type_keys(keys);
        self.wait_for(completed);
        self.type_keys("\r");
        self.wait_for(says);
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // It is asked to go, so that it waits for its own children; Ctrl-U takes away what stands on the line.
        self.keys.write_all(b"\x15exit\r").ok();
        while self.shows.recv_timeout(Duration::from_secs(10)).is_ok() {}
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A project with a task that changed some paths, one of them with a hostile name.
fn changed() -> (Project, String) {
    let project = Project::initialised(User::Current);
    let script = "echo of-notes > notes; mkdir deep; echo of-deep > deep/file; echo of-hostile > 'x$(touch pwned)'; \
                  echo of-spaces > 'two words'; touch $(printf 'ctl\\033[2J')";
    let task = tool(&project, script);
    (project, task)
}

#[test]
fn every_shell_completes_the_paths_of_a_result() {
    let (project, task) = changed();
    for shell in SHELLS {
        let Some(mut shell) = Shell::start(&project, shell) else { continue };
        shell.complete("isobox cat @latest:no\t", "tes", "of-notes");
        shell.complete(&format!("isobox cat {task}:deep/\t"), "file", "of-deep");
        shell.complete("isobox cat @latest:two\t", "words", "of-spaces");
        shell.complete(&format!("isobox show --no-pager {}\t", &task[..12]), &task[12..], "tool_call");
    }
}

#[test]
fn no_shell_executes_a_name_that_a_workload_chose() {
    let (project, _) = changed();
    for shell in SHELLS {
        let Some(mut shell) = Shell::start(&project, shell) else { continue };
        shell.complete("isobox cat @latest:x\t", "pwned", "of-hostile");
        assert!(!project.repository().join("pwned").exists());
        shell.type_keys("isobox cat @latest:ct\t");
        shell.complete("l\r", "l", "did not change ctl");
    }
}

#[test]
fn every_shell_completes_commands_flags_and_values() {
    let (project, _) = changed();
    for shell in SHELLS {
        let Some(mut shell) = Shell::start(&project, shell) else { continue };
        shell.complete("isobox vers\t", "ion", "isobox 0.");
        shell.complete("isobox help prom\t", "promote", "trusted repository");
        shell.complete("isobox help policy che\t", "check", "every mistake");
        shell.complete("isobox help exit-c\t", "exit-codes", "128+n");
        shell.complete("isobox man workspace disp\t", "dispose", ".SH NAME");
        shell.complete("isobox list --state unrev\t", "unreviewed", "STATE");
        shell.complete("isobox list --sort dur\t --since yes\t --limit al\t", "all", "DURATION");
        shell.complete("isobox run --backend ho\t -q -- echo o''ver < /dev/null", "host", "over");
        shell.complete(
            "isobox run --backend host --network inh\t --unsafe-net\t -q -- echo o''ver < /dev/null",
            "inherited",
            "over",
        );
    }
}

#[test]
fn a_flag_and_its_value_in_one_word_are_completed_in_bash() {
    let (project, _) = changed();
    let Some(mut bash) = Shell::start(&project, SHELLS[0]) else { return };
    bash.complete("isobox run --backend=ho\t -q -- echo o''ver < /dev/null", "--backend=host", "over");
    bash.type_keys("isobox run --reuse-input host\t");
    bash.wait_for("host_binary=");
}
