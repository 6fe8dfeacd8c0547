-- The observers of the script, and why they were called or not.
local studio = ...
local store, requests, class_names, fail = studio.store, studio.requests, studio.class_names, studio.fail

local function title_of(token) return token.name or "observer " .. token.number end

local function observer_of(request)
  for _, token in ipairs(moonpool.observers()) do
    if token.number == request.observer then return token end
  end
  error("the observer has ended", 0)
end

function requests.observers(page, id)
  local list = {}
  for i, token in ipairs(moonpool.observers()) do
    local stats, calls = token:stats(), token:calls()
    list[i] = {
      number = token.number, name = title_of(token), subject = token.subject, keypaths = stats.keypaths,
      calls = stats.calls, is_running = stats.is_running, version = calls[1] and calls[#calls].version,
      mean_us = stats.mean_us, source = stats.where,
    }
  end
  studio.reply(page, id, { observers = list })
end

local function short_text(value)
  if pcall(moonpool.class_of, value) then return studio.name_of(value) end
  if type(value) ~= "string" then return tostring(value) end
  local shown = studio.text_value(value)
  return '"' .. (type(shown) == "table" and shown.text .. "…" or shown) .. '"'
end

-- Returns the changed objects of a call as nodes of a tree, with old and new values as far as the versions are kept.
local function cause_nodes(reason)
  local is_known, difference = pcall(store.diff, store, reason.previous_version, reason.version)
  local nodes = {}
  for i, cause in ipairs(reason.causes) do
    local class, node = is_known and difference[cause.class] or {}, { class = cause.class, ref = cause.id }
    local function found(kind)
      for _, entry in ipairs(class[kind] or {}) do
        local object = kind == "modified" and entry.object or entry
        if moonpool.id_of(object) == cause.id then return entry, object end
      end
    end
    local inserted, deleted, modified = found("inserted"), found("deleted"), found("modified")
    local object = cause.object or deleted
    node.text = (object and studio.name_of(object) or cause.class .. " #" .. cause.id)
      .. (inserted and " was inserted" or (deleted or not cause.object) and " was deleted" or "")
    node.ref = cause.object and node.ref or nil
    local parts = {}
    for _, property in ipairs(modified and modified.properties or {}) do
      local text = property.name .. ": " .. short_text(property.old) .. " → " .. short_text(property.new)
      parts[#parts + 1] = { text = text }
    end
    if not parts[1] and #cause.properties > 0 then parts[1] = { text = table.concat(cause.properties, ", ") } end
    node.children = parts
    nodes[i] = node
  end
  if reason.count > #nodes then nodes[#nodes + 1] = { text = reason.count - #nodes .. " more objects" } end
  return nodes
end

local function time_text(us)
  if us < 1000 then return math.floor(us) .. " µs" end
  return us < 1e6 and string.format("%.1f ms", us / 1000) or string.format("%.2f s", us / 1e6)
end

-- Replies with the last call of an observer as a tree: the commit, what it changed, and what the observer received.
function requests.why(page, id, request)
  local token = observer_of(request)
  local reason, stats = token:why(), token:stats()
  if not reason then return studio.reply(page, id, { name = title_of(token) }) end
  local commits = reason.version - reason.previous_version
  local watched = reason.keypath and "key path " .. reason.keypath
    or #reason.properties > 0 and "properties " .. table.concat(reason.properties, ", ")
  local what = reason.rows == 1 and "object" or "objects"
  local call = { text = string.format("%d %s, the call took %s", reason.rows, what, time_text(stats.last_us)) }
  local source = stats.where == "" and "" or " (" .. stats.where .. ")"
  local observer = { text = title_of(token) .. source .. ", of " .. token.subject, children = { call } }
  if stats.cost ~= "" then observer.children[2] = { text = "it " .. stats.cost } end
  local children = cause_nodes(reason)
  children[#children + 1] = watched and { text = watched, children = { observer } } or observer
  collectgarbage() -- the objects of the difference keep versions
  studio.reply(page, id, { name = title_of(token), version = reason.version, tree = { {
    text = "version " .. reason.version
      .. (commits > 1 and ", " .. commits .. " commits after version " .. reason.previous_version or "")
      .. (reason.script and ", written by " .. reason.script or ""),
    time = reason.time and tostring(reason.time), children = children,
  } } })
end

-- Replies with the conditions under which an observer is called for an object, such as `Dog 3`.
function requests.whynot(page, id, request)
  local token, text = observer_of(request), request.object
  local name, key = string.match(text, "^%s*(%S+)%s+(.-)%s*$")
  if not name then
    fail("invalid_argument", "expected a class and a key, such as " .. (class_names[1] or "Dog") .. " 3")
  end
  local object = studio.linked_object(key, name)
  local found = token:whynot(object)
  studio.reply(page, id, {
    name = studio.name_of(object), class = name, ref = moonpool.id_of(object), reasons = found.reasons,
    summary = found.summary, version = store.version,
  })
end
