# exit 3
. "$here/lab.sh"
XSTATE_QEMU=/nonexistent $lab -j
