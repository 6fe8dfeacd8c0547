-- Follows a stream and prints the number of animals in each commit of the publisher: moonpool observe.lua STORE SERVERS
local moonpool = require "moonpool"
local store = moonpool.open { path = arg[1] }
local following = store:follow { url = arg[2], stream = "zoo" }
while not following:wait(1) do end

local animals = store:objects "Animal"
local token = animals:observe(function(change)
  if change.type == "update" then print(#change.insertions .. " more, " .. #animals .. " in all") end
end)
