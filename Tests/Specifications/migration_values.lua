-- The values that a change of the schema keeps, converts or refuses to drop.

local N = moonpool.null
local gone = { P = { id = "int primary" } }

local function open(schema, version, drops, migration)
  return moonpool.open {
    path = folder .. "/file", durability = "memory", schema = schema, schema_version = version, drops = drops,
    migration = migration,
  }
end

-- A class with a property.
local function person(name, type) return { P = { id = "int primary", [name] = type } } end

-- Creates the file with objects that have these values of a property, and whose ids count from 0.
local function fill(name, type, ...)
  local s <close> = open(person(name, type), 0)
  local values = { ... }
  s:write(function() for n, value in ipairs(values) do s:create("P", { id = n - 1, [name] = value }) end end)
end

local function values(s, name) return s:objects("P"):map(function(p) return p[name] end) end

-- Opens the file, compares the values of a property, and closes it.
local function expect(expected, name, ...)
  local s <close> = open(...)
  equal(values(s, name), expected)
end

scenario("a property with values disappears only if it is declared", function()
  fill("phone", "string", "1", "2")
  fails("migration_needed: 'P.phone' would be removed, and 2 objects have a value for it", open, gone, 1)
  fails('migration_needed: drops = { "P.phone" }', open, gone, 1)
  expect({ "1", "2" }, "phone")
  local s <close> = open(gone, 1, { "P.phone" })
  equal(s:schema "P", { id = "int primary" })
end)

scenario("a migration declares a loss by deleting the property", function()
  fill("phone", "string", "1")
  open(gone, 1, nil, function(m)
    assert(m:delete_property("P", "phone") and not m:delete_property("P", "fax"))
  end):close()
  fails("invalid_schema", open, gone, 2, nil, function(m) m:delete_property("P", "id") end)
end)

scenario("a property without values disappears when a store is opened", function()
  fill("phone", "string?", N)
  local s <close> = open(gone, 1)
  equal(s:schema "P", { id = "int primary" })
end)

scenario("a property that becomes required keeps its values, and needs one in every object", function()
  fill("n", "int?", 42, 0)
  expect({ 42, 0 }, "n", person("n", "int"), 1)
  local s = open(person("n", "int?"), 2)
  s:write(function() s:create("P", { id = 9 }) end)
  s:close()
  fails("missing_value: 1 object has no value (id = 9)", open, person("n", "int"), 3)
  expect({ 42, 0, 7 }, "n", person("n", { type = "int", default = 7 }), 3)
end)

scenario("elements that become required are kept if none is nil", function()
  fill("l", "int?[]", { 1, 2 }, {})
  expect({ { 1, 2 }, {} }, "l", person("l", "int[]"), 1)
  local s = open(person("l", "int?[]"), 2)
  equal(values(s, "l"), { { 1, 2 }, {} })
  s:write(function() s:object("P", 0).l:append(N) end)
  s:close()
  fails("type_mismatch", open, person("l", "int[]"), 3)
end)

scenario("a new required property has its default in existing objects", function()
  fill("n", "int", 1, 2)
  local s <close> = open({ P = { id = "int primary", n = "int", state = { type = "string", default = "new" } } }, 1)
  equal(values(s, "state"), { "new", "new" })
  s:define { P = { "...", k = { type = "int", default = 3 } } }
  equal(values(s, "k"), { 3, 3 })
end)

for _, case in ipairs {
  { "string", "12", "int", 12 }, { "string", "-0.5", "double", -0.5 }, { "string", "true", "bool", true },
  { "string", "4.50", "decimal", moonpool.decimal "4.50" },
  { "string", "2020-02-03T00:00:00Z", "date", moonpool.date "2020-02-03T00:00:00Z" }, { "int", 12, "string", "12" },
  { "int", 12, "double", 12.0 }, { "int", 12, "mixed", 12 }, { "double", 3.0, "int", 3 }, { "double", 0.5, "float", 0.5 },
  { "double", 0.1, "string", "0.1" }, { "bool", true, "int", 1 }, { "mixed", "text", "string", "text" }, { "int", 5, "int[]", { 5 } },
  { "string[]", { "a" }, "string", "a" },
} do
  scenario(("an exact conversion needs no code: %s to %s"):format(case[1], case[3]), function()
    fill("v", case[1], case[2])
    local s <close> = open(person("v", case[3]), 1)
    equal(values(s, "v"), { case[4] })
    equal(math.type(values(s, "v")[1]), math.type(case[4]))
  end)
end

for number, case in ipairs {
  { "string", "007", "int" }, { "string", "12.5", "int" }, { "string", "1e3", "double" }, { "string", "yes", "bool" },
  { "int", 2 ^ 53 + 1 | 1, "double" }, { "double", 2.5, "int" }, { "double", 0.1, "float" }, { "int", 2, "bool" },
  { "data", moonpool.data "\xff", "string" }, { "mixed", "text", "int" }, { "int[]", { 1, 2 }, "int" },
  { "int[]", { 1, 1 }, "int<>" },
} do
  scenario(("a conversion that loses data needs code or a declaration: %d, %s to %s"):format(number, case[1], case[3]), function()
    fill("v", case[1], case[2])
    local kept = type(case[2]) == "userdata" and tostring(case[2]) or case[2]
    fails("type_mismatch: 1 value does not convert exactly", open, person("v", case[3]), 1)
    expect({ kept }, "v")
    local s <close> = open(person("v", case[3]), 1, { "P.v" })
    equal(s:schema("P").v, case[3])
  end)
end

scenario("code can provide values that do not convert, including zero", function()
  fill("v", "string", "12", "many", "none")
  local function migrate(deletes)
    return open(person("v", "int"), 1, nil, function(m)
      m:each("P", function(old, new)
        if old.v == "none" then new.v = 0 end
        if deletes and old.v == "many" then m:delete(new) end
      end)
    end)
  end
  fails('type_mismatch: such as "many" (id = 1)', migrate)
  local s <close> = migrate(true)
  equal(values(s, "v"), { 12, 0 })
end)
