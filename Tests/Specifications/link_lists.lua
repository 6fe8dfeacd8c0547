schema {
  Dog = { id = "int primary", friends = "Dog[]", houses = "House[]", liked = "backlinks Dog.friends" },
  House = { id = "int primary" },
}

local dogs, rex

local function write(f) return store:write(f) end

before(function()
  dogs = {}
  write(function() for i = 1, 2000 do dogs[i] = store:create("Dog", { id = i }) end end)
  rex = dogs[1]
end)

scenario("arrays of objects of any length become lists of links, in order and with repetitions", function()
  for _, length in ipairs { 1, 15, 16, 17, 0, 300, 2000, 2 } do
    local given = {}
    for i = 1, length do given[i] = dogs[i % 7 == 0 and 7 or i] end
    write(function()
      rex.friends = given
      equal(#rex.friends, length)
      rex.friends = given
    end)
    equal(#rex.friends, length)
    local liked = {}
    for i = 1, length do
      equal(rex.friends[i], given[i])
      liked[given[i].id] = (liked[given[i].id] or 0) + 1
    end
    for i = 1, 2000 do equal(#dogs[i].liked, (liked[i] or 0)) end
  end
  -- Elements outside the array part of a table, and in any order.
  local given = { [3] = dogs[3], [1] = dogs[1], [2] = dogs[2] }
  write(function() rex.friends = given end)
  assert(rex.friends[1].id == 1 and rex.friends[2].id == 2 and rex.friends[3].id == 3)
end)

scenario("a value that is not an array of such objects is refused, and the list is unchanged", function()
  local gone, house
  write(function()
    rex.friends = { dogs[2], dogs[3] }
    house = store:create("House", { id = 1 })
    gone = store:create("Dog", { id = 3000 })
  end)
  write(function() store:delete(gone) end)
  fails("not_in_write", function() rex.friends = { dogs[2] } end)
  local other = moonpool.open { in_memory = unique "other", schema = { Dog = { id = "int primary" } } }
  local stranger = other:write(function() return other:create("Dog", { id = 1 }) end)
  write(function()
    fails("type_mismatch", function() rex.friends = { house } end)
    fails("type_mismatch", function() rex.friends = { dogs[2], house } end)
    fails("type_mismatch", function() rex.houses = { dogs[2] } end)
    fails("invalid_object", function() rex.friends = { dogs[2], gone } end)
    fails("invalid_object", function() rex.friends = { stranger } end)
    fails("type_mismatch", function() rex.friends = { dogs[2], 3 } end)
    fails("type_mismatch", function() rex.friends = { dogs[2], name = dogs[3] } end)
    fails("type_mismatch", function() rex.friends = { dogs[2], [4] = dogs[3] } end)
    fails("type_mismatch", function() rex.liked = { dogs[2] } end)
    assert(#rex.friends == 2 and rex.friends[2] == dogs[3] and #rex.houses == 0)
    store:delete(rex)
    fails("invalid_object", function() rex.friends = { dogs[2] } end)
  end)
end)

scenario("objects that are deleted one by one leave their long list in any order", function()
  for _, order in ipairs { "forward", "backward", "mixed" } do
    local expected, ids = {}, {}
    write(function()
      rex = store:create("Dog", { id = 10000 }, "modified")
      rex.friends:clear()
      for i = 1, 1200 do
        local id = 10000 + i
        store:create("Dog", { id = id }, "modified")
        ids[i], expected[i] = id, id
      end
      -- Two dogs occur twice.
      expected[#expected + 1], expected[#expected + 2] = 10001, 10700
      for _, id in ipairs(expected) do rex.friends:append(store:object("Dog", id)) end
    end)
    if order == "backward" then table.sort(ids, function(a, b) return a > b end) end
    if order == "mixed" then table.sort(ids, function(a, b) return a * 7919 % 1201 < b * 7919 % 1201 end) end
    local function check()
      equal(#rex.friends, #expected)
      for i, friend in ipairs(rex.friends) do equal(friend.id, expected[i]) end
    end
    write(function()
      for i = 1, 240 do
        store:delete(store:object("Dog", ids[i]))
        for position = #expected, 1, -1 do
          if expected[position] == ids[i] then table.remove(expected, position) end
        end
        if i % 120 == 0 then check() end
      end
    end)
    check()
  end
end)

scenario("backlinks have the count, the first and the last object after each change in a write", function()
  write(function()
    local max = store:create("Dog", { id = 20000 })
    equal(#max.liked, 0)
    assert(max.liked:first() == nil)
    for i = 1, 200 do
      dogs[i].friends = { max, i % 50 == 0 and max or nil }
      equal(#max.liked, i + i // 50)
      assert(max.liked:first() == dogs[1] and max.liked:last() == dogs[i] and max.liked[i // 2 + 1])
      equal(#store:objects "Dog":where("liked.@count > $1", i - 1), 1)
    end
    for i = 1, 200 do
      dogs[i].friends:clear()
      equal(#max.liked, 204 - i - i // 50)
      equal(max.liked:first(), i < 200 and dogs[i + 1] or nil)
    end
  end)
end)
