# SPDX-License-Identifier: BSD-2-Clause
# Read by golden commands that need a lab but no emulator: $lab runs one boot of the
# fake, and fake.rom is an image that takes a command line and does nothing else.
{
    printf 'XSTLAB-ARGS-v1\000\000'
    head -c 1008 /dev/zero
} >fake.rom
export XSTATE_QEMU="$here/fake-qemu"
lab="$xstate lab run yield --policy eager --machine qemu:max --rom fake.rom"
