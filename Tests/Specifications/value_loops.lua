-- `for name, age in dogs:values("name", "age")`.

except(sweep)

schema {
  Dog = { id = "int primary", name = "string?", age = { type = "int", default = 0 }, weight = "double?", born = "date?", good = "bool",
    tag = "uuid?", price = "decimal?", owner = "Person", toys = "string[]", any = "mixed" },
  Person = { name = "string primary", dogs = "Dog[]", pack = "Dog<>", kennel = "backlinks Dog.owner" },
}

local dogs, ann

local function compare(objects, ...)
  local paths, count = { ... }, 0
  local handles = objects:each()
  local function check(...)
    local object, values = handles(), { n = select("#", ...), ... }
    count = count + 1
    equal(values.n, #paths)
    for i, path in ipairs(paths) do
      local value = object:get(path)
      if i == 1 and value == nil then value = moonpool.null end
      assert(values[i] == value or tostring(values[i]) == tostring(value),
        path .. ": " .. tostring(values[i]) .. " instead of " .. tostring(value))
    end
  end
  local step = objects:values(...)
  local function all(first, ...)
    if first == nil then return end
    check(first, ...)
    return all(step())
  end
  all(step())
  assert(count == #objects and handles() == nil, count)
end

before(function()
  store:write(function()
    local ann = store:create("Person", { name = "Ann" })
    for id = 1, 3000 do
      local dog = store:create("Dog", { id = id, name = id % 3 > 0 and "dog" .. id or nil, age = id % 17,
        weight = id % 2 > 0 and id / 2 or nil, born = moonpool.date(id), good = id % 2 == 0,
        tag = id % 2 > 0 and moonpool.uuid((("%032x"):format(id):gsub("^(........)(....)(....)(....)", "%1-%2-%3-%4-"))) or nil,
        owner = id % 5 > 0 and ann or nil,
        toys = { "t" .. id }, any = id % 2 > 0 and id or "x" .. id })
      if id <= 600 then ann.dogs:append(dog) ann.pack:add(dog) end
    end
  end)
  dogs = store:objects "Dog"
  ann = store:objects("Person")[1]
end)

scenario("the values are those of the objects, for each type and for each kind of collection", function()
  for _, path in ipairs { "id", "name", "age", "weight", "born", "good", "tag", "price", "owner", "owner.name", "any",
    "toys[1]", "toys.@count" } do
    compare(dogs:limit(700), path)
    compare(dogs:where("age > 4"):sorted("age", "desc"):limit(600), "id", path)
  end
  compare(dogs, "name", "age", "owner.name", "born")
  compare(dogs:where "age > 99", "name")
  for _, objects in ipairs { ann.dogs, ann.pack, ann.kennel, dogs:freeze(), ann.dogs:freeze() } do
    compare(objects, "name", "age", "owner")
  end
end)

scenario("a loop reads each value when it reaches the object", function()
  local seen, sum = 0, 0
  store:write(function()
    for id, age in dogs:values("id", "age") do
      if id > 1 then assert(age == -1, id) end
      seen = seen + 1
      local next = store:object("Dog", id + 1)
      if next then next.age = -1 end
    end
  end)
  equal(seen, 3000)
  -- Only some steps write.
  for id, age in dogs:values("id", "age") do
    if id % 100 == 50 then
      store:write(function() store:object("Dog", id + 7).age = id end)
    end
    assert(age == (id % 100 == 57 and id - 7 or id == 1 and 1 or -1), id)
  end
end)

scenario("a loop skips the objects that were deleted and has no later ones", function()
  local ids = {}
  for id in dogs:values "id" do
    ids[#ids + 1] = id
    if id == 10 then
      store:write(function()
        store:delete(dogs:where "id > 20 and id < 2990")
        store:create("Dog", { id = 9999, good = true })
      end)
    end
  end
  assert(#ids == 31 and ids[20] == 20 and ids[21] == 2990 and ids[31] == 3000)
  store:write(function() for id in dogs:values "id" do store:delete(store:object("Dog", id)) end end)
  equal(#dogs, 0)
end)

scenario("a changed schema is followed and a removed property is an error", function()
  local step = dogs:values("id", "good", "age")
  step()
  store:define({ Dog = { id = "int primary", name = "string?", age = "int", weight = "double?", born = "date?",
    tag = "uuid?", price = "decimal?", owner = "Person", toys = "string[]", any = "mixed",
    extra = "int" } }, { force = true })
  local ok, err = pcall(step)
  assert(not ok and err.code == "unknown_property" and err.message:find "good", err)
  local count = 0
  for extra, id in dogs:values("extra", "id") do
    count = count + 1
    assert(extra == 0 and id == count)
  end
  equal(count, 3000)
end)

scenario("wrong paths, a closed store and an ended loop are errors or ends", function()
  local function refused(code, ...)
    local ok, err = pcall(dogs.values, dogs, ...)
    assert(not ok and (err.code or "invalid_argument") == code, tostring(err))
  end
  refused("unknown_property", "nmae")
  refused("invalid_argument")
  refused("invalid_argument", 3)
  refused("invalid_argument", {})
  refused("unknown_property", "age >")
  local many = {}
  for i = 1, 201 do many[i] = "age" end
  refused("invalid_argument", table.unpack(many))
  many[201] = nil
  local rows = table.pack(dogs:values(table.unpack(many))())
  assert(rows.n == 200 and rows[200] == 1)
  local step = dogs:limit(1):values "age"
  assert(step() == 1 and step() == nil and step() == nil)
  local open = dogs:values "age"
  open()
  store:close()
  local ok, err = pcall(open)
  assert(not ok and err.code == "closed", tostring(err))
end)

scenario("an effect depends on the values that its loop reads", function()
  local total
  local effect <close> = moonpool.effect(function()
    total = 0
    for age in dogs:where("id <= 3"):values "age" do total = total + age end
  end)
  store:write(function() store:object("Dog", 2).age = 12 end)
  turn()
  equal(total, 16)
end)
