-- The commands that show a store and its file.
local text = require "prompt/text"
local looking = {}

function looking.classes()
  local store = text.store()
  -- In a write transaction, statistics describe the last commit.
  local known = {}
  for _, class in ipairs(store.is_in_write and {} or store:stats().classes) do known[class.name] = class end
  local rows = { { "class", "objects", "bytes", "properties" } }
  local schema = store:schema(nil, { ordered = true })
  for _, name in ipairs(text.sorted_keys(schema)) do
    local names = {}
    for i, property in ipairs(schema[name]) do names[i] = property[1] end
    local statistics = known[name]
    rows[#rows + 1] = {
      name, text.count(statistics and statistics.objects or #store:objects(name)),
      statistics and text.count(statistics.bytes) or "-", table.concat(names, ", "),
    }
  end
  if #rows == 1 then
    return prompt.write 'no classes yet; create one with store:define { Dog = { name = "string" } }\n'
  end
  prompt.columns(rows, { numeric = { 2, 3 } })
end

function looking.explain(args)
  if args.text == "" then
    error("expected a query, such as Dog where age > 3, or an expression, such as "
      .. 'store:objects "Dog":sorted "age"', 0)
  end
  local value = prompt.evaluate(args.text)
  local plan = session.explain(value)
    or error("expected a query, got " .. (value == nil and "nil" or "a " .. type(value)), 0)
  prompt.write(plan, "\n")
end

function looking.stats()
  local store = text.store()
  local found, memory = store:stats(), session.memory()
  local history = "none"
  if found.first_version then
    history = "versions " .. found.first_version .. " to " .. found.last_version .. ", "
      .. text.size(found.history_bytes)
  end
  prompt.columns({
    { "store", session.store_name() },
    { "version", store.version },
    { "schema version", found.schema_version },
    { "classes", text.count(#found.classes) },
    { "objects", text.count(found.objects) },
    {
      "file",
      text.size(found.file_bytes) .. ", " .. text.size(found.used_bytes) .. " in use, "
        .. text.count(found.free_pages, "free page"),
    },
    { "history", history },
    { "version pins", text.count(found.pins) .. "; see .pins" },
    { "observers", text.count(#moonpool.observers()) },
    { "Lua memory", text.count(memory[1] >> 10) .. " KiB, at most " .. text.count(memory[2] >> 10) },
  }, { header = false })
end

function looking.pins()
  local rows = { { "version", "held by", "since", "keeps" } }
  for i, pin in ipairs(text.store():pins()) do
    rows[i + 1] = {
      pin.version, pin.held_by, pin.since and text.clock(pin.since) or "-",
      text.count(pin.bytes >> 10, "KiB", "KiB"),
    }
  end
  if #rows == 1 then return prompt.write "no version pins\n" end
  prompt.columns(rows, { numeric = { 1, 4 } })
end

function looking.versions()
  local store = text.store()
  local found = store:stats()
  prompt.columns({
    { "version", store.version },
    { "schema version", found.schema_version },
    {
      "history",
      found.kept_versions == 0 and "none" or "the last " .. text.count(found.kept_versions, "version"),
    },
  }, { header = false })
end

function looking.replication()
  local rows = session.replication()
  if not rows then return prompt.write "the store is not replicated; see .help publish\n" end
  prompt.columns(rows, { header = false })
end

return looking
