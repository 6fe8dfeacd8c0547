-- Every error that a script can cause has a code, and a message with the cause and the solution.

schema {
  Dog = { id = "int primary", name = "string", age = "int?", owner = "Person", toys = "int[]" }, Person = { name = "string primary" },
}

local rex, dogs

before(function()
  rex = store:write(function() return store:create("Dog", { id = 1, name = "Rex", toys = { 1, 2 } }) end)
  dogs = store:objects "Dog"
end)

local function open(options)
  options.path = folder .. "/file"
  return moonpool.open(options)
end

-- The code of the error, what its message contains, and what causes it; "write" causes it inside of a write.
for number, case in ipairs {
  { "not_in_write", { "write" }, function() rex.age = 3 end },
  { "not_in_write", { "write" }, function() store:create("Dog", { id = 2, name = "Max" }) end },
  { "not_in_write", { "write" }, function() store:delete(rex) end },
  { "not_in_write", { "write" }, function() rex.toys:append(3) end },
  { "not_in_write", { "commit" }, function() store:commit_write() end },
  { "already_in_write", { "write" }, function() store:begin_write() end, "write" },
  { "already_in_write", { "observ" }, function() dogs:observe(print) end, "write" },
  { "duplicate_key", { "Dog", "1" }, function() store:create("Dog", { id = 1, name = "Max" }) end, "write" },
  { "missing_value", { "Dog", "name" }, function() store:create("Dog", { id = 2 }) end, "write" },
  { "missing_value", { "name" }, function() rex.name = nil end, "write" },
  { "type_mismatch", { "Dog", "age", "int", "string" }, function() rex.age = "old" end, "write" },
  { "type_mismatch", { "toys", "int" }, function() rex.toys:append "x" end, "write" },
  { "type_mismatch", { "owner", "Person" }, function() rex.owner = rex end, "write" },
  { "unknown_class", { "Dgo", "Dog" }, function() store:objects "Dgo" end },
  { "unknown_property", { "Dog", "aeg", "age" }, function() return rex.aeg end },
  { "unknown_property", { "nmae", "name" }, function() rex.nmae = "x" end, "write" },
  { "unknown_property", { "hue" }, function() store:create("Dog", { id = 2, name = "x", hue = 1 }) end, "write" },
  { "invalid_object", { "Dog", "deleted" }, function() store:delete(rex) return rex.name end, "write" },
  { "invalid_argument", { "id" }, function() rex.id = 2 end, "write" },
  { "invalid_argument", {}, function() dogs:limit "x" end },
  -- Flags, in functions of several types.
  { "invalid_argument", { "once", "true or false" }, function() dogs:observe(print, { once = "no" }) end },
  { "invalid_argument", { "once" }, function() dogs:observe_aggregate("count", print, { once = 0 }) end },
  { "invalid_argument", { "force" }, function() store:define({ Cat = { a = "int" } }, { force = 1 }) end },
  { "invalid_argument", { "read_only" }, function() open { read_only = "yes" } end },
  { "invalid_argument", { "overwrite" }, function() store:backup(folder .. "/copy", { overwrite = "false" }) end },
  { "invalid_argument", { "dry_run" }, function() store:import(folder .. "/a.csv", { dry_run = "no" }) end },
  { "invalid_argument", { "lines" }, function() dogs:plot("id", "age", { lines = 1 }) end },
  -- Arrays of names, and arguments that would have no effect.
  { "invalid_argument", { "array of strings" }, function() dogs:distinct { "age", by = "name" } end },
  { "invalid_argument", { "array of strings" }, function() dogs:distinct { "age", nil, "name" } end },
  { "invalid_argument", { "all key paths" }, function() dogs:distinct({ "age" }, "name") end },
  { "invalid_argument", { "keypaths" }, function() dogs:observe(print, { keypaths = { "age", on = "name" } }) end },
  { "invalid_argument", { "own direction" }, function() dogs:sorted({ "age", "name" }, "desc") end },
  { "invalid_argument", { "own direction" }, function() dogs:group_by({ "age" }, "desc") end },
  { "invalid_argument", { "each key" }, function() dogs:sorted { { "age", "desc", "name" } } end },
  { "invalid_argument", { "text of a predicate" }, function() dogs:where({ age = 1 }, 5) end },
  { "invalid_argument", { "plain values" }, function() return rex.toys:sum "price" end },
  { "invalid_argument", { "plain values" }, function() return rex.toys:distinct "price" end },
  { "invalid_argument", { "array of tokens" }, function()
    store:write(function() end, { without_notifying = { x = dogs:observe(print) } })
  end },
  { "invalid_argument", { "columns" }, function() moonpool.csv.write(folder .. "/a.csv", { { a = 1 } }, { 5 }) end },
  { "out_of_range", {}, function() rex.toys[9] = 1 end, "write" },
  { "out_of_range", {}, function() rex.toys:remove(3) end, "write" },
  { "unknown_property", { "list has no member 1.5" }, function() rex.toys[1.5] = 1 end, "write" },
  { "frozen", { "frozen" }, function() rex:freeze().age = 1 end, "write" },
  { "unknown_property", { "aeg", "^", "age" }, function() dogs:where "aeg > 1" end },
  { "invalid_query", { "^" }, function() dogs:where "age >" end },
  { "invalid_query", { "$2" }, function() dogs:where("age > $2", 1) end },
  { "invalid_query", { "age", "string" }, function() dogs:where "age > 'x'" end },
  { "unknown_property", { "foo" }, function() dogs:sorted "foo" end },
  { "invalid_schema", { "Cat", "name", "strng", "string" }, function() store:define { Cat = { name = "strng" } } end },
  { "invalid_schema", { "Dog.age", "strng", "string" }, function() store:define { Dog = { age = "strng" } } end },
  { "invalid_argument", { "#2 to 'object'", "int expected", "store:object" }, function() store:object("Dog", nil) end },
  { "invalid_schema", { "Cat", "owner", "Persn" }, function() store:define { Cat = { owner = "Persn" } } end },
  { "invalid_schema", { "Cat", "primary" }, function() store:define { Cat = { name = "bool primary" } } end },
  { "closed", { "closed" }, function() store:close() return rex.name end },
  { "closed", { "closed" }, function() store:close() store:objects "Dog" end },
  { "closed", { "rolled back" }, function() store:write(function() store:close() end) end },
  { "invalid_argument", { "migration has ended", "the migration function" }, function()
    local kept
    open({ schema = { Dog = { id = "int" } } }):close()
    open({ schema = { Dog = { key = "int" } }, schema_version = 1, migration = function(m) kept = m end }):close()
    kept:delete_class "Dog"
  end },
  { "migration_needed", { "Dog", "age" }, function()
    open({ schema = { Dog = { age = "int" } } }):close()
    open { schema = { Dog = { age = "string" } } }
  end },
  { "version_too_low", { "2", "1" }, function()
    open({ schema = { Dog = { age = "int" } }, schema_version = 2 }):close()
    open { schema = { Dog = { age = "int" } }, schema_version = 1 }
  end },
  { "read_only", { "read" }, function()
    open({ schema = { Dog = { age = "int" } } }):close()
    local reader <close> = open { read_only = true }
    reader:write(function() end)
  end },
  { "file_corrupt", { "is a folder", "not a store" }, function() moonpool.open(folder) end },
  { "file_corrupt", { "file" }, function()
    store:write(function() for id = 2, 2000 do store:create("Dog", { id = id, name = "this is not a store" }) end end)
    store:export(folder .. "/file", { format = "jsonl" })
    moonpool.open(folder .. "/file")
  end },
  { "invalid_argument", { "'Empty'", "columns of a CSV file", "JSON Lines" }, function()
    local empty <close> = open { schema = { Empty = {} } }
    empty:objects("Empty"):export(folder .. "/empty.csv")
  end },
  { "invalid_argument", { "missing/folder" }, function() moonpool.open { path = folder .. "/missing/folder/x", schema = {} } end },
} do
  scenario(("an error has its code and a complete message: %d, %s"):format(number, case[1]), function()
    local ok, err = pcall(function() if case[4] then store:write(case[3]) else case[3]() end end)
    assert(not ok)
    equal(err.code, case[1])
    for _, part in ipairs(case[2]) do assert(err.message:find(part, 1, true), err.message) end
  end)
end

scenario("messages escape the control characters of names", function()
  local name = "\27[31mred\7"
  local function change() rex[name] = 1 end
  for _, call in ipairs {
    function() return store:objects(name) end, function() return rex[name] end, function() return store[name] end,
    function() return dogs:where("`" .. name .. "` = 1") end, function() return dogs:sorted(name) end,
    function() store:write(change) end, function() moonpool.open { in_memory = unique "x", [name] = 1 } end,
    function() store:define { [name] = {} } end, function() store:import(folder .. "/x", { format = name }) end,
  } do
    local ok, err = pcall(call)
    assert(not ok)
    assert(err.message:find("\\x1B", 1, true) and not err.message:find "[\0-\8\11-\31\127]", err.message)
  end
end)
