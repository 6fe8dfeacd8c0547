---@meta
-- Objects.

---A live object: each read of a property returns the current value from the store.
---@class moonpool.Object
---@help object
---@field store moonpool.Store The store of the object. If a property has this name, use moonpool.store_of(object).
---@field class string The class name of the object. If a property has this name, use moonpool.class_of(object).
local Object = {}

---Sets several properties of an object, or of every object in a collection.
---
---Errors: not_in_write, unknown_property, type_mismatch, missing_value, invalid_object, frozen
---
---```lua
---store:write(function()
---  rex:update { name = "Rexy", age = 8 }
---  dogs:where("age > 5"):update { breed = "old" }
---end)
---print(rex.name, rex.breed)  --> Rexy old
---```
---@param values table
---@return self
function Object:update(values) end

---Returns whether the object, or the owner of the collection, still exists.
---
---```lua
---store:write(function() store:delete(max) end)
---print(max:is_valid(), rex:is_valid())  --> false true
---```
---@return boolean
function Object:is_valid() end

---Returns whether the value is frozen at one version.
---
---```lua
---print(rex:is_frozen(), rex:freeze():is_frozen())  --> false true
---```
---@return boolean
function Object:is_frozen() end

---Returns a frozen copy at the current version, without the changes of an open write transaction.
---
---Errors: invalid_object, already_in_write, closed
---
---```lua
---local before = rex:freeze()
---store:write(function() rex.age = 8 end)
---print(before.age, rex.age)  --> 7 8
---```
---@return self
function Object:freeze() end

---Returns the live object or collection of a frozen one; nil if it was deleted.
---
---Errors: closed
---
---```lua
---print(rex:freeze():thaw() == rex)  --> true
---```
---@return self?
function Object:thaw() end

---Returns a plain table copy. Follows links to other objects down to a depth. Nil elements are moonpool.null.
---
---Errors: invalid_object
---
---```lua
---local copy = rex:to_table()
---print(copy.name, #copy.marks)  --> Rex 3
---print(table.concat(rex.tags:to_table(), " "))  --> big calm
---```
---@param depth? integer
---@return table
function Object:to_table(depth) end

---Returns the value at a path: a value, a collection, or a table if the path leads to several values.
---
---Errors: unknown_property, invalid_query, invalid_object
---
---```lua
---print(rex:get "owner.name", rex:get "owner.dogs.@max.age")  --> Ann 7
---```
---@param path string
---@return any
function Object:get(path) end

---Registers a function that is called when one property, or the value of a path such as `owner.name` or
---`toys.@max.price`, changes. `invalidated` becomes true when the object is deleted.
---
---Errors: unknown_property, invalid_query, already_in_write, frozen, invalid_object, invalid_argument
---
---```lua
---local token <close> = rex:observe_value("age", function(new, old) print(old, new) end)
---store:write(function() rex.age = 8 end)
---store:refresh()  --> 7 8
---```
---@param path string
---@param body fun(new: any, old: any, is_prior: boolean?)
---@param options? moonpool.ObserveOptions
---@return moonpool.Token
function Object:observe_value(path, body, options) end

---Returns a projection of the object. Assigning a property of the object itself sets it in the object.
---
---Errors: unknown_property, invalid_query, invalid_argument
---
---```lua
---local card = rex:project { name = "name", master = "owner.name" }
---store:write(function() card.name = "Rexy" end)
---print(rex.name, card.master)  --> Rexy Ann
---```
---@param paths table<string, string>
---@return moonpool.Projection
function Object:project(paths) end

---Registers a function that is called when the object changes or is deleted.
---
---Errors: already_in_write, frozen, invalid_object, invalid_query, invalid_argument
---
---```lua
---local token <close> = rex:observe(function(change) print(change.type) end)
---store:write(function() rex.age = 8 end)
---store:refresh()  --> change
---```
---@param body fun(change: moonpool.ObjectChange)
---@param options? moonpool.ObserveOptions
---@return moonpool.Token
function Object:observe(body, options) end

---An object that has not been added to a store.
---@class moonpool.UnmanagedObject: moonpool.Object
---@help unmanaged object
