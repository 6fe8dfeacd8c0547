-- Observers of lists and single values, delays, and information from tokens, in scripts.

scenario("a list of objects reports positions and objects", function()
  local ann = store:write(function() return store:create("Person", { name = "Ann" }) end)
  local rex, log = dog { id = 1, name = "Rex" }, {}
  local max = dog { id = 2, name = "Max" }
  local token = ann.dogs:observe(function(change)
    if not ann:is_valid() then assert(not change.collection:is_valid()) return end
    equal(change.collection, ann.dogs)
    if change.type == "initial" then log[#log + 1] = "initial" return end
    for i, d in ipairs(change:inserted()) do log[#log + 1] = "+" .. d.name .. change.insertions[i] end
    for i, d in ipairs(change:deleted()) do log[#log + 1] = "-" .. d.name .. change.deletions[i] assert(d:is_frozen()) end
    for i, d in ipairs(change:modified()) do
      log[#log + 1] = "~" .. d.name .. change.modifications_new[i]
      for _, p in ipairs(change:properties(i)) do log[#log + 1] = p.name end
    end
  end)
  turn()
  store:write(function() ann.dogs:append(rex, max) end) turn()
  store:write(function() max.age = 3 ann.dogs:remove(1) end) turn()
  store:write(function() store:delete(max) end) turn()
  local text = table.concat(log, " ")
  equal(text, "initial +Rex1 +Max2 -Rex1 ~Max1 age -Max1")
  store:write(function() store:delete(ann) end) turn()
  assert(not token.is_valid)
end)

scenario("a list of plain values reports positions and values", function()
  local rex, log = dog(), {}
  store:write(function() rex.marks = { 1, 2, 3 } end)
  local token = rex.marks:observe(function(change)
    log = { type = change.type, ins = change:inserted(), del = change:deleted(), mod = change:modified(),
        at = change.insertions, from = change.deletions, where = change.modifications,
        valid = change.collection:is_valid() }
  end)
  turn()
  assert(log.type == "initial" and #log.ins == 0)
  store:write(function() rex.marks[2] = 20 rex.marks:remove(1) rex.marks:append(4, 5) end)
  turn()
  assert(same(log.ins, { 4, 5 }) and same(log.at, { 3, 4 }))
  assert(same(log.del, { 1 }) and same(log.from, { 1 }))
  assert(same(log.mod, { 20 }) and same(log.where, { 2 }))
  fails("invalid_query", function() rex.marks:observe(print, { keypaths = { "x" } }) end)
  store:write(function() store:delete(rex) end) turn()
  assert(log.valid == false and same(log.from, { 1, 2, 3, 4 }) and not token.is_valid)
end)

scenario("a set reports values and a map reports keys", {
  Bag = { id = "int primary", tags = "string<>", ages = "int{}", friends = "Bag{}" },
}, function()
  local bag, other = store:write(function()
    local other = store:create("Bag", { id = 2 })
    return store:create("Bag", { id = 1, tags = { "b", "d" }, ages = { Ann = 3, Bob = 4 }, friends = { x = other } }), other
  end)
  local function listen(collection)
    local seen = {}
    seen.token = collection:observe(function(change)
      if change.type == "initial" then return end
      seen.ins, seen.del, seen.mod = change.insertions, change.deletions, change.modifications
      seen.new, seen.came, seen.went = change.modifications_new, change:inserted(), change:deleted()
      seen.changed, seen.collection = change:modified(), change.collection
      if #seen.mod > 0 then seen.properties = change:properties(1) end
    end)
    turn()
    return seen
  end
  local tags, ages, friends = listen(bag.tags), listen(bag.ages), listen(bag.friends)
  store:write(function() bag.tags:add("c") bag.tags:remove("b") bag.ages.Cleo = 1 bag.ages.Ann = nil bag.ages.Bob = 5 end) turn()
  assert(same(tags.ins, { 1 }) and same(tags.came, { "c" }) and same(tags.del, { 1 }) and same(tags.went, { "b" }))
  equal(tags.collection, bag.tags)
  assert(same(ages.ins, { "Cleo" }) and same(ages.del, { "Ann" }) and same(ages.mod, { "Bob" }) and same(ages.new, { "Bob" }))
  assert(same(ages.came, { 1 }) and same(ages.went, { 3 }) and same(ages.changed, { 5 }) and ages.collection == bag.ages)
  store:write(function() other.tags:add("z") end) turn()
  assert(same(friends.mod, { "x" }) and friends.changed[1] == other and friends.properties[1].name == "tags")
  store:write(function() bag.friends.x = nil store:delete(other) end) turn()
  assert(same(friends.del, { "x" }) and friends.went[1]:is_frozen() and friends.went[1].id == 2)
  local count
  local whole = bag:observe_value("ages", function(new, old) count = #new equal(old, nil) end)
  store:write(function() bag.ages:clear() end) turn()
  assert(count == 0 and same(ages.del, { "Bob", "Cleo" }))
end)

scenario("collections of a removed class receive an error as their last call", {
  Toy = { label = "string" }, Dog = { id = "int primary", marks = "int[]", toys = "Toy[]" },
}, function()
  local rex = store:write(function()
    return store:create("Dog", { id = 1, marks = { 1, 2 }, toys = { { label = "ball" } } })
  end)
  local lost = {}
  local function listen(name, collection)
    return collection:observe(function(change)
      if change.type ~= "initial" then
        assert(change.schema.event == "changed" and change.schema.number == nil)
        lost[name] = change.type .. " " .. change.error.code
      end
    end)
  end
  local tokens = {
    listen("marks", rex.marks), listen("toys", rex.toys), listen("dogs", store:objects "Dog"),
    listen("groups", store:objects("Dog"):group_by "id"),
  }
  turn()
  store:define({ Toy = { label = "string" } }, function(m) m:delete_class "Dog" end)
  turn()
  for _, name in ipairs { "marks", "toys", "dogs", "groups" } do
    assert(lost[name] == "error schema_changed", name .. " " .. tostring(lost[name]))
  end
  for _, token in ipairs(tokens) do assert(not token.is_valid) end
  equal(#reports(), 4)
end)

scenario("values are reported individually, collections as a whole", function()
  local rex, log = dog { age = 1 }, {}
  local a = rex:observe_value("age", function(new, old) log[#log + 1] = tostring(old) .. ">" .. tostring(new) end)
  local b = rex:observe_value("toys", function(new, old) log[#log + 1] = #new .. " toys" equal(old, nil) end, { name = "toys" })
  store:write(function() rex.name = "New" end) turn()
  assert(#log == 0 and a:stats().calls == 0)
  store:write(function() rex.age = 2 end) turn()
  store:write(function() rex.age = nil rex.toys:append { label = "ball", price = 2 } end) turn()
  local text = table.concat(log, " ")
  equal(text, "1>2 2>nil 1 toys")
  equal(b.name, "toys")
  store:write(function() store:delete(rex) end) turn()
  assert(#log == 3 and not a.is_valid and not b.is_valid)
end)

scenario("why and stats show the reason, the dependencies and the cost", function()
  local rex = dog { owner = { name = "Ann" } }
  local token = store:objects("Dog"):where("age > 3"):observe(function() end, { keypaths = { "name", "owner.name" }, name = "adults" })
  turn()
  equal(token:why(), nil)
  store:write(function() rex.age = 7 end) turn()
  store:write(function() rex.owner.dogs:append(rex) rex.name = "Max" end) turn()
  local why = token:why()
  assert(why.version == store.version and why.transaction == why.version and why.previous_version < why.version)
  assert(why.count == 1 and why.objects[1] == rex and why.keypath == "name")
  equal(why.properties, { "name" })
  local stats = token:stats()
  assert(stats.calls == 3 and stats.name == "adults" and stats.last_us >= 0 and stats.where:find "^observing_collections.lua:")
  equal(stats.depends_on, { "Dog", "Dog.age", "Dog.name", "Dog.owner", "Person.name" })
  equal(stats.cost, "reads only objects that a commit changes")
  local text = store:objects("Dog"):sorted("age"):limit(3):explain()
  assert(text:find("an observer reads only objects that a commit changes; runs the query again when", 1, true), text)
  assert(rex.toys:where("price > 1"):explain():find("an observer follows the edits of the list, and reads only objects", 1, true))
end)

scenario("why explains the last call of each kind of observer", function()
  local rex, max = dog { id = 1 }, dog { id = 2 }
  local tokens = {
    object = rex:observe(function() end), value = rex:observe_value("age", function() end),
    list = rex.toys:observe(function() end), groups = rex.toys:group_by("label"):observe(function() end),
  }
  local all = store:observe(function() end)
  turn()
  assert(all:why() == nil and tokens.object:why() == nil)
  store:write(function() max.age = 3 end) turn()
  assert(all:why().version == store.version and all:why().previous_version == store.version - 1)
  store:write(function() store:delete(rex) end) turn()
  for name, token in pairs(tokens) do
    assert(not token.is_valid, name)
    if name ~= "value" then
      local why = token:why()
      assert(why.version == store.version and why.previous_version < why.version, name)
      assert(why.count == 1 and #why.objects == 0 and why.causes[1].class == "Dog", name)
    end
  end
  assert(all:why().version == store.version and all:why().count == 0)
end)

scenario("why names the object and the property that changed, wherever the path led", function()
  local s = moonpool.open { in_memory = unique "other", schema = {
    Dog = { { "id", "int primary" }, { "age", "int" }, { "owner", "Person" }, { "toys", "Toy[]" }, { "x", "mixed" }, { "e", "E" } },
    Person = { { "name", "string primary" }, { "town", "string?" }, { "dogs", "backlinks Dog.owner" } },
    Toy = { { "id", "int primary" }, { "price", "int" } },
    E = { embedded = true, q = "int" } } }
  local ann, rex, ball = s:write(function()
    local ann = s:create("Person", { name = "Ann", town = "A" })
    local ball = s:create("Toy", { id = 1, price = 1 })
    local rex = s:create("Dog", { id = 1, age = 3, owner = ann, toys = { ball }, e = { q = 1 }, x = { k = ball, n = 1 } })
    s:create("Dog", { id = 2, age = 4, owner = ann, x = ball })
    return ann, rex, ball
  end)
  local dogs = s:objects "Dog"

  local function cause(register, change)
    local token <close> = register(function() end)
    s:refresh() s:write(change) s:refresh()
    local why, texts = token:why(), {}
    for _, c in ipairs(why.causes) do
      texts[#texts + 1] = c.class .. "." .. table.concat(c.properties, ",")
      assert(not c.object or moonpool.class_of(c.object) == c.class)
    end
    equal(why.count, #why.causes)
    return table.concat(texts, " ")
  end
  local function check(want, target, paths, change)
    local got = cause(function(f) return target:observe(f, { keypaths = paths }) end, change)
    assert(got == want, want .. ": " .. got)
  end
  check("Dog.age", dogs, nil, function() rex.age = 5 end)
  check("Person.town", dogs, { "owner.town" }, function() ann.town = "B" end)
  check("Person.town", dogs, nil, function() ann.town = "C" end)
  check("Toy.price", dogs, { "toys.price" }, function() ball.price = 9 end)
  check("Toy.price", rex.toys, nil, function() ball.price = 8 end)
  check("Dog.toys", rex.toys, nil, function() rex.toys:append(ball) end)
  check("Toy.price", rex.toys:where "price > 20", nil, function() ball.price = 21 end)
  check("E.q", dogs, { "e.q" }, function() rex.e.q = 7 end)
  check("Person.town", dogs:where "owner.town == 'Z'", nil, function() ann.town = "Z" end)
  check("Person.town", dogs:where "owner.town == 'Z'", nil, function() ann.town = "D" end)
  check("Dog.age", dogs:sorted "age":limit(1), nil, function() rex.age = 1 end)
  check("Dog.", dogs:sorted("age", "desc"):limit(1), nil, function() s:create("Dog", { id = 3, age = 99, owner = ann }) end)
  check("Toy.price", dogs, nil, function() ball.price = 77 end)
  check("Toy.price", dogs, { "x.k.price" }, function() ball.price = 78 end)
  check("Person.town", rex, { "owner.town" }, function() ann.town = "Q" end)
  check("Dog.owner", ann, { "dogs" }, function() rex.owner = nil end)
  check("Dog.age", ann, { "dogs.age" }, function() s:object("Dog", 3).age = 50 end)
  check("Dog.x", rex.x, nil, function() rex.x.n = 2 end)
  check("Dog.age", ann.dogs, nil, function() s:object("Dog", 2).age = 51 end)
  local function aggregate(path) return function(f) return dogs:observe_aggregate("max", path, f) end end
  equal(cause(aggregate "age", function() rex.age = 1000 end), "Dog.age")
  equal(cause(aggregate "toys.@sum.price", function() ball.price = 1001 end), "Toy.price")
  equal(cause(function(f) return dogs:group_by "owner.town":observe(f) end, function() ann.town = "R" end), "Person.town")
  equal(cause(function(f) return moonpool.effect(function() f(rex.age, ann.town) end) end,
    function() rex.age = 0 ann.town = "S" end), "Dog.age Person.town")
  check("Dog.", dogs, nil, function() s:delete(s:object("Dog", 3)) end)
end)

scenario("a key path through a mixed value reports exactly the rows whose value changed", function()
  local s = moonpool.open { in_memory = unique "other", schema = {
    Dog = { { "id", "int primary" }, { "age", "int" }, { "owner", "Person" }, { "toys", "Toy[]" }, { "x", "mixed" }, { "e", "E" } },
    Person = { { "name", "string primary" }, { "town", "string?" }, { "dogs", "backlinks Dog.owner" } },
    Toy = { { "id", "int primary" }, { "price", "int" } },
    E = { embedded = true, q = "int" } } }
  local ann, rex, ball = s:write(function()
    local ann = s:create("Person", { name = "Ann", town = "A" })
    local ball = s:create("Toy", { id = 1, price = 1 })
    local rex = s:create("Dog", { id = 1, age = 3, owner = ann, toys = { ball }, e = { q = 1 }, x = { k = ball, n = 1 } })
    s:create("Dog", { id = 2, age = 4, owner = ann, x = ball })
    return ann, rex, ball
  end)
  local dogs = s:objects "Dog"

  local max = s:object("Dog", 2)
  local function rows(path, change)
    local ids = {}
    local token <close> = dogs:observe(function(c)
      for _, d in ipairs(c.type == "update" and c:modified() or {}) do ids[#ids + 1] = d.id end
    end, { keypaths = { path } })
    local own = 0
    local object <close> = rex:observe(function() own = own + 1 end, { keypaths = { path } })
    s:refresh() s:write(change) s:refresh()
    assert((own == 1) == (ids[1] == 1), path)
    return table.concat(ids, ",")
  end
  local function price() ball.price = ball.price + 1 end
  equal(rows("x.price", price), "2")
  equal(rows("x.k.price", price), "1")
  equal(rows("x['k'].price", price), "1")
  equal(rows("x.@values.price", price), "1")
  equal(rows("x.other.price", price), "")
  equal(rows("x.*", price), "2")
  equal(rows("x", price), "")
  equal(rows("x.k.price", function() rex.x.n = 5 end), "")
  equal(rows("x.n", function() rex.x.n = 6 end), "1")
  equal(rows("x.n", function() rex.x.k = nil end), "")
  equal(rows("x.*", function() rex.x.n = 7 end), "1")
  equal(rows("x.k.price", function() rex.x.k = ball end), "1")
  s:write(function() local other = s:create("Toy", { id = 2, price = 5 }) rex.toys = { ball, other } max.toys = { other } end)
  equal(rows("toys[1].price", price), "1")
  equal(rows("toys[2].price", price), "")
end)

scenario("an observer with once ends with the first call that reports a change", function()
  local ann = store:write(function() return store:create("Person", { name = "Ann" }) end)
  store:define { Box = { id = "int primary", x = "mixed" } }
  local box = store:write(function() return store:create("Box", { id = 1, x = { 1 } }) end)
  local rex, log, tokens = dog { id = 1, age = 1, marks = { 1 } }, {}, {}
  local function once(name, receiver, ...)
    local method = name:match "^%a+_?%a*"
    local arguments = { ... }
    arguments[#arguments + 1] = function(change)
      log[name] = (log[name] or 0) + 1
      -- A write in the call does not call the observer again.
      if not store.is_in_write then store:write(function() rex.age = rex.age + 1 end) end
    end
    arguments[#arguments + 1] = { once = true }
    tokens[name] = receiver[method](receiver, table.unpack(arguments))
  end
  local dogs = store:objects "Dog"
  once("observe results", dogs)
  once("observe object", rex)
  once("observe store", store)
  once("observe list", rex.marks)
  once("observe values", rex.marks:sorted())
  once("observe nested", box.x)
  once("observe groups", dogs:group_by "age")
  once("observe_value", rex, "age")
  once("observe_aggregate", dogs, "sum", "age")
  once("observe_aggregate groups", dogs:group_by "name", "max", "age")
  for _ = 1, 3 do turn() end
  for name, token in pairs(tokens) do
    assert(name:find "object" or name:find "value$" or name:find "store" or log[name] >= 1, name)
  end
  for _ = 1, 3 do store:write(function() rex.age = rex.age + 1 rex.marks:append(2) box.x:append(3) end) turn() end
  for name, token in pairs(tokens) do
    local initial = not (name:find "object" or name:find "value$" or name:find "store")
    assert(not token.is_valid and log[name] == (initial and 2 or 1), name .. " " .. tostring(log[name]))
    assert(token:why().version > 0)
  end
  fails(": 'once' must be true or false", rex.observe, rex, print, { once = 1 })
  fails(": once", rex.observe, rex, print, { onec = true })
  local token = rex:observe(print, { once = false })
  store:write(function() store:delete(ann) end)
  assert(token.is_valid)
end)

scenario("errors of options contain the solution", function()
  local dogs = store:objects "Dog"
  for _, name in ipairs { {}, 5, "two\nlines", "\27[31m", ("long"):rep(60) } do
    fails(": 'name' must be one line of at most 200 bytes", dogs.observe, dogs, print, { name = name })
  end
  local nameless <close> = dogs:observe(print)
  assert(nameless.name == nil and nameless:stats().name == nil)
  fails(": number of seconds", dogs.observe, dogs, print, { debounce = -1 })
  fails(": number of seconds", dogs.observe, dogs, print, { debounce = 0 / 0 })
  fails(": number of seconds", dogs.observe, dogs, print, { throttle = "soon" })
  fails(": either", dogs.observe, dogs, print, { throttle = 1, debounce = 1 })
  fails("invalid_argument", store.observe, store, print, { throttle = 1 })
  fails(": with each commit", store.observe, store, print, { keypaths = { "age" } })
  local rex = dog()
  fails(": use observe for", rex.observe_value, rex, "age", print, { keypaths = { "age" } })
end)

scenario("a collection assigned to itself has not changed", {
  A = { id = 'int primary', list = 'int[]', links = 'A[]', set = 'int<>', map = 'int{}' },
}, function()
  local a, b = store:write(function()
    local a = store:create("A", { id = 1, list = { 1, 2 }, set = { 3 }, map = { x = 4 } })
    a.links = { a, a }
    return a, store:create("A", { id = 2, list = { 1, 2 } })
  end)
  local calls, tokens = 0, {}
  for _, name in ipairs { "list", "links", "set", "map" } do
    tokens[name] = a[name]:observe(function(c) if c.type == "update" then calls = calls + 1 end end)
    tokens["value" .. name] = a:observe_value(name, function() calls = calls + 1 end)
  end
  tokens.object = a:observe(function(c) calls = calls + #c.properties end)
  turn()
  store:write(function()
    for _, name in ipairs { "list", "links", "set", "map" } do a[name] = a[name] end
    a.list = store:object("A", 1).list
  end)
  turn()
  assert(calls == 0 and #a.list == 2 and #a.links == 2 and #a.set == 1 and a.map.x == 4)
  fails("not_in_write", function() a.list = a.list end)
  store:write(function() a.list = b.list end)
  turn()
  assert(calls == 4 and #a.list == 2, calls)
  local frozen = a:freeze()
  fails("frozen", function() frozen.list = frozen.list end)
  store:write(function()
    local list = b.list
    store:delete(b)
    fails("invalid_object", function() b.list = list end)
  end)
end)

scenario("a token that is collected is explained once", function()
  store:objects("Dog"):observe(function() end, { name = "lost" })
  store:objects("Dog"):observe(function() end)
  collectgarbage() collectgarbage()
  local token = store:objects("Dog"):observe(function() end)
  token:invalidate()
  token = nil
  collectgarbage() collectgarbage()
  local hints = reports()
  assert(#hints == 1 and hints[1].message:find("its token was garbage-collected", 1, true))
end)

scenario("queued writes run one in a turn, in order, and wait for an open write", function()
  local order = {}
  store:begin_write()
  for i = 1, 3 do
    store:write_async(function()
      order[#order + 1] = i
      if i == 2 then error("second") end
      store:create("Toy", { "toy" .. i, i })
    end, function(err) order[#order + 1] = "failed" end)
  end
  turn()
  equal(#order, 0)
  store:cancel_write()
  turn()
  equal(order, { 1, 2, "failed", 3 })
  assert(#store:objects("Toy") == 2 and not store.is_in_write)
end)

scenario("a queued write whose store is closed first receives the error", function()
  local other = moonpool.open { in_memory = unique "other", schema = { Toy = { label = "string" } } }
  local ran, why
  other:write_async(function() ran = true end, function(err) why = err.code end)
  other:close()
  turn()
  assert(not ran and why == "closed")
end)

for what, classes in pairs {
  removed = { Dog = { id = "int primary" }, Toy = { label = "string" } },
  ["of another type"] = {
    Dog = { id = "int primary", kind = "int", marks = "string[]", tags = "int<>", ages = "string{}", toys = "Dog[]",
            best = "Dog{}" },
  },
} do
  scenario("a collection whose property is " .. what .. " is reported once, and its token ends", {
    Toy = { label = "string" },
    Dog = { id = "int primary", kind = "string", marks = "int[]", tags = "string<>", ages = "int{}", toys = "Toy[]",
            best = "Toy{}" },
  }, function()
        local rex = store:write(function()
        local toy = store:create("Toy", { label = "ball" })
        return store:create("Dog", { id = 1, kind = "k", marks = { 1, 2 }, tags = { "a" }, ages = { x = 1 },
                                     toys = { toy }, best = { z = toy } })
    end)
    local names = { "marks", "tags", "ages", "toys", "best" }
    local all = { over = rex.marks:where "self > 1", kinds = store:objects("Dog"):group_by "kind",
                  labels = rex.toys:where "label != 'x'" }
    for _, name in ipairs(names) do all[name] = rex[name] end
    local tokens, received = {}, {}
    for name, collection in pairs(all) do
        tokens[name] = collection:observe(function(change)
            if change.type ~= "initial" then
                received[name] = (received[name] or "") .. change.type .. " " .. tostring(change.error and change.error.code)
            end
        end)
    end
    local whole = store:objects("Dog"):observe(function() end)
    turn()
    store:define(classes, { force = true })
    turn()
    for name, token in pairs(tokens) do
        assert(received[name] == "error schema_changed", name .. " " .. tostring(received[name]))
        assert(not token.is_valid, name)
    end
    assert(whole.is_valid)
    for name, collection in pairs(all) do
        if name ~= "kinds" then
            assert(not collection:is_valid(), name)
            fails("unknown_property", function() return #collection end)
        end
    end
    equal(#reports(), 8)
  end)
end
