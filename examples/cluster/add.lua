-- Adds animals to a store: moonpool add.lua STORE FIRST LAST
local moonpool = require "moonpool"
local store = moonpool.open { path = arg[1], schema = { Animal = { id = "int primary", name = "string" } } }
for id = tonumber(arg[2]), tonumber(arg[3]) do
  store:write(function() store:create("Animal", { id = math.tointeger(id), name = "animal " .. id }) end)
end
