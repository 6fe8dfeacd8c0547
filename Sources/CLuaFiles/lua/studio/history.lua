-- The versions of the store, and their differences.
local studio = ...
local store, requests, classes, class_names = studio.store, studio.requests, studio.classes, studio.class_names
local most_changes = 20000

local function versions_content()
  local list = {}
  for i, version in ipairs(store:versions()) do
    local changed = {}
    for name, counts in pairs(version.classes) do
      changed[#changed + 1] = {
        class = name, inserted = counts.inserted, deleted = counts.deleted, modified = counts.modified,
      }
    end
    table.sort(changed, function(first, second) return first.class < second.class end)
    list[i] = {
      number = version.version, time = version.time and tostring(version.time), script = version.script,
      process = version.process, is_kept = version.is_kept, restored = version.restored,
      changes_schema = version.changes_schema, classes = changed,
    }
  end
  return { versions = list }
end

function requests.versions(page, id) studio.subscribe(page, id, { id = id }, versions_content) end

-- Returns the number of changes between two versions, or more if an object was changed repeatedly.
local function count_changes(first, second)
  local count, low, high = 0, math.min(first, second), math.max(first, second)
  for _, version in ipairs(store:versions()) do
    if version.version > low and version.version <= high then
      for _, counts in pairs(version.classes) do count = count + counts.inserted + counts.deleted + counts.modified end
    end
  end
  return count
end

-- Replies with the objects that differ between two versions; none above 20,000 changes.
function requests.diff(page, id, request)
  local first, second = request.first, request.second or store.version
  local answer = { first = first, second = second, count = count_changes(first, second), rows = {} }
  if answer.count > most_changes or first == second then return studio.reply(page, id, answer) end
  local older = first == store.version and store or studio.space_of(first)
  local count = 0
  local function add(change, object, properties)
    count = count + 1
    if count > studio.most_rows then return end
    answer.rows[count] = {
      class = moonpool.class_of(object), ref = moonpool.id_of(object), name = studio.name_of(object), change = change,
      properties = properties,
    }
  end
  local difference = store:diff(first, second)
  for _, name in ipairs(class_names) do
    local changed = difference[name] or { inserted = {}, deleted = {}, modified = {} }
    for _, object in ipairs(changed.inserted) do add("inserted", object) end
    for _, entry in ipairs(changed.modified) do
      local old = count < studio.most_rows and studio.object_of(name, moonpool.id_of(entry.object), older)
      local properties = {}
      for i, pair in ipairs(old and entry.properties or {}) do
        local property = studio.property_named(classes[name], pair.name)
        local value = studio.property_value(entry.object, property)
        properties[i] = { name = pair.name, before = studio.property_value(old, property), after = value }
      end
      add("modified", entry.object, properties)
    end
    for _, object in ipairs(changed.deleted) do add("deleted", object) end
  end
  answer.count = count
  studio.reply(page, id, answer)
end
