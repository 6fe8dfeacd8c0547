-- `object:project` and `results:project`.

schema {
  Dog = { id = "int primary", name = "string", age = "int?", owner = "Person", toys = "Toy[]",
    marks = "int[]", tags = "string<>", notes = "string{}", extra = "mixed" },
  Person = { name = "string primary", address = "Address", dogs = "backlinks Dog.owner", boss = "Person" },
  Address = { embedded = true, city = "string?" },
  Toy = { name = "string" },
}

local ann, rex, max, dogs

local function write(f) store:write(f) store:refresh() end

before(function()
  ann, rex, max = store:write(function()
    local ann = store:create("Person", { name = "Ann", address = { city = "Ulm" } })
    local rex = store:create("Dog", { id = 1, name = "Rex", age = 7, owner = ann, marks = { 3, 1 },
      tags = { "b", "a" }, notes = { food = "fish" }, toys = { { name = "ball" }, { name = "bone" } } })
    return ann, rex, store:create("Dog", { id = 2, name = "Max" })
  end)
  dogs = store:objects "Dog"
end)

scenario("a projection reads links, elements, keys, counts and collections live", function()
  local card = rex:project { name = "name", city = "owner.address.city", first = "toys[1].name",
    last = "toys[last].name", third = "toys[3].name", names = "toys.name", toys = "toys.@count",
    food = "notes['food']", none = "notes['none']", marks = "marks", tag = "tags[first]", owner = "owner",
    siblings = "owner.dogs", sibling = "owner.dogs[1].id", boss = "owner.boss.name" }
  assert(card.name == "Rex" and card.city == "Ulm" and card.first == "ball" and card.last == "bone")
  assert(card.third == nil and card.toys == 2 and card.food == "fish" and card.none == nil)
  assert(table.concat(card.names, " ") == "ball bone" and card.tag == "a" and card.owner == ann)
  assert(#card.marks == 2 and #card.siblings == 1 and card.sibling == 1 and card.boss == nil)
  write(function() ann.address.city = "Bonn" rex.toys:remove(1) card.marks:append(9) rex.name = "R" end)
  assert(card.city == "Bonn" and card.first == "bone" and #card.marks == 3 and card.name == "R")
  local other = max:project { city = "owner.address.city", toys = "owner.dogs.@count", names = "toys.name" }
  assert(other.city == nil and #other.names == 0 and other.toys == 0)
end)

scenario("paths that do not fit the schema are refused with their reason", function()
  local function fails(path, code, text)
    local ok, err = pcall(rex.project, rex, { x = path })
    assert(not ok and err.code == code and err.message:find(text, 1, true), path .. ": " .. tostring(err))
    local ok, other = pcall(dogs.project, dogs, { x = path })
    assert(not ok and other.code == code)
  end
  fails("nam", "unknown_property", "did you mean 'name'?")
  fails("owner.adress.city", "unknown_property", "did you mean 'address'?")
  fails("name.length", "invalid_query", "'name', which is not a link")
  fails("name[1]", "invalid_query", "is string, not a list")
  fails("toys[0].name", "invalid_query", "counted from 1")
  fails("toys['a']", "invalid_query", "use an index from 1")
  fails("notes[1]", "invalid_query", "use a key")
  fails("toys[1.name", "invalid_query", "")
  fails("", "invalid_query", "empty")
  fails("owner..name", "invalid_query", "empty")
  for _, wrong in ipairs { {}, { 1 }, { x = 1 }, { observe = "name" }, { [""] = "name" }, "name" } do
    assert(not pcall(rex.project, rex, wrong))
  end
  local card = rex:project { city = "owner.address.city" }
  local ok, err = pcall(function() return card.cty end)
  assert(not ok and err.code == "unknown_property" and err.message:find "did you mean 'city'?", err)
end)

scenario("assignment changes properties of the object and refuses other paths", function()
  local card = rex:project { title = "name", years = "age", city = "owner.address.city", first = "toys[1].name",
    owner = "owner", marks = "marks", count = "toys.@count", dogs = "owner.dogs" }
  local ok, err = pcall(function() card.title = "x" end)
  assert(not ok and err.code == "not_in_write")
  write(function() card.title = "Rexy" card.years = nil card.owner = nil card.marks = { 5 } end)
  assert(rex.name == "Rexy" and rex.age == nil and rex.owner == nil and rex.marks[1] == 5)
  write(function() card.owner = ann end)
  local function refused(name, text)
    local ok, err = pcall(store.write, store, function() card[name] = 1 end)
    assert(not ok and err.code == "invalid_argument" and err.message:find(text, 1, true), tostring(err))
  end
  refused("city", "'city' of the Address: root().owner.address.city")
  refused("first", "'name' of the Toy: root().toys[1].name")
  refused("count", 'what determines root():get("toys.@count")')
  refused("dogs", "Person \"Ann\"")
  ok, err = pcall(store.write, store, function() card.years = "old" end)
  assert(not ok and err.code == "type_mismatch")
  ok, err = pcall(store.write, store, function() card.nothing = 1 end)
  assert(not ok and err.code == "unknown_property")
end)

scenario("a projection prints, compares, iterates and becomes a table", function()
  local shape = { name = "name", names = "toys.name", city = "owner.address.city" }
  local card = rex:project(shape)
  assert(tostring(card):find('projection of Dog { city = "Ulm", name = "Rex"', 1, true), tostring(card))
  local seen = {}
  for key, value in pairs(card) do seen[#seen + 1] = key end
  equal(table.concat(seen, " "), "city name names")
  local copy = card:to_table()
  assert(copy.city == "Ulm" and copy.names[2] == "bone")
  local cards = dogs:project(shape)
  assert(#cards == 2 and cards[1] == cards:first() and cards[1] ~= cards:last() and cards[3] == nil)
  assert(cards[1].city == "Ulm" and cards:to_table()[2].name == "Max" and cards:count() == 2)
  assert(moonpool.json.encode(cards[1]):find '"city":"Ulm"')
  assert(cards[1]:root() == rex and cards:root() ~= nil)
  assert(#cards:where("age > 3") == 1 and cards:sorted("name")[1].name == "Max" and #cards:limit(1) == 1)
  write(function() store:delete(max) end)
  equal(#cards, 1)
  local gone = rex:project(shape)
  write(function() store:delete(rex) end)
  assert(not gone:is_valid() and tostring(gone) == "projection of Dog (deleted)")
  local ok, err = pcall(function() return gone.name end)
  assert(not ok and err.code == "invalid_object")
end)

scenario("frozen projections keep their values", function()
  local card, cards = rex:project { name = "name", city = "owner.address.city" }, dogs:project { n = "name" }
  local frozen, all = card:freeze(), cards:freeze()
  write(function() rex.name = "New" ann.address.city = "Bonn" end)
  assert(frozen.name == "Rex" and frozen.city == "Ulm" and all[1].n == "Rex" and frozen:is_frozen())
  assert(frozen:thaw().name == "New" and not card:is_frozen())
  local ok, err = pcall(store.write, store, function() frozen.name = "x" end)
  assert(not ok and err.code == "frozen")
  assert(not pcall(frozen.observe, frozen, print))
end)

scenario("an observer of a projection is called only for its values", function()
  local card = rex:project { name = "name", city = "owner.address.city", first = "toys[1].name", n = "toys.@count" }
  local log = {}
  local token <close> = card:observe(function(change)
    for _, p in ipairs(change.properties) do
      log[#log + 1] = p.name .. ":" .. tostring(p.old) .. ">" .. tostring(p.new)
    end
    if change.type ~= "change" then log[#log + 1] = change.type end
    equal(change.object, card)
  end)
  local function changes(f) log = {} write(f) return table.concat(log, " ") end
  local function is(expected, f) local got = changes(f) equal(got, expected) end
  is("", function() rex.age = 8 max.name = "x" end)
  is("name:Rex>R", function() rex.name = "R" end)
  is("", function() rex.name = "R" end)
  is("city:Ulm>Bonn", function() ann.address.city = "Bonn" end)
  is("", function() rex.toys[2].name = "stick" end)
  is("first:ball>rope", function() rex.toys[1].name = "rope" end)
  is("first:rope>stick", function() rex.toys:move(2, 1) end)
  is("n:2>3", function() rex.toys:append { name = "new" } end)
  is("city:Bonn>nil", function() rex.owner = nil end)
  is("deleted", function() store:delete(rex) end)
end)

scenario("keypaths of an observer are projected names", function()
  local cards, log = dogs:project { title = "name", years = "age" }, {}
  local ok, err = pcall(cards.observe, cards, print, { keypaths = { "name" } })
  assert(not ok and err.code == "unknown_property", tostring(err))
  local token <close> = cards:observe(function(c)
    for i in ipairs(c.modifications) do log[#log + 1] = c:properties(i)[1].name end
  end, { keypaths = { "years" } })
  local one <close> = rex:project { title = "name", years = "age" }:observe(function(c)
    log[#log + 1] = "one " .. c.properties[1].name
  end, { keypaths = { "title" } })
  store:refresh()
  write(function() rex.name = "x" end)
  write(function() rex.age = 1 end)
  equal(table.concat(log, " "), "one title years")
end)

scenario("projected results report exact changes with projected names", function()
  local cards = dogs:where("age == nil or age < 10"):sorted("id")
    :project { name = "name", first = "toys[1].name", city = "owner.address.city" }
  local changes = {}
  local token <close> = cards:observe(function(c)
    local change = { type = c.type, deletions = #c.deletions, insertions = #c.insertions,
      rows = table.concat(c.modifications, ","), deleted = {}, inserted = {}, properties = {} }
    for _, card in ipairs(c:deleted()) do change.deleted[#change.deleted + 1] = card.name .. tostring(card.city) end
    for _, card in ipairs(c:inserted()) do change.inserted[#change.inserted + 1] = card.name end
    for i, card in ipairs(c:modified()) do
      for _, p in ipairs(c:properties(i)) do
        change.properties[#change.properties + 1] = p.name .. ":" .. tostring(p.old) .. ">" .. tostring(p.new)
      end
    end
    assert(not pcall(c.properties, c, #c.modifications + 1))
    equal(c.collection[1], cards[1])
    changes[#changes + 1] = change
  end)
  store:refresh()
  assert(#changes == 1 and changes[1].type == "initial")
  local function last(f) local before = #changes write(f) return changes[before + 1] end
  equal(last(function() rex.marks = {} rex.toys[2].name = "x" end), nil)
  local c = last(function() ann.address.city = "Bonn" max.name = "Maxi" end)
  assert(c.rows == "1,2" and table.concat(c.properties, " ") == "city:Ulm>Bonn name:Max>Maxi")
  c = last(function() rex.toys[2].name = "y" max.name = "M" end)
  assert(c.rows == "2" and table.concat(c.properties, " ") == "name:Maxi>M")
  c = last(function() store:create("Dog", { id = 0, name = "Zero" }) end)
  assert(c.insertions == 1 and c.inserted[1] == "Zero")
  c = last(function() rex.age = 99 end)
  assert(c.deletions == 1 and c.deleted[1] == "RexBonn", c.deleted[1])
  c = last(function() rex.age = 1 rex.name = "Back" store:delete(store:object("Dog", 0)) end)
  assert(c.insertions == 1 and c.deletions == 1)
end)

scenario("the deleted objects of a change are projections with their last values", function()
  local seen
  local cards = dogs:project { name = "name", city = "owner.address.city", first = "toys[1].name" }
  local token <close> = cards:observe(function(c) for _, card in ipairs(c:deleted()) do seen = card:to_table() end end)
  store:refresh()
  write(function() rex.name = "Last" end)
  write(function() store:delete(rex.toys) store:delete(rex) store:delete(ann) end)
  assert(seen.name == "Last" and seen.city == "Ulm" and seen.first == "ball")
end)

scenario("an effect follows the values of a projection", function()
  local card, seen = rex:project { city = "owner.address.city", first = "toys[1].name" }, {}
  local effect <close> = moonpool.effect(function() seen[#seen + 1] = card.city .. card.first end)
  write(function() ann.address.city = "Bonn" end)
  write(function() rex.toys[1].name = "rope" end)
  write(function() rex.age = 1 end)
  equal(table.concat(seen, " "), "Ulmball Bonnball Bonnrope")
end)

except(sweep)

scenario("the changes of random writes agree with the values", function()
  local cards = dogs:sorted("id"):project { name = "name", city = "owner.address.city", first = "toys[1].name",
    names = "toys.name" }
  local function snapshot() local t = {} for i, row in ipairs(cards:to_table()) do
    t[i] = moonpool.json.encode { row.name or "", row.city or "", row.first or "", row.names } end return t end
  local model
  local token <close> = cards:observe(function(c)
    if c.type == "initial" then model = snapshot() return end
    for i = #c.deletions, 1, -1 do table.remove(model, c.deletions[i]) end
    local now = snapshot()
    for _, i in ipairs(c.insertions) do table.insert(model, i, now[i]) end
    for _, i in ipairs(c.modifications_new) do
      assert(model[i] ~= now[i], "a row without a difference is reported")
      model[i] = now[i]
    end
  end)
  store:refresh()
  math.randomseed(7)
  for round = 1, 300 do
    write(function()
      for _ = 1, math.random(3) do
        local dog = dogs[math.random(math.max(1, #dogs))]
        local what = math.random(7)
        if what == 1 or not dog then store:create("Dog", { id = round * 10 + math.random(0, 9), name = "n" }, "all")
        elseif what == 2 and #dogs > 3 then store:delete(dog)
        elseif what == 3 then dog.name = "n" .. math.random(3)
        elseif what == 4 then dog.owner = math.random(2) == 1 and ann or nil
        elseif what == 5 then ann.address.city = "c" .. math.random(2)
        elseif what == 6 then dog.toys:append { name = "t" .. math.random(3) }
        elseif #dog.toys > 0 then dog.toys[math.random(#dog.toys)].name = "t" .. math.random(3) end
      end
    end)
    local now = snapshot()
    equal(#now, #model)
    for i = 1, #now do assert(now[i] == model[i], round .. ": " .. now[i] .. " " .. model[i]) end
  end
end)
