use super::*;
use proptest::prelude::*;

fn shown(arguments: &[&str]) -> Vec<String> {
    let arguments: Vec<Vec<u8>> = arguments.iter().map(|argument| argument.as_bytes().to_vec()).collect();
    let masked = mask(&arguments, &|bytes| ContentId::new([bytes.len() as u8; 32]));
    for (argument, masked) in arguments.iter().zip(&masked) {
        assert_eq!(masked.masked_digest.is_some(), masked.shown != *argument, "{}", String::from_utf8_lossy(argument));
    }
    masked.into_iter().map(|argument| String::from_utf8(argument.shown).unwrap()).collect()
}

fn hides(arguments: &[&str], expected: &[&str]) {
    assert_eq!(shown(arguments), expected);
}

#[test]
fn flags_that_name_a_secret_hide_their_value() {
    hides(&["tool", "--token=abc", "--user=ana"], &["tool", "--token=***", "--user=ana"]);
    hides(&["tool", "--api-key=a=b&c"], &["tool", "--api-key=***"]);
    hides(&["tool", "--password", "two words", "x"], &["tool", "--password", "***", "x"]);
    hides(&["tool", "--password=two words"], &["tool", "--password=***"]);
    hides(&["tool", "-access-token", "abc"], &["tool", "-access-token", "***"]);
    hides(&["tool", "--client_secret", "-abc"], &["tool", "--client_secret", "***"]);
    hides(&["sshpass", "-p", "abc", "ssh", "-p", "22"], &["sshpass", "-p", "***", "ssh", "-p", "22"]);
    hides(&["mysql", "-pabc", "db"], &["mysql", "-p***", "db"]);
}

#[test]
fn the_password_of_a_user_is_hidden() {
    hides(&["curl", "-u", "ana:abc", "https://x.org"], &["curl", "-u", "ana:***", "https://x.org"]);
    hides(&["/usr/bin/curl", "-uana:abc"], &["/usr/bin/curl", "-uana:***"]);
    hides(&["git", "clone", "https://ana:a@b@x.org/r"], &["git", "clone", "https://ana:***@x.org/r"]);
    hides(&["wget", "ftp://ana:abc@x.org"], &["wget", "ftp://ana:***@x.org"]);
    hides(&["x", "https://0123456789abcdef01234567@x.org"], &["x", "https://***@x.org"]);
    hides(&["x", "https://x.org/?a=1&access_token=abc&b=2"], &["x", "https://x.org/?a=1&access_token=***&b=2"]);
}

#[test]
fn assignments_to_secret_variables_hide_their_value() {
    hides(&["env", "GITHUB_TOKEN=abc", "X=1", "make"], &["env", "GITHUB_TOKEN=***", "X=1", "make"]);
    hides(&["env", "PGPASSWORD=a b c"], &["env", "PGPASSWORD=***"]);
    hides(&["docker", "run", "-e", "STRIPE_KEY=abc"], &["docker", "run", "-e", "STRIPE_KEY=***"]);
    hides(&["x", "AWS_SECRET_ACCESS_KEY=/ab"], &["x", "AWS_SECRET_ACCESS_KEY=***"]);
    hides(&["x", "MYSQL_PWD=abc", "PWD=/x"], &["x", "MYSQL_PWD=***", "PWD=/x"]);
}

#[test]
fn headers_and_json_hide_their_value() {
    hides(&["curl", "-H", "Authorization: Bearer abc"], &["curl", "-H", "Authorization: Bearer ***"]);
    hides(&["curl", "-H", "authorization:abc def"], &["curl", "-H", "authorization:***"]);
    hides(&["curl", "-HX-Api-Key: abc"], &["curl", "-HX-Api-Key: ***"]);
    hides(&["curl", "-H", "PRIVATE-TOKEN: abc"], &["curl", "-H", "PRIVATE-TOKEN: ***"]);
    hides(
        &["curl", "-d", r#"{"user":"ana","password": "abc","n":1}"#],
        &["curl", "-d", r#"{"user":"ana","password": "***","n":1}"#],
    );
}

#[test]
fn a_script_hides_the_same_things_and_nothing_more() {
    hides(
        &["sh", "-c", "curl -s -u ana:abc -H 'Authorization: Bearer xyz' https://x.org | tee out"],
        &["sh", "-c", "curl -s -u ana:*** -H 'Authorization: Bearer ***' https://x.org | tee out"],
    );
    hides(
        &["bash", "-euc", "export API_TOKEN=\"a b\"; tool --password 'c d' --verbose"],
        &["bash", "-euc", "export API_TOKEN=\"***\"; tool --password '***' --verbose"],
    );
    hides(&["sh", "-c", "DB_PASSWORD=abc ./run --all"], &["sh", "-c", "DB_PASSWORD=*** ./run --all"]);
}

#[test]
fn well_known_keys_are_hidden_wherever_they_are() {
    let random = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0";
    for prefix in
        ["ghp_", "github_pat_", "glpat-", "sk-", "sk-ant-api03-", "sk_live_", "xoxb-", "AIza", "npm_", "hf_", "pypi-"]
    {
        let text = format!("x='{prefix}{random}', y");
        let kept = SHOWN_PREFIXES.iter().find(|shown| prefix.starts_with(**shown)).unwrap_or(&prefix);
        assert_eq!(shown(&["echo", &text]), ["echo".to_owned(), format!("x='{kept}***', y")], "{prefix}");
    }
    hides(&["echo", "AKIAIOSFODNN7EXAMPLE"], &["echo", "AKIA***"]);
    hides(&["x", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"], &["x", "eyJ***"]);
    hides(
        &["x", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n"],
        &["x", "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----\n"],
    );
    hides(&["x", "-----BEGIN PRIVATE KEY-----\nMIIE"], &["x", "-----BEGIN PRIVATE KEY-----***"]);
}

// The issuer's longer prefix is part of what follows the shorter one.
const SHOWN_PREFIXES: [&str; 1] = ["sk-"];

#[test]
fn ordinary_commands_are_shown_as_they_are() {
    let commands: &[&[&str]] = &[
        &["sh", "-c", "printf 'changed\\n' > README.md"],
        &["cargo", "test", "--workspace", "--", "--test-threads=1"],
        &["git", "push", "-u", "origin", "HEAD:main"],
        &["git", "clone", "git@github.com:isobox/isobox.git"],
        &["git", "clone", "ssh://git@github.com:22/isobox/isobox"],
        &["docker", "run", "-u", "1000:1000", "--user", "ana:staff", "-p", "8080:80", "image"],
        &["docker", "build", "--secret", "id=npm,src=.npmrc", "."],
        &["mkdir", "-p", "a/b"],
        &["date", "-u", "+%H:%M"],
        &["rsync", "-u", "host:path", "."],
        &["psql", "--no-password", "database"],
        &["sort", "--key=2", "-k", "1"],
        &["tool", "--token-file=token.txt", "--password-stdin", "--max-tokens=100"],
        &["tool", "--token", "$TOKEN", "--password=${PASSWORD}", "--secret=true"],
        &["sh", "-c", "curl -H \"Authorization: Bearer $TOKEN\" -u \"$NAME:$PASSWORD\" https://x.org"],
        &["ansible-playbook", "--private-key", "~/.ssh/id_ed25519", "site.yml"],
        &["env", "SSH_KEY=/home/ana/.ssh/id", "MONKEY=banana", "KEYBOARD=de"],
        &["python3", "-c", "def f(token: str, key=None): return token == key"],
        &["jq", ".items[] | {key: .name, value: .token}", "in.json"],
        &["echo", "task-0123456789abcdef", "sk-learn-something-rather-long", "npm_config_registry=https://x.org"],
        &["npm", "run", "build:prod", "@scope/package@1.2.3"],
        &["http://localhost:8080/@scope/a:b"],
        &["ffmpeg", "-pass", "1", "-i", "in.mp4"],
        &["openssl", "req", "-x509", "-----BEGIN CERTIFICATE-----\nMIIE"],
        &["make", "CC=gcc", "passes=2", "bypass=off"],
        &["grep", "-rn", "password", "src"],
        &["", " ", "=", "--", "-", ":", "://", "@", "'", "\"", "\\"],
    ];
    for command in commands {
        assert_eq!(shown(command), *command);
    }
}

#[test]
fn the_digest_is_of_the_true_bytes_of_the_whole_argument() {
    let arguments = [b"--token=\xff\xfe".to_vec(), b"plain".to_vec()];
    let masked = mask(&arguments, &|bytes| {
        assert_eq!(bytes, b"--token=\xff\xfe");
        ContentId::new([9; 32])
    });
    let expected = [
        RecordedArgument { shown: b"--token=***".to_vec(), masked_digest: Some(ContentId::new([9; 32])) },
        RecordedArgument { shown: b"plain".to_vec(), masked_digest: None },
    ];
    assert_eq!(masked, expected);
}

#[test]
fn text_that_is_no_command_is_masked_as_well() {
    assert_eq!(mask_text(b"https://ana:abc@x.org"), b"https://ana:***@x.org");
    assert_eq!(mask_text(b"/usr/local/bin/codex"), b"/usr/local/bin/codex");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_named_secret_is_hidden_whatever_it_is_and_whatever_is_around_it(
        before in noise(),
        secret in "[^$<%{]{1,3}[a-z=& \"':@/]{2,9}",
        after in noise(),
    ) {
        let secret = format!("--token={secret}");
        let arguments: Vec<&str> = before.iter().chain([&secret]).chain(&after).map(String::as_str).collect();
        let shown = shown(&arguments);
        prop_assert_eq!(shown.len(), arguments.len());
        let hidden = &shown[before.len()];
        prop_assert!(hidden.starts_with("--token=") && hidden.len() <= "--token='***'".len(), "{}", hidden);
    }
}

/// Words that mean something to the rules, in any order. `-c` is not among them: what follows it is a script.
fn noise() -> impl Strategy<Value = Vec<String>> {
    let word = "(--token|=|:|/|@|\"|'| |\\\\|\n|curl|-u|-p|PASSWORD|sk-|eyJ|\\.|Authorization|-----BEGIN |PRIVATE KEY|[0-9\u{e9}]{1,9}){0,9}";
    proptest::collection::vec(word, 0..4)
}

#[test]
#[expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "how long it takes is what this is about")]
fn a_text_of_beginnings_alone_takes_no_longer_than_its_length_says() {
    use std::time::{Duration, Instant};
    let words = [
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY",
        "-----END ",
        "sk-",
        "sk_live_",
        "ghp_",
        "eyJ.",
        "eyJ-",
        "eyJaaaaaaa.aaaaaaaaaaa-",
        "eyJaaaaaaa-",
        "://",
        "https://a:",
        "https://a:b",
        "@",
        "=",
        ":",
        "token=",
        "token: ",
        "Authorization: ",
        "Bearer ",
        "\"a\":",
        "'",
        "?token=$",
        "?token=",
        "cookie: $",
        "authorization: bearer $",
        "\"token\":$",
        "\"token\": ",
        "curl -u ",
        "--token ",
        "-u ",
        "a",
        "\\",
        " ",
        "\n",
        "token",
        "API_KEY",
        "password=\"",
    ];
    let took = |word: &str, length: usize| {
        let argument = vec![word.repeat(length / word.len()).into_bytes()];
        let once = || {
            let start = Instant::now();
            secrets(&argument);
            start.elapsed()
        };
        (0..3).map(|_| once()).min().expect("a time")
    };
    for word in words {
        let times = || (took(word, 4 << 10), took(word, 32 << 10));
        // Eight times as much: a time that grows with the square would be sixty-four times as long, however often it is taken.
        let is_linear = |(short, long): (Duration, Duration)| long < short * 28 + Duration::from_millis(2);
        assert!((0..3).any(|_| is_linear(times())), "{word:?}: {:?}", times());
    }
}
