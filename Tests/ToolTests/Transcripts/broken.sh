. "$(dirname "$0")/common.sh"
people
up --to 2
echo 'return { changes = { Person = { age = "int" } }, up = function(m) m:each("Person", function(old, new) if old.id == 2 then error "no age" end end) end }' >m/0003_ages.lua
echo 'return { changes = { Person = { } }, up = function(m) os.exit(0) end }' >m/0004_exit.lua
echo 'return { name = "nothing" }' >m/0003_ages_test.lua
