# exit 0
. "$here/lab.sh"
$lab --arg play=noise --seed 0xffffffffffffffff
