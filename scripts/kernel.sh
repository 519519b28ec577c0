#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# kernel.sh [--cached]: print the folder of an unpacked Debian kernel package of the 6.1
# series, whose modules `xstate lint` is tested on. It is downloaded by apt and unpacked
# into a private folder; nothing is installed and no root is needed. The folder appears
# whole or not at all, and is named after the package's version.
#
# --cached             only what is there already
# XSTATE_KERNEL_DIR    the folder (else $XDG_CACHE_HOME/xstate/kernel, ~/.cache/xstate/kernel)
# XSTATE_KERNEL        the package (else linux-image-6.1.0-57-amd64, else the newest 6.1)
#
# Exit: 0 with the folder on stdout, 3 with the reason when there is none.

set -u
want=linux-image-6.1.0-57-amd64
dir=${XSTATE_KERNEL_DIR:-${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/xstate/kernel}
work=

cannot() {
    echo "no kernel package: $1" >&2
    exit 3
}

finish() {
    [ -z "$work" ] || rm -rf "$work"
}

# The version a package has in apt's lists, or nothing.
candidate() {
    apt-cache policy "$1" 2>/dev/null | awk '/Candidate:/ && $2 != "(none)" { print $2 }'
}

cached() {
    for at in "$dir"/6.1.*; do
        [ -d "$at/lib/modules" ] && echo "$at"
    done | sort -V | tail -n 1
}

have=$(cached)
if [ -n "$have" ] && { [ "${1:-}" = --cached ] || [ -z "${XSTATE_KERNEL:-}" ]; }; then
    echo "$have"
    exit 0
fi
[ "${1:-}" != --cached ] || cannot "none in $dir yet; make test-full brings one"
for tool in apt-get apt-cache dpkg-deb; do
    command -v $tool >/dev/null 2>&1 || cannot "$tool is not here"
done
package=${XSTATE_KERNEL:-$want}
version=$(candidate "$package")
if [ -z "$version" ] && [ -z "${XSTATE_KERNEL:-}" ]; then
    package=$(apt-cache search --names-only '^linux-image-6\.1\.0-[0-9]+-amd64$' 2>/dev/null |
        awk '{ print $1 }' | sort -V | tail -n 1)
    [ -z "$package" ] || version=$(candidate "$package")
fi
[ -n "$version" ] || cannot "apt knows no kernel of the 6.1 series (apt-get update?)"
if [ -d "$dir/$version/lib/modules" ]; then
    echo "$dir/$version"
    exit 0
fi
mkdir -p "$dir" 2>/dev/null && [ -w "$dir" ] || cannot "$dir cannot be written"
trap finish EXIT
trap 'exit 130' INT TERM HUP
work=$(mktemp -d "$dir/.kernel.XXXXXX") || cannot "$dir cannot be written"
echo "getting $package $version into $dir" >&2
(cd "$work" && apt-get -q -o APT::Sandbox::User=root -o Acquire::Retries=2 \
    -o Acquire::http::Timeout=30 download "$package" >apt.log 2>&1) ||
    cannot "apt cannot download $package: $(grep -h '^[EW]:' "$work/apt.log" | head -n 1)"
dpkg-deb -x "$work"/*.deb "$work/root" 2>/dev/null || cannot "the package cannot be unpacked"
mv -T "$work/root" "$dir/$version" 2>/dev/null || [ -d "$dir/$version/lib/modules" ] ||
    cannot "$dir cannot be written"
echo "$dir/$version"
