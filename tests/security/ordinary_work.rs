//! Promise: what a development tool ordinarily does works inside, whatever backend contains it.

use isobox_tests::{Case, Outcome, ignored};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

isobox_tests::promises! {
    containing: [
        a_commit_is_made_and_is_the_workloads_own,
        python_runs_tasks_and_processes_side_by_side,
        own_processes_talk_by_pairs_pipes_and_the_loopback,
        a_shell_controls_its_jobs,
        node_starts_and_talks_to_children,
        a_small_project_is_built_and_tested_by_cargo,
    ],
}

/// Whether `program` is here; if not, `what` is said to be ignored.
pub(crate) fn has(program: &str, what: &str) -> bool {
    let answers = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !answers {
        ignored(what, &format!("there is no {program}"));
    }
    answers
}

fn python(case: &Case, program: &str) -> Option<Outcome> {
    let is_there = has("/usr/bin/python3", "ordinary work in Python");
    is_there.then(|| case.run_command(&["/usr/bin/python3", "-c", program]))
}

fn a_commit_is_made_and_is_the_workloads_own(case: &Case) {
    let head = case.project.git(&["rev-parse", "HEAD"]);
    let script = "set -e; git config user.name B; git config user.email b@example.com; echo more >> README.md; \
                  git switch -q -c topic; git add -A; git commit -q -m inside; git stash list; git gc -q; git fsck; \
                  git log -1 --format=%s; git status --porcelain";
    let run = case.run_well(script);
    assert_eq!(run.stdout, "inside\n", "{run:?}");
    assert_eq!(case.project.git(&["rev-parse", "HEAD"]), head);
    assert!(case.patch().contains("+more"));
}

fn python_runs_tasks_and_processes_side_by_side(case: &Case) {
    let program = "
import asyncio, concurrent.futures, multiprocessing, os, tempfile
from multiprocessing import shared_memory
def square(number):
    return number * number
async def main():
    child = await asyncio.create_subprocess_exec('sh', '-c', 'echo heard; exit 3', stdout=asyncio.subprocess.PIPE)
    out, _ = await child.communicate()
    server = await asyncio.start_server(lambda reader, writer: (writer.write(b'served'), writer.close()), '127.0.0.1', 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    served = await asyncio.wait_for(reader.read(), 10)
    print(out.decode().strip(), child.returncode, served.decode())
asyncio.run(main())
context = multiprocessing.get_context('fork')
with context.Pool(2) as pool:
    print(sum(pool.map(square, range(10))))
lock, queue = context.Lock(), context.Queue()
def put():
    with lock:
        queue.put(os.getpid())
child = context.Process(target=put)
child.start()
print(queue.get(timeout=10) == child.pid)
child.join()
with context.Manager() as manager:
    shared = manager.dict(a=1)
    print(shared['a'])
block = shared_memory.SharedMemory(create=True, size=4096)
block.buf[0] = 7
again = shared_memory.SharedMemory(block.name)
print(again.buf[0])
again.close()
block.close()
block.unlink()
with tempfile.NamedTemporaryFile() as file:
    file.write(b'x')
print('done')
";
    let Some(run) = python(case, program) else { return };
    assert_eq!((run.code, run.stdout.as_str()), (0, "heard 3 served\n285\nTrue\n1\n7\ndone\n"), "{run:?}");
}

fn own_processes_talk_by_pairs_pipes_and_the_loopback(case: &Case) {
    let program = "
import array, os, select, signal, socket, tempfile
def echo(server):
    if os.fork() == 0:
        peer = server.accept()[0]
        peer.sendall(peer.recv(10))
        os._exit(0)
def talk(family, address):
    server = socket.socket(family)
    server.bind(address)
    server.listen()
    echo(server)
    client = socket.create_connection(server.getsockname()[:2], 10) if family != socket.AF_UNIX else socket.socket(family)
    if family == socket.AF_UNIX:
        client.connect(server.getsockname())
    client.sendall(b'hello')
    print(client.recv(10).decode())
    os.wait()
talk(socket.AF_INET, ('127.0.0.1', 0))
talk(socket.AF_UNIX, os.path.join(tempfile.mkdtemp(), 's'))
talk(socket.AF_UNIX, '\\0isobox-own')
ours, theirs = socket.socketpair()
passed = os.memfd_create('m')
socket.send_fds(ours, [b'x'], [passed])
print(len(socket.recv_fds(theirs, 10, 1)[1]))
os.mkfifo('pipe')
if os.fork() == 0:
    open('pipe', 'w').write('through a pipe')
    os._exit(0)
print(open('pipe').read())
os.wait()
os.unlink('pipe')
child = os.fork()
if child == 0:
    signal.pause()
descriptor = os.pidfd_open(child)
signal.pidfd_send_signal(descriptor, signal.SIGTERM)
print(bool(select.select([descriptor], [], [], 10)[0]), os.waitstatus_to_exitcode(os.wait()[1]))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(('127.0.0.1', 0))
udp.sendto(b'datagram', udp.getsockname())
print(udp.recv(10).decode())
";
    let Some(run) = python(case, program) else { return };
    let expected = "hello\nhello\nhello\n1\nthrough a pipe\nTrue -15\ndatagram\n";
    assert_eq!((run.code, run.stdout.as_str()), (0, expected), "{run:?}");
}

fn a_shell_controls_its_jobs(case: &Case) {
    let script = "set -m; printf 'b\\na\\n' | sort | tr a-z A-Z; sleep 60 & kill -STOP %1; sleep 0.1; jobs -l | grep -c -i stopped; \
                  kill -CONT %1; kill %1; wait %1; echo $?; (trap 'echo caught' TERM; kill -TERM $BASHPID); \
                  timeout 0.2 sleep 60; echo $?; cat <(echo substituted); flock lock true && echo locked; rm lock; \
                  find . -maxdepth 1 -name '*.md' -print0 | xargs -0 -n1 -P2 basename; nice -n 5 true; ulimit -n 256; ulimit -n";
    let run = case.run_command(&["bash", "-c", script]);
    let expected = "A\nB\n1\n143\ncaught\n124\nsubstituted\nlocked\nREADME.md\n256\n";
    assert_eq!((run.code, run.stdout.as_str()), (0, expected), "{run:?}");
}

fn node_starts_and_talks_to_children(case: &Case) {
    let node = "/usr/bin/node";
    if !has(node, "children of Node.js") {
        return;
    }
    let program = "
const { execFileSync, fork } = require('child_process'), { Worker } = require('worker_threads'), net = require('net');
if (process.argv[2] === 'child') { process.on('message', text => { process.send(text + ' back'); process.disconnect(); }); }
else {
    console.log(execFileSync('sh', ['-c', 'echo executed']).toString().trim());
    const child = fork(__filename, ['child']);
    child.on('message', text => { console.log(text);
        const server = net.createServer(peer => peer.end('served')).listen(0, '127.0.0.1', () =>
            net.connect(server.address().port, '127.0.0.1').on('data', data => { console.log(String(data)); server.close();
                new Worker('require(\"worker_threads\").parentPort.postMessage(1 + 1)', { eval: true }).on('message', sum => console.log(sum)); })); });
    child.send('there and');
}
";
    case.project.write("children.js", program);
    case.project.commit_all("children");
    let run = case.run_command(&[node, "children.js"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "executed\nthere and back\nserved\n2\n"), "{run:?}");
}

/// A toolchain in the home directory of the case's user, whose files are those of this machine's under names of its own; the
/// error tells why there is none.
pub(crate) fn toolchain(case: &Case) -> Result<PathBuf, String> {
    let printed = Command::new("rustc").args(["--print", "sysroot"]).output();
    let printed = printed.map_err(|error| format!("rustc does not tell where its toolchain is: {error}"))?;
    if !printed.status.success() {
        return Err(format!(
            "rustc does not tell where its toolchain is: {}",
            String::from_utf8_lossy(&printed.stderr)
        ));
    }
    let from = PathBuf::from(String::from_utf8_lossy(&printed.stdout).trim());
    let to = case.project.home().join("toolchain");
    fs::create_dir(&to).expect("a directory");
    // Without the documentation, which is thousands of files.
    let linked = Command::new("cp").arg("-al").args([from.join("bin"), from.join("lib")]).arg(&to).output();
    match linked.expect("run cp") {
        done if done.status.success() => Ok(to),
        failed => Err(format!("the toolchain cannot be linked to: {}", String::from_utf8_lossy(&failed.stderr))),
    }
}

fn a_small_project_is_built_and_tested_by_cargo(case: &Case) {
    let toolchain = match toolchain(case) {
        Ok(toolchain) => toolchain,
        Err(reason) => return ignored("a build by cargo", reason.lines().next().unwrap_or_default()),
    };
    case.project.write("Cargo.toml", "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    case.project.write("build.rs", "fn main() { println!(\"cargo::rustc-env=BUILT=yes\"); }\n");
    let source =
        "fn main() { println!(\"built {}\", env!(\"BUILT\")); }\n#[test]\nfn works() { assert_eq!(2 + 2, 4); }\n";
    case.project.write("src/main.rs", source);
    case.project.write(".gitignore", "/target\n");
    case.project.commit_all("small");
    let run = with_toolchain(case, &toolchain, "cargo run -q --offline && cargo test -q --offline");
    assert!(run.code == 0 && run.stdout.starts_with("built yes\n"), "{run:?}");
    assert!(run.stdout.contains("1 passed"), "{run:?}");
}

fn with_toolchain(case: &Case, toolchain: &Path, script: &str) -> Outcome {
    let toolchain = toolchain.display().to_string();
    let script = format!("export PATH={toolchain}/bin:$PATH; {script}");
    let flags = ["run", "--backend", case.backend.name(), "--read", &toolchain, "--", "sh", "-c", &script];
    case.output(case.project.isobox_command(&flags))
}
