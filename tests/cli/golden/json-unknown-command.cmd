# exit 2
$xstate --json 'no"such' 
