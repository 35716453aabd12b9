//! Promise: a build finds what the host downloaded, without its credentials; what it adds stays with the project, and nothing
//! of it reaches the host's own caches.

use crate::ordinary_work::{has, toolchain};
use isobox_tests::{Backend, Case, Machine, Outcome, Project, ignored, users};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

isobox_tests::promises! {
    containing: [
        cargo_builds_offline_from_what_the_host_fetched,
        npm_installs_offline_from_what_the_host_fetched,
        pip_finds_what_the_host_built,
        go_builds_offline_from_what_the_host_fetched,
        what_is_added_stays_with_the_project_and_never_reaches_the_host,
        no_credential_is_lent_with_a_cache,
        what_is_hidden_in_a_cache_is_not_found_where_an_earlier_workload_wrote_it,
        a_cache_that_is_to_be_lent_and_hidden_starts_nothing_and_both_are_named,
        a_link_that_an_earlier_workload_left_leads_nowhere,
        with_a_limit_on_disk_what_is_added_counts_and_goes,
    ],
}

/// Runs a script under a policy that lends caches.
fn run(case: &Case, caches: &[&str], script: &str) -> Outcome {
    run_with(case, caches, &[], script)
}

fn run_with(case: &Case, caches: &[&str], flags: &[&str], script: &str) -> Outcome {
    let mut arguments = vec!["run", "--backend", case.backend.name()];
    caches.iter().for_each(|cache| arguments.extend(["--cache", *cache]));
    arguments.extend(flags);
    arguments.extend(["--", "sh", "-c", script]);
    case.output(case.project.isobox_command(&arguments))
}

/// Runs a script on the host, as the user, in a directory beside the repository.
fn on_host(project: &Project, path: &str, script: &str) -> String {
    let mut command = project.command("sh");
    command.args(["-ec", script]).current_dir(project.scratch());
    let output = command.env("PATH", path).output().expect("run a script");
    assert!(output.status.success(), "{script}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const PATH: &str = "/usr/bin:/bin";

fn put_on_host(project: &Project, below_home: &str, text: &str) {
    let path = Path::new(below_home);
    let folder = path.parent().expect("a parent").display();
    on_host(project, PATH, &format!("mkdir -p ~/{folder} && printf '%s' '{text}' > ~/{below_home}"));
}

/// Makes a crate in a Git repository and one in a registry, both beside the repository of the project.
const SOURCES: &str = r#"
crate() { mkdir -p $2/src; printf '[package]\nname = "%s"\nversion = "1.0.0"\nedition = "2021"\n' $1 > $2/Cargo.toml
          echo "pub fn name() -> &'static str { \"$1\" }" > $2/src/lib.rs; }
commit() { git -C $1 init -q -b main; git -C $1 add -A
           git -C $1 -c user.name=A -c user.email=a@example.com commit -q -m made; }
crate of-git of-git; commit of-git
crate of-registry of-registry-1.0.0; tar czf of-registry-1.0.0.crate of-registry-1.0.0
sum=$(sha256sum of-registry-1.0.0.crate | cut -d' ' -f1)
mkdir -p index/of/-r; printf '{"dl": "file://%s/{crate}-{version}.crate"}' "$PWD" > index/config.json
printf '{"name":"of-registry","vers":"1.0.0","deps":[],"cksum":"%s","features":{},"yanked":false}\n' $sum > index/of/-r/of-registry
commit index
"#;

fn cargo_builds_offline_from_what_the_host_fetched(case: &Case) {
    let toolchain = match toolchain(case) {
        Ok(toolchain) => toolchain.display().to_string(),
        Err(reason) => return ignored("an offline build by cargo", reason.lines().next().unwrap_or_default()),
    };
    let project = &case.project;
    on_host(project, PATH, SOURCES);
    let scratch = project.scratch().display().to_string();
    let manifest = format!(
        "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\n\
         of-git = {{ git = \"file://{scratch}/of-git\" }}\nof-registry = {{ version = \"1\", registry = \"made-up\" }}\n"
    );
    project.write("Cargo.toml", &manifest);
    project.write(".cargo/config.toml", &format!("[registries.made-up]\nindex = \"file://{scratch}/index\"\n"));
    project.write("src/main.rs", "fn main() { println!(\"{} {}\", of_git::name(), of_registry::name()); }\n");
    project.write(".gitignore", "/target\n");
    let path = format!("{toolchain}/bin:{PATH}");
    on_host(project, &path, "cd ../repository && cargo fetch -q");
    project.commit_all("dependencies");
    // What is fetched anew would be found, too.
    on_host(project, PATH, "rm -rf of-git index of-registry*");
    let build = format!("export PATH={path}; cargo run -q --offline");
    let shown = ["--read", toolchain.as_str()];
    let built = run_with(case, &["cargo"], &shown, &build);
    assert_eq!((built.code, built.stdout.as_str()), (0, "of-git of-registry\n"), "{built:?}");
    let record = case.record();
    assert_eq!(record["effective_policy"]["caches"], serde_json::json!(["cargo"]));
    let exposures = record["effective_policy"]["exposures"].to_string();
    assert!(exposures.contains("what cargo downloaded") && exposures.contains("earlier workloads"), "{exposures}");
    let bare = run_with(case, &[], &shown, &build);
    assert_ne!(bare.code, 0, "{bare:?}");
}

fn npm_installs_offline_from_what_the_host_fetched(case: &Case) {
    if !has("/usr/bin/npm", "an offline installation by npm") {
        return;
    }
    let project = &case.project;
    let made = "mkdir package && echo '{\"name\":\"made-up\",\"version\":\"1.0.0\"}' > package/package.json && \
                echo 'module.exports = \"of npm\";' > package/index.js && tar czf made-up-1.0.0.tgz package && \
                npm cache add file:$PWD/made-up-1.0.0.tgz >&2 && \
                printf sha512- && openssl dgst -sha512 -binary made-up-1.0.0.tgz | openssl base64 -A";
    let integrity = on_host(project, PATH, made);
    let lock = format!(
        "{{\"name\":\"app\",\"version\":\"1.0.0\",\"lockfileVersion\":3,\"packages\":{{\"\":{{\"dependencies\":\
         {{\"made-up\":\"1.0.0\"}}}},\"node_modules/made-up\":{{\"version\":\"1.0.0\",\"resolved\":\
         \"https://registry.npmjs.org/made-up/-/made-up-1.0.0.tgz\",\"integrity\":\"{integrity}\"}}}}}}"
    );
    project.write("package-lock.json", &lock);
    project.write("package.json", "{\"name\":\"app\",\"version\":\"1.0.0\",\"dependencies\":{\"made-up\":\"1.0.0\"}}");
    project.commit_all("dependencies");
    let script = "npm ci --offline --no-audit --no-fund >&2 && node -p 'require(\"made-up\")'";
    let installed = run(case, &["npm"], script);
    assert_eq!((installed.code, installed.stdout.as_str()), (0, "of npm\n"), "{installed:?}");
    assert_ne!(run(case, &[], script).code, 0);
}

fn pip_finds_what_the_host_built(case: &Case) {
    if !has("/usr/bin/pip3", "an offline installation by pip") {
        return;
    }
    let wheel = "
import os, zipfile
folder = os.path.expanduser('~/.cache/pip/wheels/aa/bb/cc')
os.makedirs(folder)
with zipfile.ZipFile(folder + '/made_up-1.0-py3-none-any.whl', 'w') as wheel:
    wheel.writestr('made_up.py', 'name = \"of pip\"\\n')
    wheel.writestr('made_up-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: made-up\\nVersion: 1.0\\n')
    wheel.writestr('made_up-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr('made_up-1.0.dist-info/RECORD', '')
";
    on_host(&case.project, PATH, &format!("/usr/bin/python3 -c '{}'", wheel.replace('\'', "'\\''")));
    let script = "pip3 cache list --format abspath && pip3 install -q --disable-pip-version-check --no-index \
                  --find-links ~/.cache/pip/wheels/aa/bb/cc --target /tmp/lib made-up && \
                  PYTHONPATH=/tmp/lib /usr/bin/python3 -c 'import made_up; print(made_up.name)'";
    let installed = run(case, &["pip"], script);
    assert_eq!(installed.code, 0, "{installed:?}");
    let expected = "/home/isobox/.cache/pip/wheels/aa/bb/cc/made_up-1.0-py3-none-any.whl\nof pip\n";
    assert_eq!(installed.stdout, expected, "{installed:?}");
}

fn go_builds_offline_from_what_the_host_fetched(case: &Case) {
    let go = "/usr/bin/go";
    if !std::path::Path::new(go).exists() {
        return ignored("an offline build by Go", "there is no /usr/bin/go");
    }
    let project = &case.project;
    let made = "mkdir -p proxy/example.com/made-up/@v made/example.com/made-up@v1.0.0; cd made; \
                printf 'module example.com/made-up\\n' | tee example.com/made-up@v1.0.0/go.mod > ../proxy/example.com/made-up/@v/v1.0.0.mod; \
                printf 'package madeup\\nconst Name = \"of go\"\\n' > example.com/made-up@v1.0.0/lib.go; \
                zip -qr ../proxy/example.com/made-up/@v/v1.0.0.zip example.com; cd ../proxy/example.com/made-up/@v; \
                echo v1.0.0 > list; echo '{\"Version\":\"v1.0.0\"}' > v1.0.0.info";
    on_host(project, PATH, made);
    project.write("go.mod", "module app\n\nrequire example.com/made-up v1.0.0\n");
    project.write(
        "main.go",
        "package main\n\nimport madeup \"example.com/made-up\"\n\nfunc main() { println(madeup.Name) }\n",
    );
    let proxy = project.scratch().join("proxy").display().to_string();
    on_host(
        project,
        PATH,
        &format!("cd ../repository && GOFLAGS=-mod=mod GONOSUMDB=* GOPROXY=file://{proxy} go mod download all"),
    );
    project.commit_all("dependencies");
    let built = run(case, &["go"], "GOFLAGS=-mod=mod GOPROXY=off GONOSUMDB=* GOTOOLCHAIN=local go run . 2>&1");
    assert_eq!((built.code, built.stdout.as_str()), (0, "of go\n"), "{built:?}");
}

fn what_is_added_stays_with_the_project_and_never_reaches_the_host(case: &Case) {
    let project = &case.project;
    put_on_host(project, ".cargo/registry/cache/of-host", "before");
    put_on_host(project, ".cargo/registry/cache/removed", "before");
    let write = "cd ~/.cargo/registry && echo hostile > cache/of-host && rm cache/removed && mkdir src && echo added > src/made && \
                 rm -rf ~/.cargo/git/* && echo x > ~/.cargo/git/made && ln -s /etc/passwd ~/.cargo/git/link && chmod 000 src";
    let written = run(case, &["cargo"], write);
    assert_eq!(written.code, 0, "{written:?}");
    let read = "cd ~/.cargo/registry; chmod 700 src; cat cache/* src/made";
    let found = run(case, &["cargo"], read);
    assert_eq!((found.code, found.stdout.as_str()), (0, "hostile\nadded\n"), "{found:?}");
    let cache = project.home().join(".cargo");
    assert_eq!(fs::read_to_string(cache.join("registry/cache/of-host")).expect("read"), "before");
    assert_eq!(fs::read_to_string(cache.join("registry/cache/removed")).expect("read"), "before");
    assert!(!cache.join("registry/src").exists() && !cache.join("git").exists());
    // Another project of the same user.
    on_host(project, PATH, "git clone -q ../repository other");
    let other = project.scratch().join("other").display().to_string();
    let elsewhere = run_with(
        case,
        &["cargo"],
        &["--source", &other, "--trust-policy"],
        "cat ~/.cargo/registry/cache/*; ls ~/.cargo/git",
    );
    assert_eq!((elsewhere.code, elsewhere.stdout.as_str()), (0, "beforebefore"), "{elsewhere:?}");
    let listed = project.isobox(&["cache", "stat"]);
    assert!(listed.stdout.contains("2 layers, 0 in use") && listed.stdout.contains("/repository/.git"), "{listed:?}");
    let pruned = project.isobox(&["cache", "prune", "--all"]);
    assert_eq!(pruned.code, 0, "{pruned:?}");
    assert!(!project.isobox(&["cache", "stat"]).stdout.contains("layer"), "{pruned:?}");
    let anew = run(case, &["cargo"], "cat ~/.cargo/registry/cache/*");
    assert_eq!(anew.stdout, "beforebefore", "{anew:?}");
}

fn no_credential_is_lent_with_a_cache(case: &Case) {
    let project = &case.project;
    for file in [
        ".cargo/credentials.toml",
        ".cargo/config.toml",
        ".npmrc",
        ".npm/_logs/log",
        ".config/pip/pip.conf",
        "go/pkg/mod/cache/vcs/1/config",
        ".config/go/env",
    ] {
        put_on_host(project, file, "secret-17");
    }
    put_on_host(project, ".cargo/registry/index/x", "index");
    put_on_host(project, ".cargo/git/db/a-1/HEAD", "ref");
    // Where cargo notes what it fetched: all of it lies in what is lent.
    for file in [
        "git/db/a-1/FETCH_HEAD",
        "git/db/a-1/config",
        "git/checkouts/a-1/f00/.git/config",
        "git/checkouts/a-1/f00/.git/FETCH_HEAD",
        "git/checkouts/a-1/f00/.git/logs/HEAD",
        "git/checkouts/a-1/f00/.git/modules/x/FETCH_HEAD",
        "registry/index/a-1/.git/FETCH_HEAD",
        "registry/index/a-1/.git/config",
        "registry/index/a-1/.git/logs/refs/remotes/origin/HEAD",
    ] {
        put_on_host(project, &format!(".cargo/{file}"), "1 main of https://ana:secret-17@git.example/a");
    }
    let script = "grep -rs secret-17 ~; cat ~/.cargo/registry/index/x ~/.cargo/git/db/a-1/HEAD";
    let searched = run(case, &["cargo", "npm", "pip", "go"], script);
    assert_eq!(searched.stdout, "indexref", "{searched:?}");
}

fn what_is_hidden_in_a_cache_is_not_found_where_an_earlier_workload_wrote_it(case: &Case) {
    let project = &case.project;
    put_on_host(project, ".npm/_cacache/deep/key", "secret-17");
    put_on_host(project, ".npm/_cacache/file", "file");
    // Each leaves a file of the host's in the layer.
    let write = "cd ~/.npm/_cacache; echo more >> deep/key; cp deep/key innocent; ln deep/key linked; mv file moved; cat innocent";
    let written = run(case, &["npm"], write);
    assert_eq!((written.code, written.stdout.as_str()), (0, "secret-17more\n"), "{written:?}");
    let search = "grep -rs secret-17 ~; ls ~/.npm/_cacache ~/.npm/_cacache/deep; echo made > ~/.npm/_cacache/made";
    let hiding = ["--hide", "**/key"];
    let found = run_with(case, &["npm"], &hiding, search);
    let listed = |inside: &str| format!("/home/isobox/.npm/_cacache:\n{inside}\n/home/isobox/.npm/_cacache/deep:\n");
    assert_eq!(found.stdout, listed("deep\nfile\n"), "{found:?}");
    // What is written under the rule is kept, and so is what was without it.
    let again = run_with(case, &["npm"], &hiding, search);
    assert_eq!(again.stdout, listed("deep\nfile\nmade\n"), "{again:?}");
    let without = run(case, &["npm"], "ls ~/.npm/_cacache");
    assert_eq!(without.stdout, "deep\ninnocent\nlinked\nmoved\n", "{without:?}");
}

fn a_cache_that_is_to_be_lent_and_hidden_starts_nothing_and_both_are_named(case: &Case) {
    put_on_host(&case.project, ".cargo/registry/index/x", "index");
    symlink(".cargo", case.project.home().join("link")).expect("a link");
    for rule in ["~/.cargo/registry", "~/.cargo", "~/.car*", "~/link"] {
        let refused = run_with(case, &["cargo"], &["--hide", rule], "echo started");
        assert_eq!((refused.code, refused.stdout.as_str()), (125, ""), "{refused:?}");
        assert!(refused.stderr.contains("lend the cargo cache"), "{refused:?}");
        assert!(refused.stderr.contains("/.cargo/registry is to be hidden, with everything in it"), "{refused:?}");
        assert!(refused.stderr.contains("hint: leave the cache out"), "{refused:?}");
    }
}

fn a_link_that_an_earlier_workload_left_leads_nowhere(case: &Case) {
    let project = &case.project;
    put_on_host(project, "go/pkg/mod/cache/vcs/1/config", "secret-17");
    put_on_host(project, ".cargo/registry/src/shown/file", "shown");
    put_on_host(project, "outside/kept", "kept");
    let outside = project.home().join("outside").display().to_string();
    let plant = format!(
        "rm -r ~/go/pkg/mod/cache ~/.cargo/registry/src; ln -s {outside} ~/go/pkg/mod/cache; ln -s {outside} ~/.cargo/registry/src"
    );
    let shown = project.home().join(".cargo/registry/src/shown").display().to_string();
    // The same rules, so that it is the same layer.
    let flags = ["--read", &shown, "--hide", "**/kept"];
    let planted = run_with(case, &["cargo", "go"], &flags, &plant);
    assert_eq!(planted.code, 0, "{planted:?}");
    let read = format!("cat {shown}/file; ls -d {outside}; grep -rs secret-17 ~; readlink ~/go/pkg/mod/cache");
    let found = run_with(case, &["cargo", "go"], &flags, &read);
    assert_eq!((found.code, found.stdout.as_str()), (0, format!("shown{outside}\n").as_str()), "{found:?}");
    let left: Vec<_> = fs::read_dir(&outside).expect("a directory").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["kept"]);
}

fn with_a_limit_on_disk_what_is_added_counts_and_goes(case: &Case) {
    put_on_host(&case.project, ".npm/_cacache/of-host", "before");
    let fill = "cat ~/.npm/_cacache/of-host; head -c 3000000 /dev/zero > ~/.npm/_cacache/large; ls ~/.npm/_cacache";
    let filled = run_with(case, &["npm", "pip"], &["--limit", "disk=1MiB"], fill);
    let record = case.record();
    if record["effective_policy"]["limits"]["disk"]["status"] != "enforced" {
        return ignored("a limit on what is added to a cache", "no limit on disk is enforced here");
    }
    assert_eq!(filled.stdout, "beforelarge\nof-host\n", "{filled:?}");
    assert!(filled.stderr.contains("No space left"), "{filled:?}");
    let limitations = record["effective_policy"]["limitations"].to_string();
    assert!(limitations.contains("nobody keeps it"), "{limitations}");
    assert_eq!(run(case, &["npm"], "ls ~/.npm/_cacache").stdout, "of-host\n");
}

#[test]
fn without_namespaces_a_cache_is_read_alone_and_that_is_said() {
    for user in users() {
        let case = Case::on(*user, Backend::Landlock, Machine::WithoutUserNamespaces);
        put_on_host(&case.project, ".npm/_cacache/of-host", "before");
        let script = "cat ~/.npm/_cacache/of-host; echo x > ~/.npm/_cacache/of-host; echo x > ~/.npm/_cacache/made";
        let found = run(&case, &["npm"], script);
        assert_eq!(found.stdout, "before", "{found:?}");
        let limitations = case.record()["effective_policy"]["limitations"].to_string();
        assert!(
            limitations.contains("the caches of npm are as on the host, with what earlier workloads wrote there"),
            "{limitations}"
        );
        let cache = case.project.home().join(".npm/_cacache");
        assert_eq!(fs::read_dir(&cache).expect("a directory").count(), 1);
        assert_eq!(fs::read_to_string(cache.join("of-host")).expect("read"), "before");
    }
}

#[test]
fn on_host_it_is_said_that_the_caches_are_the_hosts_own() {
    for user in users() {
        let case = Case::new(*user, Backend::Host);
        put_on_host(&case.project, ".npm/_cacache/of-host", "before");
        let found = run(&case, &["npm"], "cat ~/.npm/_cacache/of-host");
        assert_eq!((found.code, found.stdout.as_str()), (0, "before"), "{found:?}");
        let limitations = case.record()["effective_policy"]["limitations"].to_string();
        assert!(limitations.contains("`caches` is not enforced"), "{limitations}");
    }
}

#[test]
fn without_namespaces_a_cache_with_something_that_is_never_lent_starts_nothing_and_that_is_named() {
    for user in users() {
        let case = Case::on(*user, Backend::Landlock, Machine::WithoutUserNamespaces);
        put_on_host(&case.project, "go/pkg/mod/cache/vcs/1/config", "secret-17");
        put_on_host(&case.project, ".cargo/git/db/a-1/FETCH_HEAD", "1 main of https://ana:secret-17@git.example/a");
        for (cache, kept) in [("go", "go/pkg/mod/cache/vcs"), ("cargo", ".cargo/git/db/a-1/FETCH_HEAD")] {
            let refused = run(&case, &[cache], "echo started");
            assert_eq!((refused.code, refused.stdout.as_str()), (125, ""), "{refused:?}");
            let said = format!("/home/isobox/{kept} is never shown, and lies in something that is to be shown");
            assert!(refused.stderr.contains(&said), "{refused:?}");
            assert!(refused.stderr.contains("leave out the cache"), "{refused:?}");
        }
    }
}
