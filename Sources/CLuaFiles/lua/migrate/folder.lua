-- A folder of migrations: its files, the tables that they return, and the schemas that they lead to.
--
-- Each file runs once, in the globals of the script. Until its code returns, `require`, `dofile` and `loadfile` search
-- the folder first, and the loaded files count as part of the migration.
local text = require "migrate/text"
local edits = require "migrate/edits"
local fail = text.fail

local folder = {}
-- The file of the checks that a team adds.
folder.checks = "checks.lua"

local form = "{ schema = { … }, up = function(m) … end, down = … }"
local keys = {
  "schema", "changes", "renames", "drops", "down_drops", "each", "up", "down", "parent", "merged_from", "squashes",
  "adopts",
}

-- Checksums of code: that of the compiled code, and that of the tokens, which an earlier build or another release of
-- Lua has recorded. A record has one or both of them.

local function tokens(code)
  code.tokens = code.tokens or host.token_checksum(code.source)
  return code.tokens
end

function folder.code(source) return { source = source, checksum = host.checksum(source) } end

function folder.checksums(code) return { code.checksum, tokens(code) } end

-- Returns what a store records.
function folder.record(code) return code.checksum .. "+" .. tokens(code) end

local function recorded(record, is_wanted)
  for checksum in string.gmatch(record, "[^+]+") do
    if is_wanted(checksum) then return true end
  end
  return false
end

-- Returns whether a record is one of this code.
function folder.matches(code, record)
  return recorded(record, function(checksum) return checksum == code.checksum end)
    or recorded(record, function(checksum) return checksum == tokens(code) end)
end

-- Returns whether a record is that of a file, or of the file before a merge rewrote it.
function folder.is_or_was(file, record)
  return folder.matches(file, record)
    or recorded(record, function(checksum) return text.contains(file.former, checksum) end)
end

-- Returns whether a record is that of the last migration that a file replaces.
function folder.replaces(file, record)
  return recorded(record, function(checksum) return text.contains(file.squashed, checksum) end)
end

-- Returns the identity of migrations and their order, which a new file records as its `parent`.
function folder.identity(files)
  return host.text_checksum(text.map(files, function(file) return file.checksum end))
end

-- Returns whether a file with this `parent` was written after some migrations. Earlier builds used other checksums.
function folder.is_identity(parent, files)
  return parent == folder.identity(files) or parent == host.text_checksum(text.map(files, tokens))
end

-- Changes the functions that load files until the result is closed.
function folder.environment(self, file)
  -- A script can have changed any global, and can refuse unknown ones.
  local G, loads, originals = host.globals, {}, {}
  local function replace(name, f)
    originals[name] = rawget(G, name)
    if originals[name] then rawset(G, name, f(originals[name])) end
  end
  local function library(name) return type(rawget(G, name)) == "table" and G[name] or nil end
  local package, os = library "package", library "os"
  local exit, path, loaded = os and os.exit, package and package.path, package and package.loaded
  if type(path) ~= "string" or type(loaded) ~= "table" then package = nil end
  -- However the path is spelled, a file in the folder belongs to the migration.
  local function note(found)
    local root, resolved = host.resolved(self.path), host.resolved(found)
    if not root or not resolved or string.sub(resolved, 1, #root + 1) ~= root .. "/" then return false end
    local is_readable, source = pcall(host.read, resolved)
    if not is_readable then return false end
    self.helpers[file.path] = self.helpers[file.path] or {}
    self.helpers[file.path][string.sub(resolved, #root + 2)] = folder.record(folder.code(source))
    return true
  end
  local function within(name)
    if type(name) ~= "string" or string.sub(name, 1, 1) == "/" then return name end
    local found = self.path .. "/" .. name
    return host.exists(found) and found or name
  end
  local function loader(load)
    return function(name, ...)
      local found = within(name)
      if type(found) == "string" then note(found) end
      return load(found, ...)
    end
  end
  if package then
    package.path = self.path .. "/?.lua;" .. self.path .. "/?/init.lua;" .. path
    replace("require", function(require)
      return function(name)
        local found = type(name) == "string" and package.searchpath(name, package.path)
        if found and note(found) and not loads[name] then loads[name], loaded[name] = true, nil end
        return require(name)
      end
    end)
  end
  replace("dofile", loader)
  replace("loadfile", loader)
  if os then
    os.exit = function() error("os.exit ends the process; a migration returns or raises an error", 2) end
  end
  return setmetatable({}, {
    __close = function()
      for name, original in pairs(originals) do rawset(G, name, original) end
      if os then os.exit = exit end
      if package then
        package.path = path
        for name in pairs(loads) do loaded[name] = nil end
      end
    end,
  })
end

-- Returns the table that a source returns.
function folder.table(source, path, expected)
  local result = host.load(source, path)()
  if type(result) ~= "table" then
    fail("invalid_argument", "expected '" .. path .. "' to return " .. expected)
  end
  return result
end

local function texts(list)
  return text.filter(type(list) == "table" and list or { list }, function(item) return type(item) == "string" end)
end

-- Returns the sorted names of the classes in `each`.
local function classes_with_functions(each)
  local classes = {}
  for name in next, type(each) == "table" and each or {} do
    if type(name) == "string" then classes[#classes + 1] = name end
  end
  table.sort(classes)
  return classes
end

-- Runs a file, and keeps its table or its error, and the keys that give its position in the folder.
local function run(self, file)
  local is_valid, result = text.try(function()
    local _ <close> = folder.environment(self, file)
    return folder.table(file.source, file.path, form)
  end)
  self.results[file.path] = { is_valid = is_valid, value = result }
  local function field(key) return is_valid and rawget(result, key) or nil end
  file.former, file.squashed = texts(field "merged_from"), texts(field "squashes")
  file.is_squash = #file.squashed > 0
  file.is_adoption = field "adopts" ~= nil
  file.parent = type(field "parent") == "string" and field "parent" or nil
  file.is_delta, file.has_up = field "changes" ~= nil, field "up" ~= nil or field "each" ~= nil
  local functions = text.filter({ field "up" or false, field "down" or false },
    function(value) return type(value) == "function" end)
  for _, name in ipairs(classes_with_functions(field "each")) do
    local pair = field "each"[name]
    text.append(functions, text.filter(type(pair) == "table" and { pair.up or false, pair.down or false } or { pair },
      function(value) return type(value) == "function" end))
  end
  file.code_checksum = is_valid and host.function_checksum(functions) or ""
end

-- Returns a migration with a name and a source, as it would be in a folder.
function folder.file(number, name, path, source)
  local file = folder.code(source)
  file.number, file.name, file.path, file.file_name = number, name, path, text.file_name(path)
  file.test_path = string.sub(path, 1, -5) .. "_test.lua"
  file.test_name = text.file_name(file.test_path)
  file.former, file.squashed = {}, {}
  return file
end

-- Returns the name that a numbered Lua file should have; nil for files that are not numbered, such as modules. A file
-- is numbered if its name begins with a number, also after a word or sign of other tools: `V2__x.lua`,
-- `migration-2.lua`.
local function proper_name(name)
  local head, digits, rest = string.match(string.lower(name), "^(%D*)(%d+)(.*)%.lua$")
  if not head then return nil end
  local word = string.gsub(head, "[^%a\128-\255]", "")
  if not text.contains({ "", "v", "m", "migrate", "migration" }, word) then return nil end
  local words = {}
  for part in string.gmatch(rest, "[%w\128-\255]+") do words[#words + 1] = part end
  return string.rep("0", 4 - #digits) .. digits .. "_"
    .. (#words == 0 and "what_it_does" or table.concat(words, "_")) .. ".lua"
end

-- Returns the name that a file without a number should have if it returns a migration; nil for modules, which do not
-- run before a migration loads them.
local function missing_number(name, path)
  if not string.match(string.lower(name), "%.lua$") then return nil end
  local is_readable, source = pcall(host.read, path)
  local names = is_readable and host.returned_names(source) or {}
  if not (text.contains(names, "schema") or text.contains(names, "changes")) then return nil end
  for _, key in ipairs(names) do
    if not text.contains(keys, key) then return nil end
  end
  return "NNNN_" .. string.lower(name) .. ", with the next number"
end

local function read(self, name)
  if string.sub(name, 1, 1) == "." or string.match(name, "_test%.lua$") or name == folder.checks then return nil end
  local path = text.path(name, self.path)
  local digits, base = string.match(name, "^(%d+)_(.+)%.lua$")
  if not digits then
    local proposal = proper_name(name) or missing_number(name, path)
    if not proposal then return nil end
    fail("invalid_argument", "'" .. path .. "' is not named like a migration",
      "rename it to " .. proposal .. ", or move it to a subfolder")
  end
  local number = math.tointeger(tonumber(digits))
  if not number or number <= 0 or number >= 1 << 50 then
    fail("invalid_argument", "'" .. path .. "': migrations are numbered from 1, with at most 15 digits")
  end
  local file = folder.file(number, base, path, host.read(path))
  run(self, file)
  return file
end

-- Returns the content of a folder, even if its numbers are not consecutive.
function folder.list(path)
  local names = host.names(path) or fail("invalid_argument", "the folder '" .. path .. "' cannot be read")
  edits.require_finished(path)
  local self = { path = path, results = {}, helpers = {}, scripts = {} }
  self.files = text.map(names, function(name) return read(self, name) end)
  table.sort(self.files, function(a, b)
    return a.number < b.number or a.number == b.number and a.name < b.name
  end)
  local known = {}
  for _, file in ipairs(self.files) do known[file.test_name] = true end
  self.stray_tests = text.filter(names, function(name)
    return string.match(name, "_test%.lua$") and string.sub(name, 1, 1) ~= "." and not known[name]
  end)
  return self
end

-- Returns a folder with some of its files.
function folder.subset(self, files)
  return { path = self.path, files = files, results = self.results, helpers = self.helpers, scripts = {} }
end

-- Returns a squashed migration and the files that it replaces, if they are still in the folder.
function folder.unfinished_squash(self)
  local squash
  for _, file in ipairs(self.files) do squash = file.is_squash and file or squash end
  if not squash then return nil end
  local replaced = text.filter(self.files, function(file) return file.number <= squash.number and file ~= squash end)
  if #replaced > 0 then return { file = squash, replaced = replaced } end
end

function folder.require_squashed(self)
  local squash = folder.unfinished_squash(self)
  if not squash then return end
  fail("invalid_argument",
    "'" .. self.path .. "': '" .. squash.file.file_name .. "' replaces '" .. squash.replaced[1].file_name
      .. "', and both exist",
    "finish the squash with moonpool migrate squash --to " .. squash.file.number .. " --dir " .. self.path)
end

-- Returns whether a merge has copied a file.
function folder.is_merged(file, copy)
  return text.find(copy.former, function(origin) return folder.matches(file, origin) end) ~= nil
end

-- Returns a migration and its copy with another number, if both are in the folder; only one of them may run.
function folder.unfinished_move(self)
  for _, copy in ipairs(self.files) do
    for _, file in ipairs(self.files) do
      -- Files without code that were written twice are equal without a common origin.
      if file ~= copy and (file.name == copy.name or copy.has_up) then
        if file.checksum == copy.checksum and file.name == copy.name and file.number < copy.number and file.has_up then
          return file, copy
        end
        local is_origin = folder.is_merged(file, copy)
        if is_origin or text.find(copy.former, function(origin) return text.contains(file.former, origin) end) then
          if is_origin or file.number < copy.number then return file, copy end
          return copy, file
        end
      end
    end
  end
end

-- Returns a folder whose files can be applied; raises an error if they are not numbered without gaps.
function folder.open(path)
  local self = folder.list(path)
  local function invalid(message, advice) fail("invalid_argument", "'" .. path .. "': " .. message, advice) end
  if #self.files == 0 then
    fail("invalid_argument", "the folder '" .. path .. "' has no migrations",
      "name them 0001_what_it_does.lua and so on")
  end
  folder.require_squashed(self)
  local moved, copy = folder.unfinished_move(self)
  if moved and folder.is_merged(moved, copy) then
    invalid("'" .. copy.file_name .. "' is '" .. moved.file_name .. "' after a merge, and both exist",
      "finish the merge with moonpool migrate merge " .. moved.file_name .. " --dir " .. path
        .. ", or delete one of them")
  elseif moved then
    invalid("'" .. copy.file_name .. "' is a copy of '" .. moved.file_name .. "'", "delete one of them")
  end
  for index, following in ipairs(self.files) do
    local file = self.files[index - 1]
    if file and file.number == following.number then
      invalid("'" .. file.file_name .. "' and '" .. following.file_name .. "' have the same number",
        "run moonpool migrate merge --dir " .. path .. " to renumber one of them")
    elseif file and file.number + 1 ~= following.number then
      invalid("'" .. following.file_name .. "' follows '" .. file.file_name .. "', and migration "
        .. file.number + 1 .. " is missing", "number them without gaps")
    end
  end
  return self
end

folder.stray_advice = "give it the name of its migration with _test at the end, or delete it"

function folder.stray_message(self, name)
  return "'" .. name .. "' does not belong to a migration of '" .. self.path .. "'"
end

function folder.with_number(self, number)
  return text.find(self.files, function(file) return file.number == number end)
end

-- Returns the migrations before a number, and the last of them.
function folder.before(self, number)
  local files = text.filter(self.files, function(file) return file.number < number end)
  return files, files[#files]
end

-- Raises an error for a text that cannot be the name of a migration.
function folder.require_name(name)
  if string.match(name, "^[%w_]+$") then return end
  fail("invalid_argument", "the name of a migration has letters, digits and _, got '" .. name .. "'")
end

function folder.last(self) return self.files[#self.files] end

-- Returns the number of the last migration; 0 for none.
function folder.last_number(self) return #self.files > 0 and folder.last(self).number or 0 end

function folder.missing(self, number)
  fail("invalid_argument", "there is no migration " .. number .. " in '" .. self.path .. "'; the last one is "
    .. folder.last_number(self))
end

-- Returns the code of a file that migrations load, by its name in the folder; nil if it cannot be read.
function folder.helper(self, name)
  local is_readable, source = pcall(host.read, text.path(name, self.path))
  return is_readable and folder.code(source) or nil
end

-- Scripts: what a file declares, and the schemas of the folder.

local function qualified_names(result, name, invalid)
  local list = rawget(result, name)
  if list == nil then return {} end
  local count = 0
  for _, value in next, type(list) == "table" and list or {} do
    count = count + (type(value) == "string" and 1 or math.huge)
  end
  if type(list) ~= "table" or count ~= #list then
    invalid("expected '" .. name .. "' to be an array of names such as { \"Person.phone\", \"Toy\" }")
  end
  return text.copy(list)
end

-- Returns the new names of classes and of `Class.property` by the old ones.
local function renames_of(result, invalid)
  local renames = rawget(result, "renames")
  if renames == nil then return {} end
  local copy = {}
  for old, new in next, type(renames) == "table" and renames or { false } do
    if type(old) ~= "string" or type(new) ~= "string" then
      invalid "expected 'renames' to be a table of names such as { [\"Dog.born\"] = \"birthday\", Owner = \"Person\" }"
    end
    copy[old] = new
  end
  return copy
end

-- Returns the functions that convert one object, by class: { up =, down = }.
local function each_of(result, invalid)
  local each = rawget(result, "each")
  if each == nil then return nil end
  local pairs_by_class = {}
  for name, pair in next, type(each) == "table" and each or { false } do
    pair = type(pair) == "function" and { up = pair } or pair
    if type(name) ~= "string" or type(pair) ~= "table" then
      invalid "expected 'each' to be a table such as { Dog = { up = function(old, new) … end, down = … } }"
    end
    for key, value in next, pair do
      if key ~= "up" and key ~= "down" or type(value) ~= "function" then
        invalid("expected 'each." .. name .. "' to have the functions 'up' and 'down', got '" .. tostring(key)
          .. "', a " .. type(value))
      end
    end
    pairs_by_class[name] = pair
  end
  return pairs_by_class
end

-- Returns whether a migration with functions for one object can be reversed: it has one for `down`, or needs none.
local function is_reversible(each, drops)
  for _, pair in next, each do
    if pair.down then return true end
  end
  return #drops == 0 or not next(each)
end

local function schema_of(self, file, result, drops, renames)
  local whole, changes = rawget(result, "schema"), rawget(result, "changes")
  whole, changes = type(whole) == "table" and whole, type(changes) == "table" and changes
  if (whole and changes) or not (whole or changes) then
    fail("invalid_argument",
      "expected either 'schema', the whole schema after the migration, or 'changes', the changes to the previous "
        .. "schema; each is a table")
  end
  local schema
  if whole then
    schema = host.schema(whole)
  else
    local _, previous = folder.before(self, file.number)
    schema = host.changed_schema(folder.schema_after(self, previous), changes, drops, renames)
  end
  for _, name in ipairs(drops) do
    if schema:has_class(name) then
      fail("invalid_schema", "drops contains class '" .. name .. "', which the schema still declares")
    end
  end
  host.check_schema(schema)
  return schema, whole or changes
end

-- Returns what a migration declares; raises the error of its file.
function folder.script(self, file)
  if self.scripts[file.number] then return self.scripts[file.number] end
  if not self.results[file.path] then run(self, file) end
  local result = self.results[file.path]
  if not result.is_valid then error(result.value, 0) end
  result = result.value
  if file.is_delta then folder.schema_after(self, select(2, folder.before(self, file.number))) end
  local function invalid(what) fail("invalid_argument", "'" .. file.path .. "': " .. what) end
  for key in next, result do
    if type(key) ~= "string" or not text.contains(keys, key) then
      local shown = type(key) == "string" and key or "a " .. type(key)
      invalid("unknown key '" .. shown .. "'" .. host.nearest(shown, keys))
    end
  end
  local script = { file = file }
  for _, name in ipairs { "up", "down" } do
    script[name] = rawget(result, name)
    if script[name] ~= nil and type(script[name]) ~= "function" then
      invalid("expected '" .. name .. "' to be a function, got a " .. type(script[name]))
    end
  end
  script.each = each_of(result, invalid)
  if script.each then
    if script.up or script.down then invalid "expected either 'each', or 'up' and 'down'" end
  end
  script.drops = qualified_names(result, "drops", invalid)
  script.down_drops = qualified_names(result, "down_drops", invalid)
  script.has_down = script.down ~= nil or script.each ~= nil and is_reversible(script.each, script.drops)
  script.renames = renames_of(result, invalid)
  local is_valid, schema, declared = text.try(schema_of, self, file, result, script.drops, script.renames)
  if not is_valid then error(host.at(schema, "'" .. file.path .. "'"), 0) end
  script.schema, script.declared = schema, declared
  self.scripts[file.number] = script
  return script
end

-- Returns the schema after a migration; without one, the schema before the first.
function folder.schema_after(self, file)
  if not file then return host.schema() end
  return folder.script(self, file).schema
end

-- Returns a schema, of a store or of the folder `others`, with the changes of a migration.
function folder.changed(self, file, schema, others)
  local _, previous = folder.before(self, file.number)
  local before, after = folder.schema_after(self, previous), folder.schema_after(self, file)
  local is_done, result = text.try(host.rebase, before, after, schema)
  if is_done then return result end
  local conflicting = text.find(others.files, function(other)
    return (other.number > file.number or not text.contains(self.files, other))
      and not text.try(host.rebase, before, after, folder.schema_after(others, other))
  end)
  fail("invalid_schema", "'" .. file.path .. "' cannot be merged with "
    .. (conflicting and "'" .. conflicting.file_name .. "'" or "the schema of the store") .. ": "
    .. host.describe(result).message, "edit one of the two")
end

-- Returns the code of the functions for one object, which run without access to anything else; nil without any.
function folder.conversions(self, script, direction)
  if not script.each or not next(script.each) then return nil end
  local file, helpers = script.file, {}
  for name in pairs(self.helpers[file.path] or {}) do helpers[name] = host.read(text.path(name, self.path)) end
  return {
    path = file.path, file_name = file.file_name, text = file.source, helpers = helpers, is_up = direction == "up",
  }
end

-- Changes the schema in an open write transaction, and calls the functions of a migration: "up" or "down".
function folder.call(self, write, script, direction, is_trial)
  local _ <close> = folder.environment(self, script.file)
  write:apply(script.declared, script[direction], is_trial, folder.conversions(self, script, direction))
end

-- Returns the renames that reverse those of a migration.
function folder.reversed_renames(script)
  local reversed = {}
  for old, new in pairs(script.renames) do
    local class, name = string.match(old, "^([^.]*)%.(.*)$")
    if class then
      reversed[(script.renames[class] or class) .. "." .. new] = name
    else
      reversed[new] = old
    end
  end
  return reversed
end

-- Applies a migration to a store without adding it to the store's record.
function folder.apply(self, script, store)
  local write <close> = store:begin()
  write:change(script.schema, script.file.number, script.drops, script.renames, not (script.up or script.down))
  folder.call(self, write, script, "up")
  return write:commit()
end

-- Returns the data that `down` of a migration may lose: what it declares, and what `up` has added.
function folder.down_losses(script, schema, added)
  if not added then
    added = text.map(host.differences(schema, script.schema), function(difference) return difference.addition end)
  end
  return text.append(text.copy(script.down_drops), added)
end

return folder
