. "$(dirname "$0")/common.sh"
people
up --to 2
echo 'return { changes = { Person = { phone = "string?" } }, up = function(m) m:each("Person", function(o, n) n.phone = "0" end) end }' >m/0003_phones.lua
echo 'return { after = function(s) end }' >m/0003_phones_test.lua
echo 'return { schema = { Person = { id = "int primary", name = "string", age = "string", phone = "string?", fax = "string?" } } }' >m/0004_faxes.lua
