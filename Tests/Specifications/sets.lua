-- Sets: their order, their elements, and what they refuse.

schema {
  Owner = {
    id = "int primary", ints = "int<>", numbers = "int?<>", doubles = "double<>", decimals = "decimal<>", any = "mixed<>",
    letters = "string<>", dogs = "Dog<>", map = "int{}",
  },
  Dog = { { "id", "int primary" }, { "age", { type = "int", default = 0 } }, { "owners", "backlinks Owner.dogs" } },
}

local N = moonpool.null
local owner

before(function() owner = store:write(function() return store:create("Owner", { id = 1 }) end) end)

local function new_dog(id) return store:create("Dog", { id = id }) end

-- The elements with their subtypes of numbers, nil as "null".
local function show(set)
  local texts = {}
  for n = 1, #set do texts[n] = set[n] == nil and "null" or tostring(set[n]) end
  return table.concat(texts, " ")
end

scenario("adding an existing element changes nothing, and elements are sorted", function()
  local numbers = owner.numbers
  store:write(function()
    -- A whole number is an int.
    for _, case in ipairs { { 5, true }, { -3, true }, { 5, false }, { N, true }, { 5.0, false } } do
      equal(numbers:add(case[1]), case[2])
    end
  end)
  equal(show(numbers), "null -3 5")
  assert(numbers[1] == nil and numbers[4] == nil and numbers[0] == nil)
  equal(numbers:index_of(5), 3)
  assert(numbers:contains(N) and not numbers:contains "5" and #numbers == 3)
end)

scenario("a set of doubles contains NaN once and first, and the two zeros once", function()
  store:write(function()
    for _, number in ipairs { 1.5, 0 / 0, 0.0, -0.0, 0 / 0, -1 / 0, 1 / 0 } do owner.doubles:add(number) end
  end)
  assert(#owner.doubles == 5 and owner.doubles:contains(0 / 0) and owner.doubles:contains(-0.0))
  assert(owner.doubles[2] == -1 / 0 and owner.doubles:index_of(0 / 0) == 1)
end)

scenario("equal decimals are one element, regardless of trailing zeros", function()
  store:write(function()
    for _, text in ipairs { "12.30", "-1", "12.3", "1e3", "0.1" } do owner.decimals:add(moonpool.decimal(text)) end
    equal(owner.decimals:add(0.1), false)
  end)
  equal(show(owner.decimals), "-1 0.1 12.30 1E+3")
end)

scenario("a set of mixed values is sorted by type, with equal numbers as one element", function()
  store:write(function()
    local any, rex = owner.any, new_dog(1)
    any:form_union { "a", 1, 1.0, rex, N, true, 0.5 }
    equal(show(any), "null true 0.5 1 a " .. tostring(rex))
    fails("type_mismatch", any.add, any, { 1 })
    fails("type_mismatch", any.form_union, any, { { a = 1 } })
    store:delete(rex)
    equal(show(any), "null true 0.5 1 a")
  end)
end)

scenario("an assigned list is sorted without duplicates", function()
  store:write(function()
    local other = store:create("Owner", { id = 2, letters = { "b", "a", "b", "Z" } })
    equal(other.letters, { "Z", "a", "b" })
    other.letters = other.letters
    equal(other.letters, { "Z", "a", "b" })
    other.letters = nil
    equal(#other.letters, 0)
  end)
end)

scenario("an invalid set element is refused and changes nothing", function()
  local ints = owner.ints
  fails("not_in_write", ints.add, ints, 1)
  store:write(function()
    ints:add(1)
    fails("type_mismatch: an element of 'ints' of 'Owner' expects int", ints.add, ints, "x")
    fails('missing_value: declare it "int?<>"', ints.add, ints, N)
    fails("type_mismatch", ints.add, ints, 1.5)
    fails("type_mismatch", ints.form_union, ints, { 7, "x" })
    fails("type_mismatch", ints.union, ints, { "x" })
    fails("type_mismatch", function() owner.ints = 3 end)
    fails("type_mismatch", function() owner.ints = { a = 3 } end)
    fails("type_mismatch", owner.dogs.add, owner.dogs, owner)
    fails("missing_value", owner.dogs.add, owner.dogs, N)
    local rex = new_dog(1)
    store:delete(rex)
    fails("invalid_object", owner.dogs.add, owner.dogs, rex)
    equal(ints, { 1 })
  end)
  local frozen = ints:freeze()
  fails("frozen", frozen.add, frozen, 2)
  store:write(function() store:delete(owner) end)
  assert(not ints:is_valid() and frozen:is_valid())
  equal(frozen, { 1 })
  for _, read in ipairs {
    function() return ints[1] end, function() return #ints end, function() return ints:contains(1) end,
    function() return ints:to_table() end,
  } do
    fails("invalid_object", read)
  end
  store:write(function()
    fails("invalid_object", ints.add, ints, 1)
    fails("invalid_object", ints.clear, ints)
  end)
  store:close()
  fails("closed", function() return #ints end)
end)

scenario("set algebra works in place and as plain values", function()
  store:write(function()
    local set, others, more = owner.ints, { 4, 2, 2, 3.0 }, { 4, 2, 2, 3.0, "x" }
    set:form_union { 3, 1, 2, 3 }
    equal(set:union(others), { 1, 2, 3, 4 })
    equal(set:intersection(more), { 2, 3 })
    equal(set:difference(others), { 1 })
    equal(set:symmetric_difference(others), { 1, 4 })
    assert(not set:is_subset_of(others) and set:is_subset_of { 4, 2, 2, 3.0, 1, N })
    assert(set:is_superset_of { 2 } and not set:is_superset_of { 2, "x" } and set:intersects { 9, 1 })
    set:form_intersection(others)
    equal(set, { 2, 3 })
    set:form_symmetric_difference { 3, 9, 9 }
    equal(set, { 2, 9 })
    set:form_difference { 9, "x" }
    equal(set, { 2 })
    assert(not set:remove(5) and set:remove(2) and #set == 0 and set:is_subset_of {})
  end)
end)

scenario("a deleted object is removed from every set, and backlinks follow sets", function()
  store:write(function()
    local second, dogs = store:create("Owner", { id = 2 }), {}
    for n = 1, 5 do dogs[n] = new_dog(n) end
    owner.dogs:form_union { dogs[5], dogs[4], dogs[3], dogs[2], dogs[1] }
    second.dogs:add(dogs[3])
    equal(owner.dogs, dogs)
    equal(dogs[3].owners, { owner, second })
    store:delete(dogs[3])
    equal(owner.dogs, { dogs[1], dogs[2], dogs[4], dogs[5] })
    assert(#second.dogs == 0 and #owner.dogs:where "TRUEPREDICATE" == 4)
    -- Deleting an owner deletes only the owner.
    store:delete(owner)
    assert(#store:objects "Dog" == 4 and #dogs[1].owners == 0)
  end)
end)

scenario("nested values create the objects of a set", function()
  store:write(function()
    local other = store:create("Owner", { id = 2, dogs = { { id = 7 }, { 3, 4 } } })
    equal(#other.dogs, 2)
    other.dogs:add { id = 9 }
    equal(#store:objects "Dog", 3)
  end)
end)
