-- Rows of a query: a window over any number of objects, which follows their changes. This file also runs in workers.
local studio = ...
local requests, encode_json = studio.requests, moonpool.json.encode
local most_ranges, most_searched = 1000, 100000

-- Returns an error as the page receives it; `text` is the predicate.
function studio.shown_error(err, text)
  local is_error, code = pcall(function() return err.code end)
  local message = is_error and err.message or tostring(err)
  local shown = { code = is_error and code or "invalid_argument", message = message }
  if is_error and type(err) == "userdata" and err.column then
    shown.line, shown.column, shown.length = err.line, err.column, err.length
    shown.message = string.match(message, "^[^\n]*")
    local line = 0
    for found in string.gmatch(text or "", "[^\n]*") do
      line = line + 1
      if line == err.line then shown.text = found end
    end
  end
  if type(err) == "table" then shown.current = err.current end
  return shown
end

-- Changes that the page has not received are merged in pieces: the present rows in order, as ranges of the rows that
-- the page has ({ first, count, is_modified }) and of inserted rows ({ count }).

local function add_range(list, first, count)
  local last = list[#list]
  if last and last[1] + last[2] == first then last[2] = last[2] + count else list[#list + 1] = { first, count } end
end

local function ranges(indexes)
  local result = {}
  for _, index in ipairs(indexes) do add_range(result, index - 1, 1) end
  return result
end

-- Returns the pieces after one kind of change.
local function changed_pieces(pieces, kind, changed)
  local result, number, offset, index = {}, 1, 0, 0
  local function take(count, action)
    while count > 0 and pieces[number] do
      local piece = pieces[number]
      local taken = math.min(count, piece.count - offset)
      if action ~= "deletions" then
        local first = piece.first and piece.first + offset
        local is_modified = piece.is_modified or action == "modifications"
        result[#result + 1] = { first = first, count = taken, is_modified = is_modified }
      end
      count, offset = count - taken, offset + taken
      if offset == piece.count then number, offset = number + 1, 0 end
    end
  end
  for _, range in ipairs(changed) do
    take(range[1] - index)
    if kind == "insertions" then result[#result + 1] = { count = range[2] } else take(range[2], kind) end
    index = range[1] + range[2]
  end
  take(math.huge)
  return result
end

-- Returns the change set from `total` rows to the pieces.
local function change_of(pieces, total)
  local change = { deletions = {}, insertions = {}, modifications = {} }
  local old, new = 0, 0
  for _, piece in ipairs(pieces) do
    if piece.first then
      if piece.first > old then add_range(change.deletions, old, piece.first - old) end
      if piece.is_modified then add_range(change.modifications, piece.first, piece.count) end
      old = piece.first + piece.count
    else
      add_range(change.insertions, new, piece.count)
    end
    new = new + piece.count
  end
  if old < total then add_range(change.deletions, old, total - old) end
  change.total = new
  return change
end

-- The rows ------------------------------------------------------------------------------------------------------------

-- Returns the results of a request with a class, a predicate, an order, and an object to which they link.
function studio.results_of(request)
  local space = studio.space_of(request.at)
  studio.class_named(request.class)
  local results = space:objects(request.class)
  if request.where and string.find(request.where, "%S") then results = results:where(request.where) end
  local linked = request.linked
  if linked then
    local target = studio.object_of(linked.class, linked.ref, space) or error("the linked object was deleted", 0)
    local property = studio.property_named(studio.class_named(request.class), linked.property)
    local path = (property.form == "link" and "" or "any ") .. studio.quoted(property.name)
    results = results:where(path .. " == $1", target)
  end
  local keys = {}
  for i, key in ipairs(request.sort or {}) do keys[i] = { key[1], key[2] == "descending" and "desc" or "asc" } end
  if #keys > 0 then results = results:sorted(keys) end
  return results
end

local function window_rows(subscription)
  local rows, results = {}, subscription.results
  for i = subscription.first + 1, math.min(subscription.first + subscription.count, #results) do
    rows[#rows + 1] = studio.row_of(results[i], subscription.class)
  end
  return rows
end

local function set_window(subscription, request)
  subscription.first, subscription.count = request.first or 0, math.min(request.count or 60, studio.most_rows)
end

-- `reveal` is the number of an object whose index is part of the window; -1 without the object. The window also has
-- those of the numbers `chosen` whose objects are in the rows.
local function window_of(subscription, reveal, chosen)
  local results, present = subscription.results, {}
  local function object_of(ref) return studio.object_of(subscription.class.name, ref, subscription.space) end
  local object = reveal and object_of(reveal)
  for _, ref in ipairs(chosen or {}) do
    local other = object_of(ref)
    present[#present + 1] = other and results:contains(other) and ref or nil
  end
  return {
    index = reveal and (object and results:index_of(object) or 0) - 1, chosen = chosen and present,
    total = #subscription.results, all = #subscription.space:objects(subscription.class.name),
    version = subscription.space.version,
    first = subscription.first,
    rows = window_rows(subscription),
  }
end

-- Sends what has changed since the last event: one change set with the rows of the window, or a reset.
local function send_change(page, subscription)
  local pieces, first = subscription.pieces, subscription.first
  if not pieces then return end
  local event = pieces.reset and { reset = true, total = #subscription.results }
    or change_of(pieces, subscription.total)
  event.all = #studio.store:objects(subscription.class.name)
  subscription.pieces, subscription.total = nil, event.total
  if not event.reset then
    local rows = {}
    local function add(from, to)
      for index = math.max(from, first), math.min(to, first + subscription.count) - 1 do
        local object = subscription.results[index + 1]
        if object then rows[tostring(index)] = studio.row_of(object, subscription.class) end
      end
    end
    if event.deletions[1] or event.insertions[1] then
      add(0, math.huge)
    else
      for _, range in ipairs(event.modifications) do add(range[1], range[1] + range[2]) end
    end
    event.rows = next(rows) and rows or moonpool.json.empty_object
  end
  studio.send_event(page, subscription, event)
end

local function reply_with_rows(page, id, request, subscription)
  local answer = window_of(subscription, request.reveal)
  subscription.total = answer.total
  answer.columns = subscription.class.properties
  studio.reply(page, id, answer)
end

local function observe_rows(page, id, request, subscription)
  local function receive(change)
    if change.type == "error" then return studio.report(page, id, change.error) end
    if change.type == "initial" then return reply_with_rows(page, id, request, subscription) end
    local pieces = subscription.pieces or { { first = 0, count = subscription.total } }
    if not pieces.reset then
      local count = 0
      for _, kind in ipairs { "modifications", "deletions", "insertions" } do
        local changed = ranges(change[kind])
        count = count + #changed
        if changed[1] and count <= most_ranges then pieces = changed_pieces(pieces, kind, changed) end
      end
      if count > most_ranges or #pieces > 2 * most_ranges then pieces = { reset = true } end
    end
    subscription.pieces = pieces
    if not subscription.unseen then send_change(page, subscription) end
  end
  return subscription.results:observe(function(change)
    local ok, err = pcall(receive, change)
    if not ok then studio.report(page, id, err) end
  end, { keypaths = subscription.class.keypaths, name = "studio grid", hidden = true })
end

-- Runs a request for rows in this script, which then sends all changes of these rows.
function studio.serve_rows(page, id, request)
  local subscription = {
    id = id, class = studio.class_named(request.class), results = studio.results_of(request),
    space = studio.space_of(request.at), is_rows = true,
  }
  set_window(subscription, request)
  studio.pages[page].subscriptions[id] = subscription
  if request.at then return reply_with_rows(page, id, request, subscription) end
  subscription.token = observe_rows(page, id, request, subscription)
end

-- Runs a request for rows in a worker, which has the same code and its own store, and then follows the store as this
-- script does. The page's messages about this subscription are passed on to it.
local function serve_elsewhere(page, id, request)
  local space, sources = studio.space_of(request.at), {}
  for i, name in ipairs { "schema", "values", "rows" } do sources[i] = studio.host.source(name) end
  local worker = studio.worker("studio rows", function(objects, sources, request, most_rows)
    local encode_json = moonpool.json.encode
    local studio = {
      store = moonpool.store_of(objects), classes = {}, class_names = {}, pages = { { subscriptions = {} } },
      requests = {}, most_rows = most_rows,
      fail = function(code, message) error({ code = code, message = message }, 0) end,
    }
    function studio.space_of() return studio.store end
    function studio.reply(_, id, ok) moonpool.post_to_parent(encode_json { id = id, ok = ok }) end
    function studio.report(_, id, err, text)
      moonpool.post_to_parent(encode_json { id = id, error = studio.shown_error(err, text) })
    end
    function studio.send_event(_, subscription, event)
      event.on, event.version = subscription.id, studio.store.version
      subscription.unseen = true
      moonpool.post_to_parent(encode_json(event))
    end
    for _, source in ipairs(sources) do load(source, "=studio", "t")(studio) end
    studio.read_schema()
    studio.requests.rows = studio.serve_rows
    local function receive(text)
      local request = moonpool.json.decode(text)
      local ok, err = pcall(studio.requests[request["do"] or "seen"], 1, request.id, request)
      if not ok then studio.report(1, request.id, err, request.where) end
    end
    moonpool.on_message(receive)
    receive(request)
  end, space:objects(request.class), sources, encode_json(request), studio.most_rows)
  if not worker then return studio.serve_rows(page, id, request) end
  local subscription = { id = id, worker = worker, space = space, is_elsewhere = true }
  studio.pages[page].subscriptions[id] = subscription
  worker:on_message(function(text)
    -- A message can arrive after the page has ended the request.
    local found = studio.pages[page]
    if found and found.subscriptions[id] == subscription then studio.host.send(page, text) end
  end)
  studio.host.send(page, encode_json { on = id, is_running = true })
end

-- Searching and sorting many objects takes long.
local function is_long(request)
  local searches = request.where and string.find(request.where, "%S") or request.linked
    or request.sort and request.sort[1]
  return searches and #studio.space_of(request.at):objects(studio.class_named(request.class).name) > most_searched
end

function requests.rows(page, id, request)
  if not is_long(request) then return studio.serve_rows(page, id, request) end
  serve_elsewhere(page, id, request)
end

function requests.window(page, id, request)
  local subscription = studio.pages[page].subscriptions[request.on]
    or error("unknown subscription " .. request.on, 0)
  if subscription.is_elsewhere then return subscription.worker:post(encode_json(request)) end
  set_window(subscription, request)
  if subscription.pieces then -- the page has not received all changes, so it starts again
    subscription.pieces = { reset = true }
    if not subscription.unseen then send_change(page, subscription) end
    return studio.reply(page, id, { stale = true })
  end
  studio.reply(page, id, window_of(subscription, request.reveal, request.chosen))
end

-- The page has seen the event of a subscription, which can send the next one.
function requests.seen(page, _, request)
  local subscription = studio.pages[page].subscriptions[request.seen]
  if not subscription then return end
  if subscription.is_elsewhere then return subscription.worker:post(encode_json(request)) end
  subscription.unseen = nil
  if subscription.send_output then subscription.send_output(page, subscription) end
  if subscription.is_late then studio.follow(page, subscription) end
  if subscription.is_rows then send_change(page, subscription) end
end
