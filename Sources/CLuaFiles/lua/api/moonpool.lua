---@meta
-- The module.

---The module: opens stores, creates values, runs timers.
---@class moonpool
---@help moonpool
---Set this to the argument of moonpool.open with which moonpool.default opens the store. Each worker has its own.
---
---```lua
---moonpool.default_configuration = { path = "mine.moonpool", schema = {} }
---print(moonpool.default().path)  --> mine.moonpool
---moonpool.default():close()
---moonpool.default_configuration = nil
---```
---@writable
---@field default_configuration? moonpool.OpenOptions|string
---Represents nil in tables, where a nil value would remove the key.
---
---```lua
---store:write(function() rex:update { age = moonpool.null } end)
---print(rex.age)  --> nil
---```
---@field null moonpool.Null
---The version of Moonpool: major.minor.patch.
---
---```lua
---print(moonpool.version:match("^%d+%.%d+%.%d+$") ~= nil)  --> true
---```
---@field version string
---Set this function to receive the errors of observers, timers and queued writes.
---
---```lua
---moonpool.on_error = function(err, token) print(token.name, err) end
---local token <close> = rex:observe(function() error("no", 0) end, { name = "mine" })
---store:write(function() rex.age = 8 end)
---store:refresh()  --> mine no
---moonpool.on_error = nil
---```
---@writable
---@field on_error? fun(err: any, token?: moonpool.Token)
moonpool = {}

---Opens a store. Returns the open store if this script has already opened the same file.
---
---Errors: invalid_argument, invalid_schema, migration_needed, version_too_low, file_corrupt, file_format_too_new,
---disk_full, duplicate_key, missing_value
---
---```lua
---local zoo <close> = moonpool.open {
---  path = "zoo.moonpool",
---  schema = { Dog = { id = "int primary", name = "string" } },
---}
---print(zoo.path)  --> zoo.moonpool
---```
---@param path string
---@return moonpool.Store
---@overload fun(options: moonpool.OpenOptions): moonpool.Store
function moonpool.open(path) end

---Returns the default store. Opens the store that moonpool.default_configuration describes, otherwise the file
---`default.moonpool` in the working directory.
---
---Errors: invalid_argument, invalid_schema, migration_needed, version_too_low, file_corrupt, file_format_too_new,
---disk_full
---
---```lua
---moonpool.default_configuration = { in_memory = "notes", schema = { Note = { text = "string" } } }
---local notes <close> = moonpool.default()
---notes:write(function() notes:create("Note", { text = "feed Rex" }) end)
---print(#moonpool.default():objects "Note")  --> 1
---```
---@return moonpool.Store
function moonpool.default() end

---Creates an unmanaged object. store:add adds it to a store.
---
---Errors: invalid_argument
---
---```lua
---local cleo = moonpool.new("Dog", { id = 3, name = "Cleo" })
---store:write(function() store:add(cleo) end)
---print(cleo.breed, #dogs)  --> mutt 3
---```
---@generic T
---@param class `T`
---@param values? table
---@return T
function moonpool.new(class, values) end

---Creates a date: the current time, or from ISO 8601 text, seconds since 1970 (integers are exact), calendar fields, or
---`{ microseconds = n }`. Text with digits below the microsecond is an error.
---
---Errors: invalid_argument
---
---```lua
---print(moonpool.date("2026-11-20T10:00:00Z"))  --> 2026-11-20T10:00:00Z
---print(moonpool.date(0))  --> 1970-01-01T00:00:00Z
---print(moonpool.date { year = 2026, month = 2, day = 28 })  --> 2026-02-28T00:00:00Z
---```
---@return moonpool.Date
---@overload fun(text: string): moonpool.Date
---@overload fun(seconds: number): moonpool.Date
---@overload fun(fields: table): moonpool.Date
function moonpool.date() end

---Creates a UUID from text, or a random one without an argument.
---
---Errors: invalid_argument
---
---```lua
---print(moonpool.uuid("01234567-89ab-cdef-0123-456789abcdef"))  --> 01234567-89ab-cdef-0123-456789abcdef
---```
---@param text? string
---@return moonpool.UUID
function moonpool.uuid(text) end

---Creates an object id from text, or a new one without an argument.
---
---Errors: invalid_argument
---
---```lua
---print(moonpool.object_id("0123456789abcdef01234567"))  --> 0123456789abcdef01234567
---```
---@param text? string
---@return moonpool.ObjectID
function moonpool.object_id(text) end

---Creates a decimal number with 34 significant digits.
---
---Errors: invalid_argument
---
---```lua
---print(moonpool.decimal("0.1") + moonpool.decimal("0.2"))  --> 0.3
---```
---@param value string|number
---@return moonpool.Decimal
function moonpool.decimal(value) end

---Creates a data value from bytes, for values without a declared type such as query arguments.
---
---Errors: invalid_argument
---
---```lua
---print(#moonpool.data("\0\255"))  --> 2
---```
---@param bytes string
---@return moonpool.Data
function moonpool.data(bytes) end

---Creates a single-precision number, to store one in a mixed value.
---
---Errors: invalid_argument
---
---```lua
---store:write(function() rex.extra = moonpool.float(0.1) end)
---print(moonpool.type_of(rex, "extra"), rex.extra == 0.1)  --> float false
---```
---@param number number
---@return moonpool.Float
function moonpool.float(number) end

---Returns the type of a stored value: nil, bool, int, float, double, string, data, date, uuid, object_id, decimal,
---object, list, set, map or backlinks. It distinguishes values that look the same in Lua, such as data and strings.
---Returns nil for an index or key that does not exist.
---
---Errors: unknown_property, invalid_object, invalid_argument
---
---```lua
---store:write(function() rex.extra = { moonpool.data("a"), "a", 1, 1.0, moonpool.json.empty_object, {} } end)
---local types = {}
---for i = 1, #rex.extra do types[i] = moonpool.type_of(rex.extra, i) end
---print(table.concat(types, " "))  --> data string int double map list
---```
---@param object moonpool.Object
---@param property string
---@return string
---@overload fun(list: moonpool.List|moonpool.Set|moonpool.Values|moonpool.MixedList, index: integer): string?
---@overload fun(map: moonpool.Map|moonpool.MixedMap, key: string): string?
function moonpool.type_of(object, property) end

---Returns the class name of an object, even if it has a property named class.
---
---Errors: invalid_argument
---
---```lua
---print(moonpool.class_of(rex))  --> Dog
---```
---@param object moonpool.Object
---@return string
function moonpool.class_of(object) end

---Returns the number of an object within its class, which never changes; objects are created in ascending order.
---
---Errors: invalid_argument
---
---```lua
---local first = store:objects("Dog")[1]
---print(moonpool.id_of(first) < moonpool.id_of(store:objects("Dog")[2]))  --> true
---```
---@param object moonpool.Object
---@return integer
function moonpool.id_of(object) end

---Returns the store of an object or a collection.
---
---Errors: invalid_argument
---
---```lua
---print(moonpool.store_of(dogs) == store)  --> true
---```
---@param value moonpool.Object|moonpool.Results|moonpool.List|moonpool.Set|moonpool.Map|moonpool.Values|moonpool.MixedList|moonpool.MixedMap
---@return moonpool.Store
function moonpool.store_of(value) end

---Returns the text that the prompt prints for a value: nested tables with sorted keys, objects, Results as tables.
---
---Errors: invalid_argument
---
---```lua
---print(moonpool.inspect { b = { 1, 2 }, a = "text" })  --> { a = "text", b = { 1, 2 } }
---print(moonpool.inspect({ 1, 2, 3 }, { items = 2 }))  --> { 1, 2, … 1 more }
---```
---@param value any
---@param options? {depth: integer?, items: integer?, rows: integer?, string: integer?, width: integer?}
---@return string
function moonpool.inspect(value, options) end

---Evaluates an expression with the local variables of the entries of the prompt, or a query such as "Dog where age > 3".
---It exists only at the prompt.
---
---```lua
---print(moonpool.evaluate "6 * 7")  --> 42
---```
---@param text string
---@return any
---@return any ...
function moonpool.evaluate(text) end

---Returns the completions of an entry of the prompt at the cursor, and the position of the first replaced byte. The
---cursor is a number of bytes. The function exists only at the prompt.
---
---```lua
---local found, start = moonpool.complete "x = moonpool.insp"
---print(found[1] .. ", " .. start)  --> inspect, 14
---```
---@param text string
---@param cursor? integer
---@return string[]
---@return integer
function moonpool.complete(text, cursor) end

---Applies a recording to a store. Returns the number of commits and of object changes. A step that is incomplete or
---does not apply is rolled back and stops the replay; the error names the file and line.
---
---Errors: invalid_argument, read_only, closed
---
---```lua
---local recording = store:record("changes.jsonl")
---store:write(function() rex.age = 8 end)
---recording:stop()
---store:undo()
---moonpool.replay("changes.jsonl", store)
---print(rex.age)  --> 8
---```
---@param path string
---@param store moonpool.Store
---@return integer
---@return integer
function moonpool.replay(path, store) end

---Replies to the requests of a NATS subject with the result of the handler, as JSON. Requests are handled on the
---script's event loop, one at a time. A service keeps the script running. An error of the handler is sent with its
---code.
---
---Errors: invalid_argument, unavailable, limit_exceeded, unsupported
---
---```lua
---local function add(request)
---  return store:write(function() return store:create("Dog", request.body, "modified").name end)
---end
---local ok, service = pcall(moonpool.serve, { url = "nats://localhost:4222", subject = "zoo.add", handler = add })
---if ok then service:stop() end
---print(add { subject = "zoo.add", body = { id = 9, name = "Rex" } })  --> Rex
---```
---@param options moonpool.ServeOptions
---@return moonpool.Service
function moonpool.serve(options) end

---Sends a request to a service and returns its reply. Observers, timers and services of this script run in the
---meantime. An error of the handler is raised here with its code and message.
---
---Errors: invalid_argument, timed_out, unavailable, limit_exceeded, unsupported
---
---```lua
---local options = { url = "nats://localhost:4222", subject = "zoo.add", body = { id = 9, name = "Rex" }, timeout = 1 }
---local ok, reply = pcall(moonpool.request, options)
---print(ok and reply or reply.code)  --> unavailable
---```
---@param options moonpool.RequestOptions
---@return any
function moonpool.request(options) end

---Returns a plot, a histogram or sections as an SVG document.
---
---Errors: invalid_argument
---
---```lua
---local document = moonpool.svg(dogs:group_by("breed"))
---print(document:find("boxer") ~= nil)  --> true
---```
---@param chart any
---@return string
function moonpool.svg(chart) end

---Returns the schema of a store as text: a script in Lua, or a document in another format.
---
---Errors: invalid_argument
---
---```lua
---print(moonpool.schema_text(store, "mermaid"):match "^%a+")  --> erDiagram
---```
---@param store moonpool.Store
---@param format? "lua"|"mermaid"|"dot"|"json"|"luals" Default: lua.
---@return string
function moonpool.schema_text(store, format) end

---Returns the tokens of the active observers, in the order of registration, without hidden ones.
---
---```lua
---local token <close> = dogs:observe(function() end, { name = "kennel" })
---print(#moonpool.observers(), moonpool.observers()[1].name)  --> 1 kennel
---```
---@return moonpool.Token[]
function moonpool.observers() end

---Runs a function immediately, and again after each commit that changes data that it has read: properties, collections,
---results, aggregates. The effect ends with dispose or with the script. If the function returns a cleanup function,
---that runs before the next run and at the end.
---
---Errors: already_in_write, invalid_argument
---
---```lua
---local effect <close> = moonpool.effect(function()
---  print(dogs:count(), dogs:sum "age", rex.name)
---end)  --> 2 10 Rex
---store:write(function() rex.age = 8 rex.name = "Rexi" end)
---store:refresh()  --> 2 11 Rexi
---store:write(function() max.breed = "pug" end)
---store:refresh()
---```
---@param body fun(): (fun()?)
---@param options? {name: string?}
---@return moonpool.Token
function moonpool.effect(body, options) end

---Creates a value that is computed when it is read and cached until data that the function has read changes.
---
---Errors: invalid_argument
---
---```lua
---local old = moonpool.computed(function() return dogs:where("age > 5"):count() end)
---local effect <close> = moonpool.effect(function() print("old dogs:", old()) end)  --> old dogs: 1
---store:write(function() rex.age = 8 end)
---store:refresh()
---store:write(function() max.age = 9 end)
---store:refresh()  --> old dogs: 2
---```
---@param body fun(): any
---@return moonpool.Computed
function moonpool.computed(body) end

---Calls a function inside an effect without making the effect depend on the values that the function reads.
---
---Errors: invalid_argument
---
---```lua
---local effect <close> = moonpool.effect(function()
---  print(rex.name, moonpool.untracked(function() return max.age end))
---end)  --> Rex 3
---store:write(function() max.age = 4 end)
---store:refresh()
---store:write(function() rex.name = "Rexi" end)
---store:refresh()  --> Rexi 4
---```
---@param body fun(...): any
---@param ... any
---@return any
function moonpool.untracked(body, ...) end

---Calls a function once, after a number of seconds.
---
---Errors: invalid_argument
---
---```lua
---local done
---moonpool.after(0.01, function() done = true end)
---print(moonpool.wait_until(function() return done end, 10))  --> true
---```
---@param seconds number
---@param body fun()
---@return moonpool.Timer
function moonpool.after(seconds, body) end

---Calls a function repeatedly, at an interval in seconds.
---
---Errors: invalid_argument
---
---```lua
---local count = 0
---local timer = moonpool.every(0.01, function() count = count + 1 end)
---moonpool.wait_until(function() return count >= 2 end, 10)
---timer:cancel()
---print(count >= 2)  --> true
---```
---@param seconds number
---@param body fun()
---@return moonpool.Timer
function moonpool.every(seconds, body) end

---Waits for a number of seconds. Observers and timers of this script run in the meantime.
---
---Errors: invalid_argument
---
---```lua
---local token <close> = dogs:observe(function(change) print(change.type) end)
---moonpool.sleep(0.01)  --> initial
---```
---@param seconds number
function moonpool.sleep(seconds) end

---Waits until a function returns true, or returns false on timeout. Observers and timers run in the meantime.
---
---Errors: invalid_argument
---
---```lua
---print(moonpool.wait_until(function() return #dogs == 2 end, 10))  --> true
---```
---@param condition fun(): any
---@param timeout? number
---@return boolean
function moonpool.wait_until(condition, timeout) end

---Stops the event loop of this script, even if observers, timers or workers are active.
---
---```lua
---moonpool.every(60, function() end)
---moonpool.stop()
---```
function moonpool.stop() end

---Starts a worker that runs a function or a file on a thread with its own event loop and Lua state.
---
---Errors: invalid_argument, limit_exceeded
---
---```lua
---local w = moonpool.worker("adder", function(a, b) moonpool.post_to_parent(a + b) end, 1, 2)
---local sum
---w:on_message(function(value) sum = value end)
---moonpool.wait_until(function() return sum end, 10)
---print(sum)  --> 3
---w:stop()
---```
---@param name string
---@param body fun(...)|string
---@param ... any
---@return moonpool.Worker
function moonpool.worker(name, body, ...) end

---Sets the function that receives messages: from the parent in a worker, from all workers elsewhere.
---
---Errors: invalid_argument
---
---```lua
---local w = moonpool.worker("echo", function()
---  moonpool.on_message(function(text) moonpool.post_to_parent(text .. "!") end)
---end)
---local answer
---moonpool.on_message(function(text) answer = text end)
---w:post("hello")
---moonpool.wait_until(function() return answer end, 10)
---print(answer)  --> hello!
---w:stop()
---```
---@param body? fun(...)
function moonpool.on_message(body) end

---Sends values to the parent of this worker. Returns false if the parent has ended.
---
---Errors: invalid_argument
---
---```lua
---local w = moonpool.worker("child", function() moonpool.post_to_parent("born") end)
---local word
---w:on_message(function(text) word = text end)
---moonpool.wait_until(function() return word end, 10)
---print(word)  --> born
---w:stop()
---```
---@param ... any
---@return boolean
function moonpool.post_to_parent(...) end

---Creates a thread-safe reference. A store on another thread resolves it, once.
---
---Errors: invalid_argument, invalid_object
---
---```lua
---local reference = moonpool.reference(rex)
---print(store:resolve(reference).name, reference.is_resolved)  --> Rex true
---```
---@param value moonpool.Object|moonpool.Results|moonpool.List|moonpool.Set|moonpool.Map|moonpool.Store
---@return moonpool.Reference
function moonpool.reference(value) end
