#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# bochs.sh: see that a Bochs of at least 3.1 is at hand. Older ones write XSAVEC and
# XSAVES images wrongly (docs/errata.md). When the system's own is older, the
# package of Debian's newest suite and all libraries it wants are downloaded by apt,
# with lists, cache and state of its own, and unpacked into a private folder, where
# they run by their own dynamic loader. Nothing of the system is changed and no
# root is needed. The folder appears whole or not at all.
#
# XSTATE_BOCHS_DIR   the folder (else $XDG_CACHE_HOME/xstate/bochs, ~/.cache/xstate/bochs)
# XSTATE_BOCHS_SUITE the suite (else sid)
#
# Exit: 0 when there is one, 3 with the reason when it is impossible.

set -u
want=3.1
suite=${XSTATE_BOCHS_SUITE:-sid}
dir=${XSTATE_BOCHS_DIR:-${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/xstate/bochs}
work=

cannot() {
    echo "no Bochs $want: $1" >&2
    echo "to try again: make bochs (or set XSTATE_BOCHS to a bochs of at least $want)" >&2
    exit 3
}

finish() {
    [ -z "$work" ] || rm -rf "$work"
}

# The version a bochs command says it has, or nothing.
version_of() {
    "$1" --help 2>&1 </dev/null | sed -n 's/.*Bochs x86 Emulator \([0-9][0-9.]*\).*/\1/p' | head -n 1
}

# Is version $1 at least $2? Both are dotted numbers.
at_least() {
    [ -n "$1" ] && [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

# Addresses of this machine's own Debian mirrors, one a line. apt itself reads its
# configuration, in whatever format it is written.
mirrors() {
    codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release 2>/dev/null | tr -d '"')
    apt-get update --print-uris 2>/dev/null | sed -n "s/^'\([^']*\)\/dists\/\([^']*\)\/InRelease'.*/\2 \1/p" |
        awk -v codename="$codename" '
            $1 == codename || $1 ~ /^(stable|testing|unstable|sid|oldstable)$/ {
                if (!seen[$2]++) print $2 }'
}

# apt with nothing of the system's state. A frozen mirror or a wrong clock may make the lists
# look expired; signatures are checked all the same, and so is the version that comes.
private_apt() {
    apt-get -q \
        -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
        -o Dir::State="$work/state" -o Dir::State::Status="$work/state/status" \
        -o Dir::Cache="$work/cache" -o Dir::Log="$work/log" \
        -o Debug::NoLocking=1 -o APT::Sandbox::User= -o APT::Default-Release= \
        -o APT::Update::Post-Invoke= -o DPkg::Pre-Install-Pkgs= -o DPkg::Post-Invoke= \
        -o Acquire::Check-Valid-Until=false -o Acquire::Check-Date=false \
        -o Acquire::Retries=2 -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30 \
        "$@" >>"$work/apt.log" 2>&1
}

apt_reason() {
    grep -h '^[EW]:' "$work/apt.log" | head -n 1 | cut -c 1-200
}

# Download and unpack from mirror $1; false with $why set when that fails.
download() {
    rm -rf "$work/state" "$work/cache" "$work/root"
    mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial" "$work/log" "$work/root"
    : >"$work/state/status"
    : >"$work/apt.log"
    keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    signed=
    [ ! -r $keyring ] || signed="[signed-by=$keyring] "
    echo "deb $signed$1 $suite main" >"$work/sources.list"
    # apt-get update ends with 0 although a list could not be had, so look at the list.
    private_apt update
    if ! ls "$work"/state/lists/*_Packages* >/dev/null 2>&1; then
        why="apt cannot read suite $suite of $1: $(apt_reason)"
        return 1
    fi
    if ! private_apt install -y --download-only --no-install-recommends bochs bochs-term bochsbios; then
        why="apt cannot download bochs of $suite from $1: $(apt_reason)"
        return 1
    fi
    for deb in "$work"/cache/archives/*.deb; do
        dpkg-deb -x "$deb" "$work/root" 2>>"$work/apt.log" || {
            why="cannot unpack ${deb##*/}"
            return 1
        }
    done
    # Two thirds of what the libraries bring along is for desktops.
    find "$work/root/usr/share" -mindepth 1 -maxdepth 1 ! -name bochs ! -name vgabios \
        -exec rm -rf {} +
}

# A command that starts the unpacked bochs by its own loader and libraries.
write_wrapper() {
    cat >"$1" <<'WRAPPER'
#!/bin/sh
# Starts the Bochs in this folder by the loader and libraries beside it.
here=$(cd "$(dirname "$0")" && pwd) || exit 127
lib=$here/root/usr/lib/x86_64-linux-gnu
export LTDL_LIBRARY_PATH="$lib/bochs/plugins" BXSHARE="$here/root/usr/share/bochs"
exec "$lib/ld-linux-x86-64.so.2" \
    --library-path "$lib:$lib/pulseaudio:$here/root/lib/x86_64-linux-gnu" \
    "$here/root/usr/bin/bochs-bin" "$@"
WRAPPER
    chmod +x "$1"
}

system=$(command -v bochs 2>/dev/null)
if [ -n "${XSTATE_BOCHS:-}" ]; then
    version=$(version_of "$XSTATE_BOCHS")
    at_least "$version" $want || cannot "XSTATE_BOCHS is $XSTATE_BOCHS, version ${version:-unknown}"
    exit 0
fi
if [ -n "$system" ] && at_least "$(version_of "$system")" $want; then
    exit 0
fi
if [ -x "$dir/bochs" ] && [ -r "$dir/version" ] && at_least "$(cat "$dir/version")" $want; then
    exit 0
fi

[ "$(uname -m)" = x86_64 ] || cannot "the private copy is for x86-64 machines"
for tool in apt-get dpkg-deb; do
    command -v $tool >/dev/null 2>&1 || cannot "$tool is not here"
done
parent=$(dirname "$dir")
mkdir -p "$parent" 2>/dev/null && [ -w "$parent" ] || cannot "$parent cannot be written"
trap finish EXIT
trap 'exit 130' INT TERM HUP
work=$(mktemp -d "$parent/.bochs.XXXXXX") || cannot "$parent cannot be written"
list=$(mirrors)
[ -n "$list" ] || cannot "this machine's apt names no Debian mirror"
echo "getting Bochs of Debian $suite into $dir" >&2
why=
done=
for mirror in $list; do
    if download "$mirror"; then
        done=yes
        break
    fi
done
[ -n "$done" ] || cannot "$why"

new=$work/new
mkdir "$new" && mv "$work/root" "$new/root" && write_wrapper "$new/bochs" ||
    cannot "$parent cannot be written"
version=$(version_of "$new/bochs")
at_least "$version" $want || cannot "suite $suite has version ${version:-unknown}"
echo "$version" >"$new/version"
# A folder cannot be replaced in one step, so move what is in the way aside first; two
# of us at once end with one of two whole copies.
[ ! -e "$dir" ] || mv "$dir" "$work/old" 2>/dev/null
mv -T "$new" "$dir" 2>/dev/null || [ -x "$dir/bochs" ] || cannot "$dir cannot be written"
echo "Bochs $version is ready" >&2
