schema {
  Item = { id = "int primary", price = "decimal", old = "decimal?", all = "decimal[]", whole = "int?", real = "double?" },
}

scenario("decimals are created from texts and numbers, print exactly and calculate", function()
  local d = moonpool.decimal
  assert(tostring(d("12.30")) == "12.30" and d("12.30") == d("12.3") and d("1") ~= d("2"))
  assert(tostring(d("0.1") + d("0.2")) == "0.3" and tostring(d("12.30") * 2) == "24.60")
  assert(tostring(1 - d("0.9")) == "0.1" and tostring(d(0.1) + 0.2) == "0.3")
  equal(tostring(d("1") / 3), "0.3333333333333333333333333333333333")
  assert(tostring(d("7.5") % 2) == "1.5" and tostring(d("-7.5") // 2) == "-4" and tostring(-d("1.0")) == "-1.0")
  assert(d("1") < d("1.5") and d("1") <= 1 and 2 > d("1.9") and not (d("1") > 1))
  assert(d("1e3") == d("1000") and d(d("5")) == d("5"))
  assert(d("2.345"):round(2) == d("2.34") and tostring(d("2"):round(2)) == "2.00" and d("-3"):abs() == d(3))
  assert(d("3.0"):to_number() == 3 and math.type(d("3.0"):to_number()) == "integer" and d("0.5"):to_number() == 0.5)
  equal("a" .. d("1.0") .. "b", "a1.0b")
end)

scenario("NaN, infinity and overflow behave as with numbers", function()
  local d = moonpool.decimal
  local nan, inf = d("NaN"), d("Infinity")
  assert(nan ~= d("NaN") and not (nan < 1) and not (nan > 1) and nan:is_nan() and not nan:is_finite())
  assert(tostring(d("9e6144") * 10) == "Infinity" and inf > 1e308 and not inf:is_finite())
  assert(tostring(d(1) / 0) == "Infinity" and (d(0) / 0):is_nan() and tostring(-inf) == "-Infinity")
  assert(d(1/0) == inf and d(0/0):is_nan())
end)

scenario("an invalid decimal is an error with the solution", function()
  fails(": 12.30", moonpool.decimal, "12,30")
  for _, bad in ipairs { "", "abc", "1e9999", "0x10", true, {} } do
    assert(not pcall(moonpool.decimal, bad))
  end
  assert(not pcall(moonpool.decimal))
  assert(not pcall(function() return moonpool.decimal(1) + "x" end))
  assert(not pcall(function() return moonpool.decimal(1) < "x" end))
  assert(moonpool.decimal(1) ~= moonpool.uuid() and moonpool.decimal(1) ~= 1)
  assert(not pcall(function() moonpool.decimal(1):round(99) end))
end)

scenario("properties, lists, queries and aggregates support decimals", function()
  local d = moonpool.decimal
  store:write(function()
    store:create("Item", { id = 1, price = d("12.30"), all = { d("1.5"), 2 } })
    store:create("Item", { id = 2, price = 0.1 })
    store:create("Item", { id = 3, price = 5, old = d("5.00") })
  end)
  local items = store:objects("Item")
  assert(tostring(items[1].price) == "12.30" and items[1].old == nil and tostring(items[1].all[2]) == "2")
  assert(tostring(items:sum("price")) == "17.40" and items:min("price") == d("0.1"))
  assert(#items:where("price == 12.3") == 1 and #items:where("price > $1", d("0.1")) == 2)
  assert(#items:where { price = 5 } == 1 and #items:where("price == old") == 1)
  assert(tostring(items[1]):find("price = 12.30", 1, true))
  fails("type_mismatch", function() store:write(function() items[1].price = "12" end) end)
  fails("missing_value", function() store:write(function() items[1].price = nil end) end)
  assert(items[1].all:index_of(2) == 2 and items[1].all:contains(d("1.50")))
end)

scenario("decimals keep their places through commits and reopening", function()
  local texts = {
    "12.30", "-0", "1.000000000000000000000000000000000E+6144", "-9.999999999999999999999999999999999E+6144", "1E-6176",
    "NaN", "Infinity", "-Infinity", "0.000",
  }
  local function open() return moonpool.open { path = folder .. "/items", schema = store:schema() } end
  local file = open()
  file:write(function()
    for id, text in ipairs(texts) do
      local number = moonpool.decimal(text)
      file:create("Item", { id = id, price = number, old = number, all = { number } })
    end
  end)
  file:close()
  file = open()
  for id, text in ipairs(texts) do
    local item = file:object("Item", id)
    equal({ tostring(item.price), tostring(item.old), tostring(item.all[1]) }, { text, text, text })
  end
  file:close()
end)

scenario("a decimal property that is added to a class with objects is 0 or nil", function()
  local item = store:write(function() return store:create("Item", { id = 1, price = 1 }) end)
  store:define { Item = { "...", added = "decimal", maybe = "decimal?", any = "mixed" } }
  assert(tostring(item.added) == "0" and item.maybe == nil and item.any == nil)
end)

scenario("numbers become decimals as written, and decimals become numbers if exact", function()
  local d = moonpool.decimal
  store:write(function()
    local item = store:create("Item", { id = 1, price = 0.1, whole = d "12.00", real = d "2.5" })
    assert(item.price == d "0.1" and item.whole == 12 and math.type(item.whole) == "integer" and item.real == 2.5)
    equal(store:create("Item", { id = 2, price = moonpool.float(0.1) }).price, d "0.1")
    for _, wrong in ipairs { "1.5", "1e30", "NaN", "Infinity" } do
      fails("type_mismatch: not a whole number", function() item.whole = d(wrong) end)
    end
    for _, wrong in ipairs { "1.5", true, moonpool.data "a", {}, moonpool.date(1) } do
      fails("type_mismatch", function() item.price = wrong end)
    end
  end)
end)

scenario("predicates calculate with decimals", function()
  store:write(function()
    for id, price in ipairs { "12.30", "-5", "NaN", "9007199254740993" } do
      store:create("Item", { id = id, price = moonpool.decimal(price), whole = id == 4 and 9007199254740993 or nil })
    end
  end)
  local items = store:objects "Item"
  for predicate, id in pairs {
    ["price * 2 == 24.6"] = 1, ["price + 0.7 == 13"] = 1, ["-price == 5"] = 2, ["price == whole"] = 4, ["price == 12.300"] = 1,
  } do
    local found = items:where(predicate)
    equal({ predicate, #found, found:first().id }, { predicate, 1, id })
  end
  fails("invalid_query", function() return #items:where "price == 'a'" end)
  fails("invalid_query", function() return #items:where "price beginswith '1'" end)
end)

scenario("sums of decimals are exact, and the other aggregates are decimals too", function()
  local d, items = moonpool.decimal, store:objects "Item"
  local function add(id, price, all) store:write(function() store:create("Item", { id = id, price = d(price), all = all }) end) end
  assert(items:sum "price" == d(0) and items:min "price" == nil and items:average "price" == nil)
  for id = 1, 10 do add(id, "0.1", { d "0.1", d "0.2" }) end
  add(11, "-2.5")
  assert(items:sum "price" == d "-1.5" and items:min "price" == d "-2.5" and items:max "price" == d "0.1" and items:sum "old" == d(0))
  equal(items:where("id <= 10"):average "price", d "0.1")
  assert(#items:where "all.@sum == 0.3" == 10 and #items:where "all.@max == 0.2" == 10)
  add(12, "9e6144")
  add(13, "9e6144")
  equal(items:sum "price", d "Infinity")
end)
