#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# lab-full.sh XSTATE [OPTION...]: the lab at length, a quarter of an hour of one core.
# First the long runs, tens of millions of switches: counted ones on one CPU, and
# races on two CPUs of multi-threaded QEMU. Then all experiments on all machines, at
# their own lengths. OPTIONs go to every run. Prints a line for each run: how many
# machines were booted, what they did, and what went wrong. Ends with the first exit
# status that is not 0, after all of it has run.

set -u
xstate=$1
shift
here=$(dirname "$0")
results=$(mktemp) || exit 1
trap 'rm -f "$results"' EXIT
status=0

named=eager,eager-keep,lazy,lazy-preload,lazy-keep,deferred,laziest,auto
composed='load=use,keep,preload=1;load=use,skip-init;load=return;save=displaced,keep'
new=qemu:max,bochs:tigerlake,bochs:ryzen,bochs:corei7_skylake_x,bochs:corei7_icelake_u
old=qemu:qemu64,bochs:corei7_sandy_bridge_2600k,bochs:core2_penryn_t9600,bochs:zambezi
old=$old,bochs:turion64_tyler,bochs:athlon64_clawhammer,bochs:p4_prescott_celeron_336

# Without 64-bit mode: FNSAVE, then FXSAVE; one CPU.
x86_32=bochs:pentium_mmx,bochs:amd_k6_2_chomper,bochs:p2_klamath,bochs:p3_katmai
x86_32=$x86_32,bochs:athlon_xp,bochs:atom_n270,qemu:pentium,qemu:pentium3,qemu:athlon,qemu:n270

run() {
    title=$1
    shift
    "$xstate" lab run "$@" -j --timeout 60min --silence 10min >"$results"
    ended=$?
    [ "$status" -ne 0 ] || status=$ended
    "$here/lab-sum.py" "$title" "$results"
}

run "kthread, one CPU" kthread --machine qemu:max --policy "$named" --loops 600000 "$@"
run "owner, one CPU" owner --machine qemu:max --policy "$named" --loops 300000 "$@"
run "yield, one CPU" yield --machine qemu:max --policy "$named" --loops 200000 "$@"
run "pipe, one CPU" pipe --machine qemu:max --policy "$named" --loops 80000 "$@"
run "leak, two CPUs" leak --machine qemu:max --cpus 2 --policy "$named" --loops 400000 "$@"
run "flip, two CPUs" flip --machine qemu:max --cpus 2 --policy "$named,$composed" --loops 200000 "$@"
run "migrate, two CPUs" migrate --machine qemu:max --cpus 2 --policy "$named" --loops 20000 "$@"
run "leak, flip, XSAVES, two CPUs" leak flip --machine bochs:tigerlake --cpus 2 \
    --policy "$named" --loops 40000 "$@"
run "guest, two CPUs" guest --machine qemu:max,bochs:tigerlake,bochs:ryzen --cpus 2 \
    --policy "$named" --loops 25000 "$@"
run "all, CPUs of today" all --machine "$new" --policy "$named" "$@"
run "composed policies" pipe flip leak migrate --machine "$new" --policy "$composed" "$@"
run "older 64-bit CPUs" yield pipe flip leak migrate pending --machine "$old" --policy "$named" "$@"
run "32-bit CPUs" yield pipe pending flip leak migrate --cpus 1 --machine "$x86_32" \
    --policy "$named" "$@"
run "IRQ 13" pending --arg ferr=1 --machine bochs:tigerlake,bochs:pentium_mmx,bochs:p3_katmai \
    --policy "$named" "$@"
exit $status
