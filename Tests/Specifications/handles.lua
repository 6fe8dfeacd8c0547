-- Each method that makes sense for several handles exists on all of them.

schema {
  Dog = { id = "int primary", age = "int", owner = "Person" },
  Person = { name = "string primary", list = "Dog[]", set = "Dog<>", map = "Dog{}", marks = "int[]",
    dogs = "backlinks Dog.owner", extra = "mixed" },
}

local ann, dogs, cards

before(function()
  ann = store:write(function()
    local ann = store:create("Person", { name = "Ann", marks = { 3, 1, 2 }, extra = { list = { 3, 1, 2 }, x = 1 } })
    for id = 1, 3 do
      local dog = store:create("Dog", { id = id, age = id, owner = ann })
      ann.list:append(dog) ann.set:add(dog) ann.map["d" .. id] = dog
    end
    return ann
  end)
  dogs = store:objects "Dog"
  cards = dogs:project { age = "age" }
end)

scenario("all live content can be validated, frozen and thawed", function()
  local all = { dogs = dogs, cards = cards, card = cards[1], list = ann.list, set = ann.set, map = ann.map,
    marks = ann.marks, values = ann.marks:where "SELF > 1", sections = dogs:group_by "age",
    mixed = ann.extra, nested = ann.extra.list }
  for name, live in pairs(all) do
    assert(live:is_valid() and not live:is_frozen() and live:thaw() == live, name)
    local frozen = live:freeze()
    assert(frozen:is_valid() and frozen:is_frozen() and frozen:freeze() == frozen, name)
    local thawed = frozen:thaw()
    assert(thawed:is_valid() and not thawed:is_frozen() and tostring(thawed) == tostring(live), name)
  end
end)

scenario("all collections of objects can be refined, summed, grouped and mapped", function()
  for name, objects in pairs { dogs = dogs, cards = cards, list = ann.list, set = ann.set, backlinks = ann.dogs } do
    assert(#objects:where("age > 1") == 2 and objects:sorted("age", "desc")[1].age == 3, name)
    assert(#objects:distinct("owner") == 1 and #objects:limit(2) == 2, name)
    assert(objects:sum "age" == 6 and objects:min "age" == 1 and objects:max "age" == 3, name)
    assert(objects:average "age" == 2 and objects:count() == 3 and #objects:group_by "age" == 3, name)
    assert(#objects:filter(function(o) return o.age ~= 2 end) == 2, name)
    assert(objects:map(function(o) return o.age ~= 2 and o.age or nil end)[2] == moonpool.null, name)
    assert(objects:first().age == 1 and objects:last().age == 3, name)
    local seen
    local token <close> = objects:observe_aggregate("sum", "age", function(new) seen = new end)
    store:refresh()
    assert(seen == 6, name)
  end
end)

scenario("lists of properties and of mixed values have the same positions", function()
  for _, list in ipairs { ann.marks, ann.extra.list } do
    store:write(function()
      list:append(4) list:insert(1, 5) list:move(1, 2) list:swap(1, 2) list:remove(3)
    end)
    equal(table.concat(list:to_table(), " "), "5 3 2 4")
    assert(list:index_of(2) == 3 and list:contains(4) and not list:contains(1))
    store:write(function() list:clear() end)
    equal(#list, 0)
  end
end)

scenario("maps of properties and inside mixed values have the same keys and values", function()
  store:define { Box = { id = "int primary", mixed = "mixed", named = "mixed{}", tags = "int<>" } }
  local content = { a = 1, b = moonpool.null, list = { 1, 2 }, map = { x = 1 }, keys = 3 }
  local box = store:write(function()
    return store:create("Box", { id = 1, mixed = content, named = content })
  end)
  for _, map in ipairs { box.mixed, box.named } do
    equal(map:keys(), { "a", "b", "keys", "list", "map" })
    assert(map:get "keys" == 3 and type(map.keys) == "function" and map.none == nil)
    local values, seen = map:values(), {}
    for key, value in pairs(map) do seen[#seen + 1] = key .. "=" .. tostring(value) end
    equal(table.concat(seen, " "):gsub(" in a mixed value", ""), "a=1 b=nil keys=3 list=list (2) map=map (1)")
    assert(values[1] == 1 and values[2] == moonpool.null and values[3] == 3)
    -- Lists and maps inside are live in every way to reach them.
    store:write(function()
      values[4]:append(3)
      for key, value in pairs(map) do if key == "map" then value.y = 2 end end
    end)
    assert(#map.list == 3 and map.map.y == 2)
    for _, key in ipairs { 1, 1.5, true } do
      fails("type_mismatch", function() return map[key] end)
      fails("type_mismatch", map.get, map, key)
      store:write(function()
        fails("type_mismatch", function() map[key] = 1 end)
        fails("type_mismatch", map.set, map, key, 1)
        fails("type_mismatch", map.remove, map, key)
      end)
    end
    store:write(function()
      fails("invalid_argument", map.set, map, "\xff", 1)
      fails("invalid_argument", function() map.keys = 1 end)
      map.list, map.map, map.b = nil, nil, nil
      assert(map:remove "keys" and not map:remove "keys")
      map.z = 2
      box.tags:form_union(map)
    end)
    equal(map:to_table(), { a = 1, z = 2 })
    equal(box.tags:to_table(), { 1, 2 })
    store:write(function() box.tags:clear() end)
  end
end)
