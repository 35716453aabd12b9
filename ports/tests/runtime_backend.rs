//! The fake Runtime Backend passes the suite of its port.

use isobox_domain::outcome::Exit;
use isobox_ports::contract::runtime_backend::{Act, Subject, cases};
use isobox_ports::fake::{Line, Performance, Scene, ScriptedBackend};
use isobox_ports::{EndCause, StderrPlace, WorkspaceForm};
use std::path::PathBuf;
use std::sync::Arc;

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    let backend = Arc::new(ScriptedBackend::new(play));
    let subject = Subject { name: "ScriptedBackend", form: WorkspaceForm::Copy, backend: Ok(backend) };
    libtest_mimic::run(&arguments, cases(&subject)).exit();
}

fn play(scene: &Scene) -> Performance {
    match Act::of(&scene.command) {
        None => refuse(scene),
        Some(Act::PrintArguments) => Performance::printing(arguments(scene)),
        Some(Act::PrintVariables) => Performance::printing("PATH=/bin\0HOME=/\0"),
        Some(Act::ListDescriptors) => Performance::printing("0\n1\n2\n3\n"),
        Some(Act::ShowSignals) => Performance::printing("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"),
        Some(Act::Count) => count(scene),
        Some(Act::ShowTerminal) => show_terminal(scene),
        Some(Act::Copy) => Performance::printing(scene.stdin.clone()),
        Some(Act::Exit137) => Performance::exiting(137),
        Some(Act::DieOfKill) => Performance { cause: EndCause::Exited(Exit::Signal(9)), ..Performance::exiting(0) },
        Some(Act::LeaveDaemons) => Performance { left_processes: 2, ..Performance::exiting(3) },
        Some(Act::Yes) => Performance { lines: vec![Line::Stdout(b"y\n".repeat(100_000))], ..Performance::exiting(0) },
        Some(Act::Make) => make(scene),
        Some(Act::Sleep) => Performance::printing("here\n"),
        Some(Act::SpeakLikeBwrap) => Performance {
            lines: vec![Line::Stderr(b"bwrap: setting up uid map: Permission denied\n".to_vec())],
            ..Performance::exiting(1)
        },
        Some(Act::Script) => Performance::printing("./script x\n"),
    }
}

fn refuse(scene: &Scene) -> Performance {
    let program = String::from_utf8_lossy(scene.command.program()).into_owned();
    let cause = match working_directory(scene).join(&program).exists() {
        true => EndCause::NotExecutable(program),
        false => EndCause::NotFound(program),
    };
    Performance { cause, ..Performance::exiting(0) }
}

fn arguments(scene: &Scene) -> Vec<u8> {
    scene.command.arguments()[4..].iter().flat_map(|argument| [argument, &b"\0"[..]].concat()).collect()
}

fn count(scene: &Scene) -> Performance {
    let numbers = |end: &str| (1..=200_000).map(|number| format!("{number}{end}")).collect::<String>().into_bytes();
    let shown = numbers(if scene.terminal.is_some() { "\r\n" } else { "\n" });
    Performance { lines: vec![Line::Stdout(shown), Line::Stderr(numbers("\n"))], ..Performance::exiting(0) }
}

fn show_terminal(scene: &Scene) -> Performance {
    let size = scene.terminal.map(|terminal| (terminal.size.rows, terminal.size.columns));
    let shown = size.map(|(rows, columns)| format!("{rows} {columns}\r\n")).unwrap_or_default();
    match scene.terminal.map(|terminal| terminal.stderr) {
        Some(StderrPlace::Terminal) => Performance::printing(shown + "all\r\n"),
        Some(StderrPlace::Apart) | None => {
            let lines = vec![Line::Stdout(shown.into_bytes()), Line::Stderr(b"apart\n".to_vec())];
            Performance { lines, ..Performance::exiting(1) }
        }
    }
}

fn working_directory(scene: &Scene) -> PathBuf {
    let below = scene.working_directory.as_ref().map(|path| String::from_utf8_lossy(path.as_bytes()).into_owned());
    scene.host_path.join(below.unwrap_or_default())
}

fn make(scene: &Scene) -> Performance {
    let directory = working_directory(scene);
    std::fs::write(directory.join("made"), "made\n").expect("the working directory can be written");
    let name = directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Performance::printing(format!("{name}\n"))
}
