-- Rules for the values of properties.

local plain = {
  { "id", "int primary" }, { "age", "int?" }, { "chip", "string?" }, { "kind", "string" }, { "marks", "double[]" },
}

schema {
  Dog = {
    { "id", "int primary" }, { "age", { type = "int?", min = 0, max = 40 } }, { "chip", { type = "string?", unique = true } },
    { "kind", { type = "string", enum = { "", "pug" } } }, { "marks", { type = "double[]", max = 10 } },
  },
}

local function add(id, values)
  local all = { id = id, kind = "" }
  for key, value in pairs(values or {}) do all[key] = value end
  return store:create("Dog", all)
end

for number, case in ipairs {
  { "age", -3, "invalid_value: 'Dog.age' is -3 (id = 2); the minimum is 0" },
  { "age", 41, "invalid_value: 'Dog.age' is 41 (id = 2); the maximum is 40" },
  { "kind", "cat", [[invalid_value: 'Dog.kind' is "cat" (id = 2); the allowed values are "", "pug"]] },
  { "marks", { 1, 11 }, "invalid_value: 'Dog.marks' contains 11.0 (id = 2); the maximum is 10.0" },
  { "chip", "a", [[duplicate_key: chip = "a" (id = 1 and id = 2), and 'Dog.chip' is unique]] },
} do
  scenario("a commit with an invalid value is refused with object, value and rule: " .. number, function()
    store:write(function() add(1, { chip = "a" }) end)
    fails(case[3], store.write, store, function()
      add(2)
      store:object("Dog", 2)[case[1]] = case[2]
    end)
    assert(#store:objects "Dog" == 1 and not store.is_in_write)
    fails(case[3], store.write, store, function()
      store:savepoint(function() add(2, { [case[1]] = case[2] }) end)
    end)
    assert(#store:objects "Dog" == 1 and not store.is_in_write)
  end)
end

scenario("a write can pass through invalid values, and nil passes every rule", function()
  store:write(function()
    local one = add(1, { chip = "a", age = -1 })
    add(2, { chip = "a" })
    add(3)
    add(4)
    one.age = 0
    one.chip = "b"
    store:delete(add(5, { age = 99 }))
  end)
  assert(#store:objects "Dog" == 4 and #store:objects("Dog"):where "chip == 'a'" == 1)
end)

scenario("a rule of a float has single precision", { A = { weight = { type = "float", enum = { 0.1, 0.3 }, max = 0.3 } } },
  function()
    for _, value in ipairs { 0.1, 0.3 } do store:write(function() store:create("A", { weight = value }) end) end
    fails("invalid_value", store.write, store, function() store:create("A", { weight = 0.2 }) end)
  end)

for type, values in pairs {
  double = { 0.1, -0.0, 0 / 0 }, float = { 0.5, math.huge }, decimal = { moonpool.decimal "1.50", moonpool.decimal "NaN" },
  data = { moonpool.data "\1\0", moonpool.data "" }, bool = { true }, date = { moonpool.date(0.000001) }, string = { "é" },
} do
  scenario("values can be unique: " .. type, { A = { v = { type = type .. "?", unique = true } } }, function()
    for _, count in ipairs { 1, 20 } do
      local function create(value)
        for _ = 2, count do store:create("A", {}) end
        store:create("A", { v = value })
      end
      for _, value in ipairs(values) do
        if count == 1 then store:write(function() create(value) end) end
        fails("duplicate_key: 'A.v' is unique", store.write, store, function() create(value) end)
      end
    end
    equal(#store:objects "A", #values)
    if type == "double" then
      fails("duplicate_key", store.write, store, function() store:create("A", { v = 0.0 }) end)
    end
  end)
end

scenario("links can be unique", {
  Guest = { seat = { type = "Seat", unique = true } }, Seat = { number = "int" },
}, function()
  local seats = {}
  store:write(function() for n = 1, 2 do seats[n] = store:create("Seat", { number = n }) end end)
  local function sit(seat) return store:write(function() return store:create("Guest", { seat = seat or moonpool.null }) end) end
  sit(seats[1])
  sit(seats[2])
  sit()
  sit()
  fails("duplicate_key: 'Guest.seat' is unique", sit, seats[2])
  store:write(function() store:delete(seats[2]) end)
  equal(#store:objects "Guest", 4)
end)

scenario("list edits and large writes are checked", function()
  store:write(function() for id = 1, 3 do add(id) end end)
  local list = store:object("Dog", 1).marks
  fails("invalid_value", store.write, store, function() list:append(11) end)
  store:write(function() list:append(10) end)
  fails("invalid_value", store.write, store, function() list[1] = 12 end)
  equal(list, { 10 })
  fails("duplicate_key: 'Dog.chip' is unique", store.write, store, function()
    for id = 10, 5000 do add(id, { chip = tostring(id % 4900) }) end
  end)
  fails("invalid_value: 'Dog.age' breaks its rules in 11 objects: -10 (id = 10), -11 (id = 11), -12 (id = 12), "
    .. "-13 (id = 13), -14 (id = 14), …; the minimum is 0", store.write, store, function()
    for id = 10, 20 do add(id, { age = -id }) end
  end)
end)

scenario("rules are removed with the schema, and a migration can correct the values before a new rule applies", function()
  local ruled = store:schema("Dog", { ordered = true })
  store:define({ Dog = plain }, { force = true })
  store:write(function() add(1, { age = -1 }) end)
  fails("invalid_value", store.define, store, { Dog = ruled })
  store:define({ Dog = ruled }, function(m) m:each("Dog", function(_, new) new.age = 3 end) end)
  equal(#store:objects("Dog"):where "age == 3", 1)
end)

scenario("unique values are found through their index", function()
  assert(store:objects("Dog"):where("chip == 'a'"):explain():find("index", 1, true))
end)

scenario("rules that do not fit the property are refused", function()
  for number, case in ipairs {
    { "int?", { pattern = "a" } }, { "int?", { owns = true } }, { "int primary", { unique = true } },
    { "double[]", { unique = true } }, { "int?", { min = "a" } }, { "int?", { min = moonpool.null } },
    { "string", { min = "a" } }, { "int?", { min = 3, max = 2 } }, { "int?", { enum = { "a" } } },
    { "string", { pattern = "[a" } }, { "string", { pattern = "(a" } }, { "string", { pattern = "%1" } },
  } do
    case[2].type = case[1]
    equal({ number, code(store.define, store, { Cat = { v = case[2] } }) }, { number, "invalid_schema" })
  end
end)

for _, case in ipairs {
  { "^%a+$", { "abc" }, { "", "a1", " a" } }, { "%d", { "a1", "1" }, { "a", "" } },
  { "^[%w_.-]+@%w+%.com$", { "a.b-c@d1.com" }, { "a@b.org", "@b.com" } }, { "^a-b$", { "b", "aaab" }, { "a", "ba" } },
  { "^a?b?$", { "", "a", "ab" }, { "ba", "aa" } }, { "^[^%s]*$", { "", "ä" }, { "a b" } }, { "^[]x]+$", { "]x" }, { "y" } },
  { "^%b()$", { "(a(b))" }, { "(a", "(a)b" } }, { "%f[%u]%u%l", { "a Bc" }, { "ABc" } }, { "^(a)(b)$", { "ab" }, { "a" } },
  { "^x$$", { "x$" }, { "x" } }, { "^.%.?$", { "a", "a." }, { "ab" } }, { "%S%D%A%P", { "a!!a" }, { "a b" } },
  { "^%x%x$", { "Af" }, { "ag" } }, { "^[a-cx-]+$", { "abcx-" }, { "d" } }, { "^%%$", { "%" }, { "a" } },
  { "^$", { "" }, { "a" } }, { "", { "", "a" }, {} },
} do
  local pattern, right, wrong = table.unpack(case)
  scenario("a pattern matches as in Lua: " .. pattern, { Text = { text = { type = "string", pattern = pattern } } }, function()
    local function create(text) store:write(function() store:create("Text", { text }) end) end
    for _, text in ipairs(right) do
      assert(text:find(pattern))
      create(text)
    end
    for _, text in ipairs(wrong) do
      assert(not text:find(pattern))
      fails("invalid_value", create, text)
    end
    equal(#store:objects "Text", #right)
  end)
end
