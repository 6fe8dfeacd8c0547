-- Tokens, and observers that are registered and removed during calls.

schema(linked)
before(fill_linked)

local function middle() return store:objects("Obj"):where "value > 0 and value < 10" end
local function change() elsewhere("Obj", 1, { value = 3 }) end

scenario("an invalidated token receives no pending changes", function()
  local news, token = changes(middle())
  store:write(function() obj(1).value = 3 end)
  token:invalidate()
  assert(not token.is_valid)
  equal(news(), "")
  token:invalidate()
end)

scenario("a token that ends itself finishes its call, and others are called", function()
  local own
  local finished = 0
  own = middle():observe(function()
    own:invalidate()
    finished = finished + 1
  end)
  local later = changes(middle())
  equal(finished, 1)
  change()
  equal(later(), "mod[1]")
  equal(finished, 1)
end)

scenario("a token ended by an earlier call is not called", function()
  local later
  local first = middle():observe(function(news) if news.type == "update" then later:invalidate() end end)
  local calls
  calls, later = changes(middle())
  change()
  equal(calls(), "")
  assert(first.is_valid and not later.is_valid)
end)

scenario("an observer added in a call starts with the next delivery", function()
  local calls, added = {}, nil
  local first = middle():observe(function()
    added = added or middle():observe(function(news) calls[#calls + 1] = describe(news) end)
  end)
  store:refresh()
  equal(calls, {})
  turn()
  equal(calls, { "initial" })
  assert(first.is_valid)
end)

scenario("an observer added in a call does not receive earlier changes", function()
  local calls, added = {}, nil
  local first = middle():observe(function(news)
    if news.type ~= "update" or added then return end
    elsewhere("Obj", 1, { value = 3 })
    added = middle():observe(function(inner) calls[#calls + 1] = describe(inner) end)
  end)
  turn()
  change()
  turn()
  equal(calls, { "initial" })
  elsewhere("Obj", 2, { value = 5 })
  turn()
  equal(calls, { "initial", "mod[2]" })
  assert(first.is_valid)
end)

scenario("observing inside a write is an error, also in a call", function()
  store:write(function()
    fails("already_in_write", function() middle():observe(print) end)
    fails("already_in_write", store.observe, store, print)
  end)
end)

scenario("observers are called in the order of registration", function()
  local order, tokens = {}, {}
  for n = 1, 6 do
    local observed = n % 2 == 1 and middle() or obj(1)
    tokens[n] = observed:observe(function() order[#order + 1] = n end)
  end
  turn()
  equal(order, { 1, 3, 5 })
  order = {}
  tokens[3]:invalidate()
  change()
  turn()
  equal(order, { 1, 2, 4, 5, 6 })
end)

scenario("closing a store in a call skips the remaining calls", function()
  local calls = {}
  local first = middle():observe(function() store:close() end)
  local second = middle():observe(function(news) calls[#calls + 1] = describe(news) end)
  turn()
  equal(calls, {})
  assert(not first.is_valid and not second.is_valid)
end)

scenario("a token of another store cannot be silenced, and the write stays open", function()
  local other <close> = moonpool.open { in_memory = unique "other", schema = { A = { a = "int" } } }
  local foreign = other:observe(function() end)
  store:begin_write()
  fails("invalid_argument", store.commit_write, store, { without_notifying = { foreign } })
  assert(store.is_in_write)
  store:commit_write()
end)

scenario("after closing no observer is called", function()
  local calls = {}
  local token = middle():observe(function(news) calls[#calls + 1] = describe(news) end)
  turn()
  store:write(function() obj(1).value = 3 end)
  store:close()
  assert(not token.is_valid)
  turn()
  equal(calls, { "initial" })
end)

scenario("the error of a handler is reported with its name, and the others are called", function()
  local first = middle():observe(function() error "stop" end, { name = "broken" })
  local second = changes(middle())
  local reported = reports()
  assert(#reported == 1 and reported[1].source == "'broken'")
  assert(first.is_valid and second() == "")
end)

scenario("a write that a failed handler left open is rolled back", function()
  local token = middle():observe(function()
    store:begin_write()
    store:create "Other"
    error "stop"
  end)
  turn()
  assert(not store.is_in_write and #store:objects "Other" == 0 and #reports() == 1 and token.is_valid)
end)
