-- Single rules of the contract that apply everywhere.

schema {
  P = {
    { "id", "int primary" }, { "n", "int?" }, { "p", "P" }, { "l", "P[]" }, { "st", "int<>" }, { "m", "int{}" },
    { "x", "mixed" }, { "back", "backlinks P.p" },
  },
  Empty = { x = "int?" },
}

local p, q, none

before(function()
  p, q = store:write(function()
    local p = store:create("P", { id = 1, n = 1, st = { 1 }, x = { 1, { a = 2 } } })
    return p, store:create("P", { id = 2, p = p, l = { p }, x = p })
  end)
  none = store:objects("P"):where "id == 77"
end)

scenario("An operation without a change needs a write transaction", function()
  local operations = {
    add = function() store:add(p) end,
    ["delete no results"] = function() store:delete(none) end,
    ["delete an empty class"] = function() store:delete_all "Empty" end,
    ["update no results"] = function() none:update { n = 1 } end,
    ["update a list of nothing"] = function() p.l:update { n = 1 } end,
    ["update with nothing"] = function() p:update {} end,
    ["add what the set has"] = function() p.st:add(1) end,
    ["remove what the set lacks"] = function() p.st:remove(9) end,
    ["union with nothing"] = function() p.st:form_union {} end,
    ["remove what the map lacks"] = function() p.m:remove "z" end,
    ["append nothing"] = function() p.l:append() end,
    ["clear an empty list"] = function() p.l:clear() end,
    ["clear an empty map"] = function() p.m:clear() end,
    ["move to the same index"] = function() q.l:move(1, 1) end,
    ["swap with itself"] = function() q.l:swap(1, 1) end,
    ["the same value"] = function() p.n = 1 end,
    ["the same list"] = function() q.l = q.l end,
    ["an equal upsert"] = function() store:create("P", { id = 1, n = 1 }, "modified") end,
    ["append nothing inside a mixed value"] = function() p.x:append() end,
    ["clear inside a mixed value"] = function() p.x[2]:clear() end,
    ["remove inside a mixed value"] = function() p.x[2]:remove "zz" end,
    ["move inside a mixed value"] = function() p.x:move(1, 1) end,
  }
  for name, operation in pairs(operations) do
    fails("not_in_write", operation)
  end
  store:write(function() for _, operation in pairs(operations) do operation() end end)
end)

scenario("An unknown name in a path is unknown_property in every operation", function()
  local all = store:objects "P"
  local operations = {
    where = function(path) return #all:where(path .. " == 1") end,
    ["where quantified"] = function(path) return #all:where("any l." .. path .. " == 1") end,
    ["where an aggregate"] = function(path) return #all:where("l.@sum." .. path .. " == 1") end,
    ["where a subquery"] = function(path) return #all:where("subquery(l, $x, $x." .. path .. " == 1).@count > 0") end,
    ["where a sort"] = function(path) return #all:where("truepredicate sort(" .. path .. " asc)") end,
    ["where a distinct"] = function(path) return #all:where("truepredicate distinct(" .. path .. ")") end,
    ["where backlinks"] = function(path) return #all:where("any @links.P." .. path .. ".id == 1") end,
    ["where a table"] = function(path) return #all:where { [path] = 1 } end,
    sorted = function(path) return #all:sorted(path) end,
    distinct = function(path) return #all:distinct(path) end,
    group_by = function(path) return #all:group_by(path) end,
    sum = function(path) return all:sum(path) end, min = function(path) return all:min(path) end,
    max = function(path) return all:max(path) end, average = function(path) return all:average(path) end,
    count = function(path) return all:count(path) end,
    histogram = function(path) return all:histogram(path, 3) end,
    observe = function(path) return p:observe(print, { keypaths = { path } }) end,
    ["observe results"] = function(path) return all:observe(print, { keypaths = { path } }) end,
    ["observe behind stars"] = function(path) return all:observe(print, { keypaths = { "*." .. path } }) end,
    observe_value = function(path) return p:observe_value(path, print) end,
    observe_aggregate = function(path) return all:observe_aggregate("sum", path, print) end,
    read = function(path) return p[path] end,
    write = function(path) store:write(function() p[path] = 1 end) end,
    create = function(path) store:write(function() store:create("P", { id = 50, [path] = 1 }) end) end,
    update = function(path) store:write(function() p:update { [path] = 1 } end) end,
    ["update results"] = function(path) store:write(function() all:update { [path] = 1 } end) end,
    type_of = function(path) return moonpool.type_of(p, path) end,
  }
  for name, operation in pairs(operations) do
    fails("unknown_property", operation, "zz")
  end
  for _, name in ipairs { "where", "sorted", "distinct", "group_by", "sum", "observe", "observe results" } do
    fails("unknown_property", operations[name], "p.zz")
    fails("invalid_query", operations[name], "p.")
  end
end)

scenario("A path of wildcards includes the shorter paths", function()
  local function observed(path, f)
    local names = {}
    local token = q:observe(function(c) for _, x in ipairs(c.properties) do names[#names + 1] = x.name end end, { keypaths = { path } })
    store:write(f)
    turn()
    token:invalidate()
    return table.concat(names, ",")
  end
  local function own() q.n = (q.n or 0) + 1 end
  local function behind() p.n = p.n + 1 end
  assert(observed("*", own) == "n" and observed("*", behind) == "")
  assert(observed("*.*", own) == "n" and observed("*.*", behind) == "p,l,x")
  assert(observed("*.*.*", own):find("n", 1, true) and observed("*.*.*", behind) == "p,l,x")
  assert(observed("p.*", own) == "" and observed("p.*", behind) == "p" and observed("p.*.*", behind) == "p")
  assert(observed("x.*", behind) == "x" and observed("x.*.*", behind) == "x" and observed("x.*", own) == "")
  assert(observed("*.n", behind) == "p,l,x" and observed("*.n", own) == "")
end)

scenario("A read-only store opens with all classes that can read its file", function()
  local P, path = { id = "int primary", a = "int?", s = "string" }, folder .. "/file"
  do
    local file <close> = moonpool.open { path = path, schema_version = 2, schema = { P = P, Q = { x = "int" } } }
    file:write(function() file:create("P", { id = 1, a = 5, s = "x" }) end)
  end
  local function open(options)
    options.path, options.read_only = path, true
    options.schema_version = options.schema and (options.schema_version or 2)
    return moonpool.open(options)
  end
  local readable = {
    ["no schema"] = {}, ["the same"] = { schema = { P = P, Q = { x = "int" } } },
    ["fewer classes"] = { schema = { P = P } }, ["fewer properties"] = { schema = { P = { id = "int primary" } } },
    ["another index"] = { schema = { P = { id = "int primary", a = "int? indexed", s = "string fulltext" } } },
    ["another default"] = { schema = { P = { id = "int primary", a = { type = "int?", default = 3 } } } },
    ["another order"] = { schema = { P = { { "s", "string" }, { "id", "int primary" } } } },
    ["a class more"] = { schema = { P = P, N = { id = "int primary", p = "P", ps = "P[]", o = "O" }, O = { x = "mixed" } } },
    ["backlinks more"] = { schema = { P = { id = "int primary", ns = "backlinks N.p" }, N = { p = "P" } } },
  }
  for name, options in pairs(readable) do
    local file <close> = open(options)
    local p = file:object("P", 1)
    assert(p.a == 5 and p.s == "x" and #file:objects("P"):where "a == 5 and s == 'x'" == 1, name)
    for class in pairs(options.schema or {}) do
      assert(#file:objects(class) == (class == "P" and 1 or 0), name)
      assert(#file:objects(class):where("truepredicate") == #file:objects(class), name)
    end
    if options.schema and options.schema.N then
      assert(file:objects("N"):first() == nil and #file:objects("N"):where "p.a == 5" == 0, name)
    end
    if name == "a class more" then assert(file:object("N", 1) == nil and file:objects("N"):sum "id" == 0) end
    if name == "backlinks more" then assert(#p.ns == 0 and #file:objects("P"):where "ns.@count == 0" == 1) end
    assert(#file:freeze():objects("P") == 1 and file:refresh() == false, name)
    fails("read_only", file.write, file, function() end)
  end
  local refused = {
    ["a property more"] = { schema = { P = { id = "int primary", b = "int?" } } },
    ["another type"] = { schema = { P = { id = "int primary", a = "string?" } } },
    ["another key"] = { schema = { P = { id = "int", s = "string primary" } } },
    ["a higher version"] = { schema = { P = P }, schema_version = 3 },
  }
  for _, options in pairs(refused) do
    fails("migration_needed: read-only store cannot be migrated", open, options)
  end
  fails("version_too_low", open, { schema = { P = P }, schema_version = 1 })
  -- A class that another program adds to the file replaces the empty class.
  local file <close> = moonpool.open { path = path, read_only = true, schema_version = 2,
    schema = { N = { id = "int primary" }, M = { id = "int primary" } } }
  equal(#file:objects "N", 0)
  file:close()
  do
    local writer <close> = moonpool.open(path)
    writer:define { Other = { id = "int primary" }, N = { id = "int primary" } }
    writer:write(function() writer:create("Other", { id = 9 }) writer:create("N", { id = 1 }) end)
  end
  local again <close> = moonpool.open { path = path, read_only = true, schema_version = 2, schema = { N = { id = "int primary" } } }
  assert(#again:objects "N" == 1 and again:object("N", 1).id == 1)
end)

scenario("mutually exclusive options are refused by name", function()
  local P = { P = { id = "int primary" } }
  local changing = {
    migration = { schema = P, migration = print }, delete_if_migration_needed = { delete_if_migration_needed = true },
    should_compact = { should_compact = function() return true end }, drops = { schema = P, drops = { "P.a" } },
    migrations = { migrations = "dir" },
  }
  for name, options in pairs(changing) do
    options.path, options.read_only = folder .. "/file", true
    fails("invalid_argument", moonpool.open, options)
    local text = message(moonpool.open, options)
    assert(text:find("'" .. name .. "'", 1, true) and text:find("'read_only'", 1, true), text)
  end
  fails("invalid_argument", moonpool.open, { path = folder .. "/file", in_memory = "x" })
end)

scenario("A migration visits new and removed classes", function()
  local calls = {}
  store:write(function() for i = 1, 3 do store:create("Empty", { x = i }) end end)
  store:define({ N = { id = "int primary" }, P = { { "id", "int primary" }, { "n", "int?" } } }, function(m)
    m:each("N", function() error "not called: the class is empty" end)
    for i = 1, 3 do m:create("N", { id = i }) end
    m:each("N", function(old, new) calls[#calls + 1] = tostring(old) .. new.id if new.id == 1 then m:delete(m.new:object("N", 2)) end end)
    m:delete_class "Empty"
    m:each("Empty", function(old, new) calls[#calls + 1] = tostring(new) .. old.x m:create("N", { id = 10 + old.x }) end)
    fails("unknown_class", m.each, m, "Zz", print)
    local count = 0
    m:each("Empty", function() count = count + 1 end, { batch = 1, resumable = true })
    assert(count == 3)
    assert(not pcall(m.each, m, "Empty", print, { batch = 0, resumable = true }))
    assert(not pcall(m.each, m, "Empty", print, { resumable = 1 }))
    assert(not pcall(m.each, m, "Empty", function() error "stop" end))
  end)
  equal(table.concat(calls, " "), "nil1 nil3 nil1 nil2 nil3")
  equal(#store:objects "N", 5)
end)

scenario("a call with arguments that a method does not take changes nothing", function()
  local all = store:objects "P"
  store:write(function()
    fails("invalid_argument: 'objects' takes 1 argument, got 2; write store:objects(class)", function()
      store:delete(store:objects("P", "id == 2"))
    end)
    fails("invalid_argument: 'delete' takes 1 argument, got 2", store.delete, store, p, q)
  end)
  fails("invalid_argument: 'limit' takes 1 argument, got 2", all.limit, all, 2, 1)
  fails("invalid_argument: 'last' takes no arguments, got 1", all.last, all, 2)
  fails("invalid_argument: 'is_valid' takes no arguments, got 1", p.is_valid, p, true)
  -- Functions pass on arguments that they have not received as nil.
  assert(#all == 2 and #all:limit(1, nil, nil) == 1 and all:last(nil).id == 2)
end)

scenario("names of other libraries lead to ours", function()
  local all = store:objects "P"
  for _, case in ipairs {
    { store, "get", "object" }, { store, "insert", "create" }, { store, "transaction", "write" }, { store, "query", "objects" },
    { store, "wriet", "write" }, { all, "take", "limit" }, { all, "subscribe", "observe" }, { all, "find", "where" },
    { all, "get", "[1]" }, { all, "delete", "store:delete" }, { p.l, "push", "append" }, { all, "push" }, { all, "xyzzy" },
  } do
    local said = message(function() return case[1][case[2]] end)
    equal({ case[2], said:match "did you mean '(.*)'" }, { case[2], case[3] })
  end
end)
