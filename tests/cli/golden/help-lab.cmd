# exit 0
$xstate lab --help
