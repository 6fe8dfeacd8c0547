schema { Item = { id = "int primary", price = "decimal", old = "decimal?", all = "decimal[]" } }

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
