-- Lists and maps inside mixed values have the same methods as other collections.

schema {
  Dog = { id = "int primary", extra = "mixed", many = "mixed[]", named = "mixed{}" },
  Toy = { id = "int primary" },
}

local rex, locations

local function change(f) return store:write(f) end

local function watch(collection, options)
  local observed = {}
  local token = collection:observe(function(c)
    observed.last, observed.kind = c.collection, c.type
    if c.type ~= "update" then observed[#observed + 1] = c.type return end
    local parts = {}
    for _, name in ipairs { "deletions", "insertions", "modifications" } do
      if #c[name] > 0 then parts[#parts + 1] = name:sub(1, 3) .. "{" .. table.concat(c[name], ",") .. "}" end
    end
    if not c.collection:is_valid() then parts[#parts + 1] = "gone" end
    observed[#observed + 1] = table.concat(parts, " ")
  end, options)
  observed.token = token
  turn()
  return function(f)
    for i = #observed, 1, -1 do observed[i] = nil end
    if f then store:write(f) turn() end
    return table.concat(observed, "; ")
  end, token, observed
end

local function show(value)
  if type(value) ~= "userdata" and type(value) ~= "table" then return tostring(value) end
  if value == moonpool.null or type(value) == "userdata" and not value.to_table then return tostring(value) end
  local plain = type(value) == "userdata" and value:to_table() or value
  local keys, parts = {}, {}
  for key in pairs(plain) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for i, key in ipairs(keys) do parts[i] = tostring(key) .. "=" .. show(plain[key]) end
  return "{" .. table.concat(parts, ",") .. "}"
end

before(function()
  rex = store:write(function() return store:create("Dog", { id = 1 }) end)

  -- Where a collection can be: assigning a value, and reading it again.
  locations = {
    { "a property", function(v) rex.extra = v end, function() return rex.extra end },
    { "a list in a list", function(v) rex.extra = { 0, { v, 0 } } end, function() return rex.extra[2][1] end },
    { "a list in maps", function(v) rex.extra = { a = { b = v }, z = 1 } end, function() return rex.extra.a.b end },
    { "an element of a list", function(v) rex.many = { 1, v, 2 } end, function() return rex.many[2] end },
    { "an entry of a map", function(v) rex.named = { k = v, l = 1 } end, function() return rex.named.k end },
    { "deep in an element", function(v) rex.many = { { { x = v } } } end, function() return rex.many[1][1].x end },
  }

  -- Observes a collection; the result runs a change and returns what the observer received.

end)

scenario("An observer of a nested list receives exact changes at any depth", function()
  for _, location in ipairs(locations) do
    local name, put, get = table.unpack(location)
    change(function() put { 1, 2, 3 } end)
    local list = get()
    local news, token, observed = watch(list)
    local function check(want, f)
      local got = news(f)
      assert(got == want, name .. ": got " .. got .. ", expected " .. want)
    end
    check("", function() end)
    check("ins{4,5}", function() get():append(4, 5) end)
    check("ins{1}", function() get():insert(1, 0) end)
    check("mod{2}", function() get()[2] = "one" end)
    check("del{3}", function() get():remove(3) end)
    check("del{1} ins{5}", function() get():move(1, 5) end)
    check("mod{1,5}", function() get():swap(1, 5) end)
    check("ins{6}", function() get():append { 7, { x = 8 } } end)
    check("mod{6}", function() get()[6]:append(9) end)
    check("mod{6}", function() get()[6][2].x = 10 end)
    check("del{6} ins{1}", function() get():move(6, 1) end)
    check("ins{7} mod{1}", function() get()[1]:append(11) get():append(12) end)
    assert(observed.last == get() and observed.last:is_valid())
    check("del{1,2,3,4,5,6,7}", function() get():clear() end)
    check("ins{1}", function() get():append(1) end)
    token:invalidate()
    check("", function() get():append(1) end)
  end
end)

scenario("An observer of a nested map receives the changed keys", function()
  for _, location in ipairs(locations) do
    local name, put, get = table.unpack(location)
    change(function() put { a = 1, b = { 2 }, c = moonpool.null } end)
    local news, token, observed = watch(get())
    local function check(want, f)
      local got = news(f)
      assert(got == want, name .. ": got " .. got .. ", expected " .. want)
    end
    check("mod{a}", function() get().a = 5 end)
    check("ins{d}", function() get().d = 1 end)
    check("del{a} ins{e} mod{b}", function() get().a = nil get().e = 1 get().b[1] = 3 end)
    check("", function() get().b = { 3 } end)
    check("del{b,c,d,e}", function() get():clear() end)
    token:invalidate()
  end
end)

scenario("A nested collection that another value replaces reports its elements as deleted, once", function()
  for _, value in ipairs { 5, "text", moonpool.null, { a = 1 } } do
    for _, location in ipairs(locations) do
      local name, put, get = table.unpack(location)
      change(function() put { 1, { 2 } } end)
      local inner = get()[2]
      local news = watch(get())
      local _, _, observed = watch(inner)
      local got = news(function() put(value) end)
      assert(got == "del{1,2} gone", name .. " " .. got)
      assert(observed[#observed] == "del{1} gone", name .. " " .. observed[#observed])
      assert(news(function() put { 3 } end) == "", name)
    end
  end
  change(function() rex.extra = { { 1 }, { a = 2 } } end)
  local deleted = watch(rex.extra)
  equal(deleted(function() store:delete(rex) end), "del{1,2} gone")
end)

scenario("An observer follows its collection when the lists around it change", function()
  change(function() rex.extra = { "x", { 1, 2 }, { a = { 3 } } } end)
  local list, listToken, listHeard = watch(rex.extra[2])
  local inner, innerToken, innerHeard = watch(rex.extra[3].a)
  change(function() rex.extra:insert(1, "first") end)
  turn()
  equal(list(function() rex.extra[3]:append(3) end), "ins{3}")
  assert(#listHeard.last == 3 and listHeard.last == rex.extra[3])
  equal(inner(function() rex.extra[4].a:append(4) end), "ins{2}")
  equal(inner(function() rex.extra:remove(1) rex.extra:remove(1) rex.extra[2].a[1] = 5 end), "mod{1}")
  equal(innerHeard.last, rex.extra[2].a)
  equal(list(function() rex.extra[2].x = nil end), "")
  equal(list(function() rex.extra:remove(1) end), "del{1,2,3} gone")
  equal(inner(function() rex.extra[1].a:remove(1) end), "del{1}")
end)

except(sweep)

scenario("An observer follows a moved collection, and ends with an invalid one", function()
  local cases = {
    { function(list) list:move(1, 3) end, 3 }, { function(list) list:swap(1, 3) end, 3 },
    { function(list) list:swap(1, 2) end, 2 }, { function(list) list:move(3, 1) end, 2 },
    { function(list) list:insert(1, { 4 }) end, 2 }, { function(list) list:swap(2, 3) end, 1 },
    { function(list) list:remove(1) end }, { function(list) list[1] = 5 end },
    { function(list) list:clear() list:append({ 7 }, { 8 }) list:remove(1) list[1] = "x" end },
  }
  for _, location in ipairs(locations) do
    local name, put, get = table.unpack(location)
    for _, first in ipairs { { 9 }, {}, { a = 9 }, { { 9 } } } do
      for n, case in ipairs(cases) do
        change(function() put { first, { 1, 2 }, { 3 } } end)
        local _, token, observed = watch(get()[1])
        local _, _, sorted = watch(get()[1]:sorted())
        local function check(condition) assert(condition, name .. " " .. n .. " " .. show(first)) end
        local content = show(get()[1])
        change(function() case[1](get()) end)
        turn()
        check(token.is_valid == (case[2] ~= nil))
        if case[2] then
          local now = get()[case[2]]
          check(show(now) == content)
          change(function() if first.a then now:set("b", 0) else now:append(0) end end)
          turn()
          check(observed.last == now and show(observed.last) == show(now))
          check(#sorted.last == #now)
        else
          local last = observed.last
          check(not last:is_valid() and not sorted.last:is_valid())
          check(code(last.to_table, last) == "invalid_object" and code(function() return #last end) == "invalid_object")
          check(code(function() return #sorted.last end) == "invalid_object" and last ~= get()[1])
          for _, gone in ipairs { last, sorted.last } do
            check(code(moonpool.reference, gone) == "invalid_object")
          end
          store:write(function() check(code(last.clear, last) == "invalid_object") end)
        end
        token:invalidate()
      end
    end
  end
end)

except {}

except(sweep)

scenario("Changes of a nested list convert its old content to its new content", function()
  for seed = 1, tests_all and 12 or 3 do
    math.randomseed(seed)
    local random = math.random
    local function value(depth)
      local kind = random(depth > 2 and 4 or 6)
      if kind == 1 then return random(3) elseif kind == 2 then return ("x"):rep(random(2))
      elseif kind == 3 then return random(2) + 0.5 elseif kind == 4 then return moonpool.null
      elseif kind == 5 then
        local list = {}
        for i = 1, random(0, 3) do list[i] = value(depth + 1) end
        return list
      end
      return { a = value(depth + 1), b = value(depth + 1) }
    end
    local location = locations[seed % #locations + 1]
    local _, put, get = table.unpack(location)
    change(function() put { 1, 2, { 3 } } end)
    local views = {
      get(), get():where("SELF > 1 or SELF == nil"), get():sorted(), get():sorted("desc"):distinct(),
      get():distinct():limit(3), get():where("SELF != 2"):sorted():limit(2),
    }
    local shadows, tokens = {}, {}
    local function elements(view)
      local all = {}
      for i = 1, #view do all[i] = show(view[i]) end
      return all
    end
    for n, view in ipairs(views) do
      shadows[n] = elements(view)
      tokens[n] = view:observe(function(c)
        if c.type ~= "update" then return end
        local shadow, now = shadows[n], elements(c.collection)
        assert(#c.deletions + #c.insertions + #c.modifications > 0)
        for i = #c.deletions, 1, -1 do table.remove(shadow, c.deletions[i]) end
        for _, at in ipairs(c.insertions) do table.insert(shadow, at, now[at]) end
        for _, at in ipairs(c.modifications_new) do shadow[at] = now[at] end
        assert(#c:inserted() == #c.insertions and #c:deleted() == #c.deletions)
      end)
    end
    turn()
    for round = 1, 40 do
      store:write(function()
        for _ = 1, random(3) do
          local list = get()
          local count = #list
          local kind = random(8)
          if kind <= 2 then list:append(value(1))
          elseif kind == 3 then list:insert(random(count + 1), value(1))
          elseif kind == 4 and count > 0 then list:remove(random(count))
          elseif kind == 5 and count > 0 then list[random(count)] = value(1)
          elseif kind == 6 and count > 0 then list:move(random(count), random(count))
          elseif kind == 7 and count > 0 then list:swap(random(count), random(count))
          elseif kind == 8 and count > 12 then list:clear() end
        end
      end)
      turn()
      for n, view in ipairs(views) do
        local now = elements(view)
        equal(shadows[n], now)
      end
    end
    for _, token in ipairs(tokens) do token:invalidate() end
  end
end)

except {}

scenario("A nested list is filtered, sorted and summed as a list of mixed values", function()
  for _, location in ipairs(locations) do
    local name, put, get = table.unpack(location)
    change(function() put { 3, 1, 2.5, 1, moonpool.null, "x", { 7 } } end)
    local list = get()
    local function texts(values) local t = {} for i = 1, #values do t[i] = show(values[i]) end return table.concat(t, " ") end
    assert(texts(list:where("SELF > $1", 1)) == "3 2.5", name)
    assert(texts(list:where("SELF == nil")) == "nil", name)
    assert(texts(list:limit(2)) == "3 1", name)
    assert(#list:distinct() == 6, name)
    assert(texts(list:sorted():limit(3)) == "nil 1 1", name)
    assert(list:first() == 3 and list:last()[1] == 7, name)
    assert(list:count() == 7 and list:sum() == 7.5 and list:min() == 1 and list:average() == 1.875, name)
    local seen = 0
    for value in list:each() do seen = seen + 1 end
    assert(seen == 7, name)
    assert(#list:filter(function(v) return v == 1 end) == 2 and #list:map(tostring) == 7, name)
    assert(texts(moonpool.where(list, "SELF == 3")) == "3", name)
    -- What comes out of it is live.
    change(function() list:last():append(8) end)
    assert(#get()[7] == 2 and #list:where("SELF == nil or SELF != 3"):last() == 2, name)
    assert(list:sorted():explain():find("compares the collection before and after", 1, true), name)
    fails("unknown_property", list.where, list, "zz == 1")
    fails("invalid_query", list.observe, list, print, { keypaths = { "a" } })
  end
  change(function() rex.extra = { 1, { a = "x" }, moonpool.null } end)
  assert(moonpool.json.encode(rex.extra) == '[1,{"a":"x"},null]' and moonpool.json.encode(rex.extra[2]) == '{"a":"x"}')
  equal(moonpool.json.encode(rex.extra:where "SELF == 1"), "[1]")
  change(function() rex.extra = { 1, 2 } end)
  assert(#store:objects("Dog"):where("id in $1", rex.extra) == 1 and #rex.extra:where("SELF in $1", rex.extra) == 2)
  change(function() rex.extra = { a = 4, b = 1, sum = 3, c = moonpool.null } end)
  change(function() assert(rex.extra:remove "c" and not rex.extra:remove "c") end)
  assert(rex.extra:sum() == 8 and rex.extra:max() == 4 and #rex.extra:where("SELF > 1") == 2)
  assert(rex.extra:get("sum") == 3 and rex.extra:sorted()[1] == 1)
end)

scenario("A frozen nested collection keeps its content and thaws to the live one", function()
  for _, location in ipairs(locations) do
    local name, put, get = table.unpack(location)
    change(function() put { 1, { a = 2 } } end)
    local frozen, inner = get():freeze(), get()[2]:freeze()
    change(function() get()[2].a = 3 get():append(4) end)
    assert(#frozen == 2 and frozen[2].a == 2 and inner.a == 2 and frozen:is_frozen() and inner:is_frozen(), name)
    assert(#frozen:thaw() == 3 and inner:thaw().a == 3 and frozen:freeze() == frozen, name)
    fails("frozen", function() change(function() frozen:append(1) end) end)
    fails("frozen", frozen.observe, frozen, print)
    assert(#frozen:sorted() == 2 and moonpool.store_of(get()) == store and moonpool.store_of(frozen).is_frozen, name)
    change(function() put(1) end)
    assert(frozen:thaw() == nil and inner:thaw() == nil and #frozen == 2, name)
  end
end)

scenario("A reference to a nested collection resolves to it, or to nil", function()
  for _, location in ipairs(locations) do
    local name, put, get = table.unpack(location)
    change(function() put { 1, { a = 2 } } end)
    local list = store:resolve(moonpool.reference(get()))
    assert(list == get() and #list == 2, name)
    local map = store:resolve(moonpool.reference(get()[2]))
    assert(map == get()[2] and map.a == 2 and map ~= list, name)
    local values = store:resolve(moonpool.reference(get():where("SELF == 1")))
    assert(#values == 1 and values[1] == 1, name)
    local frozen = store:resolve(moonpool.reference(get():freeze()))
    local gone = moonpool.reference(get())
    change(function() put "text" end)
    assert(store:resolve(gone) == nil and #frozen == 2, name)
  end
end)

scenario("An effect that reads a nested collection runs again when it changes", function()
  change(function() rex.extra = { 1, { 2 } } end)
  local runs, sum, count = 0
  local effect = moonpool.effect(function() runs, sum, count = runs + 1, rex.extra:sum(), #rex.extra[2] end)
  turn()
  assert(runs == 1 and sum == 1 and count == 1)
  change(function() rex.extra[2]:append(3) end) turn()
  assert(runs == 2 and count == 2)
  change(function() rex.extra[1] = 5 end) turn()
  assert(runs == 3 and sum == 5)
  effect:dispose()
end)

scenario("a script can read the type of a stored value and copy every object exactly", function()
  local values = {
    ["nil"] = moonpool.null, bool = true, int = 1, float = moonpool.float(0.1), double = 1.0, string = "a",
    data = moonpool.data("a"), date = moonpool.date(1), uuid = moonpool.uuid(), object_id = moonpool.object_id(),
    decimal = moonpool.decimal "1", object = store:write(function() return store:create("Toy", { 1 }) end),
    list = {}, map = moonpool.json.empty_object,
  }
  local function copy(owner, key)
    local value, kind = owner[key], moonpool.type_of(owner, key)
    if kind == "data" then return moonpool.data(value) end
    if kind == "float" then return moonpool.float(value) end
    return value
  end
  local max = store:write(function() return store:create("Dog", { id = 2 }) end)
  for kind, value in pairs(values) do
    change(function() rex.extra = value rex.many = { value } rex.named = { k = value } end)
    change(function()
      max.extra = copy(rex, "extra")
      max.many = { copy(rex.many, 1) or moonpool.null }
      max.named = { k = copy(rex.named, "k") or moonpool.null }
    end)
    for _, dog in ipairs { rex, max } do
      assert(moonpool.type_of(dog, "extra") == kind, kind)
      assert(moonpool.type_of(dog.many, 1) == kind and moonpool.type_of(dog.named, "k") == kind, kind)
    end
    change(function() rex.extra = { value, { k = value } } max.extra = rex.extra end)
    assert(moonpool.type_of(max.extra, 1) == kind and moonpool.type_of(max.extra[2], "k") == kind, kind)
  end
  assert(moonpool.type_of(rex, "id") == "int" and moonpool.type_of(rex, "many") == "list" and moonpool.type_of(rex, "named") == "map")
  assert(moonpool.type_of(rex.many, 9) == nil and moonpool.type_of(rex.named, "zz") == nil)
  assert(code(moonpool.type_of, rex, "zz") == "unknown_property" and code(moonpool.type_of, 5, "zz") == "invalid_argument")
  assert(code(moonpool.float, 1e300) == "invalid_argument" and moonpool.float(0.5):to_number() == 0.5)
  assert(moonpool.float(0.1) == moonpool.float(0.1) and tostring(moonpool.float(0.1)) == "0.1")
end)

scenario("many changes of one collection inside a mixed value are the changes of a plain table", function()
  local toy = change(function() return store:create("Toy", { 7 }) end)
  change(function()
    rex.extra = { list = {}, map = { a = 1 }, other = "x" }
    rex.many = { 5, { k = {} } }
    local lists, maps = { rex.extra.list, rex.many[2].k }, { rex.extra.map, rex.many[2] }
    local list, map = {}, { a = 1 }
    for i = 1, 300 do
      local place, value = i * 7919 % (#list + 1) + 1, i % 40 == 0 and toy or { i, { n = "x" .. i } }
      table.insert(list, place, value)
      map["k" .. i * 31 % 100] = i
      if i % 3 == 0 then table.remove(list, i % #list + 1) end
      if i % 7 == 0 then map["k" .. i % 100] = nil end
      for _, l in ipairs(lists) do
        l:insert(place, value)
        if i % 3 == 0 then l:remove(i % #l + 1) end
        if i % 50 == 0 then l:swap(1, #l) l:swap(#l, 1) l:move(1, #l) l:move(#l, 1) end
        equal(#l, #list)
      end
      maps[1]["k" .. i * 31 % 100] = i
      if i % 7 == 0 then maps[1]["k" .. i % 100] = nil end
    end
    for _, l in ipairs(lists) do
      for i, value in ipairs(list) do
        assert(value == toy and l[i] == toy or l[i][1] == value[1] and l[i][2].n == value[2].n)
      end
    end
    equal(maps[1]:to_table(), map)
    equal(rex.extra.other, "x")
    equal(rex.many[1], 5)
  end)
  equal(#store:objects "Dog":where("any extra.list[*] == $1", toy), 1)
  -- A change that is rolled back leaves the value from before.
  local before = show(rex.extra)
  pcall(change, function()
    rex.extra.map.z = 1
    pcall(store.savepoint, store, function() rex.extra.map.y = 1 error "x" end)
    assert(rex.extra.map.y == nil and rex.extra.map.z == 1)
    error "x"
  end)
  equal(show(rex.extra), before)
  change(function() store:delete(toy) end)
  local rest = 0
  for _, value in pairs(rex.extra.list) do if value == nil then rest = rest + 1 end end
  assert(rest > 0)
end)
