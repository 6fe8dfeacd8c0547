---@meta
-- Stores.

---A live object store, opened by this script.
---@class moonpool.Store
---@help store
---@field path? string The path of the file; nil for an in-memory store.
---@field version integer The version that the store reads.
---@field schema_version integer The version of the schema.
---@field is_in_write boolean Whether a write transaction is open.
---@field is_frozen boolean Whether the store is frozen at one version.
---@field is_read_only boolean Whether the store was opened read-only.
---@field is_closed boolean Whether the store is closed.
---Whether the store refreshes automatically when other writers commit.
---
---Errors: type_mismatch
---
---```lua
---store.autorefresh = false
---print(store.autorefresh)  --> false
---```
---@writable
---@field autorefresh boolean
---@field is_follower boolean Whether the store follows a stream, so that only its follower can write.
---@field is_writer boolean Whether the store can be written: it does not follow a stream, and has the lease of its cluster.
local Store = {}

---Returns all objects of a class. Lazy and live.
---
---Errors: unknown_class, closed
---
---```lua
---print(#store:objects "Dog")  --> 2
---for dog in store:objects("Dog"):each() do print(dog.name) end
-----> Rex
-----> Max
---```
---@generic T
---@param class `T`
---@return moonpool.Results<T>
function Store:objects(class) end

---Creates an object that is not in the store and has the defaults of its class; store:add adds it.
---
---Errors: unknown_class, unknown_property, invalid_argument, closed
---
---```lua
---local cleo = store:new("Dog", { id = 3, name = "Cleo" })
---print(cleo.breed, #cleo.toys, #dogs)  --> mutt 0 2
---store:write(function() store:add(cleo) end)
---print(cleo.store == store, #dogs)  --> true 3
---```
---@generic T
---@param class `T`
---@param values? table
---@return T
function Store:new(class, values) end

---Returns the object with a primary key, or nil.
---
---Errors: unknown_class, type_mismatch, invalid_argument, closed
---
---```lua
---print(store:object("Dog", 1).name, store:object("Dog", 99))  --> Rex nil
---```
---@generic T
---@param class `T`
---@param key any
---@return T?
function Store:object(class, key) end

---Returns the schema, or one class, in the form that define takes; with ordered, as arrays in declared order.
---
---Errors: unknown_class, invalid_argument, closed
---
---```lua
---print(store:schema("Dog").age)  --> int?
---print(store:schema("Dog", { ordered = true })[1][1])  --> id
---```
---@return table<string, table>
---@overload fun(self: moonpool.Store, class: string?, options?: {ordered: boolean}): table
function Store:schema() end

---Writes the changes that this script made with `store:define` since a version as the next numbered file of a folder,
---by default `migrations`. Rehearses the file on a copy of that version, and records it as applied. Returns `files`,
---`rehearsal` and `recorded`; nil if the schema has not changed. A function has a file of its own if another function
---precedes it.
---
---Errors: out_of_range, migration_needed, invalid_argument, invalid_schema, closed
---
---```lua
---local version = store.version
---store:define { Cat = { name = "string" } }
---local report = store:migration_since(version, { dir = "cats", name = "add_cats" })
---print(#report.files, #report.rehearsal.applied)  --> 2 1
---```
---@param version integer
---@param options? {dir: string?, name: string?}
---@return table?
function Store:migration_since(version, options) end

---Returns the state of the migration that `moonpool migrate start` has begun: `number`, `name`, `state` ("converting" or
---"both"), `started_at`, `converted`, `remaining`, `failed_count`, and `failed` with the first failures: `class`, `key`,
---`direction`, `message`. While a process converts, also `rate` in objects per second, and `process`. Returns nil if no
---migration is started.
---
---Errors: closed, file_corrupt
---
---```lua
---print(store:started_migration())  --> nil
---```
---@return table?
function Store:started_migration() end

---Creates or changes classes. `"..."` as the first element of a class means its other properties. Data loss requires
---`force = true` or a migration function.
---
---Errors: invalid_schema, migration_needed, already_in_write, read_only, closed
---
---```lua
---store:define { Cat = { name = "string", lives = "int" } }
---store:define { Cat = { "...", age = "int?" } }
---print(#store:objects "Cat", store:schema("Cat").age)  --> 0 int?
---```
---@param schema table<string, table>
---@param options? {force: boolean}
---@overload fun(self: moonpool.Store, schema: table<string, table>, migration: fun(m: moonpool.Migration))
function Store:define(schema, options) end

---Closes the store. Rolls back an open write transaction and invalidates its observers.
---
---```lua
---local other = moonpool.open { in_memory = "other" }
---other:close()
---print(other.is_closed)  --> true
---```
function Store:close() end

---Runs a function in a write transaction. Commits when the function returns; rolls back on an error.
---
---Errors: already_in_write, timed_out, read_only, not_writer, frozen, disk_full, too_many_versions, closed
---
---```lua
---local cleo = store:write(function()
---  return store:create("Dog", { id = 3, name = "Cleo" })
---end)
---print(cleo.name, #dogs)  --> Cleo 3
---print(pcall(store.write, store, function() cleo.name = "X" error("no", 0) end))  --> false no
---print(cleo.name)  --> Cleo
---```
---@param body fun(): ...
---@param options? moonpool.WriteOptions
---@return any ...
function Store:write(body, options) end

---Runs a function inside the open write. Rolls back only its changes on an error, which is raised again.
---
---Errors: not_in_write, read_only, frozen, closed
---
---```lua
---store:write(function()
---  rex.age = 8
---  print(pcall(store.savepoint, store, function() rex.age = 9 error("no", 0) end))  --> false no
---end)
---print(rex.age)  --> 8
---```
---@param body fun(): ...
---@return any ...
function Store:savepoint(body) end

---Begins a write transaction. Waits for other writers, at most for a timeout in seconds.
---
---Errors: already_in_write, timed_out, read_only, frozen, closed
---
---```lua
---store:begin_write()
---rex.age = 8
---store:commit_write()
---print(rex.age)  --> 8
---```
---@param options? {timeout: number?}
function Store:begin_write(options) end

---Commits the open write transaction.
---
---Errors: not_in_write, not_writer, disk_full, too_many_versions, closed
---
---```lua
---store:begin_write()
---rex.age = 8
---store:commit_write()
---print(store.is_in_write)  --> false
---```
---@param options? moonpool.WriteOptions
function Store:commit_write(options) end

---Rolls back the open write transaction.
---
---Errors: not_in_write, closed
---
---```lua
---store:begin_write()
---rex.age = 8
---store:cancel_write()
---print(rex.age)  --> 7
---```
function Store:cancel_write() end

---Queues a write transaction and returns immediately. Each queued write runs in its own turn of the event loop, so
---handlers that queue writes for each other are not stopped.
---
---Errors: closed
---
---```lua
---store:write_async(function() rex.age = 8 end, function(err) print(err) end)
---moonpool.wait_until(function() return rex.age == 8 end, 10)
---print(rex.age)  --> 8
---```
---@param body fun()
---@param failed? fun(err: any)
function Store:write_async(body, failed) end

---Advances to the latest version and notifies observers. Returns whether the version changed.
---
---Errors: closed
---
---```lua
---local token <close> = dogs:observe(function(change) print(change.type) end)
---store:refresh()  --> initial
---```
---@return boolean
function Store:refresh() end

---Creates an object. The modes all and modified update an existing object with the same primary key.
---
---Errors: not_in_write, unknown_class, unknown_property, type_mismatch, missing_value, duplicate_key, invalid_argument,
---frozen, read_only
---
---```lua
---store:write(function()
---  local cleo = store:create("Dog", { id = 3, name = "Cleo", owner = { name = "Bob" } })
---  print(cleo.breed, cleo.owner.name)  --> mutt Bob
---  store:create("Dog", { id = 3, name = "Cleopatra" }, "modified")
---  print(cleo.name)  --> Cleopatra
---end)
---```
---@generic T
---@param class `T`
---@param values? table
---@param mode? "error"|"all"|"modified"
---@return T
function Store:create(class, values, mode) end

---Adds an object created by moonpool.new, and the objects it links to. They become managed objects.
---
---Errors: not_in_write, unknown_class, unknown_property, type_mismatch, missing_value, duplicate_key, invalid_argument,
---frozen, read_only
---
---```lua
---local cleo = moonpool.new("Dog", { id = 3, name = "Cleo" })
---store:write(function() store:add(cleo) end)
---print(cleo:is_valid(), cleo.breed)  --> true mutt
---```
---@param object moonpool.UnmanagedObject
---@param mode? "error"|"all"|"modified"
---@return moonpool.Object
function Store:add(object, mode) end

---Deletes an object, or all objects of a collection.
---
---Errors: not_in_write, invalid_object, invalid_argument, frozen, read_only
---
---```lua
---store:write(function() store:delete(dogs:where "age < 5") end)
---print(#dogs, max:is_valid())  --> 1 false
---```
---@param what moonpool.Object|moonpool.Results|moonpool.List|moonpool.Set|moonpool.Map
function Store:delete(what) end

---Deletes all objects of one class, or of all classes.
---
---Errors: not_in_write, unknown_class, frozen, read_only
---
---```lua
---store:write(function() store:delete_all("Toy") end)
---print(#rex.toys, #dogs)  --> 0 2
---```
---@param class? string
function Store:delete_all(class) end

---Returns a frozen store at the current version, without the changes of an open write transaction.
---
---Errors: closed
---
---```lua
---local before <close> = store:freeze()
---store:write(function() rex.age = 8 end)
---print(before:object("Dog", 1).age, rex.age)  --> 7 8
---```
---@return moonpool.FrozenStore
function Store:freeze() end

---Returns the live store; a live store returns itself.
---
---Errors: closed
---
---```lua
---print(store:freeze():thaw() == store)  --> true
---```
---@return moonpool.Store
function Store:thaw() end

---Returns the version pins: script, line, age, and the bytes that each keeps in use.
---
---Errors: closed
---
---```lua
---local old <close> = store:freeze()
---store:write(function() rex.age = 8 end)
---print(#store:pins(), store:pins()[1].kind)  --> 1 frozen
---```
---@return table[]
function Store:pins() end

---Returns statistics of the last committed version: `version`, `schema_version`, `objects`, `file_bytes`, `used_bytes`,
---`free_pages`, `pins`, `kept_versions`, `first_version`, `last_version` and `history_bytes` of the history, and
---`classes` with `name`, `objects`, `bytes` and `is_embedded`.
---
---Errors: closed, file_corrupt
---
---```lua
---print(store:stats().objects, store:stats().classes[1].name)  --> 5 Dog
---```
---@return table
function Store:stats() end

---Writes a compact copy of the latest version. Does not block writers. A damaged store is not copied.
---
---Errors: invalid_argument, file_corrupt, disk_full, closed
---
---```lua
---store:backup("copy.moonpool", { overwrite = true })
---local copy <close> = moonpool.open { path = "copy.moonpool", read_only = true }
---print(#copy:objects "Dog")  --> 2
---```
---@param path string
---@param options? {overwrite: boolean}
function Store:backup(path, options) end

---Returns a frozen store at an earlier version, if the history still contains it.
---
---Errors: invalid_argument, closed
---
---```lua
---local version = store.version
---store:write(function() rex.age = 8 end)
---print(store:at(version):object("Dog", 1).age)  --> 7
---```
---@param version integer
---@return moonpool.FrozenStore
function Store:at(version) end

---Returns a description of each version in the history: `version`, `time`, `script` and `process` of the commit if they
---are known, `changes_schema`, `is_kept`, `restored`, and `classes` with `inserted`, `deleted`, `modified` and
---`properties`, each with `name` and `count`.
---
---Errors: closed
---
---```lua
---store:write(function() rex.age = 8 end)
---local versions = store:versions()
---print(versions[#versions].classes.Dog.modified)  --> 1
---```
---@return table[]
function Store:versions() end

---Returns the objects inserted, deleted and modified between two versions, by class.
---
---Errors: invalid_argument, closed
---
---```lua
---local version = store.version
---store:write(function() rex.age = 8 end)
---print(#store:diff(version, store.version).Dog.modified)  --> 1
---```
---@param first integer
---@param second integer
---@return table
function Store:diff(first, second) end

---Reverses the last transaction in a new transaction, and returns the version that was reversed. With a version, restores
---the state of that version in one transaction, and returns its number.
---
---Errors: invalid_argument, out_of_range, already_in_write, read_only, closed
---
---```lua
---store:write(function() rex.age = 8 end)
---store:undo()
---print(rex.age)  --> 7
---```
---@param version? integer
---@return integer
function Store:undo(version) end

---Reapplies the last undone transaction in a new transaction. Returns its version.
---
---Errors: invalid_argument, already_in_write, read_only, closed
---
---```lua
---store:write(function() rex.age = 8 end)
---store:undo()
---store:redo()
---print(rex.age)  --> 8
---```
---@return integer
function Store:redo() end

---Records all following commits to a file, as JSON Lines, until it is stopped. Replaces an earlier recording in the
---file. Raises an error if the file contains anything else.
---
---Errors: invalid_argument, disk_full, closed
---
---```lua
---local recording = store:record("changes.jsonl")
---store:write(function() rex.age = 8 end)
---recording:stop()
---print(recording.path)  --> changes.jsonl
---```
---@param path string
---@param options? moonpool.RecordOptions
---@return moonpool.Recording
function Store:record(path, options) end

---Publishes the commits of the store to a stream of NATS JetStream, on a separate thread, until the store is closed.
---Only a store in a file can be published, and by one process at a time.
---
---Errors: invalid_argument, already_in_write, read_only, unsupported, closed
---
---```lua
---local ok, err = pcall(store.publish, store, { url = "nats://localhost:4222", stream = "zoo" })
---print(err.code)  --> invalid_argument
---print(err.message:match("in%-memory"))  --> in-memory
---```
---@param options moonpool.PublishOptions
---@return moonpool.Replication
function Store:publish(options) end

---Makes the store follow a stream, on a separate thread, until the store is closed. Observers are notified of each
---commit of the publisher; other writes to the store raise read_only. The store must not contain other objects.
---
---Errors: invalid_argument, already_in_write, read_only, unsupported, closed
---
---```lua
---local ok, err = pcall(store.follow, store, { url = "nats://localhost:4222", stream = "zoo" })
---print(err.code)  --> invalid_argument
---```
---@param options moonpool.FollowOptions
---@return moonpool.Replication
function Store:follow(options) end

---Makes the store a member of a cluster, on a separate thread, until the store is closed. One member holds a lease, is the
---writer and publishes; the others follow it, and their writes raise not_writer. If the writer does not renew the lease,
---another member becomes the writer.
---
---Errors: invalid_argument, already_in_write, read_only, unsupported, closed
---
---```lua
---local ok, err = pcall(store.cluster, store, { url = "nats://a,b,c", stream = "zoo" })
---print(err.code)  --> invalid_argument
---```
---@param options moonpool.ClusterOptions
---@return moonpool.Replication
function Store:cluster(options) end

---Sets the function that is called when the store becomes the writer of its cluster, also if it was the writer before its
---lease ended, or can no longer be written. It replaces the previous function; nil removes it. The script runs until the
---function is removed.
---
---Errors: closed
---
---```lua
---store:on_role(function(role) print(role) end)
---print(store.is_writer)  --> true
---store:on_role(nil)
---```
---@param body? fun(role: "writer"|"follower")
function Store:on_role(body) end

---Runs a function at the writer of the store's cluster, and returns its result when its commit is here and stored in the
---stream. Each member registers the function with moonpool.serve and the options store and name. A call without a writer
---waits for the next one. Observers, timers and services of this script run in the meantime.
---
---Errors: invalid_argument, timed_out, unavailable, not_writer, limit_exceeded, closed
---
---```lua
---local ok, err = pcall(store.remote_write, store, "add", { id = 9, name = "Cleo" }, { timeout = 2 })
---print(err.code)  --> invalid_argument
---```
---@param name string
---@param arguments? any
---@param options? moonpool.RemoteWriteOptions
---@return any
function Store:remote_write(name, arguments, options) end

---Registers a function that is called after every commit that the store receives. If the commit changes the schema, the
---function is first called with the type schema and a description of the change.
---
---Errors: frozen, invalid_argument, closed
---
---```lua
---local token <close> = store:observe(function(type) print(type) end)
---store:write(function() rex.age = 8 end)  --> did_change
---```
---@param body fun(type: "did_change"|"schema"|"refresh_required", store: moonpool.Store, schema?: moonpool.SchemaEvent)
---@param options? moonpool.ObserveOptions
---@return moonpool.Token
function Store:observe(body, options) end

---Resolves a thread-safe reference on this thread. Returns nil if the object was deleted.
---
---Errors: invalid_argument, closed
---
---```lua
---print(store:resolve(moonpool.reference(dogs:where "age > 5"))[1].name)  --> Rex
---```
---@param reference moonpool.Reference
---@return any
function Store:resolve(reference) end

---Writes all objects and the schema to a file; returns the number of objects.
---
---Errors: invalid_argument, disk_full, unsupported, closed
---
---```lua
---print(store:export("zoo.jsonl"))  --> 5
---```
---@param path string
---@param format? string|moonpool.ExportOptions
---@return integer
function Store:export(path, format) end

---Imports all rows of a file in one transaction; a value that its property cannot represent exactly is an error.
---
---Errors: invalid_argument, duplicate_key, type_mismatch, missing_value, unknown_property, read_only, unsupported, closed
---
---```lua
---store:export("zoo.jsonl")
---local copy = moonpool.open { in_memory = "copy" }
---print(copy:import("zoo.jsonl").created, copy:object("Dog", 1).owner.name)  --> 5 Ann
---```
---@param path string
---@param options? moonpool.ImportOptions
---@return moonpool.ImportReport
function Store:import(path, options) end

---A read-only view of one version of a store. Changes raise an error. Methods for files, versions and references
---(`export`, `import`, `backup`, `record`, `at`, `diff`, `resolve` and similar) exist on the live store only.
---@class moonpool.FrozenStore: moonpool.Store
---@help frozen store

---The options of write and commit_write.
---
---```lua
---local token <close> = rex:observe(function() print "changed" end)
---store:write(function() rex.age = 8 end, { without_notifying = { token } })
---store:refresh()
---print(rex.age)  --> 8
---```
---@class moonpool.WriteOptions
---@help write options
---@field without_notifying moonpool.Token[] The observers that are not notified of this write.
---@field timeout? number The longest wait for other writers in seconds; only for `store:write`.
