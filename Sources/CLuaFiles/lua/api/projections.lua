---@meta
-- Projections and plots.

---A live view of an object: names of your choice, each with a path from the object to a value.
---
---```lua
---local card = rex:project { name = "name", master = "owner.name", first_toy = "toys[1].name" }
---print(card.name, card.master, card.first_toy)  --> Rex Ann ball
---store:write(function() card.name = "Max" end)
---print(rex.name)  --> Max
---```
---@class moonpool.Projection
---@help projection
---@shares Object: is_valid, is_frozen, freeze, thaw
local Projection = {}

---Returns the projected object.
---
---```lua
---print(rex:project({ n = "name" }):root() == rex)  --> true
---```
---@return moonpool.Object
function Projection:root() end

---Calls a function when a projected value changes. `keypaths` and the names in the change are projected names.
---
---Errors: already_in_write, unknown_property, frozen, invalid_object
---
---```lua
---local card = rex:project { name = "name", master = "owner.name", first_toy = "toys[1].name" }
---local token <close> = card:observe(function(change)
---  for _, property in ipairs(change.properties) do
---    print(property.name, property.old, property.new)
---  end
---end)
---store:write(function() rex.age = 8 rex.toys[1].name = "rope" rex.toys[2].name = "stick" end)
---store:refresh()  --> first_toy ball rope
---```
---@param handler fun(change: moonpool.ObjectChange)
---@param options? moonpool.ObserveOptions
---@return moonpool.Token
function Projection:observe(handler, options) end

---Returns the projected values as plain tables.
---
---```lua
---print(dogs:project({ n = "name", m = "owner.name" }):to_table()[2].m)  --> Ann
---```
---@return table
function Projection:to_table() end

---Live results whose rows are projections. `where`, `sorted` and `distinct` take the key paths of the class.
---
---```lua
---local cards = dogs:project { name = "name", toys = "toys.@count" }
---print(#cards, cards[1].name, cards[1].toys)  --> 2 Rex 2
---```
---@class moonpool.ProjectedResults
---@help projected Results
---@shares Object: is_valid, is_frozen, freeze, thaw
---@shares Projection: to_table
---@shares Results: group_by, filter, map, sum, min, max, average, count, observe_aggregate
local ProjectedResults = {}

---Returns the projected results.
---
---```lua
---print(dogs:project({ n = "name" }):root():sum "age")  --> 10
---```
---@return moonpool.Results
function ProjectedResults:root() end

---Calls a function with the rows that changed. A row counts as modified if a projected value differs.
---
---Errors: already_in_write, unknown_property, frozen
---
---```lua
---local cards = dogs:project { name = "name", years = "age" }
---local token <close> = cards:observe(function(change)
---  for i in ipairs(change.modifications) do
---    local property = change:properties(i)[1]
---    print(property.name, property.old, property.new)
---  end
---end)
---store:refresh()
---store:write(function() rex.breed = "pug" max.age = 4 end)
---store:refresh()  --> years 3 4
---```
---@param handler fun(change: moonpool.Change)
---@param options? moonpool.ObserveOptions
---@return moonpool.Token
function ProjectedResults:observe(handler, options) end

---Returns the projections of the objects that match a predicate over the class.
---
---Errors: invalid_query, type_mismatch
---
---```lua
---local cards = dogs:project { n = "name" }
---print(#cards:where("age > 5"))  --> 1
---```
---@param predicate string|table
---@param ... any
---@return moonpool.ProjectedResults
function ProjectedResults:where(predicate, ...) end

---Returns the projections, sorted by key paths of the class.
---
---Errors: unknown_property, invalid_query
---
---```lua
---print(dogs:project({ n = "name" }):sorted("age")[1].n)  --> Max
---```
---@param path string|table
---@param order? "asc"|"desc"
---@return moonpool.ProjectedResults
function ProjectedResults:sorted(path, order) end

---Returns the first projection for each value of key paths of the class.
---
---Errors: unknown_property, invalid_query
---
---```lua
---print(#dogs:project({ n = "name" }):distinct("owner.name"))  --> 1
---```
---@param ... string
---@return moonpool.ProjectedResults
function ProjectedResults:distinct(...) end

---Returns at most the first count projections.
---
---Errors: invalid_argument
---
---```lua
---print(#dogs:project({ n = "name" }):limit(1))  --> 1
---```
---@param count integer
---@return moonpool.ProjectedResults
function ProjectedResults:limit(count) end

---Returns the first projection, or nil.
---
---```lua
---print(dogs:project({ n = "name" }):first().n)  --> Rex
---```
---@return moonpool.Projection?
function ProjectedResults:first() end

---Returns the last projection, or nil.
---
---```lua
---print(dogs:project({ n = "name" }):last().n)  --> Max
---```
---@return moonpool.Projection?
function ProjectedResults:last() end

---Iterates over the projections as of the start of the loop.
---
---```lua
---for card in dogs:project({ n = "name" }):each() do print(card.n) end
-----> Rex
-----> Max
---```
---@return fun(): moonpool.Projection?
function ProjectedResults:each() end

---Writes the projected values to a file as jsonl, json or csv, and returns the number of rows.
---
---Errors: invalid_argument
---
---```lua
---print(dogs:project({ n = "name", master = "owner.name" }):export("cards.csv"))  --> 2
---```
---@param path string
---@param format? string
---@return integer
function ProjectedResults:export(path, format) end

---A drawing of two properties. It prints as text; the prompt draws it in color at the width of the window.
---
---```lua
---local plot = dogs:plot("name", "age", { title = "ages" })
---print(tostring(plot):match("ages"))  --> ages
---```
---@class moonpool.Plot
---@help plot
local Plot = {}

---Returns the plot as an SVG document.
---
---```lua
---local file <close> = assert(io.open("ages.svg", "w"))
---file:write(dogs:plot("id", "age", { by = "breed" }):svg())
---```
---@return string
function Plot:svg() end

---The options of plot.
---
---```lua
---local plot = dogs:plot("id", "age", { by = "breed", lines = true, title = "dogs" })
---print(plot:svg():match("boxer"))  --> boxer
---```
---@class moonpool.PlotOptions
---@help plot options
---@field by? string A property whose values divide the objects into series of different colors.
---@field lines? boolean Connects the points of a series with lines.
---@field title? string The title above the plot.
