-- The table "Equality and order" of the article about the predicate language: every operator for every pair of types, with
-- nil, NaN and extremes, against a plain evaluator in Lua.

except(sweep)

schema {
  V = {
    id = "int primary", int = "int?", double = "double?", float = "float?", decimal = "decimal?", mixed = "mixed",
    ints = "int?[]", doubles = "double?[]", floats = "float?<>", decimals = "decimal?{}", mixeds = "mixed[]",
    link = "V",
  },
}

local numbers, types, collections, rows, operators, mirrored, all_types

local function beside(type, rank, form)
  if form == "double" and (rank == 9 or rank == 10) and type == "decimal" then
    return rank == 9 and 8 or 10.5
  end
  if type == "float" and (rank == 8 or rank == 9) then return 10 end
  return rank
end

local function holds(a, op, b)
  if a == nil or b == nil then
    if op == "==" then return a == b elseif op == "!=" then return a ~= b end
    return false
  end
  if op == "==" then return a == b elseif op == "!=" then return a ~= b
  elseif op == "<" then return a < b elseif op == "<=" then return a <= b
  elseif op == ">" then return a > b else return a >= b end
end

-- Usually checks every fourth condition.
local checks = 0
local function check(text, wanted, ...)
  checks = checks + 1
  if not tests_all and checks % 4 > 0 then return end
  local got = {}
  for object in store:objects("V"):where(text, ...):each() do got[object.id] = true end
  for _, row in ipairs(rows) do
    if (got[row.id] or false) ~= wanted(row) then
      error(("%s with %s: row %d (%s %s) is %s"):format(
        text, tostring((...)), row.id, tostring(row.type), tostring(row.value), got[row.id] and "found" or "missing"))
    end
  end
end

local function each_constant(body)
  for rank, forms in ipairs(numbers) do
    for _, form in ipairs { "int", "double", "decimal" } do
      if forms[form] ~= nil then body(rank, form, forms[form]) end
    end
  end
end

before(function()
  local D = moonpool.decimal
  local tiny, small = 1e-46, string.unpack("<f", string.pack("<f", 0.1))
  -- Every number once, in ascending order, by each type that holds it.
  numbers = {
    { double = 0/0, float = 0/0, decimal = D "NaN" },
    { double = -1/0, float = -1/0, decimal = D "-Infinity" },
    { double = -1e300 },
    { int = math.mininteger, double = -2.0^63, float = -2.0^63, decimal = D "-9223372036854775808" },
    { int = -1, double = -1.0, float = -1.0, decimal = D "-1.0" },
    { int = 0, double = -0.0, float = 0.0, decimal = D "0.00" },
    { double = tiny },
    { decimal = D "0.1" },
    { double = 0.1 },
    { float = small, double = small },
    { double = 0.5, float = 0.5, decimal = D "0.50" },
    { int = 1, double = 1.0, float = 1.0, decimal = D "1" },
    { int = 1 << 24, double = 2.0^24, float = 2.0^24, decimal = D "16777216" },
    { int = (1 << 24) + 1, double = 2.0^24 + 1, decimal = D "16777217" },
    { int = 1 << 53, double = 2.0^53, float = 2.0^53, decimal = D "9007199254740992" },
    { int = (1 << 53) + 1, decimal = D "9007199254740993" },
    { int = (1 << 53) + 2, double = 2.0^53 + 2, decimal = D "9007199254740994" },
    { int = math.maxinteger, decimal = D "9223372036854775807" },
    { double = 2.0^63, float = 2.0^63, decimal = D "9223372036854775808" },
    { decimal = D "1e300" },
    { double = 1e300 },
    { double = 1/0, float = 1/0, decimal = D "Infinity" },
  }
  types = { "int", "double", "float", "decimal" }
  collections = { int = "ints", double = "doubles", float = "floats", decimal = "decimals", mixed = "mixeds" }
  rows = { { id = 1 } }
  for rank, forms in ipairs(numbers) do
    for _, type in ipairs(types) do
      if forms[type] ~= nil then
        rows[#rows + 1] = { id = #rows + 1, [type] = rank, value = forms[type], type = type, mixed = rank }
      end
    end
  end
  store:write(function()
    for _, row in ipairs(rows) do
      local object = store:create("V", { id = row.id, [row.type or "mixed"] = row.value })
      if row.type then object.mixed = row.value end
      for _, type in ipairs { row.type or "int", "mixed" } do
        local collection, value = object[collections[type]], row.value
        if value == nil then value = moonpool.null end
        if type == "float" then collection:add(value)
        elseif type == "decimal" then collection:set("k", value)
        else collection:append(value) end
      end
    end
  end)
  local rankOf = {}
  -- What a constant is beside a property: the exception is a fraction beside floats and decimals.
  operators = { "==", "!=", "<", "<=", ">", ">=" }
  mirrored = { ["=="] = "==", ["!="] = "!=", ["<"] = ">", ["<="] = ">=", [">"] = "<", [">="] = "<=" }
  all_types = { "int", "double", "float", "decimal", "mixed" }
end)

scenario("properties of every type compare with constants of every type by value", function()
  each_constant(function(rank, form, value)
    for _, type in ipairs(all_types) do
      local constant = beside(type, rank, form)
      for _, op in ipairs(operators) do
        check(type .. " " .. op .. " $1", function(row) return holds(row[type], op, constant) end, value)
        check("$1 " .. op .. " " .. type, function(row) return holds(row[type], mirrored[op], constant) end, value)
        check("not " .. type .. " " .. op .. " $1", function(row) return not holds(row[type], op, constant) end, value)
      end
      check(type .. " in {$1, 7}", function(row) return row[type] ~= nil and row[type] == constant end, value)
    end
  end)
  for _, type in ipairs(all_types) do
    for _, op in ipairs(operators) do
      check(type .. " " .. op .. " nil", function(row) return holds(row[type], op, nil) end)
    end
  end
end)

scenario("ranges include both ends by value, for all types", function()
  local step = 0
  each_constant(function(low, lowForm, lowValue)
    each_constant(function(high, highForm, highValue)
      step = step + 1
      if step % 5 ~= 0 then return end
      for _, type in ipairs(all_types) do
        local first, last = beside(type, low, lowForm), beside(type, high, highForm)
        check(type .. " between {$1, $2}", function(row)
          return holds(row[type], ">=", first) and holds(row[type], "<=", last)
        end, lowValue, highValue)
      end
    end)
  end)
end)

scenario("elements of lists, sets and maps compare like properties, including nil", function()
  each_constant(function(rank, form, value)
    for _, type in ipairs(all_types) do
      local constant, path = beside(type, rank, form), collections[type]
      local function element(row)
        if type == "mixed" then return true, row.mixed end
        return row.type == type or (row.id == 1 and type == "int"), row[type]
      end
      for _, op in ipairs(operators) do
        local function any(row) local is, own = element(row) return is and holds(own, op, constant) end
        check("any " .. path .. " " .. op .. " $1", any, value)
        check("none " .. path .. " " .. op .. " $1", function(row) return not any(row) end, value)
        check("all " .. path .. " " .. op .. " $1", function(row)
          local is, own = element(row)
          return not is or holds(own, op, constant)
        end, value)
      end
    end
  end)
end)

scenario("two properties compare by value", function()
  -- Each object links to the next one, whose value may be of another type.
  store:write(function()
    for id = 1, #rows - 1 do store:object("V", id).link = store:object("V", id + 1) end
  end)
  for _, left in ipairs(all_types) do
    for _, right in ipairs(all_types) do
      for _, op in ipairs(operators) do
        check(left .. " " .. op .. " link." .. right, function(row)
          local other = rows[row.id + 1]
          return holds(row[left], op, other and other[right])
        end)
      end
    end
  end
end)

scenario("sorting, distinct, sections and sets use the same order and equality", function()
  for _, type in ipairs(all_types) do
    local before = 0
    for object in store:objects("V"):sorted(type):each() do
      local rank = rows[object.id][type] or 0
      assert(rank >= before, type)
      before = rank
    end
    local seen, count = {}, 0
    for _, row in ipairs(rows) do
      local rank = row[type] or 0
      if not seen[rank] then seen[rank] = true count = count + 1 end
    end
    assert(#store:objects("V"):distinct(type) == count, type)
    assert(#store:objects("V"):sorted(type, "desc"):distinct(type) == count, type)
    assert(#store:objects("V"):group_by(type) == count, type)
  end
end)
