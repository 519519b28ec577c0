# exit 0
$xstate --help
