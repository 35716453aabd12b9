//! What a workload made cannot drive the terminal of whoever reviews it, nor take its memory.

use super::screen::Screen;
use crate::support::tool;
use isobox_tests::{Project, User};
use std::time::{Duration, Instant};

const SIZE: (u16, u16) = (24, 80);
/// 64 MiB in KiB.
const MOST_KIB: u64 = 64 << 10;

/// Names and lines that would move the cursor, set the title, ring, reverse and hide.
const HOSTILE: &str = r#"
    name="$(printf 'a\033]0;owned\007\033[2J\342\200\256\302\233')"; printf x > "$name"
    printf 'one\033[31m\033[2J\033]52;c;b3duZWQ=\007\n\302\233K\342\200\256 desrever\r\b\177\n' > lines
"#;

fn peak_kib(screen: &Screen) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", screen.process())).expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn nothing_of_names_and_lines_reaches_the_terminal_raw() {
    let project = Project::initialised(User::Current);
    project.write("lines", "one\n");
    project.commit_all("Begin");
    let task = tool(&project, HOSTILE);
    let mut screen = Screen::start(&project, &["review", &task], (50, 160));
    let list = screen.wait_for(r"\u{202e}");
    assert!(list.contains(r"a\x1b]0;owned\x07"), "{list}");
    let page = screen.does("/lines\r\r", r"\x1b[31m");
    assert!(page.contains(r"\u{9b}K\u{202e} desrever\r\x08\x7f"), "{page}");
    // What is typed is shown, too.
    screen.does("e\u{202e}\u{9b}seen\r", "seen");
    let raw = screen.raw.clone();
    let has = |bytes: &[u8]| raw.windows(bytes.len()).any(|window| window == bytes);
    for bytes in [&b"\x1b]0"[..], b"\x1b]52", b"\x07", b"\xe2\x80\xae", b"\xc2\x9b", b"\x1b[31m", b"\x7f"] {
        assert!(!has(bytes), "{:?}", bytes.escape_ascii().to_string());
    }
    assert_eq!(
        raw.windows(4).filter(|window| window == b"\x1b[2J").count(),
        1,
        "but for the one that isobox begins with"
    );
    screen.types("q");
    assert_eq!(screen.ends().0, Some(0));
    let told = isobox_tests::on_a_terminal(project.isobox_command(&["feedback", &task]), 80).1;
    assert!(told.contains("seen") && !told.contains('\x1b') && !told.contains('\u{202e}'), "{told}");
}

#[test]
fn a_line_of_ten_megabytes_is_shown_in_little_memory() {
    let project = Project::initialised(User::Current);
    project.write("lines", "one\n");
    project.commit_all("Begin");
    let make = "head -c 10000000 /dev/zero | tr '\\0' x > long; head -c 1900000 /dev/zero | tr '\\0' y > lines; \
                head -c 90000 /dev/zero | tr '\\0' '\\n' > breaks";
    let task = tool(&project, make);
    let mut screen = Screen::start(&project, &["review", &task], SIZE);
    screen.wait_for("quit");
    screen.does("/lines\r\r", "-one");
    let page = screen.does("G", "more bytes are not shown");
    assert!(page.contains("isobox diff"), "{page}");
    screen.does("\t/breaks\r\r", "@@ -0,0");
    screen.does("Gg\t/long\r\r", "long");
    screen.does("n", "1 rejected");
    let peak = peak_kib(&screen);
    println!("{peak} KiB");
    assert!(peak < MOST_KIB, "{peak} KiB");
    screen.types("q");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn fifty_thousand_files_are_listed_in_little_memory_and_the_first_screen_comes_soon() {
    let project = Project::initialised(User::Current);
    let make = "seq -f 'some/where/deep/down/file-%06g' 50000 > n; mkdir -p some/where/deep/down; \
                xargs touch < n; rm n; for n in 1 25000 50000; do echo hello > $(printf some/where/deep/down/file-%06d $n); done; \
                echo 'AKIA0123456789ABCDEF' > some/where/deep/down/file-030000";
    let task = tool(&project, make);
    let begun = Instant::now();
    let mut screen = Screen::start(&project, &["review", &task], SIZE);
    screen.wait_for("50000 undecided");
    println!("first screen of 50,000 files after {:?}", begun.elapsed());
    // Without optimisation; with it, the same takes a tenth.
    assert!(begun.elapsed() < Duration::from_secs(30));
    // By and by all contents were looked into.
    let ranked = screen.wait("a rank", |screen| screen.lines().nth(1).is_some_and(|row| row.contains("high")));
    assert!(ranked.lines().nth(1).is_some_and(|row| row.contains("file-030000")), "{ranked}");
    screen.does("G", "file-050000");
    screen.does("\r", "+hello");
    screen.does("y\t", "1 accepted");
    let peak = peak_kib(&screen);
    println!("{peak} KiB");
    assert!(peak < MOST_KIB, "{peak} KiB");
    screen.types("q");
    assert_eq!(screen.ends().0, Some(0));
}
