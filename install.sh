#!/bin/sh
# Installs the newest release of isobox, after its signature and checksum were verified.
#
#   install.sh [--to DIR] [--url URL] [--key KEY] [--version VERSION] [--checksum-only]
#
#   --to DIR         the directory for the program [~/.local/bin]
#   --url URL        where the releases are: an https, http or file URL
#   --key KEY        the minisign key that they must be signed with
#   --version V      that version, older ones too [the newest]
#   --checksum-only  go on where no program can verify the signature: whoever can change what URL serves could then
#                    change the program, and only the transport stands in the way
#
# Needs a POSIX shell with tar, gzip and awk, curl or wget, and minisign or OpenSSL 3 for the signature.
set -eu

# Filled in by scripts/release in the copy that lies beside the releases.
release_url=''
release_key=''

say() { printf '%s\n' "$*"; }
die() {
    printf 'error: %s\n' "$1" >&2
    [ -z "${2:-}" ] || printf 'hint: %s\n' "$2" >&2
    exit 1
}
has() { command -v "$1" > /dev/null 2>&1; }

# fetch NAME LIMIT: the file NAME of the releases, at most LIMIT bytes of it, into the scratch directory.
fetch() {
    url="$release_url/$1" into="$scratch/$1" most="$(($2 + 1))" seconds="${ISOBOX_INSTALL_TIMEOUT:-300}"
    case "$url" in
        file://*) head -c "$most" < "${url#file://}" > "$into" || die "cannot read $url" ;;
        https://*) from_server https || die "cannot fetch $url" "try again later" ;;
        *) from_server http,https || die "cannot fetch $url" "try again later" ;;
    esac
    [ "$(size "$into")" -le "$2" ] || die "$url has more than $2 bytes"
}

# from_server PROTOCOLS: $url, by those protocols alone where the program can be told. What is cut short on its way is
# found by its length, or by the signature. Neither program limits the size of an answer that does not tell it.
from_server() {
    if has curl; then
        curl -fsSL --proto "=$1" --proto-redir "=$1" --max-redirs 5 --connect-timeout 20 --max-time "$seconds" "$url"
    elif has wget; then
        # wget limits each wait, and not their sum.
        patience=
        ! has timeout || patience="timeout $seconds"
        # shellcheck disable=SC2086 # Two words or none.
        $patience wget -q -T "$seconds" -O - "$url"
    else
        printf 'error: there is neither curl nor wget; install one of them, or give a file URL\n' >&2
    fi | head -c "$most" > "$into"
    [ -s "$into" ]
}

size() { wc -c < "$1" | tr -d ' '; }

sha256() {
    if has sha256sum; then sha256sum < "$1"; elif has shasum; then shasum -a 256 < "$1"; else
        openssl dgst -sha256 -r < "$1"
    fi | cut -d ' ' -f 1
}

# verified FILE: whether the release key signed it; 2 where nothing here can tell.
verified() {
    if has minisign; then
        minisign -V -q -P "$release_key" -m "$1" > /dev/null 2>&1 || return 1
    elif has openssl && openssl pkeyutl -help 2>&1 | grep -q -- -rawin; then
        verified_by_openssl "$1" "$1.minisig" || return 1
    else
        return 2
    fi
}

# A signature of minisign is Ed25519 over the BLAKE2b of the file: its second line is, in base64, the letters ED, 8 bytes
# that name the key, and 64 bytes of signature; a key is the letters Ed, the same 8 bytes, and 32 bytes of key.
verified_by_openssl() {
    sed -n 2p "$2" | openssl base64 -d -A > "$scratch/signature" 2> /dev/null
    printf '%s' "$release_key" | openssl base64 -d -A > "$scratch/key" 2> /dev/null
    [ "$(size "$scratch/signature")" = 74 ] && [ "$(size "$scratch/key")" = 42 ] || return 1
    [ "$(head -c 2 "$scratch/signature")" = ED ] && [ "$(head -c 2 "$scratch/key")" = Ed ] || return 1
    tail -c 64 "$scratch/signature" > "$scratch/signature.raw"
    # The beginning of a SubjectPublicKeyInfo for Ed25519: RFC 8410, section 4.
    { printf '\060\052\060\005\006\003\053\145\160\003\041\000'; tail -c 32 "$scratch/key"; } > "$scratch/key.der"
    openssl dgst -blake2b512 -binary < "$1" > "$scratch/hash" || return 1
    openssl pkeyutl -verify -pubin -inkey "$scratch/key.der" -keyform DER -rawin -in "$scratch/hash" \
        -sigfile "$scratch/signature.raw" > /dev/null 2>&1
}

# The line of the index for the newest stable version, or the one asked for: versions are compared number by number.
chosen() {
    awk -F '[ ]' -v platform="$platform" -v wanted="$wanted" '
        $1 != "archive" || $3 != platform || NF != 6 { next }
        wanted != "" { if ($2 == wanted) { best = $0 } next }
        $2 ~ /^[0-9]+\.[0-9]+\.[0-9]+$/ {
            split($2, v, ".")
            if (best == "" || v[1]+0 > a+0 || (v[1]+0 == a+0 && (v[2]+0 > b+0 || (v[2]+0 == b+0 && v[3]+0 > c+0)))) {
                a = v[1]; b = v[2]; c = v[3]; best = $0
            }
        }
        END { print best }' "$scratch/releases.txt"
}

# The name under which Git starts isobox for `git fetch isobox://TASK`, beside the program; what else has that name stays.
link_remote() {
    helper="$to/git-remote-isobox"
    # shellcheck disable=SC3013 # Every shell that Linux has as sh knows it.
    if [ "$helper" -ef "$target" ]; then return 0; fi
    if [ -L "$helper" ] || [ -e "$helper" ]; then
        say "$helper is something else, and stays; \`git fetch isobox://@latest\` needs a link to isobox in its place"
    elif ! ln -s isobox "$helper"; then
        say "$helper could not be made; \`git fetch isobox://@latest\` needs a link to isobox there"
    fi
}

main() {
    to='' wanted='' unverified=refuse
    while [ "$#" -gt 0 ]; do
        case "$1" in
            --to | --url | --key | --version) [ "$#" -ge 2 ] || die "$1 needs a value" ;;
        esac
        case "$1" in
            --to) to=$2; shift ;;
            --url) release_url=$2; shift ;;
            --key) release_key=$2; shift ;;
            --version) wanted=$2; shift ;;
            --checksum-only) unverified=accept ;;
            *) die "there is no $1" "the head of this script lists what there is" ;;
        esac
        shift
    done
    release_url="${release_url%/}"
    [ -n "$to" ] || to="${HOME:?name a directory with --to}/.local/bin"
    case "$release_url" in
        https://?* | http://?* | file:///*) ;;
        *) die "where the releases are is not known" "name the place with --url: an https, http or file URL" ;;
    esac
    [ -n "$release_key" ] || die "the key of the releases is not known" "name it with --key"
    [ "$(uname -s)" = Linux ] || die "isobox runs on Linux alone"
    case "$(uname -m)" in
        x86_64 | amd64) platform=x86_64-unknown-linux-musl ;;
        aarch64 | arm64) platform=aarch64-unknown-linux-musl ;;
        *) die "there are no releases for $(uname -m)" "build isobox from its source" ;;
    esac
    target="$to/isobox"
    if [ -L "$target" ]; then
        die "$target is a symbolic link; something else looks after it" "remove it, or choose another directory with --to"
    fi
    [ ! -d "$target" ] || die "$target is a directory" "choose another directory with --to"
    mkdir -p "$to" || die "cannot make $to" "choose another directory with --to"

    # Beside the place of the program, so that it gets there by a rename.
    scratch="$(mktemp -d "$to/.isobox-install-XXXXXX")" || die "cannot write to $to" "choose another one with --to"
    trap 'rm -rf "$scratch"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP

    fetch releases.txt 1048576
    fetch releases.txt.minisig 16384
    outcome=0
    verified "$scratch/releases.txt" || outcome=$?
    case "$outcome" in
        0) how="its signature and checksum are right" ;;
        1) die "the key $release_key did not sign $release_url/releases.txt; nothing was installed" \
            "do not use what lies there; ask whoever publishes it, by another way, what is wrong" ;;
        *)
            [ "$unverified" = accept ] || die "nothing here can verify a signature; nothing was installed" \
                "install minisign or OpenSSL 3, or trust what $release_url serves with --checksum-only"
            how="its checksum is right; its signature was NOT verified" ;;
    esac
    [ "$(head -n 1 "$scratch/releases.txt")" = isobox-releases/v1 ] || die "$release_url has no index that this script reads"

    line="$(chosen)"
    [ -n "$line" ] || die "there is no release ${wanted:+$wanted }for $platform at $release_url"
    # shellcheck disable=SC2086 # Its words are the fields.
    set -f && set -- $line && set +f
    [ "$#" = 6 ] || die "the index is damaged at: $line"
    version=$2 bytes=$4 hash=$5 file=$6
    case "$file" in .* | -* | *[!A-Za-z0-9._+-]*) die "the index names the file $file" ;; esac
    case "$bytes" in *[!0-9]* | ??????????*) die "the index names the size $bytes" ;; esac

    fetch "$file" "$bytes"
    [ "$(size "$scratch/$file")" = "$bytes" ] \
        || die "$file has $(size "$scratch/$file") bytes, and should have $bytes; nothing was installed" "try again later"
    [ "$(sha256 "$scratch/$file")" = "$hash" ] || die "$file is not what was signed; nothing was installed" \
        "do not use what lies there; ask whoever publishes it, by another way, what is wrong"
    program="isobox-$version-$platform/isobox"
    gzip -dc < "$scratch/$file" | tar -xf - -C "$scratch" "$program" || die "cannot unpack $file"
    program="$scratch/$program"
    if [ -L "$program" ] || [ ! -f "$program" ]; then die "there is no program in $file"; fi
    chmod 755 "$program"
    found="$("$program" version)" || die "the program does not run here; nothing was installed" \
        "$to must be on a file system that allows programs to run"
    [ "$found" = "isobox $version" ] || die "the program is $found, and should be isobox $version; nothing was installed"
    mv -f "$program" "$target"
    say "isobox $version is at $target; $how"
    link_remote

    case ":$PATH:" in
        *":$to:"*) ;;
        *) say "Put it on your PATH, for example: echo 'export PATH=\"$to:\$PATH\"' >> ~/.profile" ;;
    esac
    say "\`isobox doctor\` looks whether this machine is ready; isobox needs bubblewrap, e.g. \`apt install bubblewrap\`"
}

# At the end, so that a script that was cut short on its way does nothing.
main "$@"
