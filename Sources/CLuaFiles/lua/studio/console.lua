-- The console: entries, their output, and completions.
local studio = ...
local host, store, requests, pages, fail = studio.host, studio.store, studio.requests, studio.pages, studio.fail

local most_parts, most_values = 1000, 12
local number = 0 -- of the newest entry
local newest -- the newest entry: page, subscription, and the version after it
local send_output

-- Returns the version of the store; nil if an entry has closed it.
local function version() return not store.is_closed and store.version or nil end

-- Sends the output that has arrived since the last call. Output of observers belongs to the newest entry if its commit
-- is the last one; other output is late.
function host.flush()
  local parts = host.take_output()
  local page = newest and pages[newest.page]
  if #parts == 0 or not page or newest.is_running then return end
  local subscription = newest.subscription
  subscription.late = subscription.late or version() ~= newest.version
  subscription.parts = subscription.parts or {}
  for _, part in ipairs(parts) do
    if #subscription.parts < most_parts then subscription.parts[#subscription.parts + 1] = part end
  end
  if not subscription.unseen then send_output(newest.page, subscription) end
end

function send_output(page, subscription)
  if not subscription.parts then return end
  local parts, late = subscription.parts, subscription.late
  subscription.parts, subscription.late = nil, nil
  studio.send_event(page, subscription, { parts = parts, late = late })
end

-- Runs an entry as the prompt does. The reply has its output; the output of the observers that it calls follows.
function requests.evaluate(page, id, request)
  studio.check_console()
  if newest and newest.is_running then fail("invalid_argument", "another entry is running; stop it first") end
  if host.is_unfinished(request.text) then return studio.reply(page, id, { unfinished = true }) end
  host.flush()
  if newest and pages[newest.page] then pages[newest.page].subscriptions[newest.subscription.id] = nil end
  number = number + 1
  newest = { page = page, subscription = { id = id, send_output = send_output }, is_running = true }
  if pages[page] then pages[page].subscriptions[id] = newest.subscription end
  host.evaluate(request.text)
end

local saving -- the page, the request and the path of a script that is being written

-- Writes the entries of the console and the changes in the page as a script.
function requests.save(page, id)
  studio.check_console()
  if newest and newest.is_running then fail("invalid_argument", "an entry is running; stop it first") end
  saving = { page = page, id = id, path = studio.new_file("session") .. ".lua" }
  host.flush()
  host.evaluate(".save " .. saving.path)
end

-- Replies to the newest entry as soon as it has ended. It ran outside of this script: a stop ends all running code.
function host.finish(has_succeeded)
  if saving then
    local saved, parts, text = saving, host.take_output(), {}
    saving = nil
    for i, part in ipairs(parts) do text[i] = part.text end
    if not has_succeeded then return studio.report(saved.page, saved.id, table.concat(text)) end
    local download = studio.offer(saved.path, "session.lua")
    return studio.reply(saved.page, saved.id, { name = "session.lua", download = download })
  end
  newest.is_running, newest.version = false, version()
  local parts = host.take_output()
  for _, part in ipairs(parts) do
    if part.kind == "result" and not has_succeeded then part.kind = "error" end
  end
  studio.reply(newest.page, newest.subscription.id, { number = number, parts = parts, version = newest.version })
end

-- Replies with the completions of an entry, or with the values of a property that begin with a text.
function requests.complete(page, id, request)
  if request.entry then
    local found = host.complete and host.complete(request.entry) or { candidates = {}, replacing = 0 }
    return studio.reply(page, id, found)
  end
  studio.check("class:text property:text", request)
  local property = studio.property_named(studio.class_named(request.class), request.property)
  local base = property.base
  if property.form ~= "value" or base == "data" or base == "mixed" then
    error("the property has no values to complete", 0)
  end
  studio.start_job(page, id, "complete", function(values) studio.reply_with_text(page, id, values) end, nil,
    store:objects(request.class), request.property, base, request.text or "", most_values)
end
