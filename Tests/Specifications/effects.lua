scenario("An effect runs again once per delivery after a change of a value that it has read", function()
  local rex, max = dog(), dog { id = 2, name = "Max", age = 3 }
  local dogs, seen = store:objects "Dog", {}
  local effect = moonpool.effect(function()
    seen[#seen + 1] = ("%s %s %s"):format(dogs:count(), dogs:sum "age", rex.name)
  end, { name = "summary" })
  equal(seen, { "2 3 Rex" })
  store:write(function() max.age = 4 rex.name = "Rexi" rex.age = 1 end)
  equal(#seen, 1)
  turn()
  equal(seen, { "2 3 Rex", "2 5 Rexi" })
  store:write(function() max.name = "Maxi" max.score = 9 end)
  turn()
  equal(#seen, 2)
  store:write(function() rex.name = rex.name end)
  turn()
  assert(#seen == 2, "an equal value is not a change")
  assert(effect.name == "summary" and effect.is_valid and effect:stats().calls == 2)
  effect:dispose()
  store:write(function() rex.name = "no" end)
  turn()
  assert(#seen == 2 and not effect.is_valid)
end)

scenario("An effect follows what a computed value depends on, also while the value stays equal", function()
  for _, reads in ipairs { "never", "before", "after" } do
    local s <close> = moonpool.open {
      in_memory = unique("follow " .. reads),
      schema = { P = { id = "int primary", i = "int", s = "string" } },
    }
    local other <close> = moonpool.open { in_memory = unique("other " .. reads), schema = { Q = { n = "int" } } }
    local q = other:write(function() return other:create("Q", { n = 1 }) end)
    local one, two = s:write(function()
      return s:create("P", { id = 1, i = 1, s = "b" }), s:create("P", { id = 2, i = 2, s = "b" })
    end)
    local inner = moonpool.computed(function()
      local last = s:objects "P":sorted "i":last()
      return last.id == 1 and one.i > 5 and q.n > 1 and "q" .. q.n or last.s
    end)
    local outer = moonpool.computed(function() return inner() .. "!" end)
    local seen = {}
    local effect <close> = moonpool.effect(function() seen[#seen + 1] = outer() end)
    local function change(store, body, wanted)
      store:write(body)
      if reads == "before" then inner() end
      turn()
      if reads == "after" then outer() end
      assert(seen[#seen] == wanted, reads .. ": " .. seen[#seen] .. ", not " .. wanted)
    end
    change(s, function() one.i = 3 end, "b!")
    change(s, function() one.s = "c" end, "c!")
    change(s, function() one.i = 9 end, "c!")
    change(other, function() q.n = 2 end, "q2!")
    change(s, function() one.i = 0 end, "b!")
    change(s, function() two.s = "d" end, "d!")
    change(s, function() one.s = "x" end, "d!")
    equal(#seen, 5)
  end
end)

scenario("An effect that reads no changeable value ends immediately", function()
  local cleaned
  local effect = moonpool.effect(function() return function() cleaned = true end end)
  assert(not effect.is_valid and cleaned)
end)

scenario("Reads are recorded again with each run", function()
  local rex, max, runs = dog(), dog { id = 2, name = "Max" }, 0
  local effect <close> = moonpool.effect(function()
    runs = runs + 1
    if rex.good then return rex.name end
    local _ = max.name
  end)
  store:write(function() max.name = "a" end) turn()
  equal(runs, 1)
  store:write(function() rex.good = false end) turn()
  equal(runs, 2)
  store:write(function() rex.name = "a" end) turn()
  equal(runs, 2)
  store:write(function() max.name = "b" end) turn()
  equal(runs, 3)
end)

scenario("Conditions that differ only in a value are read separately", function()
  local rex, max, ben = dog { age = 1 }, dog { id = 2, age = 2 }, dog { id = 3, age = 2 }
  local dogs, name, seen = store:objects "Dog", ("a"):rep(50), {}
  store:write(function() rex.name, max.name, ben.name = name .. 1, name .. 2, name .. 2 end)
  local one, two, sections = dogs:where { age = 1 }, dogs:where { age = 2 }, dogs:group_by "name"
  assert(one == dogs:where { age = 1 } and one ~= two and sections[1].objects ~= sections[2].objects)
  local effect <close> = moonpool.effect(function()
    seen[#seen + 1] = ("%d %d %d %d"):format(#one, #two, #sections[1].objects, #sections[2].objects)
  end)
  equal(seen, { "1 2 1 2" })
  store:write(function() max.age = 3 end) turn()
  equal(seen[2], "1 1 1 2")
end)

scenario("Inner effects end before their outer effect runs again", function()
  local rex, max, log = dog { age = 1 }, dog { id = 2, name = "Max" }, {}
  local function note(text) log[#log + 1] = text end
  local outer = moonpool.effect(function()
      note("outer " .. rex.age)
      moonpool.effect(function()
          note("inner " .. max.name .. " " .. rex.age)
          return function() note "inner ends" end
      end)
      return function() note "outer ends" end
  end)
  equal(log, { "outer 1", "inner Max 1" })
  log = {}
  store:write(function() max.name = "Maxi" end) turn()
  equal(log, { "inner ends", "inner Maxi 1" })
  log = {}
  store:write(function() rex.age = 2 end) turn()
  assert(same(log, { "outer ends", "inner ends", "outer 2", "inner Maxi 2" }) or
         same(log, { "inner ends", "outer ends", "outer 2", "inner Maxi 2" }), table.concat(log, ", "))
  log = {}
  outer:dispose()
  store:write(function() rex.age = 3 max.name = "no" end) turn()
  assert(#log == 2, table.concat(log, ", "))
end)

scenario("A computed value is computed once per change of its inputs", function()
  local rex, max, runs, seen = dog { age = 1 }, dog { id = 2, name = "Max", age = 2 }, 0, {}
  local total = moonpool.computed(function() runs = runs + 1 return store:objects("Dog"):sum "age" end)
  local isOdd = moonpool.computed(function() return total() % 2 == 1 end)
  assert(runs == 0 and total() == 3 and total() == 3 and isOdd() and runs == 1)
  local effect <close> = moonpool.effect(function() seen[#seen + 1] = isOdd() end)
  store:write(function() rex.age = 3 end)
  assert(total() == 5 and runs == 2, "up to date before the delivery")
  turn()
  assert(#seen == 1, "the value is the same")
  store:write(function() rex.age = 4 end) turn()
  assert(same(seen, { true, false }) and runs == 3)
  store:write(function() rex.name = "no" end) turn()
  assert(runs == 3 and tostring(total) == "computed (6)")
  assert(store:write(function() rex.age = 10 return total() end) == 12, "inside a write")
  total:dispose()
  equal(total(), 12)
end)

scenario("A computed value repeats its error until its inputs change", function()
  local rex = dog { age = 1 }
  local value = moonpool.computed(function() if rex.age == 1 then error "one" end return rex.age end)
  fails(": one", value)
  store:write(function() rex.age = 2 end)
  equal(value(), 2)
  local own own = moonpool.computed(function() return own() + rex.age end)
  fails(": reads itself", own)
end)

scenario("Errors of the first run are raised, later ones are reported and the effect continues", function()
  local rex, runs = dog { age = 1 }, 0
  fails(": first", moonpool.effect, function() local _ = rex.age error "first" end)
  local effect <close> = moonpool.effect(function() runs = runs + 1 if rex.age == 2 then error "two" end end, { name = "mine" })
  store:write(function() rex.age = 2 end)
  turn()
  local reported = reports()
  assert(#reported == 1 and reported[1].source == "'mine'" and reported[1].message:find "two")
  store:write(function() rex.age = 3 end) turn()
  equal(runs, 3)
end)

scenario("An effect cannot begin inside a write, and options are checked", function()
  local rex = dog()
  fails("already_in_write", function() store:write(function() moonpool.effect(function() return rex.age end) end) end)
  assert(code(moonpool.effect, 5) == "invalid_argument" or message(moonpool.effect, 5):find "function expected")
  fails(": name", moonpool.effect, print, { nam = "x" })
end)

scenario("An effect can write, and effects that trigger each other endlessly are stopped", function()
  local rex = dog { age = 1 }
  local effect = moonpool.effect(function() if rex.age < 5 then store:write(function() rex.age = rex.age + 1 end) end end)
  turn()
  equal(rex.age, 5)
  effect:dispose()
  local endless = moonpool.effect(function()
    local age = rex.age
    store:write(function() rex.age = age + 1 end)
  end)
  local reported
  moonpool.wait_until(function()
    reported = reports()
    return #reported > 0
  end, 60)
  assert(#reported == 1 and reported[1].message:find "100 rounds")
  endless:dispose()
end)

scenario("The error for an endless circle names the handlers, or the lines that registered them", function()
  local rex = dog { age = 1 }
  local function stopped(text)
    local reported
    moonpool.wait_until(function()
      reported = reports()
      return #reported > 0
    end, 60)
    assert(#reported == 1 and reported[1].message:find(text), reported[1].message)
  end
  local function older() local age = rex.age store:write(function() rex.age = age + 1 end) end
  do
    local effect <close> = moonpool.effect(older, { name = "older" })
    stopped "'older' keeps triggering itself"
  end
  do
    local effect <close> = moonpool.effect(older)
    stopped "the effect of .-:%d+ keeps triggering itself"
  end
  local first <close> = rex:observe(function() store:write(function() rex.age = rex.age + 1 end) end,
    { keypaths = "score" })
  local second <close> = rex:observe(function() store:write(function() rex.score = rex.score + 1 end) end,
    { keypaths = "age" })
  store:write(function() rex.score = 1 end)
  stopped "an observer of a 'Dog' at .-:%d+ and an observer of a 'Dog' at .-:%d+ keep triggering each other"
end)

scenario("An effect that begins in the delivery of a write reads the version before it", function()
  local rex, seen = dog { age = 1 }, {}
  local effect <close> = moonpool.effect(function() seen[#seen + 1] = store:objects("Dog"):sum "age" end)
  store:write(function() rex.age = 2 end)
  store:write(function() rex.age = 3 end)
  equal(seen, { 1, 2 })
  turn()
  equal(seen, { 1, 2, 3 })
end)

scenario("Effects follow several stores and end with them", function()
  local other = moonpool.open { in_memory = unique "other", schema = { Toy = { price = "double" } } }
  local toy = other:write(function() return other:create("Toy", { price = 1 }) end)
  local rex, seen = dog { age = 1 }, {}
  local effect = moonpool.effect(function() seen[#seen + 1] = rex.age + toy.price end)
  store:write(function() rex.age = 2 end) turn()
  other:write(function() toy.price = 2 end) turn()
  equal(seen, { 2, 3, 4 })
end)

scenario("Observed aggregates report the new and the old value", function()
  local rex, max, seen = dog { age = 1, breed = "lab" }, dog { id = 2, name = "Max" }, {}
  local dogs = store:objects "Dog"
  local function note(name) return function(new, old) seen[#seen + 1] = name .. " " .. tostring(new) .. " " .. tostring(old) end end
  local a <close> = dogs:observe_aggregate("sum", "age", note "sum", { name = "ages" })
  local b <close> = dogs:observe_aggregate("count", note "count")
  local c <close> = dogs:observe_aggregate("count", "age", note "ages")
  local d <close> = dogs:observe_aggregate("min", "age", note "min")
  local groups = {}
  local e <close> = dogs:group_by("breed"):observe_aggregate("average", "age", function(changed)
    for key, value in pairs(changed) do groups[key] = value end
  end)
  turn()
  equal(seen, { "sum 1 nil", "count 2 nil", "ages 1 nil", "min 1 nil" })
  assert(groups.lab.new == 1 and groups.lab.old == nil and groups.mutt.new == nil)
  seen = {}
  store:write(function() max.age = 3 max.breed = "lab" end) turn()
  equal(seen, { "sum 4 1", "ages 2 1" })
  assert(groups.lab.new == 2 and groups.lab.old == 1)
  assert(a:stats().calls == 2 and a.name == "ages" and a:why().properties[1] == "age")
  fails(": did you mean 'sum'", dogs.observe_aggregate, dogs, "sun", "age", print)
  fails(": needs a property", dogs.observe_aggregate, dogs, "sum", print)
  fails("unknown_property", dogs.observe_aggregate, dogs, "sum", "aeg", print)
  fails(": string", dogs.observe_aggregate, dogs, "sum", "name", print)
  fails("already_in_write", function() store:write(function() dogs:observe_aggregate("count", print) end) end)
  local frozen = dogs:freeze()
  fails("frozen", frozen.observe_aggregate, frozen, "count", print)
end)

-- Returns functions that read an expression and run a statement; both know rex, max and ann.
local function functions(case, rex, max, ann)
  local function make(text) return load("local rex, max, ann = ... return function() " .. text .. " end")(rex, max, ann) end
  return make("return " .. case[1]), make(case[2])
end

for _, case in ipairs {
  { "rex.toys[1].label", "rex.toys[1].label = 'x'" },
  { "#rex.toys", "rex.toys:append { label = 'c', price = 2 }" },
  { "#rex.marks", "rex.marks:append(4)" },
  { "rex.marks[2]", "rex.marks[2] = 7" },
  { "rex.marks:sum()", "rex.marks:append(4)" },
  { "rex.marks:where('SELF > 1'):count()", "rex.marks:append(4)" },
  { "rex.owner.name", "rex.owner = store:create('Person', { name = 'Ben' })" },
  { "#ann.owned", "rex.owner = nil" },
  { "ann.owned[1] and ann.owned[1].id", "store:delete(rex)" },
  { "#ann.dogs", "ann.dogs:append(rex)" },
  { "rex:is_valid()", "store:delete(rex)" },
  { "store:object('Dog', 9) and 1", "store:create('Dog', { id = 9, name = 'n', score = 0, good = true })" },
  { "store:objects('Dog'):where('age > 5')[1] and 1", "rex.age = 6" },
  { "store:objects('Dog'):sorted('score')[1].id", "rex.score = 100" },
  { "store:objects('Dog'):first().id", "store:delete(rex)" },
  { "store:objects('Dog'):last().id", "store:delete(max)" },
  { "store:objects('Dog'):min 'score'", "rex.score = -3" },
  { "store:objects('Dog'):max 'score'", "rex.score = 300" },
  { "store:objects('Dog'):average 'score'", "rex.score = 300" },
  { "store:objects('Dog'):count 'age'", "rex.age = 3" },
  { "store:objects('Dog'):index_of(max)", "store:delete(rex)" },
  { "#store:objects('Dog'):filter(function(d) return d.good end)", "rex.good = false" },
  { "table.concat(store:objects('Dog'):map(function(d) return d.name end))", "rex.name = 'x'" },
  { "table.concat(store:objects('Dog'):group_by('breed'):keys())", "rex.breed = 'pug'" },
  { "#store:objects('Dog'):histogram('score')", "rex.score = 44" },
  { "(function() local n = 0 for d in store:objects('Dog'):each() do n = n + d.score end return n end)()", "rex.score = 5" },
  { "(function() local n = '' for k, v in pairs(rex) do n = n .. k .. tostring(v) end return n end)()", "rex.weight = 5" },
  { "rex:to_table().tag", "rex.tag = moonpool.uuid()" },
  { "tostring(rex)", "rex.name = 'x'" },
  { "rex.notes[1]", "rex.notes:append 'x'" },
} do
  scenario("An effect that reads " .. case[1] .. " runs again after " .. case[2], function()
    local ann = store:write(function() return store:create("Person", { name = "Ann" }) end)
    local rex = dog { toys = { { label = "a", price = 1 }, { label = "b", price = 2 } }, marks = { 3, 1 }, owner = ann }
    local max = dog { id = 2, name = "Max", score = 2 }
    local read, change = functions(case, rex, max, ann)
    local runs = 0
    local effect <close> = moonpool.effect(function() runs = runs + 1 local _ = read() end)
    assert(effect.is_valid, "nothing was tracked")
    turn()
    equal(runs, 1)
    store:write(change)
    turn()
    equal(runs, 2)
  end)
end

for _, case in ipairs {
  { "rex.name", "max.name = 'x'" },
  { "rex.name", "rex.score = 9" },
  { "#store:objects('Dog')", "rex.name = 'x'" },
  { "store:objects('Dog'):sum 'score'", "rex.score, max.score = max.score, rex.score" },
  { "store:objects('Dog'):where('score > 100'):count()", "rex.score = 7" },
  { "store:objects('Dog'):sorted('score')[1].id", "max.score = 4" },
  { "store:object('Dog', 9)", "store:create('Dog', { id = 8, name = 'n', score = 0, good = true })" },
  { "rex:is_valid()", "rex.score = 8" },
  { "moonpool.untracked(function() return rex.name end), max.id", "rex.name = 'x'" },
} do
  scenario("An effect that reads " .. case[1] .. " does not run after " .. case[2], function()
    local rex, max = dog { score = 1 }, dog { id = 2, name = "Max", score = 2 }
    local read, change = functions(case, rex, max)
    local runs = 0
    local effect <close> = moonpool.effect(function() runs = runs + 1 local _ = read() end)
    store:write(change)
    turn()
    equal(runs, 1)
  end)
end

scenario("An effect that failed to read a deleted object runs again when an undo restores the object", function()
  local ann = store:write(function() return store:create("Person", { name = "Ann" }) end)
  local rex = dog { score = 1, marks = { 3 }, owner = ann }
  local marks = rex.marks
  local values, tokens = {}, {}
  for index, read in ipairs {
    function() return rex.score end,
    function() return rex.owner.name end,
    function() return marks[1] end,
    function() return rex.marks:sum() end,
    function() return rex:get "owner.name" end,
    function() return rex:to_table().id end,
  } do
    tokens[2 * index - 1] = moonpool.effect(function() values[2 * index - 1] = select(2, pcall(read)) end)
    local computed = moonpool.computed(function() return select(2, pcall(read)) end)
    tokens[2 * index] = moonpool.effect(function() values[2 * index] = computed() end)
  end
  local before = { table.unpack(values) }
  turn()
  store:write(function() store:delete(rex) end)
  turn()
  for index in ipairs(tokens) do
    equal(values[index].code, "invalid_object")
    assert(tokens[index].is_valid)
  end
  store:undo()
  turn()
  for index, value in ipairs(before) do equal(values[index], value) end
end)

scenario("An effect that failed to read a property that its class does not have runs again when the property is added", function()
  local rex = dog {}
  local value
  local effect <close> = moonpool.effect(function() value = select(2, pcall(function() return rex.chip end)) end)
  assert(effect.is_valid)
  equal(value.code, "unknown_property")
  store:define { Dog = { "...", chip = { type = "string", default = "none" } } }
  turn()
  equal(value, "none")
end)
