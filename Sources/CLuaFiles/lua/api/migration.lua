---@meta
-- The argument of migration functions.

---The argument of a migration function: reads old objects and writes new ones.
---@class moonpool.Migration
---@help migration
---@field old_version integer The schema version of the file before the migration.
---@field new_version integer The schema version after the migration.
---@field old moonpool.FrozenStore The store before the migration, read-only.
---@field new moonpool.Store The store being migrated, in a write transaction.
local Migration = {}

---Calls a function with the old and the new form of each object; the old one is nil for a new class, the new one is nil
---for a removed class. The loop is part of the transaction of the migration. The options have no effect: a migration that
---declares functions in `each` runs in batches, and continues after an interruption.
---
---Errors: unknown_class, invalid_argument, closed
---
---```lua
---store:define({ Toy = { name = "string", cents = "int" } }, function(m)
---  m:each("Toy", function(old, new) new.cents = math.tointeger(old.price * 100) end)
---end)
---print(store:objects("Toy"):sum "cents")  --> 450
---```
---@param class string
---@param body fun(old: moonpool.Object?, new: moonpool.Object?)
---@param options? {batch: integer, resumable: boolean}
function Migration:each(class, body, options) end

---Renames a property and keeps its values.
---
---Errors: invalid_schema, invalid_argument, closed
---
---```lua
---store:define({ Toy = { name = "string", cost = "double" } }, function(m)
---  m:rename_property("Toy", "price", "cost")
---end)
---print(rex.toys[1].cost)  --> 3.0
---```
---@param class string
---@param old string
---@param new string
function Migration:rename_property(class, old, new) end

---Renames a class and keeps its objects.
---
---Errors: invalid_schema, invalid_argument, closed
---
---```lua
---local farm = moonpool.open { in_memory = "farm", schema = { Cow = { name = "string" } } }
---farm:write(function() farm:create("Cow", { name = "Berta" }) end)
---farm:define({ Cattle = { name = "string" } }, function(m) m:rename_class("Cow", "Cattle") end)
---print(farm:objects("Cattle")[1].name)  --> Berta
---```
---@param old string
---@param new string
function Migration:rename_class(old, new) end

---Declares that a property and its values are removed. Returns false if the property does not exist.
---
---Errors: unknown_class, invalid_schema, invalid_argument, closed
---
---```lua
---store:define({ Toy = { name = "string" } }, function(m)
---  print(m:delete_property("Toy", "price"))  --> true
---end)
---```
---@param class string
---@param name string
---@return boolean
function Migration:delete_property(class, name) end

---Deletes all objects of a class, and the class itself if the new schema lacks it.
---
---Errors: invalid_schema, invalid_argument, closed
---
---```lua
---store:define({ Cat = { name = "string" } })
---store:define({ Lion = { name = "string" } }, function(m) print(m:delete_class("Cat")) end)  --> true
---```
---@param class string
---@return boolean
function Migration:delete_class(class) end

---Creates an object in the new schema.
---
---Errors: unknown_class, unknown_property, type_mismatch, missing_value, duplicate_key
---
---```lua
---store:define({ Log = { text = "string" } }, function(m)
---  m:create("Log", { text = "migrated" })
---end)
---print(store:objects("Log")[1].text)  --> migrated
---```
---@param class string
---@param values? table
---@param mode? "error"|"all"|"modified"
---@return moonpool.Object
function Migration:create(class, values, mode) end

---Deletes objects in the new schema.
---
---Errors: invalid_object, invalid_argument
---
---```lua
---store:define({ Toy = { name = "string", price = "double", used = "bool?" } }, function(m)
---  m:delete(m:objects("Toy"):where "price < 2")
---end)
---print(#rex.toys)  --> 1
---```
---@param what moonpool.Object|moonpool.Results|moonpool.List
function Migration:delete(what) end

---Returns all objects of a class in the new schema.
---
---Errors: unknown_class
---
---```lua
---store:define({ Toy = { name = "string", price = "double", used = "bool?" } }, function(m)
---  print(#m:objects "Toy")  --> 2
---end)
---```
---@param class string
---@return moonpool.Results
function Migration:objects(class) end
