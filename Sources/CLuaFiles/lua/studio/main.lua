-- What the studio does with a store: the requests of StudioProtocol.md over the public Lua API, on the script's thread.
-- `host` has the options of the command line, send(page, text), source(name), folder, pid, and the globals and the
-- store of the script. Each other file of this folder adds requests; they share the table `studio`.
local host = ...
local encode_json = moonpool.json.encode

-- The target ----------------------------------------------------------------------------------------------------------

local title = host.target and string.match(host.target, "[^/]*$") or "new store"

local realm = host.realm and { path = host.target, options = {
  format = "realm", key = host.key, rescue = host.rescue == "true" or nil,
  dotnet_guids = host.dotnet_guids == "true" or nil,
} }

local function open_target()
  if host.socket then return host.store or error("no store is open in the script", 0) end
  if not host.target then return moonpool.open { in_memory = "studio" } end
  if not realm then return moonpool.open { path = host.target, read_only = host.read_only == "true" } end
  local copy = moonpool.open(host.to and { path = host.to } or { in_memory = title })
  local report = copy:import(host.target, realm.options)
  for _, note in ipairs(report.notes) do io.stderr:write("moonpool: note: ", note, "\n") end
  return copy
end

local is_open, store = pcall(open_target)
if not is_open then return nil, store.message or tostring(store) end
local is_read_only = host.read_only == "true" or realm ~= nil or store.is_read_only
if host.socket then title = string.match(store.path or "store", "[^/]*$") end
if is_read_only then host.send(0, "read-only") end -- the server refuses files

local requests = {} -- functions by name: (page, id, request)
local pages = {} -- by number: { subscriptions by id, is_welcome, uploads by number }
local classes, class_names = {}, {} -- read_schema fills them
local studio = {
  host = host, store = store, requests = requests, pages = pages, classes = classes, class_names = class_names,
  realm = realm, -- the Realm file that the store is a copy of
  most_rows = 500, -- of a window, a comparison or a collection
  committing = {}, -- functions that reply to requests whose transaction is committing
}

-- Earlier versions ----------------------------------------------------------------------------------------------------

local past = {} -- the frozen stores in use, by version

-- Returns the store at a version, which stays open until the end of the request and of the subscriptions that use it.
function studio.space_of(version)
  if version == nil then return store end
  past[version] = past[version] or store:at(version)
  return past[version]
end

local function close_unused_versions()
  for version, space in pairs(past) do
    local is_used = false
    for _, page in pairs(pages) do
      for _, subscription in pairs(page.subscriptions) do is_used = is_used or subscription.space == space end
    end
    if not is_used then
      past[version] = nil
      space:close()
    end
  end
end

-- Messages ------------------------------------------------------------------------------------------------------------

function studio.reply(page, id, ok) host.send(page, encode_json { id = id, ok = ok }) end

-- Replies with a value that is already JSON.
function studio.reply_with_text(page, id, text)
  host.send(page, '{"id":' .. encode_json(id) .. ',"ok":' .. text .. "}")
end

-- `text` is the predicate of the request.
function studio.report(page, id, err, text)
  host.send(page, encode_json { id = id, error = studio.shown_error(err, text) })
end

-- A subscription has at most one event that the page has not seen.
function studio.send_event(page, subscription, event)
  event.on, event.version = subscription.id, store.version
  subscription.unseen = true
  host.send(page, encode_json(event))
end

function studio.fail(code, message, current) error({ code = code, message = message, current = current }, 0) end

function studio.check_writable()
  if is_read_only then studio.fail("read_only", "the studio shows this store read-only") end
end

-- Code can do more than write to the store, so it is refused as a whole.
function studio.check_console()
  if not host.evaluate then
    studio.fail("invalid_argument", "Lua code is switched off, with --no-console or --read-only")
  end
end

-- Contents that follow each commit ------------------------------------------------------------------------------------

-- Sends the content of a subscription if it differs from the last that was sent.
function studio.follow(page, subscription)
  if subscription.unseen then
    subscription.is_late = true
    return
  end
  subscription.is_late = nil
  local content = subscription.content(subscription)
  local text = content and encode_json(content)
  if not text or text == subscription.last then return end
  subscription.last = text
  studio.send_event(page, subscription, content)
end

function studio.follow_all()
  for number, page in pairs(pages) do
    for _, subscription in pairs(page.subscriptions) do
      if subscription.content then
        local ok, err = pcall(studio.follow, number, subscription)
        -- The content no longer exists, for example after a change of the schema.
        if not ok then
          subscription.content = nil
          studio.report(number, subscription.id, err)
        end
      end
    end
  end
end

-- Replies with a content, and sends it again after each commit that changes it.
function studio.subscribe(page, id, subscription, content)
  local first = content(subscription)
  if (subscription.space or store) == store then
    subscription.content, subscription.last = content, encode_json(first)
  end
  first.version = store.version
  pages[page].subscriptions[id] = subscription
  studio.reply(page, id, first)
end

-- Subscriptions and running requests ----------------------------------------------------------------------------------

-- Removes the files of a worker as soon as it has ended.
local function remove_files(worker, files)
  if worker:is_running() then return moonpool.after(0.05, function() remove_files(worker, files) end) end
  for _, path in ipairs(files) do os.remove(path) end
end

local function finish(subscription)
  if subscription.token then subscription.token:invalidate() end
  if subscription.worker then
    subscription.worker:stop(0)
    if subscription.files then remove_files(subscription.worker, subscription.files) end
  end
end

local function finish_page(page)
  for _, subscription in pairs(page.subscriptions) do finish(subscription) end
  for upload, is_kept in pairs(page.uploads) do
    if is_kept then host.send(0, upload) end
  end
end

local running = {} -- the requests that are being handled

-- The server stops all running code before it passes this request on, also a request, which has not been answered then.
function requests.interrupt(page, id)
  for call in pairs(running) do
    running[call] = nil
    studio.report(call.page, call.id, { code = "interrupted", message = "interrupted" })
  end
  studio.reply(page, id, true)
end

requests["end"] = function(page, id, request)
  local subscription = pages[page].subscriptions[request.on]
  if subscription then finish(subscription) end
  pages[page].subscriptions[request.on] = nil
  studio.reply(page, id, true)
end
requests.cancel = requests["end"]

function requests.hello(page, id, request)
  if request.protocol ~= 1 then error("this server supports version 1 of the protocol", 0) end
  pages[page].is_welcome = true
  studio.reply(page, id, {
    title = title, read_only = is_read_only, console = host.evaluate ~= nil, stores = { title },
    version = store.version, pid = host.pid,
    open_to = host.open_to or moonpool.null, protocol = 1,
  })
end

-- Replies with the classes, and sends the counts that a commit changes; after a change of the schema, all classes.
function requests.schema(page, id)
  local counts, sent_schema = {}, nil
  studio.subscribe(page, id, { id = id }, function()
    local changed, is_known = nil, sent_schema == studio.schema_number
    for _, name in ipairs(class_names) do
      local count = #store:objects(name)
      if counts[name] ~= count then
        changed = changed or {}
        changed[name], counts[name] = count, count
      end
    end
    if is_known then return changed and { counts = changed } end
    local list = {}
    for i, name in ipairs(class_names) do
      local class = classes[name]
      list[i] = { name = name, embedded = class.embedded, properties = class.properties, count = counts[name] }
    end
    sent_schema = studio.schema_number
    return { classes = list }
  end)
end

for _, name in ipairs {
  "fields", "schema", "values", "code", "rows", "objects", "writing", "history", "observers", "workers", "transfer",
  "migrations", "console", "panels",
} do
  assert(load(host.source(name), "=[moonpool studio/" .. name .. ".lua]", "t", _ENV))(studio)
end

-- The place of --open-to: a view, or a class with a predicate.
local views = { data = true, schema = true, observers = true, history = true, migrations = true }
studio.read_schema()
if host.open_to and not views[host.open_to] then
  local class, rest = string.match(host.open_to, "^%s*(%S+)(.*)$")
  local where = rest and string.match(rest, "^%s+where%s+(.+)$")
  local is_valid, err = pcall(studio.results_of, { class = class or "", where = where })
  if not is_valid then return nil, err.message end
end

-- The life of a page --------------------------------------------------------------------------------------------------

-- The store of the console, which a running process has already; a read-only copy in memory is frozen.
if not host.evaluate then
  host.flush, host.finish = nil, nil
elseif not host.socket then
  host.globals.store = realm and store:freeze() or store
  local place = host.target and string.format("%q", host.target) or '{ in_memory = "studio" }'
  host.record("store = moonpool.open " .. place)
end

local observer = store:observe(function(type)
  if type == "schema" then studio.read_schema() end
  if type ~= "did_change" then return end
  local committed = studio.committing
  studio.committing = {}
  for _, answer in ipairs(committed) do answer() end
  studio.follow_all()
end, { name = "studio", hidden = true })

return function(page, text)
  if not page then -- the studio has gone
    observer:invalidate()
    studio.close_panels()
    for _, left in pairs(pages) do finish_page(left) end
    for number in pairs(pages) do pages[number] = nil end
    return close_unused_versions()
  end
  if not text then -- the page has gone
    if pages[page] then finish_page(pages[page]) end
    pages[page] = nil
    return close_unused_versions()
  end
  pages[page] = pages[page] or { subscriptions = {}, uploads = {} }
  local is_json, request = pcall(moonpool.json.decode, text)
  if not is_json or type(request) ~= "table" then
    return studio.report(page, moonpool.null, "the message is not a JSON object")
  end
  if request.seen then return requests.seen(page, nil, request) end
  local is_named, message = pcall(studio.check, "id:name do:text", request)
  if not is_named then return studio.report(page, moonpool.null, message) end
  local id, run = request.id, requests[request["do"]]
  if not run or run == requests.seen or not (pages[page].is_welcome or run == requests.hello) then
    return studio.report(page, id, "unknown request '" .. request["do"] .. "'")
  end
  if pages[page].subscriptions[id] then return studio.report(page, id, "the id " .. id .. " is in use") end
  local call = { page = page, id = id }
  if run ~= requests.interrupt then running[call] = true end
  local ok, err = pcall(function()
    studio.check_request(request)
    run(page, id, request)
  end)
  running[call] = nil
  if not ok then studio.report(page, id, err, request.where) end
  close_unused_versions()
end
