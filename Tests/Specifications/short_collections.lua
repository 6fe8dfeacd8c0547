-- Lists, sets and maps that are created with their object are the same as those that are filled afterward.

schema {
  Owner = { id = "int primary", ints = "int[]", doubles = "double[]", bools = "bool[]", texts = "string[]",
    dates = "date[]", data = "data[]", maybe = "string?[]", mixed = "mixed[]", friends = "Owner[]",
    tags = "string<>", ints_set = "int<>", doubles_set = "double<>", dates_set = "date<>", pals = "Owner<>",
    maybe_set = "string?<>", marks = "int{}", notes = "string{}", rates = "double{}", homes = "Owner{}",
    maybe_notes = "string?{}", any = "mixed{}", count = { type = "int", default = 3 } },
}

local number

local function create(values)
  number = number + 1
  values.id = number
  local owner
  store:write(function() owner = store:create("Owner", values) end)
  return owner
end

local function refused(code, values)
  local count = #store:objects "Owner"
  local ok, err = pcall(create, values)
  assert(not ok and err.code == code, tostring(err))
  equal(#store:objects "Owner", count)
end

before(function()
  number = 0
end)

scenario("arrays of each type give the elements that append gives", function()
  local function long(element) local all = {} for i = 1, 300 do all[i] = element end return all end
  local one, two = create {}, create {}
  local is_set = { tags = true, ints_set = true, doubles_set = true, dates_set = true, pals = true, maybe_set = true }
  local cases = {
    ints = { {}, { 1 }, { 1, -5, math.maxinteger, math.mininteger }, long(7) },
    doubles = { { 1, 2.5 }, { 0/0, 1/0, -0.0 }, long(0.5) },
    bools = { { true, false, true } },
    texts = { { "" }, { "red", "grün" }, { ("x"):rep(300) }, long("same"), { "a", "a" } },
    dates = { { moonpool.date(0), moonpool.date(86400.5) } },
    data = { { "\0\1", "bytes \255" } },
    maybe = { { "a", moonpool.null, "b" } },
    mixed = { { 1, "two", { 3 }, one } },
    friends = { { one, two, one }, {} },
    tags = { { "b", "a", "b" }, { "z", "", "é", "e", "a" }, { ("y"):rep(300), "x" }, {} },
    ints_set = { { 3, 1, 2, 1, -4, math.mininteger }, { 5 } },
    doubles_set = { { 2.5, 0/0, -0.0, 0.0, 1, 0/0, -1/0 } },
    dates_set = { { moonpool.date(5), moonpool.date(-5), moonpool.date(5) } },
    pals = { { two, one, two }, {} },
    maybe_set = { { "b", moonpool.null, "a", moonpool.null } },
  }
  for name, lists in pairs(cases) do
    for _, list in ipairs(lists) do
      local made, filled = create { [name] = list }, create {}
      store:write(function()
        local collection = filled[name]
        for _, element in ipairs(list) do
          if is_set[name] then collection:add(element) else collection:append(element) end
        end
      end)
      assert(#made[name] == #filled[name], name)
      for i = 1, #made[name] do
        local a, b = made[name][i], filled[name][i]
        assert(a == b or a ~= a and b ~= b or name == "mixed", name .. " " .. i)
      end
      assert(made.count == 3 and #made.marks == 0)
    end
  end
  assert(#store:objects("Owner"):where("friends.@count > 0") > 0)
  assert(#one.friends == 0 and #store:objects("Owner"):where("ANY friends.id == $1", one.id) == 2)
end)

scenario("tables of each type give the entries that assignment gives", function()
  local one, two = create {}, create {}
  local many = {}
  for i = 1, 200 do many["key " .. i] = i end
  local cases = {
    marks = { {}, { b = 2, a = 1 }, { [""] = 0, ["é"] = 1, e = 2, z = math.mininteger }, many },
    notes = { { x = "", y = ("long"):rep(100) }, { [("key"):rep(100)] = "v" }, { ["$date"] = "text" } },
    rates = { { a = 1, b = 2.5, c = 0/0 } },
    homes = { { one = one, two = two, again = one } },
    maybe_notes = { { a = moonpool.null, b = "b" } },
    any = { { a = 1, b = "two", c = { 3 }, d = one } },
  }
  for name, tables in pairs(cases) do
    for _, entries in ipairs(tables) do
      local made, filled = create { [name] = entries }, create {}
      store:write(function() for key, value in pairs(entries) do filled[name][key] = value end end)
      assert(#made[name] == #filled[name], name)
      local keys = {}
      for key in pairs(made[name]) do keys[#keys + 1] = key end
      local position = 0
      for key, b in pairs(filled[name]) do
        position = position + 1
        local a = made[name][key]
        assert(keys[position] == key, name .. " " .. key)
        assert(a == b or a ~= a and b ~= b or name == "any", name .. " " .. key)
      end
      equal(position, #keys)
    end
  end
  assert(#store:objects("Owner"):where("marks.a == 1") == 2 and #store:objects("Owner"):where("ANY homes.id == $1", one.id) == 2)
  store:write(function() store:delete(one) end)
  assert(#store:objects("Owner"):where("homes.@count == 3") == 2, "the keys of deleted objects stay")
end)

scenario("other tables than arrays of the right elements are refused, and leave no object", function()
  refused("type_mismatch", { ints = { "1" } })
  refused("type_mismatch", { ints = { 1, 2.5 } })
  refused("type_mismatch", { texts = { "a", 1 } })
  refused("type_mismatch", { texts = { a = 1 } })
  refused("type_mismatch", { texts = "a" })
  refused("type_mismatch", { texts = { "a\xff" } })
  refused("type_mismatch", { friends = { 1 } })
  refused("type_mismatch", { tags = { a = 1 } })
  refused("type_mismatch", { ints_set = { 1, "a" } })
  refused("type_mismatch", { marks = { 1, 2 } })
  refused("type_mismatch", { marks = { a = 1, b = "2" } })
  refused("type_mismatch", { marks = { a = 1, [2] = 2 } })
  refused("type_mismatch", { notes = { ["a\xff"] = "b" } })
  local gone = create {}
  store:write(function() store:delete(gone) end)
  refused("invalid_object", { friends = { gone } })
  -- A nested table is another object, as before.
  number = number + 1
  local owner = create { friends = { { id = 1000 }, { id = 1001, ints = { 1, 2 } } } }
  assert(#owner.friends == 2 and owner.friends[2].ints[2] == 2)
  -- A duplicate key is reported, although the lists fit.
  local ok, err = pcall(function() store:write(function()
    store:create("Owner", { id = 1000, ints = { 1 }, texts = { "a" }, friends = { owner } })
  end) end)
  assert(not ok and err.code == "duplicate_key")
  -- An update replaces the lists.
  store:write(function()
    store:create("Owner", { id = 1000, ints = { 5, 6 }, friends = { owner }, tags = { "t", "s" },
      marks = { b = 2, a = 1 } }, "modified")
  end)
  local updated = store:object("Owner", 1000)
  assert(updated.ints[2] == 6 and updated.friends[1] == owner)
  assert(updated.tags[1] == "s" and #updated.tags == 2 and updated.marks.b == 2 and #updated.marks == 2)
end)

scenario("handles of lists follow their object until it is deleted", function()
  local owner = create { ints = { 1, 2 }, texts = { "a" }, doubles = { 1.5 } }
  local ints, texts, doubles = owner.ints, owner.texts, owner.doubles
  assert(ints[1] == 1 and ints[3] == nil and ints[0] == nil and ints[-1] == nil)
  assert(texts[1] == "a" and doubles[1] == 1.5)
  local frozen = ints:freeze()
  store:write(function()
    ints:append(3)
    equal(ints[3], 3)
    for i = 1, 600 do texts:append("text " .. i) end
    assert(texts[601] == "text 600" and texts[1] == "a")
  end)
  assert(ints[3] == 3 and #ints == 3 and frozen[3] == nil and frozen[2] == 2)
  assert(texts[601] == "text 600" and #texts == 601)
  store:write(function() store:delete(owner) end)
  local ok, err = pcall(function() return ints[1] end)
  assert(not ok and err.code == "invalid_object", tostring(err))
  assert(not ints:is_valid() and frozen[1] == 1)
end)
