-- `moonpool migrate plan`, `init`, and the findings about a change of the schema.
local text = require "migrate/text"
local folder = require "migrate/folder"
local scripts = require "migrate/script"
local fail = text.fail

local plan = {}

-- Returns the schema of a table; a schema that is not valid for any store would fail only when the migration is
-- applied.
local function schema_of(classes)
  local schema = host.schema(classes)
  host.check_schema(schema)
  return schema
end

local function open(path)
  host.require_store(path)
  return host.open { path = path, read_only = true }
end

-- Returns the schema that a script returns.
function plan.classes(path)
  return folder.table(host.read(path, "the schema script '" .. path .. "'"), path,
    'a schema, such as { Dog = { name = "string" } }')
end

-- Returns the difference between a store and a schema as a migration script; `ask` decides about each probable rename.
function plan.for_store(path, classes, ask)
  local schema = schema_of(classes)
  local store <close> = open(path)
  return scripts.text(scripts.plan(store.schema, schema, ask), path, "output")
end

-- Returns the name and the text of the next file of a folder; nil if the folder already leads to the schema.
function plan.for_folder(path, classes, name, ask)
  if name then folder.require_name(name) end
  local schema = schema_of(classes)
  local dir = folder.list(path)
  if #dir.files == 0 then
    local first = scripts.plan(host.schema(), schema, ask)
    if schema.is_empty then return nil end
    return "0001_" .. (name or "start") .. ".lua", scripts.text(first, path, "first")
  end
  dir = folder.open(path)
  local following = scripts.plan(folder.schema_after(dir, folder.last(dir)), schema, ask)
  if following.is_empty then return nil end
  return text.number(folder.last_number(dir) + 1) .. "_" .. (name or scripts.name(following)) .. ".lua",
    scripts.text(following, path, "next", { is_delta = true, parent = folder.identity(dir.files) })
end

-- Returns the text of the first migration of a folder, with the schema of a store, and the version of the schema.
function plan.first(path)
  local store <close> = open(path)
  local entries = store:log().entries
  local last = entries[#entries]
  if last then
    fail("invalid_argument", "'" .. path .. "' already records migrations, the last one is " .. last.number .. " ("
      .. last.name .. "); use their folder")
  end
  local first = scripts.plan(host.schema(), store.schema, function() return false end)
  return scripts.text(first, path, "first"), store.schema_version
end

-- Returns the data losses and errors that changing the schema of a store would cause.
function plan.findings(path, classes)
  local schema = host.schema(classes)
  local store <close> = open(path)
  return store:findings(schema)
end

-- Returns findings for scripts and for JSON.
function plan.report(findings)
  return text.map(findings, function(found)
    return text.object("rule", found.rule, "name", found.name, "message", found.message, "count", found.count,
      "objects", found.objects)
  end)
end

function plan.lines(findings)
  if #findings == 0 then return { "the change does not lose or break data" } end
  local lines = {}
  for _, found in ipairs(findings) do
    lines[#lines + 1] = found.rule .. ": " .. found.message
    if #found.objects > 0 then
      lines[#lines + 1] = "  " .. table.concat(found.objects, "; ") .. (found.count == #found.objects and "" or "; …")
    end
  end
  return lines
end

return plan
