#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# fuzz.sh [NAME...]: build the fuzz harnesses (fuzz-<name>) with clang and run each, or those
# named, for FUZZ_SECONDS. What was found worth keeping stays in build-fuzz/corpus/<name>; an input
# that crashes a harness is left there as crash-..., and the status is 1.

set -u
cd "$(dirname "$0")/.." || exit 1
seconds=${FUZZ_SECONDS:-60}
folder=build-fuzz
CC=clang scripts/build.sh "$folder" -Dlab=disabled || exit 1

targets=$(ninja -C "$folder" -t targets all | sed -n 's/^\([^:]*\/fuzz-[a-z0-9_]*\): c_LINKER$/\1/p')
status=0
for target in $targets; do
    name=${target##*/fuzz-}
    case " $* " in
    "  " | *" $name "*) ;;
    *) continue ;;
    esac
    ninja --quiet -C "$folder" "$target" tests/fuzz/corpus || exit 1
    mkdir -p "$folder/corpus/$name"
    seeds=$folder/tests/fuzz/corpus/$name
    [ -d "$seeds" ] || seeds=
    # libtracecmd, in a process of its own, asks for as much as a broken file says.
    limit=
    [ "$name" != trace_dat ] || limit=-malloc_limit_mb=1000000
    echo "fuzzing $name for $seconds s"
    # shellcheck disable=SC2086
    if ! "$folder/$target" -max_total_time="$seconds" -max_len=20000 -rss_limit_mb=3000 $limit \
        -artifact_prefix="$folder/corpus/$name/" -verbosity=0 -print_final_stats=1 \
        "$folder/corpus/$name" $seeds; then
        status=1
    fi
done
exit $status
