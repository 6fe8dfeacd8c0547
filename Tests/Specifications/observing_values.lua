-- `observe_value`: `invalidated`, and the options `initial` and `prior`.

local log

local function note(name)
  return function(new, old, prior) log[#log + 1] = ("%s %s %s %s"):format(name, new, old, prior) end
end

local function logged(...)
  local wanted = { ... }
  equal(log, wanted)
  log = {}
end

before(function() log = {} end)

scenario("invalidated becomes true when the object or the owner of a collection is deleted", function()
  local rex = dog()
  local ann = store:write(function() return store:create("Person", { name = "Ann", dogs = { rex } }) end)
  local tokens = {
    rex:observe_value("invalidated", note "rex"),
    rex.marks:observe_value("invalidated", note "marks", { name = "marks" }),
    ann.dogs:observe_value("invalidated", note "dogs", { initial = true }),
  }
  turn() logged("dogs false nil nil")
  store:write(function() rex.name = "Max" rex.marks:append(1) end) turn()
  assert(#log == 0 and tokens[1]:stats().calls == 0)
  store:write(function() store:delete(rex) end) turn()
  logged("rex true false nil", "marks true false nil")
  assert(not tokens[1].is_valid and not tokens[2].is_valid and tokens[3].is_valid)
  store:write(function() store:delete(ann) end) turn()
  logged("dogs true false nil")
end)

scenario("invalidated is refused with a reason where nothing can be observed", function()
  local rex = dog()
  local new = store:new("Dog", { id = 2 })
  for _, f in ipairs { new.observe, new.observe_value } do
    fails("invalid_argument: add it to a store with store:add first", f, new, "age", print)
  end
  fails("invalid_argument: use observe for its elements", rex.marks.observe_value, rex.marks, "age", print)
  fails("frozen", rex.observe_value, rex:freeze(), "invalidated", print)
  fails(": 'initial' must be true or false", rex.observe_value, rex, "invalidated", print, { initial = 1 })
  fails(": pass one of them", rex.observe_value, rex, "age", print, { prior = true, throttle = 1 })
  fails(": prior", rex.observe, rex, print, { prior = true })
end)

scenario("a property named invalidated is observed itself", { Ticket = { invalidated = "bool" } }, function()
  local ticket = store:write(function() return store:create("Ticket", { invalidated = false }) end)
  local seen
  local token = ticket:observe_value("invalidated", function(new) seen = new end)
  store:write(function() ticket.invalidated = true end) turn()
  assert(seen == true and ticket:is_valid())
end)

scenario("the initial call has the present value, also of collections and paths", function()
  local rex = dog { age = 3, owner = { name = "Ann" } }
  local tokens = {
    rex:observe_value("age", note "age", { initial = true }),
    rex:observe_value("owner.name", note "path", { initial = true }),
    rex:observe_value("marks", function(new, old) log[#log + 1] = #new .. " marks" end, { initial = true }),
  }
  equal(#log, 0)
  turn()
  logged("age 3 nil nil", "path Ann nil nil", "0 marks")
  tokens[3]:invalidate()
  store:write(function() rex.age = 4 rex.owner = { name = "Bob" } rex.marks:append(1) end)
  turn()
  logged("age 4 3 nil", "path Bob Ann nil")
  store:write(function() rex.age = 5 rex.owner = { name = "Cid" } end) turn()
  logged("age 5 4 nil", "path Cid Bob nil")
end)

scenario("the prior call of an own write comes before its commit, once for each later call", function()
  local rex = dog { age = 3, owner = { name = "Ann" } }
  local silent = rex:observe_value("age", note "silent", { prior = true })
  local tokens = {
    rex:observe_value("age", note "age", { prior = true }),
    rex:observe_value("owner.name", note "path", { prior = true }),
  }
  store:write(function() rex.age = 4 log[1] = "body" end, { without_notifying = { silent } })
  logged("body", "age nil 3 true")
  silent:invalidate()
  elsewhere("Dog", 1, { age = 6 })
  store:refresh()
  logged("age 6 3 nil")
  store:write(function() rex.owner = { name = "Bob" } end) turn()
  logged("path nil Ann true", "path Bob Ann nil")
  store:write(function() rex.name = "Max" rex.owner = store:object("Person", "Bob") end) turn()
  assert(#log == 0, log[1])
  pcall(store.write, store, function() rex.age = 1 error("no") end) turn()
  assert(#log == 0, log[1])
end)

scenario("an error in a prior call is reported, and the store moves", function()
  local rex = dog { age = 3 }
  local token = rex:observe_value("age", function(new, old, prior) if prior then error("no", 0) end end, { prior = true })
  elsewhere("Dog", 1, { age = 4 })
  assert(store:refresh() and rex.age == 4)
  local reported = reports()
  assert(#reported == 1 and reported[1].message == "no")
end)

for title, move in pairs {
  ["refresh"] = function() store:refresh() end, ["a turn of the loop"] = turn,
  ["a write"] = function() store:write(function() end) end,
} do
  scenario("the prior call comes before the store moves, with its old values: " .. title, function()
    local rex = dog { age = 3 }
    local failed
    local function prior(new, old, is_prior)
      log[#log + 1] = ("%s %s %s, now %s"):format(new, old, is_prior, rex:is_valid() and rex.age or "gone")
      if not is_prior then return end
      for _, f in ipairs { store.begin_write, store.refresh, store.close } do
        failed = (failed or "") .. " " .. tostring(code(f, store))
      end
      local _, err = pcall(function() rex.age = 9 end)
      failed = failed .. " " .. err.code
    end
    local tokens = {
      rex:observe_value("age", prior, { prior = true }),
      rex:observe_value("invalidated", prior, { prior = true }),
    }
    elsewhere("Dog", 1, { age = 4 })
    elsewhere("Dog", 1, { age = 5 })
    move()
    turn()
    logged("nil 3 true, now 3", "5 3 nil, now 5")
    equal(failed, " already_in_write no error already_in_write already_in_write")
    elsewhere("Dog", 1)
    move()
    turn()
    logged("nil false true, now 5", "true false nil, now gone")
  end)
end

scenario("a delayed call that the deletion of its object overtakes has the changes before the deletion", {
  Dog = { id = "int primary", age = "int", name = "string", tags = "int[]", owner = "Person" }, Person = { name = "string" },
}, function()
  for _, pace in ipairs { { debounce = 0.01 }, { throttle = 0.01 } } do
    log = {}
    local rex = store:write(function()
      return store:create("Dog", { id = 1, age = 1, name = "Rex", tags = { 1 }, owner = { name = "Ann" } }, "all")
    end)
    local function observe(path, f) return rex:observe_value(path, f or note(path), pace) end
    local tags, change
    local tokens = {
      observe "age", observe "name", observe "owner.name", observe "invalidated",
      observe("tags", function(new, old) tags = { new:to_table(), old } end),
      rex:observe(function(received) change = received end, pace),
      rex:project({ years = "age" }):observe(function(received)
        log[#log + 1] = received.type .. " " .. received.properties[1].old .. " " .. received.properties[1].new
      end, pace),
    }
    turn()
    if pace.throttle then
      -- The first call is immediate, and opens the delay.
      store:write(function() rex.age = 0 rex.name = "R" rex.owner.name = "A" rex.tags:append(0) end)
      turn()
      store:write(function() rex.age = 1 rex.name = "Rex" rex.owner.name = "Ann" end)
      log, change, tags = {}, nil, nil
    end
    store:write(function() rex.age = 5 rex.tags:append(2) end)
    store:write(function() rex.age = 6 rex.owner.name = "Bob" end)
    store:write(function() store:delete(rex) end)
    assert(moonpool.wait_until(function()
      for _, token in ipairs(tokens) do
        if token.is_valid then return false end
      end
      return true
    end, 60))
    table.sort(log)
    if pace.debounce then logged("age 6 1 nil", "deleted 1 6", "invalidated true false nil", "owner.name Bob Ann nil") end
    equal(tags[1][#tags[1]], 2)
    equal(tags[2], nil)
    equal(change.type, "deleted")
    equal(change.properties[1].name, "age")
    equal(change.properties[1].new, 6)
  end
end)
