# exit 0
$xstate
