. "$(dirname "$0")/common.sh"
people
up
mkdir other
mv m/0003_ages.lua other
echo 'return { schema = { Person = { id = "int primary", name = "string", age = "string", phone = "string?" } } }' >m/0003_phones.lua
"$MOONPOOL" migrate up old.moonpool --dir m >/dev/null
mv other/0003_ages.lua m
"$MOONPOOL" migrate merge 0003_phones.lua --dir m >/dev/null
