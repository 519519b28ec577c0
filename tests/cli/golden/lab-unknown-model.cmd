# exit 2
. "$here/lab.sh"
$lab --machine qemu:nosuch
