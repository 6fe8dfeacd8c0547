-- The command that runs changed files again, and replaces the observers and timers of the old text.
--
-- If a file cannot be compiled, or its main part fails, nothing changes: the old observers continue, even if the new
-- text has released their tokens, and globals keep their values.
local text = require "prompt/text"
local match = string.match

local reload = {}

-- Returns what the session knows:
--   sources       by name, a module or a loaded file: its path, its stamp when it ran, and whether it is a module
--   without_file  the names of modules that have no file
--   survivors     by file, the observers that a failed reload has kept, possibly the only references to their tokens
--   watches       by folder, the functions that end the watches; nil while automatic reloading is off
--   failed        by name, the stamp of a file whose reload failed, so that each failure is reported once
--   is_due        whether a file has changed while an entry was running
--   cancel_look   cancels the next look for changes
local function kept()
  local own = session.state "reload"
  if not own.sources then own.sources, own.without_file, own.survivors, own.failed = {}, {}, {}, {} end
  return own
end

-- Returns the file of a source location: `zoo.lua` for `zoo.lua:12`.
local function file_of(location) return match(location, "^(.*):[^:]*$") or location end

-- MARK: Loaded modules

-- Records the files of modules that have been loaded since the last call.
function reload.note()
  local package, own = session.globals "package", kept()
  for name in next, session.loaded() do
    if type(name) == "string" and not own.sources[name] and not own.without_file[name] then
      local is_found, path = pcall(function() return package.searchpath(name, package.path) end)
      if is_found and path then
        own.sources[name] = { path = path, stamp = session.stamp(path), is_module = true }
      else
        own.without_file[name] = true
      end
    end
  end
end

-- Records a file that `.load` has run.
function reload.note_file(path) kept().sources[path] = { path = path, stamp = session.stamp(path) } end

-- Returns the names of modules and files that can be reloaded.
function reload.names() return text.sorted_keys(kept().sources) end

-- Returns the names of files that have changed; each follows the modules that its text requires with a literal.
local function changed()
  local sources, wanted, order, visited = kept().sources, {}, {}, {}
  for name, source in pairs(sources) do wanted[name] = session.stamp(source.path) ~= source.stamp end
  local function visit(name)
    if visited[name] then return end
    visited[name] = true
    local is_read, code = pcall(session.read, sources[name].path)
    local tokens = {}
    for _, token in ipairs(is_read and session.tokens(code) or {}) do
      if token.kind ~= "comment" and token.text ~= "(" then tokens[#tokens + 1] = token end
    end
    for i, token in ipairs(tokens) do
      local literal = token.text == "require" and token.kind == "name" and tokens[i + 1]
      local other = literal and literal.kind == "string" and match(literal.text, "^[\"'](.*)[\"']$")
      if other and wanted[other] then visit(other) end
    end
    order[#order + 1] = name
  end
  for _, name in ipairs(reload.names()) do
    if wanted[name] then visit(name) end
  end
  return order
end

-- MARK: Reloading

-- Moves the fields of a module's new table into the old one, which scripts refer to, and rebinds upvalues that refer to
-- the new table.
local function transplant(old, new)
  local seen = {}
  local function point(f)
    if seen[f] then return end
    seen[f] = true
    for index = 1, 255 do
      local name, value = debug.getupvalue(f, index)
      if not name then return end
      -- Native functions keep their upvalues.
      if rawequal(value, new) then
        pcall(debug.setupvalue, f, index, old)
      elseif type(value) == "function" then
        point(value)
      end
    end
  end
  for key in next, old do rawset(old, key, nil) end
  for key, value in next, new do
    if type(value) == "function" then point(value) end
    rawset(old, key, value)
  end
  debug.setmetatable(old, debug.getmetatable(new))
end

local function adopt(name, value)
  local loaded = session.loaded()
  local old = rawget(loaded, name)
  if debug and type(old) == "table" and type(value) == "table" and not rawequal(old, value) then
    return transplant(old, value)
  end
  if value == nil then value = old == nil or old end
  rawset(loaded, name, value)
end

-- Returns a function that gives a table its present content again.
local function restoring(table)
  local copy = {}
  for key, value in next, table do copy[key] = value end
  return function()
    for key in next, table do rawset(table, key, nil) end
    for key, value in next, copy do rawset(table, key, value) end
  end
end

-- Returns what the run of a file can change.
local function snapshot()
  local before = {
    tokens = moonpool.observers(), numbers = {}, timers = {},
    restore_globals = restoring(session.globals()), restore_loaded = restoring(session.loaded()),
  }
  for _, token in ipairs(before.tokens) do before.numbers[token.number] = true end
  for _, timer in ipairs(session.timers()) do before.timers[timer.id] = true end
  return before
end

-- Ends the observers and timers of the old text; after a failure, those of the new one. Returns the numbers of old and
-- new observers.
local function settle(before, file, is_done)
  local old, added = {}, 0
  for _, token in ipairs(before.tokens) do
    if file_of(token:stats().where) == file then old[#old + 1] = token end
  end
  for _, token in ipairs(moonpool.observers()) do
    if not before.numbers[token.number] then
      added = added + 1
      if not is_done then token:invalidate() end
    end
  end
  for _, timer in ipairs(session.timers()) do
    local is_old = before.timers[timer.id]
    if is_done and is_old and file_of(timer.location) == file or not is_done and not is_old then timer.cancel() end
  end
  kept().survivors[file] = not is_done and old or nil
  if is_done then
    for _, token in ipairs(old) do token:invalidate() end
  else
    before.restore_globals()
    -- The observers of a module that was required for the first time have been removed, so the module must run again.
    before.restore_loaded()
  end
  return #old, added
end

-- Runs the text of a module or a loaded file again, after the command, reports the outcome, and passes to a function
-- whether it succeeded.
local function reload_one(name, ended)
  local source, before, stamp, file = kept().sources[name], nil, nil, nil
  session.later(function()
    if not source then
      local near = session.nearest(name, reload.names())
      local remedy = near and "; did you mean '" .. near .. "'?" or ""
      error("no module '" .. name .. "' was loaded from a file" .. remedy, 0)
    end
    stamp = session.stamp(source.path)
    local code = session.read(source.path)
    before, file = snapshot(), source.path
    local chunk, message = load(code, "@" .. source.path, "t", session.globals())
    if not chunk then error(message, 0) end
    file = debug and debug.getinfo(chunk, "S").short_src or file
    if source.is_module then
      -- A call from native code is that of a main chunk in tracebacks.
      adopt(name, session.call(chunk, name, source.path))
    else
      -- As with `.load`, the locals of the file become locals of the session, which keep its tokens alive.
      session.run_file(code, source.path)
    end
  end, function(is_done)
    local old, added = 0, 0
    if before then old, added = settle(before, file, is_done) end
    if is_done then
      source.stamp = stamp
      local observers = old + added > 0 and "; " .. text.count(added, "observer") .. " in place of " .. old or ""
      session.write_to_screen("reloaded " .. name .. observers .. "\n")
    elseif before then
      session.write_error(name .. " is unchanged, with its observers")
    end
    if ended then ended(is_done) end
  end)
end

-- MARK: Automatic reloading

local pause = 0.1

local function watch_folders()
  local own = kept()
  for _, source in pairs(own.sources) do
    local folder = match(source.path, "^.*/") or "."
    own.watches[folder] = own.watches[folder] or session.watch(folder, reload.notice)
  end
end

local function look()
  local own = kept()
  if not own.watches then return end
  -- A file that changes while an entry runs is reloaded after the entry.
  own.is_due = session.is_running()
  if own.is_due then return end
  for _, name in ipairs(changed()) do
    local stamp = session.stamp(own.sources[name].path)
    -- A missing file is usually being replaced.
    if stamp and stamp ~= own.failed[name] then
      reload_one(name, function(is_done)
        own.failed[name] = not is_done and stamp or nil
        -- Reloaded modules can require modules in other folders.
        reload.note()
        if own.watches then watch_folders() end
      end)
    end
  end
end

-- Looks for changed files soon.
function reload.notice()
  local own = kept()
  if own.cancel_look then own.cancel_look() end
  own.is_due, own.cancel_look = false, session.delay(pause, look)
end

local function entry_has_ended()
  watch_folders()
  if kept().is_due then reload.notice() end
end

function reload.reload(args)
  if args.text == "on" then
    local own = kept()
    own.watches = own.watches or {}
    watch_folders()
    session.after_entry("reload", entry_has_ended)
    prompt.write "modules and loaded files are reloaded when they change; .reload off stops this\n"
  elseif args.text == "off" then
    local own = kept()
    for _, cancel in pairs(own.watches or {}) do cancel() end
    own.watches = nil
    session.after_entry("reload", nil)
    prompt.write "only .reload reloads modules and loaded files\n"
  elseif args.text == "" then
    local names = changed()
    if #names == 0 then return prompt.write "no module has changed\n" end
    for _, name in ipairs(names) do reload_one(name) end
  else
    reload_one(args.text)
  end
end

return reload
