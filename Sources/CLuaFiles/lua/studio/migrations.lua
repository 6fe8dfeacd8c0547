-- The schema, its changes, and folders of migrations.
local studio = ...
local host, store, requests, fail = studio.host, studio.store, studio.requests, studio.fail
local class_names, start_job = studio.class_names, studio.start_job
local null = moonpool.null

-- A confined script has no migrations.
local function migrate()
  local message = "a confined script cannot plan or apply migrations; start the studio without --sandbox"
  return moonpool.migrate or fail("invalid_argument", message)
end

-- Returns the classes that a text in Lua returns, as `moonpool schema` prints it.
local function classes_of(text)
  studio.check_console()
  local chunk, message = load(text, "=schema", "t", { moonpool = moonpool })
  if not chunk then fail("invalid_schema", message) end
  local ok, found = pcall(chunk)
  if not ok or type(found) ~= "table" then
    fail("invalid_schema", ok and 'expected a schema, such as return { Dog = { name = "string" } }' or tostring(found))
  end
  return found
end

local loss_rules = { lost_values = "values", lost_objects = "objects" }

-- Returns the losses of a change of the schema, and the messages of what prevents it.
local function losses_of(found)
  local losses, problems = {}, {}
  for _, finding in ipairs(migrate().lint(store, found)) do
    local what = loss_rules[finding.rule]
    if what then
      losses[#losses + 1] = { name = finding.name, count = finding.count, what = what }
    else
      problems[#problems + 1] = finding.message
    end
  end
  return losses, problems
end

function requests.schema_text(page, id) studio.reply(page, id, { text = moonpool.schema_text(store) }) end

-- Replies with the migration to a schema, its losses, and what prevents it; with `dir`, the next file of a folder.
function requests.plan(page, id, request)
  if request.dir then studio.check_console() end
  local found = request.text and classes_of(request.text) or store:schema(nil, { ordered = true })
  local losses, problems = losses_of(found)
  local script, name = migrate().plan(store, found, request.dir and { dir = request.dir })
  if script and request.save then
    studio.check_writable()
    local path = request.dir .. "/" .. name
    local known = io.open(path)
    if known then
      known:close()
      fail("invalid_argument", "'" .. path .. "' already exists")
    end
    local file = assert(io.open(path, "w"))
    file:write(script)
    file:close()
  end
  studio.reply(page, id, { script = script or null, name = name, losses = losses, problems = problems })
end

-- Changes the schema to that of a text. `losses` has the names of the classes and properties whose loss is accepted.
function requests.define(page, id, request)
  local found, accepted = classes_of(request.text), {}
  local losses, problems = losses_of(found)
  for _, name in ipairs(request.losses or {}) do accepted[name] = true end
  if problems[1] then fail("invalid_schema", table.concat(problems, "\n")) end
  for _, loss in ipairs(losses) do
    if not accepted[loss.name] then
      local message = string.format("accept the loss of %d %s of %s", loss.count, loss.what, loss.name)
      fail("migration_needed", message)
    end
  end
  local lost = {}
  for _, name in ipairs(class_names) do lost[#lost + 1] = not found[name] and name or nil end
  store:define(found, function(migration)
    for _, name in ipairs(lost) do migration:delete_class(name) end
  end)
  local code = {}
  for i, name in ipairs(lost) do code[i] = string.format("  migration:delete_class(%q)\n", name) end
  local schema = "(function()\n" .. request.text .. "\nend)()"
  host.record("store:define(" .. schema .. ", function(migration)\n" .. table.concat(code) .. "end)")
  studio.reply(page, id, { version = store.version })
end

function requests.migrations(page, id, request)
  local state = migrate().status(store, { dir = request.dir })
  local list = {}
  for _, entry in ipairs(state.applied) do
    list[#list + 1] = {
      number = entry.number, name = entry.name, state = "applied", time = entry.applied_at, backup = entry.backup,
    }
  end
  for _, entry in ipairs(state.pending) do
    list[#list + 1] = { number = entry.number, name = entry.name, state = "pending" }
  end
  studio.reply(page, id, { migrations = list, problems = state.problems, notes = state.notes, state = state.state })
end

-- Applies the pending files to a copy, and replies with the objects that they change, and what they drop.
function requests.rehearse(page, id, request)
  studio.check_console()
  migrate()
  local copy, first, source = studio.new_file("rehearsal"), class_names[1], store.path
  local files = { copy, copy .. "-lock", copy .. "-source", copy .. "-source-lock" }
  if not source and not first then
    source = files[3]
    store:backup(source)
  end
  local function finish(report)
    for _, path in ipairs(files) do os.remove(path) end
    studio.reply_with_text(page, id, report)
  end
  local objects, most = first and store:objects(first), studio.most_rows
  start_job(page, id, "rehearse", finish, files, objects, source, copy, request.dir, most, studio.realm)
end

-- Applies the pending files to the store, with a backup.
function requests.migrate(page, id, request)
  studio.check_console()
  local report = migrate().up(store, { dir = request.dir })
  studio.reply(page, id, { count = #report.applied, backup = report.backup, version = store.version })
end
