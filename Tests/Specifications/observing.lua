scenario("observed results report the first state and then each change", function()
  local last, gone, came, changed, prop
  local dogs, seen = store:objects("Dog"):where("score >= 0"), {}
  local token = dogs:observe(function(change)
    seen[#seen + 1] = change.type
    equal(change.collection[1], dogs[1])
    if change.type == "update" then
      last = { ins = change.insertions, del = change.deletions, mod = change.modifications, new = change.modifications_new }
      for _, d in ipairs(change:deleted()) do gone = d.name assert(d:is_frozen()) end
      for _, d in ipairs(change:inserted()) do came = d.name end
      for i, d in ipairs(change:modified()) do
        changed = d.name
        for _, p in ipairs(change:properties(i)) do prop = p.name .. ":" .. tostring(p.old) .. ">" .. tostring(p.new) end
      end
    end
  end, { name = "watch" })
  turn()
  equal(seen, { "initial" })
  local rex = dog()
  turn()
  assert(#seen == 2 and same(last.ins, { 1 }) and same(last.del, {}) and came == "Rex")
  store:write(function() rex.age = 5 end)
  turn()
  assert(same(last.mod, { 1 }) and same(last.new, { 1 }) and changed == "Rex" and prop == "age:nil>5", prop)
  store:write(function() store:delete(rex) end)
  turn()
  assert(same(last.del, { 1 }) and gone == "Rex")
  assert(token.is_valid and token:stats().calls == 4 and token:stats().where:find "^observing.lua:")
  token:invalidate()
  assert(not token.is_valid)
  dog()
  turn()
  equal(#seen, 4)
end)

scenario("changes of objects and sections print their content, and are plain tables", function()
  local rex, seen = dog(), {}
  local function note(change) seen[#seen + 1] = tostring(change) end
  local object = rex:observe(note)
  local sections = store:objects("Dog"):group_by("age"):observe(note)
  turn()
  equal(seen, { "change { initial }" })
  seen = {}
  store:write(function() rex.age = 5 rex.name = "Max" end)
  turn()
  equal(seen[1], "change { age: nil -> 5, name: Rex -> Max }")
  equal(seen[2], "change { section_deletions = 1, section_insertions = 1, sections = 0 }")
  local last
  local own = rex:observe(function(change) last = change end)
  store:write(function() rex.age = 6 end)
  turn()
  last.properties[1].new = setmetatable({}, { __tostring = function() error("broken", 0) end })
  assert(select(2, pcall(tostring, last)):find("broken"))
  last.properties = "nonsense"
  equal(tostring(last), "change {  }")
  last.type = nil
  assert(next(setmetatable(last, nil)) and tostring(last):find("^table: "))
  seen = {}
  store:write(function() store:delete(rex) end)
  turn()
  equal(seen[1], "change { deleted }")
end)

scenario("a single property is reported with its old and new value, and only once committed", function()
  local rex, log = dog { age = 3 }, {}
  local token = rex:observe_value("age", function(new, old) log[#log + 1] = tostring(old) .. ">" .. tostring(new) end)
  turn()
  store:begin_write() rex.age = 9 store:cancel_write() turn()
  equal(#log, 0)
  store:write(function() rex.age = 4 rex.age = 5 end)
  equal(#log, 0)
  store:write(function() rex.name = "Max" end)
  assert(log[1] == "3>5" and #log == 1)
  store:write(function() rex.age = 5 end) turn()
  assert(log[2] == "5>5" and #log == 2)
  store:write(function() rex.age = nil end) turn()
  assert(log[3] == "5>nil" and #log == 3)
  store:write(function() store:delete(rex) end) turn()
  assert(not token.is_valid)
end)

scenario("the observers of given tokens do not receive silent writes", function()
  local calls = { 0, 0 }
  local dogs = store:objects "Dog"
  local a = dogs:observe(function() calls[1] = calls[1] + 1 end)
  local b = dogs:observe(function() calls[2] = calls[2] + 1 end)
  turn()
  store:write(function() store:create("Dog", { id = 5, name = "x", score = 1, good = true }) end, { without_notifying = { a } })
  turn()
  assert(calls[1] == 1 and calls[2] == 2)
  store:begin_write()
  store:create("Dog", { id = 6, name = "x", score = 1, good = true })
  store:commit_write { without_notifying = { b } }
  turn()
  assert(calls[1] == 2 and calls[2] == 2)
end)

scenario("a collected or closed token stops observing, even if its function references it", function()
  local calls = 0
  do
    local token
    token = store:objects("Dog"):observe(function() calls = calls + 1 return token end)
    turn()
    equal(calls, 1)
  end
  equal(#moonpool.observers(), 1)
  collectgarbage() collectgarbage()
  dog() turn()
  equal(calls, 1)
  equal(#moonpool.observers(), 0)
  do local token <close> = store:objects("Dog"):observe(function() calls = calls + 1 end) turn() end
  dog { id = 2 } turn()
  equal(calls, 2)
end)

scenario("an error in an observer is reported with its name, and the observer continues", function()
  local calls = 0
  local token = store:objects("Dog"):observe(function() calls = calls + 1 error("oops") end, { name = "bad" })
  turn()
  local reported = reports()
  assert(#reported == 1 and reported[1].source == "'bad'" and reported[1].message:find "^observing.lua:%d+: oops$")
  dog() turn()
  assert(calls == 2 and token.is_valid and #reports() == 1)
end)

scenario("observing in an invalid context is an error", function()
  local rex, dogs = dog(), store:objects "Dog"
  store:begin_write()
  fails("already_in_write", dogs.observe, dogs, print)
  store:cancel_write()
  fails("invalid_argument", dogs.observe, dogs)
  fails("unknown_property", dogs.observe, dogs, print, { keypaths = { "nope" } })
  fails("invalid_argument", dogs.observe, dogs, print, { keypath = {} })
  local far = ("owner."):rep(100000) .. "name"
  fails(": too long", dogs.observe, dogs, print, { keypaths = { far } })
  fails("unknown_property", rex.observe_value, rex, "nope", print)
  store:write(function() store:delete(rex) end)
  fails("invalid_object", function() rex:observe(print) end)
end)

scenario("in a handler at the beginning of a write, already_in_write names the ways out", function()
  local rex, faults = dog { id = 90 }, {}
  local function try(f, ...)
    local ok, err = pcall(f, ...)
    assert(not ok and err.code == "already_in_write", tostring(err))
    faults[#faults + 1] = err.message
  end
  local function all()
    try(store.write, store, print)
    try(store.begin_write, store)
    try(rex.observe, rex, print)
    try(store.observe, store, print)
    try(store.define, store, { Other = { id = "int" } })
  end
  local token = rex:observe(function() if store.is_in_write then all() else store:write(all) end end)
  turn()
  store:write(function() rex.age = 5 end)
  store:write(function() end)
  equal(#faults, 5)
  for _, text in ipairs(faults) do
    assert(text:find("this handler is called at the beginning of a write; change objects directly", 1, true)
      and text:find("store:write_async or moonpool.after", 1, true), text)
  end
  faults = {}
  store:write(function() rex.age = 6 end)
  turn()
  equal(#faults, 5)
  for _, text in ipairs(faults) do assert(not text:find("handler", 1, true), text) end
end)

scenario("key paths filter changes, and a change keeps its collection", function()
  local rex, calls, kept = dog { owner = { name = "Ann" } }, 0, nil
  local token = store:objects("Dog"):observe(function(change) calls = calls + 1 kept = change end, { keypaths = { "name" } })
  turn()
  store:write(function() rex.age = 1 end) turn()
  equal(calls, 1)
  store:write(function() rex.name = "New" end) turn()
  assert(calls == 2 and kept.modifications[1] == 1 and kept.collection[1] == rex)
  fails("invalid_object", function() kept:modified() end)
  equal(token:why().keypath, "name")
end)

scenario("queued writes run on the loop", function()
  store:write_async(function() store:create("Toy", { "ball", 1 }) end)
  equal(#store:objects("Toy"), 0)
  turn()
  equal(#store:objects("Toy"), 1)
  local failed
  store:write_async(function() error("no") end, function(err) failed = err end)
  turn()
  assert(failed:find("no"))
  store:write_async(function() error "lost" end) turn()
  local reported = reports()
  assert(#reported == 1 and reported[1].message:find "^observing.lua:%d+: lost$")
end)

scenario("sleeping without time runs the observers", function()
  local seen = {}
  local token <close> = store:objects("Dog"):observe(function(change) seen[#seen + 1] = change.type end)
  moonpool.sleep(0)
  equal(seen, { "initial" })
  dog()
  moonpool.sleep(0)
  equal(seen, { "initial", "update" })
end)
