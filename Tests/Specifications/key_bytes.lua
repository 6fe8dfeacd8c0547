-- Texts that differ only in their Unicode normalization are different keys, elements and values.

schema {
  T = {
    id = "string primary", group = "string? indexed", list = "string[]", set = "string<>", map = "string{}",
    mixed = "mixed", any = "mixed<>", parts = "Part{}", links = "T{}",
  }, Part = { embedded = true, name = "string" }
}

local one, two = "\u{e9}", "e\u{301}"
local a, b

before(function()
  store:write(function()
    store:create("T", {
      id = one, group = one, list = { one, two }, set = { one, two }, map = { [one] = "1", [two] = "2" },
      mixed = { [one] = 1, [two] = { [one] = 3, [two] = 4 } }, any = { one, two },
      parts = { [one] = { name = "1" }, [two] = { name = "2" } },
    })
    b = store:create("T", { id = two, group = two })
    a = store:object("T", one)
    a.links = { [one] = a, [two] = b }
  end)
end)

scenario("keys and elements are compared by their bytes", function()
  assert(#a.set == 2 and #a.any == 2 and #a.map == 2 and #a.mixed == 2 and #a.mixed[two] == 2)
  assert(a ~= b and a.map[one] == "1" and a.map[two] == "2" and a.mixed[one] == 1 and a.mixed[two][two] == 4)
  assert(a.parts[one].name == "1" and a.parts[two].name == "2" and a.links[one] == a and a.links[two] == b)
  assert(a.list:index_of(two) == 2 and a.set:contains(one) and not b.set:contains(one))
  local all = store:objects "T"
  assert(#all:group_by "group" == 2 and #all:distinct "group" == 2)
  assert(#all:where("group == $1", two) == 1 and #all:where { group = one } == 1)
  equal(#all:where("map['" .. two .. "'] == '2' and mixed['" .. one .. "'] == 1"), 1)
  equal(moonpool.json.decode(moonpool.json.encode { [one] = 1, [two] = 2 })[two], 2)
end)

scenario("changes of one key leave the other one", function()
  store:write(function()
    a.map:remove(one)
    a.mixed:set(two, 5)
    store:create("T", { id = one, group = two, map = { [one] = "3" } }, "modified")
  end)
  assert(a.group == two and a.map[one] == "3" and a.map[two] == "2" and a.mixed[one] == 1 and a.mixed[two] == 5)
  local copy = moonpool.open { in_memory = unique "copy" }
  copy:define(store:schema())
  copy:write(function() copy:create("T", a) end)
  local copied = copy:object("T", one)
  assert(#copied.map == 2 and #copied.mixed == 2 and #copied.list == 2 and #copied.set == 2)
end)
