-- What observers of a store receive.

schema(linked)
before(fill_linked)

local function commit() elsewhere("Target", 100 + #store:objects "Target", {}) end

-- Observes the store, and returns the calls.
local function observe()
  local calls = {}
  return calls, store:observe(function(kind) calls[#calls + 1] = kind end)
end

scenario("commits of others are reported once, in a turn, with the new data", function()
  local calls, seen = {}, {}
  local token = store:observe(function(kind, changed)
    calls[#calls + 1] = kind
    seen[#seen + 1] = #changed:objects "Keyed"
  end)
  elsewhere("Keyed", 1, {})
  elsewhere("Keyed", 2, {})
  equal(calls, {})
  turn()
  equal(calls, { "did_change" })
  equal(seen, { 2 })
  assert(token.is_valid)
end)

scenario("a commit of the store is reported before it returns, a canceled write is not", function()
  local calls, token = observe()
  store:write(function() end)
  equal(calls, { "did_change" })
  turn()
  store:begin_write()
  store:create "Other"
  store:cancel_write()
  turn()
  equal(calls, { "did_change" })
  assert(token.is_valid)
end)

scenario("without autorefresh a refresh is required once", function()
  store.autorefresh = false
  local calls, token = observe()
  elsewhere("Keyed", 1, {})
  turn()
  equal(calls, { "refresh_required" })
  equal(#store:objects "Keyed", 0)
  equal(store:refresh(), true)
  equal(calls, { "refresh_required", "did_change" })
  assert(token.is_valid)
end)

scenario("begin_write reports a pending commit of others, inside the write", function()
  local in_write = {}
  local token = store:observe(function()
    in_write[#in_write + 1] = store.is_in_write
    if store.is_in_write then fails("already_in_write", store.begin_write, store) end
  end)
  commit()
  store:begin_write()
  equal(in_write, { true })
  store:commit_write()
  equal(in_write, { true, false })
  assert(token.is_valid)
end)

scenario("begin_write inside refresh_required advances without another call", function()
  store.autorefresh = false
  local calls, counts = {}, {}
  local token = store:observe(function(kind)
    calls[#calls + 1] = kind
    counts[#counts + 1] = #store:objects "Keyed"
    store:begin_write()
    counts[#counts + 1] = #store:objects "Keyed"
    store:cancel_write()
  end)
  elsewhere("Keyed", 1, {})
  turn()
  equal(calls, { "refresh_required" })
  equal(counts, { 0, 1 })
  assert(token.is_valid)
end)

scenario("writes inside did_change do not notify it again", function()
  local calls = {}
  local token = store:observe(function(kind)
    calls[#calls + 1] = kind
    store:write(function() store:create "Other" end)
  end)
  store:write(function() end)
  equal(calls, { "did_change" })
  commit()
  turn()
  equal(calls, { "did_change", "did_change" })
  assert(token.is_valid)
end)

scenario("refresh works inside refresh_required, not inside did_change", function()
  store.autorefresh = false
  local answers = {}
  local token = store:observe(function() answers[#answers + 1] = store:refresh() end)
  elsewhere("Keyed", 1, {})
  turn()
  equal(answers, { true })
  equal(store:refresh(), false)
  elsewhere("Keyed", 2, {})
  equal(store:refresh(), true)
  equal(answers, { true, false })
  assert(token.is_valid)
end)

scenario("store observers are called before the others", function()
  local order = {}
  local first = obj(1):observe(function() order[#order + 1] = "object" end)
  local second = store:observe(function() order[#order + 1] = "store" end)
  elsewhere("Obj", 1, { value = 5 })
  turn()
  equal(order, { "store", "object" })
  assert(first.is_valid and second.is_valid)
end)

scenario("a silent write does not notify the token once", function()
  local calls, token = observe()
  store:write(function() store:create "Other" end, { without_notifying = { token } })
  equal(calls, {})
  store:write(function() end)
  equal(calls, { "did_change" })
end)

scenario("an observer ended by an earlier one is not called", function()
  local later
  local first = store:observe(function() later:invalidate() end)
  local calls
  calls, later = observe()
  store:write(function() end)
  equal(calls, {})
  assert(first.is_valid)
end)

scenario("an error in a handler is reported, and neither begin_write nor a commit fails", function()
  local token = store:observe(function() error "stop" end)
  store:write(function() store:create "Other" end)
  equal(#reports(), 1)
  assert(not store.is_in_write)
  commit()
  store:begin_write()
  assert(store.is_in_write and #reports() == 1)
  store:commit_write()
  equal(#reports(), 1)
  assert(token.is_valid)
end)
