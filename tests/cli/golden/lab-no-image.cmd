# exit 2
. "$here/lab.sh"
head -c 4096 /dev/zero >empty.rom
cat fake.rom fake.rom >twice.rom
head -c 100 fake.rom >short.rom
: >nothing.rom
for rom in empty twice short nothing; do
    $lab --rom $rom.rom
done
$lab --rom . 
