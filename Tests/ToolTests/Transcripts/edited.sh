. "$(dirname "$0")/common.sh"
people
echo 'return { suffix = "!" }' >m/helper.lua
echo 'local h = require "helper" return { changes = { Person = { tag = "string?" } } }' >m/0004_tags.lua
up
sed -i 's/" "/"-"/' m/0002_names.lua
sed -i 's/^/-- A comment counts for nothing.\n/' m/0003_ages.lua
echo 'return { suffix = "?" }' >m/helper.lua
