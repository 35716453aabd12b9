//! What `isobox help TOPIC` says about matters that are no command.

use crate::exit_code::TABLE;
use crate::output::columns::{self, wrapped};

/// The topics, in the order in which they are listed.
pub(super) const TOPICS: [&str; 5] = ["exit-codes", "ids", "formats", "environment", "policy"];

/// The text of a topic.
pub(super) fn text(topic: &str) -> Option<String> {
    match topic {
        "exit-codes" => Some(exit_codes()),
        "ids" => Some(IDS.to_owned()),
        "formats" => Some(FORMATS.to_owned()),
        "environment" => Some(ENVIRONMENT.to_owned()),
        "policy" => Some(POLICY.to_owned()),
        _ => None,
    }
}

fn exit_codes() -> String {
    let columns = columns::of_stdout();
    TABLE.iter().map(|(code, meaning)| format!("{code:<6} {}\n", wrapped(meaning, 7, columns))).collect()
}

const IDS: &str = "\
Where a command takes a TASK, any of these names it:

  task-0123456789abcdef   the full id
  0123, task-0123         the first digits of it, as long as they mean one task
  @latest                 the task with the newest attempt
  @latest~2               the second task before that
  task-0123#2             the second attempt of a task: `isobox list` tells them
                          apart by this mark
  b3:DIGEST               one record by its digest: `isobox show` prints it
  FILE.isobox#TASK        a task of an archive; without #TASK the only one in it
  .isobox/tasks/task-…    the directory of a view, which also names the store

An id means the newest attempt of its task. `stop`, `wait` and `logs --follow`
also take tasks that are not over, and @latest counts those first.

TASK:PATH names a file as the task left it, from the root of the repository.
A prefix that could mean more than one task is an error that lists them.
";

const FORMATS: &str = "\
For people, isobox prints tables and lines; what came from a workload is escaped
on a terminal, and what a command was asked for is broken where the terminal
ends. For programs:

  --json           one document on standard output with
                   `schema: \"isobox.THING/v1\"`, full ids, and times in UTC:
                   audit check, audit checkpoint, audit rebuild, backend list,
                   cache prune, cache stat, compare, diff, doctor, export,
                   import, list, policy check, policy show, show, store compact,
                   store prune, store repair, store stat, update, verify,
                   version, workspace list
  --format json    the same: report, which also knows markdown and sarif
  --jsonl          the same, one document of schema isobox.task/v1 a line, as
                   they are found: list
  --json-errors    errors on standard error, one document of schema
                   isobox.error/v1 each; with every command
  --events         what happens to a task, one document of schema
                   isobox.event/v1 a line: run, tool, rerun
  --id-file        the task's id, before the workload starts: run, tool, rerun
  logs, diff, cat  the bytes themselves when piped; of `diff` without
                   --color=always, --find-renames and --tool
  diff             a patch that `git apply` takes

Text that is not UTF-8 is an object with its bytes in `hex` and how it is
`shown`. A field may be added to a document; none is removed or changes its
meaning within a version. JSON Schemas of the documents are in docs/schemas of
the source.
";

/// What isobox reads of its environment.
pub(super) const ENVIRONMENT: &str = "\
isobox reads these variables:

  HOME              where the directories below are by default
  XDG_CONFIG_HOME   isobox/ in it holds the user's own files    [~/.config]
  XDG_STATE_HOME    isobox/ in it holds workspaces and trusted
                    policies                                    [~/.local/state]
  XDG_CACHE_HOME    isobox/ in it holds what can be made again  [~/.cache]
  PATH              where bubblewrap is looked for; with `path_mode: inherited`
                    also where a workload's programs are
  ISOBOX_PAGER      the pager for `compare`, `diff`, `logs`, `report` and
                    `show`; else PAGER, else less. An empty one, and cat, is
                    none
  TERM              unset, or dumb: `diff` has no colours
  ISOBOX_AUTO_COMPACT
                    0: no compaction of a store starts by itself
  NO_COLOR          no colours
  CLICOLOR_FORCE    colours of labels although standard error is no terminal

`isobox update` alone reads these:

  ISOBOX_RELEASE_URL   where the releases are, unless --url says so
  ISOBOX_RELEASE_KEY   the key that they must be signed with, unless --key does
  HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY
                       by which way they are fetched
  SSL_CERT_FILE, SSL_CERT_DIR
                       whom HTTPS believes, other than the system's authorities

Whoever builds isobox builds in ISOBOX_RELEASE_KEY and ISOBOX_RELEASE_URL by
setting them for the compiler; without a key it is a development build.

No GIT_ variable is honoured. A workload's environment is made anew: of the
caller's it has TERM, COLORTERM, NO_COLOR, TZ, LANG, LANGUAGE, LC_ALL, LC_CTYPE,
LC_MESSAGES and LC_COLLATE. HOME is an empty directory of its own; with the
backend `host`, the caller's.
";

const POLICY: &str = "\
The policy of a project is .isobox/config.yaml at the root of its repository.
`isobox init` writes one with a comment on every section. It is read from the
trusted checkout, never from a workspace, so a workload cannot change what holds
for it. Its keys:

  extends                            what the policy stands on: a preset, or a
                                     file beside it
  tool_call.enabled                  whether agents may use `isobox tool`
  runtime_backend                    auto, landlock, bubblewrap, or host, which
                                     contains nothing
  network.default                    deny, or inherited: the host's own network
  network.allow                      rules for single hosts: refused, since no
                                     backend enforces them yet
  filesystem.expose_workspace        how the workspace is mounted
  filesystem.read                    host files and directories to show,
                                     read-only
  filesystem.write                   those of which the workload has a copy to
                                     change, thrown away afterwards
  filesystem.hide                    patterns of what stays hidden
  workspace.protected                paths of the workspace that cannot be
                                     changed or made
  reuse_inputs                       programs, files, variables and sockets of
                                     the host that the workload uses
  caches                             package managers whose downloads a build
                                     finds without a network
  development_environment.path_mode  which PATH a workload gets
  workspace_source.kind              repository: there is no other yet
  require                            controls that must be enforced, or nothing
                                     is started
  credentials.default                none: there is no other yet
  preflight.rules                    what must hold before anything is started
  promotion.mode                     how a result gets into the repository
  promotion.require                  what must hold when a result is promoted
  promotion.block                    findings of the report that keep it out
  verification.commands              what promote --verify runs
  records.views                      how many tasks have a copy as plain files
  tasks.max                          how many tasks of a store run at once
  limits.*                           what a workload may use up: time,
                                     idle_time, memory, cpu, cpu_time,
                                     processes, disk, inodes, open_files,
                                     file_size, output

A toolchain in your home directory, such as Rust's, is shown by

  development_environment:
    path_mode: inherited
  filesystem:
    read: [~/.rustup, ~/.cargo/bin]

and found at the same place below HOME: isobox tool -- cargo build. The recipe
docs/recipes/toolchains.md has more. An agent that is installed is started by
isobox run --reuse-input host_binary=AGENT --reuse-input path=~/.config/AGENT.

A policy is used once you trust it, byte for byte. `init` trusts what it writes;
another one, or an edit, is shown and asked about on a terminal, and refused
elsewhere. Look at it by `isobox policy show`, and trust it by `isobox policy
trust`, or by --trust-policy of run, tool and rerun.

An unknown key, a wrong type or a value that is not supported is an error with
file, line and column. A control that is asked for and cannot be enforced here
is told before the start, and `isobox show` says for each control whether it was
enforced, and by what. The flags of `isobox run` change the policy of one
session; what is weaker than the file needs --unsafe-network or its like, and is
recorded. A tool call takes --require alone. `isobox policy show --effective`
says what holds in a project, and why; `isobox policy --help` lists what else
can be done.
";
