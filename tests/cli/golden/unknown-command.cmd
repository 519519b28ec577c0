# exit 2
$xstate frobnicate
