//! Promise: streams pass live and whole; a reader that goes away or a full device costs no record.

use isobox_tests::{Backend, Case, outcome};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::{Duration, Instant};

isobox_tests::promises! {
    every: [
        a_reader_that_goes_away_leaves_a_whole_record,
        a_full_device_on_standard_output_loses_nothing_and_is_told,
        both_streams_arrive_byte_for_byte_and_live,
        a_background_process_that_holds_the_streams_does_not_block_the_return,
        codes_and_signals_are_told_apart,
        arguments_that_look_like_options_reach_the_command,
        standard_input_passes_through,
    ],
}

fn run_arguments(backend: Backend, script: &str) -> [&str; 7] {
    ["run", "--backend", backend.name(), "--", "sh", "-c", script]
}

fn a_reader_that_goes_away_leaves_a_whole_record(case: &Case) {
    let mut command = case.project.isobox_command(&run_arguments(case.backend, "echo change >> README.md; yes line"));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start");
    let mut reader = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut first = String::new();
    reader.read_line(&mut first).expect("read");
    drop(reader);
    let ended = outcome(child.wait_with_output().expect("wait"));
    assert_eq!(first, "line\n");
    assert!(ended.stderr.contains("task-"), "{ended:?}");
    assert_eq!(case.captured("README.md"), "hello\nchange\n");
    assert!(case.project.isobox(&["logs", "@latest"]).stdout.starts_with("line\nline\n"));
    assert_eq!(case.project.workspaces().len(), 0);
}

fn a_full_device_on_standard_output_loses_nothing_and_is_told(case: &Case) {
    let mut command = case.project.isobox_command(&run_arguments(case.backend, "echo said; echo change >> README.md"));
    let full = File::options().write(true).open("/dev/full").expect("open");
    let ended = outcome(command.stdout(full).stderr(Stdio::piped()).output().expect("run isobox"));
    assert_eq!(ended.code, 125, "{ended:?}");
    assert_eq!(case.project.isobox(&["logs", "@latest"]).stdout, "said\n");
    assert_eq!(case.captured("README.md"), "hello\nchange\n");
}

fn both_streams_arrive_byte_for_byte_and_live(case: &Case) {
    let script = r"printf 'a\000\377b'; printf 'err\000' >&2; sleep 1; printf end";
    let mut command = case.project.isobox_command(&run_arguments(case.backend, script));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start");
    let mut first = [0; 4];
    child.stdout.as_mut().expect("a pipe").read_exact(&mut first).expect("read");
    assert_eq!(&first, b"a\0\xffb");
    assert!(child.try_wait().expect("wait").is_none(), "output came only at the end");
    let rest = child.wait_with_output().expect("wait");
    assert_eq!(rest.stdout, b"end");
    let logs = |flag| case.project.isobox_command(&["logs", flag, "@latest"]).output().expect("run isobox").stdout;
    assert_eq!(logs("--stdout"), b"a\0\xffbend");
    assert_eq!(logs("--stderr"), b"err\0");
}

fn a_background_process_that_holds_the_streams_does_not_block_the_return(case: &Case) {
    let start = Instant::now();
    let run = case.run("(sleep 31537 &) ; (setsid sleep 31537 < /dev/null &) ; echo done");
    assert!(start.elapsed() < Duration::from_secs(20), "{run:?}");
    assert_eq!((run.code, run.stdout.as_str()), (0, "done\n"), "{run:?}");
    assert_eq!(sleepers("31537"), 0);
}

fn sleepers(argument: &str) -> usize {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.filter(|line| line.starts_with(format!("sleep\0{argument}").as_bytes())).count()
}

fn codes_and_signals_are_told_apart(case: &Case) {
    for (script, code, signal) in [
        ("exit 137", 137, None),
        ("kill -KILL $$", 137, Some(9)),
        ("kill -TERM $$", 143, Some(15)),
        ("exit 3", 3, None),
    ] {
        let run = case.run(script);
        assert_eq!(run.code, code, "{run:?}");
        let record = case.record();
        assert_eq!(record["outcome"], "workload_command_exit", "{record}");
        let recorded = record["result"]["signal"].as_i64();
        assert_eq!(recorded, signal, "{script}: {record}");
    }
    let not_executable = case.run_command(&["./README.md"]);
    assert_eq!(not_executable.code, 126, "{not_executable:?}");
}

fn arguments_that_look_like_options_reach_the_command(case: &Case) {
    let run = case.run_command(&["printf", "%s|", "--backend", "-x", "--", "", "a b"]);
    assert_eq!(run.stdout, "--backend|-x|--||a b|", "{run:?}");
}

fn standard_input_passes_through(case: &Case) {
    let input = case.project.home().join("input");
    fs::write(&input, "from the caller\n").expect("write");
    let mut command = case.project.isobox_command(&run_arguments(case.backend, "cat"));
    let run = outcome(command.stdin(File::open(&input).expect("open")).output().expect("run isobox"));
    assert_eq!(run.stdout, "from the caller\n", "{run:?}");
}
