---@meta
-- Numbered migrations.

---Migrates store files with numbered scripts, like the command `moonpool migrate`.
---@class moonpool.migrate
---@help moonpool.migrate
moonpool.migrate = {}

---Returns a migration script from the schema of a store to another schema, ready to edit. With `dir`, returns the next
---script of a folder and its file name, or nil if the folder already leads to the schema.
---
---Errors: invalid_argument, invalid_schema, file_corrupt
---
---```lua
---local script = moonpool.migrate.plan(store, { Toy = { name = "string" } })
---print(script:match("up = function") ~= nil)  --> true
---```
---@param store string|moonpool.Store
---@param schema table<string, table>
---@param options? {dir: string?, name: string?}
---@return string?, string?
function moonpool.migrate.plan(store, schema, options) end

---Reports data that a schema change would lose or break.
---
---Errors: invalid_argument, invalid_schema, file_corrupt
---
---```lua
---local findings = moonpool.migrate.lint(store, { Toy = { name = "string" } })
---print(#findings > 0)  --> true
---```
---@param store string|moonpool.Store
---@param schema table<string, table>
---@return table[]
function moonpool.migrate.lint(store, schema) end

---Runs the pending migrations, each in one transaction. A dry run works on a copy, also of a store in memory.
---
---Errors: invalid_argument, invalid_schema, migration_needed, file_corrupt
---
---```lua
---os.remove "farm.moonpool"
---local file <close> = assert(io.open("0001_cows.lua", "w"))
---file:write 'return { schema = { Cow = { name = "string" } }, down = function(m) m:delete_class "Cow" end }'
---file:close()
---moonpool.migrate.up("farm.moonpool", { dir = "." })
---local farm <close> = moonpool.open "farm.moonpool"
---print(farm:schema("Cow").name)  --> string
---```
---@param store string|moonpool.Store
---@param options {dir: string, to: integer?, dry_run: boolean?, sample: integer?, backup: boolean?, keep: integer?, lock_timeout: number?}
---@return table
function moonpool.migrate.up(store, options) end

---Starts the next pending migration while programs use the store: when it returns, programs of the old and of the new
---schema version can use it at once, unless objects cannot be converted. `pace` is the percentage of the time for which
---it may write; 50 by default. Called again, it continues a conversion that was interrupted.
---
---Errors: invalid_argument, invalid_schema, migration_needed, file_corrupt
---
---```lua
---os.remove "farm.moonpool"
---local file <close> = assert(io.open("0001_cows.lua", "w"))
---file:write 'return { schema = { Cow = { name = "string" } } }'
---file:close()
---moonpool.open("farm.moonpool"):close()
---local report = moonpool.migrate.start("farm.moonpool", { dir = "." })
---print(report.started.state)  --> both
---```
---@param store string|moonpool.Store
---@param options {dir: string, pace: integer?, max_failures: integer?, lock_timeout: number?}
---@return table
function moonpool.migrate.start(store, options) end

---Ends a started migration: only programs of the new version can use the store. Refuses while a program has the old
---version open, unless `force` is true; `wait` is the number of seconds to wait for such programs.
---
---Errors: invalid_argument, schema_in_transition, file_corrupt
---
---```lua
---os.remove "farm.moonpool"
---local file <close> = assert(io.open("0001_cows.lua", "w"))
---file:write 'return { schema = { Cow = { name = "string" } } }'
---file:close()
---moonpool.open("farm.moonpool"):close()
---moonpool.migrate.start("farm.moonpool", { dir = "." })
---moonpool.migrate.complete("farm.moonpool", { dir = "." })
---print(moonpool.migrate.check("farm.moonpool", { dir = "." }))  --> 0
---```
---@param store string|moonpool.Store
---@param options {dir: string, wait: number?, force: boolean?, backup: boolean?, lock_timeout: number?}
---@return table
function moonpool.migrate.complete(store, options) end

---Takes a started migration back: only programs of the old version can use the store. Returns the objects and values that
---only the new version had, in `lost`. Refuses while a program has the new version open, unless `force` is true.
---
---Errors: invalid_argument, file_corrupt
---
---```lua
---os.remove "farm.moonpool"
---local file <close> = assert(io.open("0001_cows.lua", "w"))
---file:write 'return { schema = { Cow = { name = "string" } } }'
---file:close()
---moonpool.open("farm.moonpool"):close()
---moonpool.migrate.start("farm.moonpool", { dir = "." })
---moonpool.migrate.abort("farm.moonpool", { dir = "." })
---print(moonpool.migrate.check("farm.moonpool", { dir = "." }))  --> 1
---```
---@param store string|moonpool.Store
---@param options {dir: string, force: boolean?, lock_timeout: number?}
---@return table
function moonpool.migrate.abort(store, options) end

---Reverts the last migration with its down function.
---
---Errors: invalid_argument, invalid_schema, migration_needed, file_corrupt
---
---```lua
---os.remove "farm.moonpool"
---local file <close> = assert(io.open("0001_cows.lua", "w"))
---file:write 'return { schema = { Cow = { name = "string" } }, down = function(m) m:delete_class "Cow" end }'
---file:close()
---moonpool.migrate.up("farm.moonpool", { dir = "." })
---moonpool.migrate.down("farm.moonpool", { dir = "." })
---print(moonpool.migrate.check("farm.moonpool", { dir = "." }))  --> 1
---```
---@param store string|moonpool.Store
---@param options {dir: string, to: integer?, backup: boolean?, lock_timeout: number?}
---@return table
function moonpool.migrate.down(store, options) end

---Restores the last backup and applies the writes since the migration to it.
---
---Errors: invalid_argument, invalid_schema, migration_needed, file_corrupt
---
---```lua
---os.remove "farm.moonpool"
---local file <close> = assert(io.open("0001_cows.lua", "w"))
---file:write 'return { schema = { Cow = { name = "string" } }, down = function(m) m:delete_class "Cow" end }'
---file:close()
---moonpool.migrate.up("farm.moonpool", { dir = ".", backup = false })
---print((pcall(moonpool.migrate.undo, "other.moonpool", { dir = "." })))  --> false
---```
---@param store string|moonpool.Store
---@param options {dir: string, discard_later_writes: boolean?}
---@return table
function moonpool.migrate.undo(store, options) end

---Records migrations as applied without running them, for a store that already has their schema.
---
---Errors: invalid_argument, invalid_schema, migration_needed, file_corrupt
---
---```lua
---os.remove "farm.moonpool"
---local file <close> = assert(io.open("0001_cows.lua", "w"))
---file:write 'return { schema = { Cow = { name = "string" } }, down = function(m) m:delete_class "Cow" end }'
---file:close()
---moonpool.open({ path = "farm.moonpool", schema = { Cow = { name = "string" } }, schema_version = 1 }):close()
---moonpool.migrate.baseline("farm.moonpool", { dir = "." })
---print(moonpool.migrate.check("farm.moonpool", { dir = "." }))  --> 0
---```
---@param store string|moonpool.Store
---@param options {dir: string, to: integer?}
---@return table
function moonpool.migrate.baseline(store, options) end

---Returns the applied and the pending migrations.
---
---Errors: invalid_argument, invalid_schema, migration_needed, file_corrupt
---
---```lua
---os.remove "farm.moonpool"
---local file <close> = assert(io.open("0001_cows.lua", "w"))
---file:write 'return { schema = { Cow = { name = "string" } }, down = function(m) m:delete_class "Cow" end }'
---file:close()
---moonpool.migrate.up("farm.moonpool", { dir = "." })
---print(type(moonpool.migrate.status("farm.moonpool", { dir = "." })))  --> table
---```
---@param store string|moonpool.Store
---@param options {dir: string}
---@return table
function moonpool.migrate.status(store, options) end

---Returns 0 if the store is up to date, 1 if migrations are pending, 2 if schema or scripts have drifted.
---
---Errors: invalid_argument, invalid_schema, migration_needed, file_corrupt
---
---```lua
---os.remove "farm.moonpool"
---local file <close> = assert(io.open("0001_cows.lua", "w"))
---file:write 'return { schema = { Cow = { name = "string" } }, down = function(m) m:delete_class "Cow" end }'
---file:close()
---moonpool.migrate.up("farm.moonpool", { dir = "." })
---print(moonpool.migrate.check("farm.moonpool", { dir = "." }))  --> 0
---```
---@param store string|moonpool.Store
---@param options {dir: string}
---@return integer
function moonpool.migrate.check(store, options) end

---Corrects differences between the record of a store and the files of the folder, without removing values.
---
---Errors: invalid_argument, invalid_schema, migration_needed, file_corrupt
---
---```lua
---os.remove "farm.moonpool"
---local file <close> = assert(io.open("0001_cows.lua", "w"))
---file:write 'return { schema = { Cow = { name = "string" } }, down = function(m) m:delete_class "Cow" end }'
---file:close()
---moonpool.migrate.up("farm.moonpool", { dir = "." })
---print(#moonpool.migrate.repair("farm.moonpool", { dir = "." }).steps)  --> 0
---```
---@param store string|moonpool.Store
---@param options {dir: string, dry_run: boolean?}
---@return table
function moonpool.migrate.repair(store, options) end

---Starts a folder of migrations: writes the schema of a store as the first one, and records it as applied.
---
---Errors: invalid_argument, file_corrupt
---
---```lua
---os.remove "farm.moonpool"
---moonpool.open({ path = "farm.moonpool", schema = { Cow = { name = "string" } } }):close()
---print(moonpool.migrate.init("farm.moonpool", { dir = "farm" }).file)  --> farm/0001_start.lua
---```
---@param store string|moonpool.Store
---@param options {dir: string}
---@return table
function moonpool.migrate.init(store, options) end

---Renumbers the migrations of another branch to follow the others. They are `files` and the rest of their branch, or those
---that the file `store` has not applied.
---
---Errors: invalid_argument, invalid_schema, file_corrupt
---
---```lua
---local file <close> = assert(io.open("0001_cows.lua", "w"))
---file:write 'return { schema = { Cow = { name = "string" } } }'
---file:close()
---print(#moonpool.migrate.merge(".").steps)  --> 0
---```
---@param dir string
---@param options? {files: string[]?, store: string?}
---@return table
function moonpool.migrate.merge(dir, options) end

---Replaces the migrations up to the number `to` by one with the same result; the old files move to a subfolder.
---
---Errors: invalid_argument, invalid_schema
---
---```lua
---local file <close> = assert(io.open("0001_cows.lua", "w"))
---file:write 'return { schema = { Cow = { name = "string" } } }'
---file:close()
---print(#moonpool.migrate.squash(".", { to = 1 }).steps)  --> 0
---```
---@param dir string
---@param options {to: integer}
---@return table
function moonpool.migrate.squash(dir, options) end

---Runs the migration tests of a folder.
---
---Errors: invalid_argument, invalid_schema, migration_needed, file_corrupt
---
---```lua
---os.remove "farm.moonpool"
---local file <close> = assert(io.open("0001_cows.lua", "w"))
---file:write 'return { schema = { Cow = { name = "string" } }, down = function(m) m:delete_class "Cow" end }'
---file:close()
---print(type(moonpool.migrate.test(".")))  --> table
---```
---@param dir string
---@return table
function moonpool.migrate.test(dir) end
