# exit 0
. "$here/lab.sh"
$lab --arg play=ok
