. "$(dirname "$0")/common.sh"
people
up
mv m/0003_ages.lua m/0004_ages.lua
echo 'return { changes = { Person = { phone = "string?" } } }' >m/0003_phones.lua
