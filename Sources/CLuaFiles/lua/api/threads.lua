---@meta
-- Timers, workers and references.

---A scheduled call, created by moonpool.after or moonpool.every.
---@class moonpool.Timer
---@help timer
---@field is_active boolean Whether the timer will call its function again.
local Timer = {}

---Cancels the timer.
---
---```lua
---local timer = moonpool.after(60, function() end)
---timer:cancel()
---print(timer.is_active)  --> false
---```
function Timer:cancel() end

---A thread with its own event loop and Lua state.
---@class moonpool.Worker
---@help worker
---@field name string The name of the worker thread: name-uuid.
local Worker = {}

---Sends values to the on_message function of the worker. Returns false if the worker has ended.
---
---Errors: invalid_argument
---
---```lua
---local w = moonpool.worker("counter", function()
---  moonpool.on_message(function(dog) moonpool.post_to_parent(dog.age) end)
---end)
---local age
---w:on_message(function(value) age = value end)
---w:post(rex)
---moonpool.wait_until(function() return age end, 10)
---print(age)  --> 7
---w:stop()
---```
---@param ... any
---@return boolean
function Worker:post(...) end

---Sets the function that receives the messages of this worker.
---
---Errors: invalid_argument
---
---```lua
---local w = moonpool.worker("child", function() moonpool.post_to_parent(1, "a") end)
---local got
---w:on_message(function(number, text) got = number .. text end)
---moonpool.wait_until(function() return got end, 10)
---print(got)  --> 1a
---w:stop()
---```
---@param body? fun(...)
function Worker:on_message(body) end

---Stops the worker after it has handled its posted messages. Interrupts it after a timeout in seconds.
---
---Errors: invalid_argument
---
---```lua
---local w = moonpool.worker("idle", function() moonpool.on_message(function() end) end)
---w:stop()
---print(w:join(10), w:is_running())  --> true false
---```
---@param seconds? number
function Worker:stop(seconds) end

---Waits until the worker has ended. Returns true, or false and the error. Observers run in the meantime.
---
---Errors: invalid_argument
---
---```lua
---local w = moonpool.worker("quick", function() end)
---print(w:join(10))  --> true
---```
---@param seconds? number
---@return boolean
---@return string?
function Worker:join(seconds) end

---Returns whether the worker is still running.
---
---```lua
---local w = moonpool.worker("quick", function() end)
---w:join(10)
---print(w:is_running())  --> false
---```
---@return boolean
function Worker:is_running() end

---A thread-safe reference to an object or a collection. store:resolve returns it on another thread, once.
---@class moonpool.Reference
---@help reference
---@field is_resolved boolean Whether the reference has been resolved, on any thread.
