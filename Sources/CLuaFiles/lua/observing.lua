-- Why an observer is not called for an object: adds `reasons` and a `summary` to the conditions that the store has
-- found.
local most_versions = 100

local escapes = { ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r" }

local function inside_quotes(value)
  return (string.gsub(string.gsub(value, '[\\"]', "\\%0"), "[\n\t\r]", escapes))
end

-- Returns a value on one line.
local function shown(value)
  if type(value) ~= "string" then
    local is_object, class = pcall(moonpool.class_of, value)
    if not is_object then return moonpool.inspect and moonpool.inspect(value) or tostring(value) end
    for _, pair in ipairs(moonpool.store_of(value):schema(class, { ordered = true })) do
      local kind = type(pair[2]) == "table" and pair[2].type or pair[2]
      if string.find(kind, " primary", 1, true) then return class .. " " .. shown(value[pair[1]]) end
    end
    return class .. " #" .. moonpool.id_of(value)
  end
  local last = utf8.len(value) and utf8.offset(value, 61)
  return '"' .. inside_quotes(last and string.sub(value, 1, last - 1) .. "…" or value) .. '"'
end

local function duration(seconds) return seconds < 1 and math.floor(seconds * 1000) .. " ms" or seconds .. " s" end

local function has(list, name)
  for _, found in ipairs(list) do
    if found.name == name then return found end
  end
end

-- Returns the difference that a version makes to an object: its properties with their old and new values.
local function changes(store, version, object)
  local is_known, difference = pcall(store.diff, store, version - 1, version)
  local class = is_known and difference[moonpool.class_of(object)]
  for _, change in ipairs(class and class.modified or {}) do
    if moonpool.id_of(change.object) == moonpool.id_of(object) then return change.properties end
  end
  return {}
end

-- Returns the newest kept version that changed a property of an object, and its old value; nil if none is known.
local function newest_change(store, object, property)
  local class, tries, versions = moonpool.class_of(object), 0, store:versions()
  for i = #versions, 1, -1 do
    local version = versions[i]
    local counts = version.classes[class]
    if version.changes_schema or not version.is_kept or tries == most_versions then return nil end
    if counts and has(counts.properties, property) then
      tries = tries + 1
      local change = has(changes(store, version.version, object), property)
      if change then return version, change.old end
    end
  end
end

-- Returns the newest change on a path such as `owner.name`.
local function change_on(store, object, path)
  local newest, old
  for property in string.gmatch(path, "[^.]+") do
    if not pcall(moonpool.class_of, object) then break end
    local version, before = newest_change(store, object, property)
    if version and (not newest or version.version > newest.version) then newest, old = version, before end
    local is_known, linked = pcall(function() return object[property] end)
    object = is_known and linked
  end
  return newest, old
end

local function condition_remark(store, object, condition)
  local parts = {}
  for i, pair in ipairs(condition.values) do
    parts[i] = pair.path .. " is " .. shown(pair.value)
    local version, old = nil, nil
    if not condition.holds then version, old = change_on(store, object, pair.path) end
    if version then
      parts[i] = parts[i] .. ", changed from " .. shown(old) .. " by version " .. version.version
        .. (version.script and " (" .. version.script .. ")" or "")
    end
  end
  return table.concat(parts, ", ")
end

-- Explains an effect or an aggregate, which has no conditions.
local function explain_reads(found, class, label)
  local own = {}
  for _, name in ipairs(found.depends_on) do
    if name == class or name == "a " .. class or string.sub(name, 1, #class + 1) == class .. "." then
      own[#own + 1] = name
    end
  end
  found.reasons = {}
  found.summary = "It runs when one of its reads changes: " .. table.concat(found.depends_on, ", ") .. ".\n"
    .. (#own == 0 and "It does not read " .. class .. ", so " .. label .. " cannot make it run."
      or "Of " .. class .. " it reads " .. table.concat(own, ", ") .. "; a change to an equal value does not count.")
end

local function covers(paths, property)
  for _, path in ipairs(paths) do
    local first = string.match(path, "^[^.%[]*")
    if first == property or first == "*" then return true end
  end
end

return function(found, token, object)
  local store, class, label = moonpool.store_of(object), moonpool.class_of(object), shown(object)
  if found.depends_on then return explain_reads(found, class, label) end
  local reasons, remedies = {}, {}
  local function add(kind, holds, text, remark, remedy)
    reasons[#reasons + 1] = { kind = kind, holds = holds, text = text, remark = remark }
    if not holds and remedy then remedies[#remedies + 1] = remedy end
  end
  if found.observed then
    add("object", false, "it observes " .. shown(found.observed) .. " only", nil, "observe " .. label)
  end
  if found.other_class then
    add("class", false, "it observes objects of " .. found.other_class, nil, "observe " .. class)
  end
  for _, condition in ipairs(found.conditions) do
    add("filter", condition.holds, condition.text, condition_remark(store, object, condition),
      condition.text .. " must be true")
  end
  if found.is_cut_off then
    add("limit", false, "the object matches, but limit or distinct excludes it", nil, "it must come before the limit")
  end
  local changed, covered = {}, false
  for i, change in ipairs(changes(store, store.version, object)) do
    changed[i], covered = change.name, covered or covers(found.keypaths, change.name)
  end
  local paths = table.concat(found.keypaths, ", ")
  if paths ~= "" then
    add("key paths", #changed == 0 or covered, paths,
      #changed > 0 and "the last commit changed " .. table.concat(changed, ", ") or nil,
      "a property on its key paths must change: " .. paths)
  elseif #changed == 0 and not found.other_class then
    add("change", false, "the last commit, version " .. store.version .. ", did not touch the object", nil,
      #remedies == 0 and "the object must change")
  end
  if found.silenced then
    add("silent", found.silenced ~= store.version,
      "version " .. found.silenced .. " was written with without_notifying for this observer")
  end
  if found.debounce then
    add("debounce", not found.is_pending, "it waits for a time without changes: " .. duration(found.debounce), nil,
      "a call is pending")
  elseif found.throttle then
    add("throttle", not found.is_pending, "at most one call in " .. duration(found.throttle), nil, "a call is pending")
  end
  if store.is_in_write then
    add("write", false, "a write transaction is open; observers run after its commit", nil, "commit the open write")
  end
  local reason = token:why()
  found.reasons = reasons
  found.summary = #remedies > 0 and "Required for a call: " .. table.concat(remedies, "; ") .. "."
    or "It is called when the object changes; its last call was for version "
      .. (reason and reason.version or "none yet") .. "."
  collectgarbage() -- the objects in differences keep versions
end
