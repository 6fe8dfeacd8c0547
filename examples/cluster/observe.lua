-- A member of a cluster that prints its role, and the number of animals in each commit: moonpool observe.lua STORE SERVERS
local moonpool = require "moonpool"
local store = moonpool.open { path = arg[1], schema = { Animal = { id = "int primary", name = "string" } } }
store:cluster { url = arg[2], stream = "zoo", name = "south" }
store:on_role(function(role) print("this member is the " .. role) end)

local animals = store:objects "Animal"
local token = animals:observe(function(change)
  if change.type == "update" then print(#change.insertions .. " more, " .. #animals .. " in all") end
end)
