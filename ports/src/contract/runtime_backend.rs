//! Cases of [`RuntimeBackend`].

mod act;
mod stand;

pub use act::Act;

use crate::{EndCause, Filled, LaunchError, RuntimeBackend, StderrPlace, TerminalRequest, WorkspaceForm};
use act::command;
use isobox_domain::command::WorkloadCommand;
use isobox_domain::enforcement::Control;
use isobox_domain::outcome::Exit;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::terminal::TerminalSize;
use libtest_mimic::{Failed, Trial};
use stand::{Heard, Stand, written};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest that a prompt return may take on a busy machine. What must not be waited for lasts a thousand times as long.
const PROMPTLY: Duration = Duration::from_secs(20);

/// Longest piece of output, in bytes.
const PIECE_BYTES: usize = 64 * 1024;

/// A backend under test.
#[derive(Clone)]
pub struct Subject {
    /// What its cases are called after.
    pub name: &'static str,
    /// The form of the Workspaces that it is tested with.
    pub form: WorkspaceForm,
    /// The backend, or why it cannot be tested on this machine.
    pub backend: Result<Arc<dyn RuntimeBackend>, String>,
}

/// One case as a test of its own per subject.
pub fn cases(subject: &Subject) -> Vec<Trial> {
    CASES.iter().map(|&(name, case)| trial(subject, name, case)).collect()
}

type Case = fn(&Stand) -> Result<(), Failed>;

fn trial(subject: &Subject, name: &str, case: Case) -> Trial {
    let title = format!("{}::{name}", subject.name);
    match subject.backend.clone() {
        Ok(backend) => {
            let form = subject.form;
            Trial::test(title, move || case(&Stand::new(backend, form)?))
        }
        Err(reason) => Trial::test(format!("{title} ({reason})"), || Ok(())).with_ignored_flag(true),
    }
}

const CASES: &[(&str, Case)] = &[
    ("every_control_is_named_once", every_control_is_named_once),
    ("arguments_arrive_byte_for_byte", arguments_arrive_byte_for_byte),
    ("the_environment_is_cleared", the_environment_is_cleared),
    ("no_descriptor_above_2_is_inherited", no_descriptor_above_2_is_inherited),
    ("no_signal_disposition_of_isobox_is_inherited", no_signal_disposition_of_isobox_is_inherited),
    ("output_arrives_byte_for_byte_in_order_per_stream", output_arrives_byte_for_byte_in_order_per_stream),
    ("input_arrives_byte_for_byte", input_arrives_byte_for_byte),
    ("without_input_standard_input_is_empty", without_input_standard_input_is_empty),
    ("input_that_is_not_read_is_no_failure", input_that_is_not_read_is_no_failure),
    ("an_exit_code_arrives", an_exit_code_arrives),
    ("death_by_a_signal_is_not_an_exit_code", death_by_a_signal_is_not_an_exit_code),
    ("a_command_that_is_not_there_is_not_found", a_command_that_is_not_there_is_not_found),
    ("a_command_that_may_not_be_executed_is_not_executable", a_command_that_may_not_be_executed_is_not_executable),
    ("a_script_without_interpreter_line_runs_in_the_shell", a_script_without_interpreter_line_runs_in_the_shell),
    ("supervise_returns_though_a_daemon_holds_the_streams", supervise_returns_though_a_daemon_holds_the_streams),
    ("a_closed_stream_ends_its_writer", a_closed_stream_ends_its_writer),
    ("changes_are_in_the_workspace_afterwards", changes_are_in_the_workspace_afterwards),
    ("the_command_starts_in_the_working_directory", the_command_starts_in_the_working_directory),
    ("what_is_filled_in_while_it_comes_up_is_there", what_is_filled_in_while_it_comes_up_is_there),
    ("nothing_is_executed_in_a_workspace_that_was_not_filled", nothing_is_executed_in_a_workspace_that_was_not_filled),
    ("a_terminal_of_its_own_is_what_the_workload_controls", a_terminal_of_its_own_is_what_the_workload_controls),
    ("everything_that_is_shown_on_a_terminal_arrives", everything_that_is_shown_on_a_terminal_arrives),
    ("without_a_terminal_there_is_none_to_control", without_a_terminal_there_is_none_to_control),
    ("a_dropped_sandbox_leaves_nothing_running", a_dropped_sandbox_leaves_nothing_running),
    ("words_of_the_workload_are_not_a_refusal", words_of_the_workload_are_not_a_refusal),
];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const SUCCESS: EndCause = EndCause::Exited(Exit::Code(0));

fn every_control_is_named_once(stand: &Stand) -> Result<(), Failed> {
    let named: Vec<_> = stand.backend.capabilities().controls.iter().map(|report| report.control).collect();
    assert_eq!(named, Control::ALL);
    assert_eq!(stand.backend.capabilities().backend, stand.backend.name());
    Ok(())
}

fn arguments_arrive_byte_for_byte(stand: &Stand) -> Result<(), Failed> {
    let arguments = [&b"-x"[..], b"", b"a b\n", b"\xff\xfe", b"--", b"$HOME"];
    let (ending, heard) = stand.play(Act::PrintArguments, &arguments)?;
    assert_eq!(ending.cause, SUCCESS, "{}", text(&heard.stderr));
    let expected: Vec<u8> = arguments.iter().flat_map(|argument| [argument, &b"\0"[..]].concat()).collect();
    assert_eq!(text(&heard.stdout), text(&expected));
    assert_eq!(heard.stdout, expected);
    Ok(())
}

fn the_environment_is_cleared(stand: &Stand) -> Result<(), Failed> {
    const ALLOWED: [&str; 22] = [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "TMPDIR",
        "TERM",
        "COLORTERM",
        "NO_COLOR",
        "LANG",
        "LANGUAGE",
        "LC_ALL",
        "LC_CTYPE",
        "LC_MESSAGES",
        "LC_COLLATE",
        "TZ",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
        "LC_NUMERIC",
        "LC_TIME",
    ];
    let (ending, heard) = stand.play(Act::PrintVariables, &[])?;
    assert_eq!(ending.cause, SUCCESS, "{}", text(&heard.stderr));
    let printed = text(&heard.stdout);
    let names: Vec<&str> =
        printed.split_terminator('\0').map(|variable| variable.split('=').next().unwrap_or("")).collect();
    assert!(names.contains(&"PATH") && names.contains(&"HOME"), "{names:?}");
    let foreign: Vec<_> = names.iter().filter(|name| !ALLOWED.contains(name)).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    Ok(())
}

fn no_descriptor_above_2_is_inherited(stand: &Stand) -> Result<(), Failed> {
    let (_, heard) = stand.play(Act::ListDescriptors, &[])?;
    assert_eq!(text(&heard.stdout), "0\n1\n2\n3\n");
    Ok(())
}

fn no_signal_disposition_of_isobox_is_inherited(stand: &Stand) -> Result<(), Failed> {
    let (_, heard) = stand.play(Act::ShowSignals, &[])?;
    assert_eq!(text(&heard.stdout), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
    Ok(())
}

fn output_arrives_byte_for_byte_in_order_per_stream(stand: &Stand) -> Result<(), Failed> {
    let (ending, heard) = stand.play(Act::Count, &[])?;
    let expected: String = (1..=200_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(ending.cause, SUCCESS);
    assert!(heard.stdout == expected.as_bytes(), "{} bytes of standard output", heard.stdout.len());
    assert!(heard.stderr == expected.as_bytes(), "{} bytes of standard error", heard.stderr.len());
    assert!(heard.longest_piece <= PIECE_BYTES, "a piece of {} bytes", heard.longest_piece);
    Ok(())
}

fn input_arrives_byte_for_byte(stand: &Stand) -> Result<(), Failed> {
    let input: Vec<u8> = (0..1_000_000_u32).map(|number| (number % 251) as u8).collect();
    let mut heard = Heard { input: Some(input.clone()), ..Heard::default() };
    let ending = stand.run(&command(Act::Copy, &[])?, &mut heard)?;
    assert_eq!(ending.cause, SUCCESS);
    assert!(heard.stdout == input, "{} bytes came back", heard.stdout.len());
    Ok(())
}

fn without_input_standard_input_is_empty(stand: &Stand) -> Result<(), Failed> {
    let (ending, heard) = stand.play(Act::Copy, &[])?;
    assert_eq!((ending.cause, heard.stdout), (SUCCESS, Vec::new()));
    Ok(())
}

fn input_that_is_not_read_is_no_failure(stand: &Stand) -> Result<(), Failed> {
    let mut heard = Heard { input: Some(vec![b'x'; 1_000_000]), ..Heard::default() };
    let ending = stand.run(&command(Act::Exit137, &[])?, &mut heard)?;
    assert_eq!(ending.cause, EndCause::Exited(Exit::Code(137)));
    Ok(())
}

fn an_exit_code_arrives(stand: &Stand) -> Result<(), Failed> {
    let (ending, _) = stand.play(Act::Exit137, &[])?;
    assert_eq!(ending.cause, EndCause::Exited(Exit::Code(137)));
    Ok(())
}

fn death_by_a_signal_is_not_an_exit_code(stand: &Stand) -> Result<(), Failed> {
    let (ending, _) = stand.play(Act::DieOfKill, &[])?;
    assert_eq!(ending.cause, EndCause::Exited(Exit::Signal(9)));
    Ok(())
}

fn a_command_that_is_not_there_is_not_found(stand: &Stand) -> Result<(), Failed> {
    for program in ["isobox-no-such-program", "./isobox-no-such-program", "/no/such/program"] {
        let missing = WorkloadCommand::parse(vec![program.as_bytes().to_vec()])?;
        let ending = stand.run(&missing, &mut Heard::default())?;
        assert!(matches!(&ending.cause, EndCause::NotFound(why) if why.contains(program)), "{:?}", ending.cause);
    }
    Ok(())
}

fn a_command_that_may_not_be_executed_is_not_executable(stand: &Stand) -> Result<(), Failed> {
    std::fs::write(stand.beginning().join("plain"), "true\n")?;
    let plain = WorkloadCommand::parse(vec![b"./plain".to_vec()])?;
    let ending = stand.run(&plain, &mut Heard::default())?;
    assert!(matches!(&ending.cause, EndCause::NotExecutable(why) if why.contains("./plain")), "{:?}", ending.cause);
    Ok(())
}

fn a_script_without_interpreter_line_runs_in_the_shell(stand: &Stand) -> Result<(), Failed> {
    use std::os::unix::fs::PermissionsExt;
    let script = stand.beginning().join("script");
    std::fs::write(&script, "echo \"$0 $1\"\n")?;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755))?;
    let (ending, heard) = stand.play(Act::Script, &[])?;
    assert_eq!((ending.cause, text(&heard.stdout).as_str()), (SUCCESS, "./script x\n"));
    Ok(())
}

fn supervise_returns_though_a_daemon_holds_the_streams(stand: &Stand) -> Result<(), Failed> {
    let before = Instant::now();
    let (ending, _) = stand.play(Act::LeaveDaemons, &[])?;
    assert_eq!(ending.cause, EndCause::Exited(Exit::Code(3)));
    assert_eq!(ending.killed_processes, Some(2));
    assert!(before.elapsed() < PROMPTLY, "it took {:?}", before.elapsed());
    Ok(())
}

fn a_closed_stream_ends_its_writer(stand: &Stand) -> Result<(), Failed> {
    let mut heard = Heard { closes_stdout: true, ..Heard::default() };
    let ending = stand.run(&command(Act::Yes, &[])?, &mut heard)?;
    const SIGPIPE: u8 = 13;
    assert_eq!(ending.cause, EndCause::Exited(Exit::Signal(SIGPIPE)));
    assert!(heard.stdout.len() <= PIECE_BYTES, "{} bytes came after the end", heard.stdout.len());
    Ok(())
}

fn changes_are_in_the_workspace_afterwards(stand: &Stand) -> Result<(), Failed> {
    let mut sandbox = stand.launch(&command(Act::Make, &[])?, None)?;
    let ending = sandbox.supervise(&mut Heard::default())?;
    assert_eq!(ending.cause, SUCCESS);
    assert_eq!(std::fs::read_to_string(written(&sandbox.workspace()).join("made"))?, "made\n");
    Ok(())
}

fn the_command_starts_in_the_working_directory(stand: &Stand) -> Result<(), Failed> {
    std::fs::create_dir_all(stand.beginning().join("a/b c"))?;
    let mut heard = Heard::default();
    let directory = RepoPath::parse("a/b c")?;
    let mut sandbox = stand.launch(&command(Act::Make, &[])?, Some(&directory))?;
    let ending = sandbox.supervise(&mut heard)?;
    assert_eq!((ending.cause, text(&heard.stdout).as_str()), (SUCCESS, "b c\n"));
    assert!(written(&sandbox.workspace()).join("a/b c/made").exists());
    Ok(())
}

fn what_is_filled_in_while_it_comes_up_is_there(stand: &Stand) -> Result<(), Failed> {
    let directory = RepoPath::parse("late/d")?;
    let host_path = stand.filled().map(|filled| filled.join("late/d"));
    if host_path.is_none() {
        std::fs::create_dir_all(stand.beginning().join("late/d"))?;
    }
    let mut fill = || {
        // Longer than any Sandbox takes to come up.
        std::thread::sleep(Duration::from_millis(300));
        let is_whole = host_path.as_ref().is_none_or(|host_path| std::fs::create_dir_all(host_path).is_ok());
        if is_whole { Filled::Whole } else { Filled::Not }
    };
    let mut sandbox = stand.launch_filling(&command(Act::Make, &[])?, Some(&directory), &mut fill)?;
    assert_eq!(sandbox.supervise(&mut Heard::default())?.cause, SUCCESS);
    assert_eq!(std::fs::read_to_string(written(&sandbox.workspace()).join("late/d/made"))?, "made\n");
    Ok(())
}

fn nothing_is_executed_in_a_workspace_that_was_not_filled(stand: &Stand) -> Result<(), Failed> {
    let launched = stand.launch_filling(&command(Act::Make, &[])?, None, &mut || Filled::Not);
    assert!(matches!(launched, Err(LaunchError::NotFilled)));
    assert!(stand.filled().is_none_or(|filled| !filled.join("made").exists()));
    Ok(())
}

const SIZE: TerminalSize = TerminalSize { columns: 132, rows: 43 };

fn a_terminal_of_its_own_is_what_the_workload_controls(stand: &Stand) -> Result<(), Failed> {
    let places =
        [(StderrPlace::Terminal, "43 132\r\nall\r\n", "", 0), (StderrPlace::Apart, "43 132\r\n", "apart\n", 1)];
    for (stderr, shown, said, code) in places {
        let (ending, heard) = stand.play_on(Act::ShowTerminal, TerminalRequest { size: SIZE, stderr })?;
        assert_eq!((text(&heard.stdout).as_str(), text(&heard.stderr).as_str()), (shown, said));
        assert_eq!(ending.cause, EndCause::Exited(Exit::Code(code)));
    }
    Ok(())
}

fn everything_that_is_shown_on_a_terminal_arrives(stand: &Stand) -> Result<(), Failed> {
    let (ending, heard) = stand.play_on(Act::Count, TerminalRequest { size: SIZE, stderr: StderrPlace::Apart })?;
    assert_eq!(ending.cause, SUCCESS);
    // A terminal ends lines with both characters: termios(3), "ONLCR".
    let shown: String = (1..=200_000).map(|number| format!("{number}\r\n")).collect();
    assert!(heard.stdout == shown.as_bytes(), "{} bytes were shown", heard.stdout.len());
    assert!(heard.longest_piece <= PIECE_BYTES, "a piece of {} bytes", heard.longest_piece);
    Ok(())
}

fn without_a_terminal_there_is_none_to_control(stand: &Stand) -> Result<(), Failed> {
    let (ending, heard) = stand.play(Act::ShowTerminal, &[])?;
    assert_eq!((heard.stdout, ending.cause), (Vec::new(), EndCause::Exited(Exit::Code(1))));
    Ok(())
}

fn a_dropped_sandbox_leaves_nothing_running(stand: &Stand) -> Result<(), Failed> {
    let before = Instant::now();
    drop(stand.launch(&command(Act::Sleep, &[])?, None)?);
    assert!(before.elapsed() < PROMPTLY, "it took {:?}", before.elapsed());
    Ok(())
}

fn words_of_the_workload_are_not_a_refusal(stand: &Stand) -> Result<(), Failed> {
    let (ending, heard) = stand.play(Act::SpeakLikeBwrap, &[])?;
    assert_eq!(ending.cause, EndCause::Exited(Exit::Code(1)));
    assert_eq!(text(&heard.stderr), "bwrap: setting up uid map: Permission denied\n");
    Ok(())
}
