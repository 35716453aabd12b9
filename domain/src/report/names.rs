//! What the name of a path says about its role.
//!
//! Names are compared in ASCII lower case: a case-insensitive checkout elsewhere obeys `Makefile` and `MAKEFILE` alike.

use super::RiskCategory;
use crate::repo_path::RepoPath;

/// Whether a name has a certain role.
type Rule = fn(&Name<'_>) -> bool;

/// The categories that follow from a path alone.
pub(super) fn categories(path: &RepoPath) -> impl Iterator<Item = RiskCategory> {
    let lower = path.as_bytes().to_ascii_lowercase();
    const RULES: [(RiskCategory, Rule); 10] = [
        (RiskCategory::Script, is_script),
        (RiskCategory::Hook, is_hook),
        (RiskCategory::DependencyManifest, is_dependency_manifest),
        (RiskCategory::CiWorkflow, is_ci_workflow),
        (RiskCategory::AgentInstructions, is_agent_instruction),
        (RiskCategory::EditorTask, is_editor_task),
        (RiskCategory::IsoboxPolicy, is_isobox_policy),
        (RiskCategory::GitControl, is_git_control),
        (RiskCategory::Secret, is_secret),
        (RiskCategory::BuildExecution, is_build_execution),
    ];
    RULES.into_iter().filter(move |(_, rule)| rule(&Name::of(&lower))).map(|(category, _)| category)
}

/// A lower-cased path, taken apart. Lists of names are separated by white space.
struct Name<'a> {
    path: &'a [u8],
    file: &'a [u8],
}

impl<'a> Name<'a> {
    fn of(path: &'a [u8]) -> Self {
        Self { path, file: path.rsplit(|&byte| byte == b'/').next().unwrap_or(path) }
    }

    fn file_is(&self, names: &str) -> bool {
        names.split_ascii_whitespace().any(|name| name.as_bytes() == self.file)
    }

    fn file_starts(&self, starts: &str) -> bool {
        starts.split_ascii_whitespace().any(|start| self.file.starts_with(start.as_bytes()))
    }

    fn file_ends(&self, ends: &str) -> bool {
        ends.split_ascii_whitespace().any(|end| self.file.ends_with(end.as_bytes()))
    }

    /// Whether it lies below one of these directories, wherever they are, or takes the place of one.
    fn is_in(&self, directories: &str) -> bool {
        let is_it = |rest: &[u8], directory: &str| {
            rest.strip_prefix(directory.as_bytes()).is_some_and(|below| below.is_empty() || below.starts_with(b"/"))
        };
        directories.split_ascii_whitespace().any(|directory| self.ends().any(|rest| is_it(rest, directory)))
    }

    /// The path from each of its components on.
    fn ends(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let after_slash = |rest: &&'a [u8]| rest.iter().position(|&byte| byte == b'/').map(|at| &rest[at + 1..]);
        std::iter::successors(Some(self.path), after_slash)
    }

    fn is_below(&self, directories: &str) -> bool {
        directories
            .split_ascii_whitespace()
            .any(|d| self.path.strip_prefix(d.as_bytes()).is_some_and(|rest| rest.starts_with(b"/")))
    }
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

fn is_script(name: &Name<'_>) -> bool {
    name.file_ends(".sh .bash .zsh .ksh .csh .fish .ps1 .psm1 .bat .cmd .vbs .awk .mk .command .gradle .gradle.kts")
        || name.file_is(
            "makefile gnumakefile justfile .justfile rakefile taskfile.yml taskfile.yaml build.rs setup.py \
         conftest.py noxfile.py dockerfile containerfile vagrantfile procfile configure cmakelists.txt \
         gradlew mvnw .envrc .bashrc .profile",
        )
        || name.file_starts("dockerfile. gulpfile. gruntfile.")
        || name.is_in("scripts script bin hack")
}

/// Whether a file of this name is one of tests.
pub fn is_test(path: &RepoPath) -> bool {
    let lower = path.as_bytes().to_ascii_lowercase();
    let name = Name::of(&lower);
    let stem = name.file.split(|byte| *byte == b'.').next().unwrap_or_default();
    // Where names have humps, the last of them says it: FooTest.java, BarTests.cs.
    let typed = path.file_name();
    let typed_stem = typed.split(|byte| *byte == b'.').next().unwrap_or_default();
    name.is_in("test tests spec specs __tests__")
        || [&b"test"[..], b"tests"].contains(&stem)
        || [&b"Test"[..], b"Tests", b"Spec"].iter().any(|end| typed_stem.ends_with(end))
        || stem.starts_with(b"test_")
        || [&b"_test"[..], b"_tests", b"_spec"].iter().any(|end| stem.ends_with(end))
        || [&b".test."[..], b".spec."].iter().any(|part| contains(name.file, part))
}

/// Whether a file of this name says what may be done with the project.
pub(super) fn is_licence(path: &RepoPath) -> bool {
    let lower = path.as_bytes().to_ascii_lowercase();
    let stem = Name::of(&lower).file.split(|byte| b".-".contains(byte)).next().unwrap_or_default();
    [&b"license"[..], b"licence", b"copying", b"copyright", b"notice"].contains(&stem)
}

/// What a build or an installation runs without being asked to.
fn is_build_execution(name: &Name<'_>) -> bool {
    name.file_is(
        "build.rs setup.py binding.gyp conftest.py makefile gnumakefile cmakelists.txt configure meson.build build.gradle \
         build.gradle.kts settings.gradle settings.gradle.kts",
    ) || name.file_ends(".mk")
        // It names wrappers of the compiler, linkers and runners.
        || (name.is_in(".cargo") && name.file_is("config.toml config"))
}

fn is_hook(name: &Name<'_>) -> bool {
    name.is_in("hooks .husky .githooks .git-hooks git-hooks githooks")
        || name.file_is(
            ".pre-commit-config.yaml .pre-commit-config.yml .pre-commit-hooks.yaml lefthook.yml lefthook.yaml \
         .lefthook.yml .overcommit.yml .huskyrc .huskyrc.json applypatch-msg pre-applypatch post-applypatch \
         pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit pre-rebase post-checkout \
         post-merge pre-push pre-receive update-hook post-receive post-update reference-transaction \
         push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman post-index-change",
        )
}

fn is_dependency_manifest(name: &Name<'_>) -> bool {
    name.file_is(
        "cargo.toml cargo.lock rust-toolchain rust-toolchain.toml go.mod go.sum go.work package.json \
         package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml pnpm-workspace.yaml bun.lock \
         bun.lockb deno.json deno.lock .npmrc .yarnrc .yarnrc.yml pyproject.toml pipfile pipfile.lock \
         poetry.lock uv.lock pdm.lock setup.py setup.cfg environment.yml gemfile gemfile.lock composer.json \
         composer.lock pom.xml build.gradle build.gradle.kts settings.gradle settings.gradle.kts \
         gradle.lockfile libs.versions.toml gradle-wrapper.properties gradle-wrapper.jar build.sbt mix.exs \
         mix.lock rebar.config pubspec.yaml pubspec.lock package.swift package.resolved podfile podfile.lock \
         cartfile flake.nix flake.lock default.nix shell.nix conanfile.txt conanfile.py vcpkg.json \
         module.bazel workspace.bazel stack.yaml cabal.project directory.packages.props packages.config \
         nuget.config packages.lock.json global.json .tool-versions mise.toml deps.edn project.clj \
         renovate.json",
    ) || name.file_ends(".csproj .fsproj .vbproj .gemspec .cabal .podspec")
        || (name.file_starts("requirements constraints") && name.file_ends(".txt .in"))
        || name.is_below(".cargo vendor")
}

fn is_ci_workflow(name: &Name<'_>) -> bool {
    name.is_below(
        ".github/workflows .github/actions .gitlab .circleci .buildkite .woodpecker .forgejo .gitea \
         .azure-pipelines .teamcity .tekton .ci .semaphore",
    ) || name.file_is(
        ".gitlab-ci.yml .gitlab-ci.yaml jenkinsfile .travis.yml azure-pipelines.yml azure-pipelines.yaml \
         bitbucket-pipelines.yml .drone.yml .woodpecker.yml appveyor.yml .appveyor.yml .cirrus.yml \
         cloudbuild.yaml buildspec.yml codeship-steps.yml action.yml action.yaml dependabot.yml codeowners",
    ) || name.file_starts("jenkinsfile.")
}

fn is_agent_instruction(name: &Name<'_>) -> bool {
    name.file_is(
        "agents.md agents.override.md agent.md claude.md claude.local.md gemini.md copilot.md warp.md qwen.md \
         crush.md skill.md .cursorrules .cursorignore .windsurfrules .clinerules .roorules .roomodes \
         .goosehints .aider.conf.yml .mcp.json mcp.json copilot-instructions.md llms.txt conventions.md \
         opencode.json opencode.jsonc",
    ) || name.file_ends(".instructions.md .prompt.md .chatmode.md .mdc")
        || name.is_in(
            ".cursor .claude .agents .agent .codex .gemini .windsurf .clinerules .cline .roo .continue .aider \
         .opencode .kiro .junie .amazonq .augment .qwen .goose .github/instructions .github/prompts \
         .github/chatmodes .github/agents",
        )
}

fn is_editor_task(name: &Name<'_>) -> bool {
    name.is_in(".vscode .idea .zed .vs .fleet .devcontainer .nvim")
        || name.file_is(
            ".devcontainer.json .dir-locals.el .dir-locals-2.el .exrc .nvimrc .nvim.lua .vimrc .lvimrc .lazy.lua \
         .editorconfig .gitpod.yml .emacs",
        )
        || name.file_ends(".code-workspace .sublime-project .iml")
}

fn is_isobox_policy(name: &Name<'_>) -> bool {
    name.is_in(".isobox")
}

fn is_git_control(name: &Name<'_>) -> bool {
    name.file_is(".gitattributes .gitignore .gitmodules .gitconfig .mailmap .lfsconfig .git-blame-ignore-revs")
        || name.path.split(|&byte| byte == b'/').any(is_git_directory_on_windows)
}

/// Windows drops dots and spaces at the end of a name, takes what follows a colon for a stream of the file before it, and
/// knows `.git` by the short name `git~1` too: a checkout there would write into its own Git directory.
fn is_git_directory_on_windows(component: &[u8]) -> bool {
    let name = component.split(|&byte| byte == b':').next().unwrap_or_default();
    let length = name.iter().rposition(|byte| !b". ".contains(byte)).map_or(0, |last| last + 1);
    [&b".git"[..], b"git~1"].contains(&&name[..length])
}

fn is_secret(name: &Name<'_>) -> bool {
    name.file_is(
        ".env .netrc .pgpass .pypirc .git-credentials .htpasswd credentials credentials.json id_rsa id_dsa \
         id_ecdsa id_ed25519 kubeconfig secrets.yml secrets.yaml secrets.json",
    ) || (name.file_starts(".env.") && !name.file_ends(".example .sample .template .dist"))
        || name.file_ends(".pem .key .p12 .pfx .keystore .jks .kdbx .ppk .asc")
        || name.is_in(".ssh .aws .gnupg .kube")
}
