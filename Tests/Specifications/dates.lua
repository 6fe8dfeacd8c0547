-- Dates have microseconds, and no conversion truncates a digit silently.

schema { Event = { id = "int primary", at = "date?", days = "date[]", extra = "mixed" } }

scenario("Text with digits below the microsecond is an error that names them", function()
  for text, digits in pairs {
    ["2026-01-01T00:00:00.1234567Z"] = "7", ["9999-12-31T23:59:59.999999999Z"] = "999",
    ["1970-01-01T00:00:00.000000001Z"] = "001", ["2026-01-01T00:00:00.12345678901234567890+01:00"] = "7890123456789",
    ["1969-12-31T23:59:59.9999999Z"] = "9", ["2026-01-01T00:00:00.0000000000000000000001"] = "0000000000000001",
  } do
    fails("invalid_argument", moonpool.date, text)
    assert(message(moonpool.date, text):find("digits '" .. digits .. "' below the microsecond", 1, true), text)
  end
  for text, shown in pairs {
    ["2026-01-01T00:00:00.123456Z"] = "2026-01-01T00:00:00.123456Z",
    ["2026-01-01T00:00:00.123456000Z"] = "2026-01-01T00:00:00.123456Z",
    ["2026-01-01T00:00:00.500000000000Z"] = "2026-01-01T00:00:00.5Z",
  } do
    equal(tostring(moonpool.date(text)), shown)
  end
end)

scenario("Text with more digits compares exactly in predicates", function()
  local before, after = moonpool.date "2026-01-01T00:00:00.123456Z", moonpool.date "2026-01-01T00:00:00.123457Z"
  store:write(function()
    store:create("Event", { id = 1, at = before, days = { before }, extra = before })
    store:create("Event", { id = 2, at = after, days = { after }, extra = after })
  end)
  local between = "2026-01-01T00:00:00.1234564999Z"
  local events = store:objects "Event"
  local function ids(...)
    local t = {}
    for event in events:where(...):each() do t[#t + 1] = event.id end
    return table.concat(t, " ")
  end
  for _, path in ipairs { "at", "any days", "extra" } do
    for operator, want in pairs { ["=="] = "", ["!="] = "1 2", ["<"] = "1", ["<="] = "1", [">"] = "2", [">="] = "2" } do
      assert(ids(path .. " " .. operator .. " " .. between) == want, path .. operator)
      assert(ids(path .. " " .. operator .. " date('" .. between .. "')") == want, path .. operator)
    end
    assert(ids(path .. " in { " .. between .. " }") == "", path)
  end
  assert(ids("{ " .. between .. " } == days") == "" and ids("days == { " .. between .. " }") == "")
  store:write(function() for event in events:each() do event.extra = { event.at, { k = event.at } } end end)
  for _, path in ipairs { "extra[1]", "extra[2]['k']", "any extra" } do
    assert(ids(path .. " == " .. between) == "" and ids(path .. " in { " .. between .. " }") == "", path)
    assert(ids(path .. " < " .. between) == "1" and ids(path .. " > " .. between) == "2", path)
  end
  equal(ids("extra == { " .. between .. ", 1 }"), "")
  equal(ids("at between { " .. between .. ", 2027-01-01 }"), "2")
  fails("invalid_query", ids, "at == $1", between)
end)

scenario("Text assigned to a date is an error, regardless of its digits", function()
  store:write(function()
    local event = store:create("Event", { id = 1 })
    for _, text in ipairs { "2026-01-01T00:00:00.1234567Z", "2026-01-01" } do
      fails("type_mismatch", function() event.at = text end)
      fails("type_mismatch", function() event.days = { text } end)
      fails("type_mismatch", store.create, store, "Event", { id = 2, at = text })
    end
    equal(event.at, nil)
  end)
end)

scenario("Whole seconds and microseconds are exact in both directions", function()
  for _, seconds in ipairs { 0, 1, -1, 9007199254741, -9007199254741, 9223372036854, -9223372036854 } do
    local date = moonpool.date(seconds)
    assert(date.microseconds == seconds * 1000000 and math.type(date.microseconds) == "integer", seconds)
    assert((moonpool.date(0) + seconds) == date and (date - seconds) == moonpool.date(0), seconds)
  end
  for _, count in ipairs { 0, 1, -1, 9007199254740993, -9007199254740993, math.maxinteger, math.mininteger } do
    local date = moonpool.date { microseconds = count }
    assert(date.microseconds == count, count)
    store:write(function() store:create("Event", { id = 1, at = date }, "all") end)
    equal(store:object("Event", 1).at.microseconds, count)
  end
  equal(moonpool.date(9223372036855 - 1).microseconds, 9223372036854000000)
  for _, seconds in ipairs { 9223372036855, -9223372036855, math.maxinteger, math.mininteger, 1e18, 0 / 0, 1 / 0 } do
    fails("invalid_argument", moonpool.date, seconds)
    fails("invalid_argument", function() return moonpool.date(0) + seconds end)
  end
  fails("invalid_argument", moonpool.date, { microseconds = 1.5 })
  fails("invalid_argument", moonpool.date, { microseconds = 1, year = 2026 })
  equal(moonpool.date(0.1234567).microseconds, 123457)
end)
