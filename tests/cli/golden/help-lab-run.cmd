# exit 0
$xstate lab run --help
