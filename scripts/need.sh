#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# need.sh GROUP... [-- GROUP...]: see that the packages of these groups (see
# scripts/packages) are there, and install what is missing when that can be done
# without asking: as root, or with sudo. Otherwise say the one command to type.
# Groups after "--" are wanted, not needed: going without them is only a note.
#
# When nothing is missing this is two processes and no network.

set -u
list=$(dirname "$0")/packages

# Is everything named here there: commands, or files from / on?
probes_hold() {
    [ $# -gt 0 ] || return 1
    for probe in "$@"; do
        case $probe in
        /*) [ -e "$probe" ] || return 1 ;;
        *) command -v "$probe" >/dev/null 2>&1 || return 1 ;;
        esac
    done
}

# Packages of the groups given that are missing, one a line.
missing() {
    wanted=$(awk -v groups=" $* " '!/^#/ && NF && index(groups, " " $1 " ") {
        sub(/^[^ \t]+[ \t]+/, ""); print }' "$list")
    [ -n "$wanted" ] || return 0
    # shellcheck disable=SC2046 # package names have no blanks
    have=" $(dpkg-query -W -f='${db:Status-Status} ${Package}\n' \
        $(echo "$wanted" | awk '{ print $1 }') 2>/dev/null |
        awk '$1 == "installed" { printf "%s ", $2 }') "
    echo "$wanted" | while read -r package probes; do
        case $have in *" $package "*) continue ;; esac
        # shellcheck disable=SC2086
        probes_hold $probes || echo "$package"
    done
}

# Install the packages given; false when that is not possible.
install() {
    if ! command -v apt-get >/dev/null 2>&1; then
        why="this is not a Debian system"
        return 1
    fi
    as=
    if [ "$(id -u)" -ne 0 ]; then
        # A password is asked for only where somebody can type it, and by sudo alone.
        if ! command -v sudo >/dev/null 2>&1; then
            why="neither root nor sudo"
            return 1
        elif sudo -n true 2>/dev/null || [ -t 0 ]; then
            as=sudo
        else
            why="sudo wants a password and nobody is there to type it"
            return 1
        fi
    fi
    echo "installing: $*" >&2
    apt="$as env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300"
    log=$(mktemp) || return 1
    # An update that fails (a mirror down, no network) need not make the install fail.
    $apt update >"$log" 2>&1
    if $apt install -y --no-install-recommends "$@" >>"$log" 2>&1; then
        rm -f "$log"
        return 0
    fi
    why="apt-get failed: $(grep '^E:' "$log" | tail -n 1)"
    rm -f "$log"
    return 1
}

advise() {
    sudo=
    [ "$(id -u)" -eq 0 ] || sudo="sudo "
    echo "$1: $2 (${why:-unknown reason})" >&2
    shift 2
    echo "type this once: ${sudo}apt-get update && ${sudo}apt-get install --no-install-recommends $*" >&2
}

needed=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    needed="$needed $1"
    shift
done
[ $# -eq 0 ] || shift
why=
# shellcheck disable=SC2086
packages=$(missing $needed | tr '\n' ' ')
if [ -n "$packages" ]; then
    # shellcheck disable=SC2086
    install $packages || {
        advise "missing" "$packages" $packages
        exit 1
    }
fi
[ $# -eq 0 ] && exit 0
packages=$(missing "$@" | tr '\n' ' ')
if [ -n "$packages" ]; then
    # shellcheck disable=SC2086
    install $packages || advise "going on without" "$packages" $packages
fi
exit 0
