schema { Item = { id = "int primary" } }

scenario("identifiers are compared by their order", function()
  local low = moonpool.uuid "00000000-0000-4000-8000-000000000001"
  local high = moonpool.uuid "ffffffff-0000-4000-8000-000000000001"
  assert(low < high and low <= high and low <= low and high > low and high >= high and not (high <= low))
  local first, last = moonpool.object_id(("0"):rep(24)), moonpool.object_id(("f"):rep(24))
  assert(first < last and first <= last and last >= first and not (last < first) and first ~= low)
end)

for number, case in ipairs {
  { function() return moonpool.date() < 3 end, "attempt to compare date with number" },
  { function() return 3 >= moonpool.date() end, "attempt to compare date with number" },
  { function() return moonpool.uuid() <= "x" end, "attempt to compare uuid with string" },
  { function() return moonpool.uuid() < moonpool.object_id() end, "attempt to compare uuid with object_id" },
  { function() return {} > moonpool.object_id() end, "attempt to compare object_id with table" },
  { function() return moonpool.decimal "1" < "x" end, "attempt to compare decimal with string" },
  { function() return moonpool.date() + {} end, "attempt to perform arithmetic on a table value (number expected)" },
  { function() return moonpool.date() - "x" end, "attempt to perform arithmetic on a string value (number expected)" },
  { function() return 1 - moonpool.date() end, "attempt to perform arithmetic on a number value (date expected)" },
  { function() return moonpool.decimal(1) * nil end, "attempt to perform arithmetic on a nil value (decimal expected)" },
  { function() return true // moonpool.decimal(1) end,
    "attempt to perform arithmetic on a boolean value (decimal expected)" },
} do
  scenario("an invalid operand of an operator is reported with Lua's message: " .. number, function()
    local why = tostring(select(2, pcall(case[1])))
    equal(why:sub(-#case[2]), case[2])
  end)
end
