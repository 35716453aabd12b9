# Sourced by the scripts beside it: system packages by apt, as root or with sudo, and only those that are missing.

say() { printf '\n== %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo > /dev/null; then
        sudo "$@"
    else
        die "$* needs root, and there is no sudo; an administrator can install:${missing:-}"
    fi
}

# need PROGRAM PACKAGE…: the packages, if the program is not there.
need() {
    command -v "$1" > /dev/null || missing="${missing:-} ${*:2}"
}

install_missing() {
    [ -n "${missing:-}" ] || return 0
    command -v apt-get > /dev/null || die "please install, then try again:$missing"
    say "Installing$missing"
    # Another apt may hold its lock for a while.
    local wait="DPkg::Lock::Timeout=300"
    as_root apt-get -o "$wait" update -qq
    # shellcheck disable=SC2086 # One word a package.
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o "$wait" install -y -qq --no-install-recommends $missing
    missing=
}

need_rust() {
    command -v cargo > /dev/null || PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"
    command -v cargo > /dev/null || die "there is no cargo on PATH; install Rust from https://rustup.rs, then try again"
}

# Builds the release, and sets `isobox` to the program. It is linked statically as the published one is: what is tested is
# what people get, and it starts in two thirds of the time, which a tool call needs twice.
build_isobox() {
    local host
    host="$(rustc -vV | sed -n 's/^host: //p')"
    # With --target, the flags are not for what only runs while building.
    RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=+crt-static" \
        cargo build --release --locked -p isobox --target "$host"
    isobox="$(target_directory)/$host/release/isobox"
}

# Where cargo puts what it builds, whatever configures that.
target_directory() {
    cargo metadata --format-version 1 --no-deps --locked | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'
}
