-- Prints the number of animals in a store: moonpool count.lua STORE
local moonpool = require "moonpool"
local store = moonpool.open { path = arg[1], read_only = true }
print(#store:objects("Animal"))
