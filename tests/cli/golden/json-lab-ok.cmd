# exit 0
. "$here/lab.sh"
$lab --arg play=ok --policy eager,lazy -p
