# exit 1
. "$here/lab.sh"
$lab --arg play=panic -j
