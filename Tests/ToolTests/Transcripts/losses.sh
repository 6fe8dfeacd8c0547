. "$(dirname "$0")/common.sh"
people
up
echo 'return { schema = { Person = { id = "int primary", name = "int" }, Toy = { id = "string primary" } } }' >m/0004_less.lua
store 's:object("Person", 2).note = "x"'
echo 'return { Person = { id = "int primary", name = "int" } }' >wanted.lua
