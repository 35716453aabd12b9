//! Promise: what is neither a file, a directory nor a link is named in the record, whatever it is.

use isobox_tests::{Case, ignored};
use std::process::Command;

isobox_tests::promises! {
    every: [
        odd_modes_arrive_as_the_executable_bit_alone_and_the_record_says_so,
        sockets_and_pipes_are_listed_and_what_lies_beside_them_is_captured,
    ],
}

fn sockets_and_pipes_are_listed_and_what_lies_beside_them_is_captured(case: &Case) {
    if !Command::new("/usr/bin/python3").arg("--version").output().is_ok_and(|output| output.status.success()) {
        ignored("a socket in the workspace", "there is no /usr/bin/python3");
        return;
    }
    let bind = "import socket; socket.socket(socket.AF_UNIX).bind('the-socket')";
    case.run_well(&format!("echo change >> README.md; mkfifo the-pipe; /usr/bin/python3 -c \"{bind}\""));
    let shown = case.project.isobox(&["show", "--json", "@latest"]).stdout;
    for word in ["the-socket", "socket", "the-pipe", "fifo"] {
        assert!(shown.to_lowercase().contains(word), "{word} in {shown}");
    }
    assert_eq!(case.captured("README.md"), "hello\nchange\n");
    assert!(!case.patch().contains("the-pipe"), "{}", case.patch());
}

fn odd_modes_arrive_as_the_executable_bit_alone_and_the_record_says_so(case: &Case) {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    case.run_well(
        "echo x > shared; chmod 6755 shared; echo y > open; chmod 0666 open; echo z > sticky; chmod 1644 sticky",
    );
    case.promote_well();
    let mode = |path: &str| {
        fs::metadata(case.project.repository().join(path)).expect("metadata").permissions().mode() & 0o7777
    };
    assert_eq!(mode("shared") & 0o7000, 0);
    assert_ne!(mode("shared") & 0o100, 0);
    assert_eq!(mode("open") & 0o7113, 0);
    assert_eq!(mode("sticky") & 0o7111, 0);
    let shown = case.project.isobox(&["show", "--json", "@latest"]).stdout;
    assert!(shown.contains("shared"), "{shown}");
}
