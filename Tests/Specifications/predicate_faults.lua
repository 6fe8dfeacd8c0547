-- The errors of invalid predicates.

schema {
  Person = {
    { "id", "int primary" }, { "name", "string?" }, { "age", "int?" }, { "height", "double?" }, { "active", "bool?" },
    { "born", "date?" }, { "photo", "data?" }, { "code", "uuid?" }, { "mark", "object_id?" }, { "buddy", "Person" },
    { "items", "Item[]" }, { "numbers", "int?[]" }, { "tags", "string[]" }, { "admirers", "backlinks Person.buddy" },
  },
  Item = { name = "string", price = "double?", count = "int" },
}

local people

before(function() people = store:objects "Person" end)

-- The message of the error of a predicate.
local function fault(text, ...)
  local ok, err = pcall(people.where, people, text, ...)
  if ok then return "no error" end
  local is_unknown = err.message:find("' has no property '", 1, true) or err.message:find "^unknown property '"
  equal(err.code, is_unknown and "unknown_property" or "invalid_query")
  return err.message
end

local function contains(text, part, ...)
  local found = fault(text, ...)
  assert(found:find(part, 1, true), text .. ": " .. found)
  return found
end

scenario("an error marks its place, and suggests a similar name", function()
  for text, expected in pairs {
    ["age > 3 and nmae == 'Rex'"] = [[
'Person' has no property 'nmae'; did you mean 'name'?
  age > 3 and nmae == 'Rex'
              ^~~~]],
    ["buddy.buddy.agee == 3"] = [[
'Person' has no property 'agee'; did you mean 'age'?
  buddy.buddy.agee == 3
              ^~~~]],
    ["name == 5"] = [[
'Person.name' (string?) cannot be compared with an int
  name == 5
          ^]],
    ["age beginswith 'x'"] = [[
'beginswith' searches strings, not 'Person.age' (int?)
  age beginswith 'x'
      ^~~~~~~~~~]],
    ["all buddy.age > 3"] = [[
'all' needs a list in the path; 'Person.age' is reached without one
  all buddy.age > 3
  ^~~~~~~~~~~~~]],
  } do
    equal(fault(text), expected)
  end
  equal(fault("age == $2", 1), [[
there is no argument $2: 1 was given
  age == $2
         ^~]])
end)

scenario("type mismatches are reported before the query runs", function()
  for _, text in ipairs {
    "age == 'x'", "active == 2", "born > 5", "photo == 5", "mark == 5", "code == 'x'", "buddy == 5", "age == name",
    "active > false", "age == 'a' + 1", "active contains 'x'", "born like 'x'", "buddy endswith 'x'", "age ==[c] 3",
    "age between 3", "age between {1}", "age between {1, 2, 3}", "age between {1, height}", "name between {'a', 'b'}",
    "active between {true, false}", "age between {'a', 'b'}",
  } do
    contains(text, "^")
  end
  for _, text in ipairs { "age == 2.5", "active == 1", "height == age" } do equal(fault(text), "no error") end
  assert(fault("name <[c] 'x'"):find "^'<' has no options such as %[c%]")
end)

scenario("the cause of an error is reported", function()
  for text, part in pairs {
    [""] = "expected a condition", ["age >"] = "got the end", ["age > 3 and"] = "got the end", ["(age > 3"] = "expected ')'",
    ["age > 3)"] = "expected 'and', 'or' or the end", ["name == 'Rex"] = "this string is not closed",
    ["age = = 3"] = "expected a value", ["age >> 3"] = "expected a value", ["age > 3 adn active"] = "did you mean 'and'?",
    ["name matches 'x'"] = "'matches' is not an operator", ["age"] = "expected a condition", ["3"] = "expected a condition",
    ["age ? 3"] = "'?' is not valid here", ["age > 3 sort(nam)"] = "did you mean 'name'?",
    ["age > 3 limit(-1)"] = "expected an integer", ["age > 3 limit(2.7)"] = "expected an integer",
    ["age > 3 limit(x)"] = "expected an integer", ["sort(age)"] = "must follow a condition",
    ["name == 'a\\q'"] = "unknown escape", ["1 < age < 3"] = "cannot be chained", ["age > 3 & active"] = "write '&&'",
    ["uuid(12) == code"] = "this is not a valid UUID", ["items[0].price > 3"] = "counted from 1",
    ["items.@values > 3"] = "needs a map", ["tags.@keys == 'x'"] = "needs a map", ["items.@cuont > 3"] = "did you mean 'count'?",
    ["age.@count > 3"] = "counts lists", ["items.@sum > 3"] = "needs a property",
    ["subquery(buddy, $x, $x.age > 3).@count > 0"] = "needs a list of objects",
    ["subquery(items, $x, $x.price > 3) > 0"] = "must be followed by .@count",
    ["subquery(items, $x, price > 3).@count > 0"] = "begins with its variable",
    ["truepredicate sort(items.price)"] = "goes through the list", ["truepredicate sort(buddy)"] = "ends in the link",
    ["truepredicate sort(photo)"] = "data", ["age.foo == 3"] = "not a link", ["numbers.foo == 3"] = "not a link",
    ["2021-13-01 < born"] = "not a date", ["age != {1, 2}"] = "use 'in'", ["admirers == nil"] = "is never nil",
    ["age in 5"] = "'in': expected a list", ["age == $0"] = "counted from 1", ["age == $"] = "the first argument is $1",
  } do
    contains(text, part)
    contains(text, "\n  ")
  end
end)

scenario("the syntax for operators of other languages is suggested", function()
  for text, advice in pairs {
    ["name = %@"] = "write $1", ["name = ?"] = "write $1", ["name = :name"] = "write $1", ["name MATCHES 'x'"] = "write 'like'",
    ["age in (1, 2)"] = "write {1, 2}", ["age > 1 order by age"] = "write 'sort(name asc)'",
    ["name ilike 'x*'"] = "write 'like[c]'", ["name startswith 'x'"] = "write 'beginswith'", ["name is null"] = "write '= nil'",
    ["name is not null"] = "'!= nil'", ["SELF.name = 'x'"] = "without 'SELF.'", ["name = Rex"] = "write text in quotes: 'Rex'",
    ["name = nam"] = "did you mean 'name'?",
  } do
    local first = contains(text, advice):match "^[^\n]*"
    equal({ text, select(2, first:gsub("; ", "")) }, { text, 1 })
  end
end)

except(sweep)

scenario("nesting and the length of paths are limited instead of exhausting the stack", function()
  for _, count in ipairs { 99, 100, 20000 } do
    local is_valid = count < 100
    equal(fault(("("):rep(count) .. "age > 3" .. (")"):rep(count)) == "no error", is_valid)
    for _, path in ipairs { ("buddy."):rep(count), "any " .. ("admirers."):rep(count) } do
      equal(fault(path .. "age > 3") == "no error", is_valid)
    end
  end
  contains("age in " .. ("{"):rep(20000), "nested too deeply")
  contains("age > 0" .. ("+1"):rep(20000), "too many operations")
  equal(fault(("not "):rep(20001) .. "age > 3"), "no error")
  equal(fault(("age > 3 or "):rep(20000) .. "age > 3"), "no error")
  for _, f in ipairs { people.sorted, people.distinct, people.min } do fails(": ", f, people, ("buddy."):rep(20000) .. "age") end
end)

except {}

scenario("a value that the text does not use is an error", function()
  contains("age > 3", "2 values are given, and the text has no $1", 1, 2)
  contains("age > $1", "2 values are given, and the text has only $1", 1, 2)
  contains("name == '$2'", "2 values are given, and the text has no $1", 1, 2)
  equal(fault("age > $2 or age < $1", 1, 2), "no error")
end)

scenario("a long text is shortened to the part around the error", function()
  local filler = ("age > 3 and "):rep(1000) .. "age > 3"
  local found = fault(filler .. " and nmae == 'x' and " .. filler)
  local _, text, caret = found:match "^([^\n]*)\n([^\n]*)\n([^\n]*)$"
  assert(#found < 400 and utf8.len(found) < 300)
  local position = utf8.len(caret, 1, (caret:find("^", 1, true)))
  equal(text:sub(utf8.offset(text, position), utf8.offset(text, position) + 3), "nmae")
end)

scenario("the limits of paths, predicates and indexes are named by their errors", {
  A = { n = "int", next = "A" }, C = { a = "C", b = "C", n = "int" },
}, function()
  local all, stars = store:objects "A", store:objects "C"
  local function path(steps) return ("next."):rep(steps - 1) .. "n" end
  equal(#all:where(path(100) .. " == 1"), 0)
  fails("invalid_query: at most 100", all.where, all, path(101) .. " == 1")
  fails("invalid_query: at most 100", all.observe, all, print, { keypaths = path(101) })
  fails("invalid_query: at most 100", all.where, all, ("("):rep(101) .. "n == 1" .. (")"):rep(101))
  local function indexed(count)
    local class, names = {}, {}
    for n = 1, 9 do class["p" .. n] = "int" end
    for n = 1, count do names[n] = "p" .. n end
    class.indexes = { names }
    return { ["B" .. count] = class }
  end
  store:define(indexed(8))
  fails("invalid_schema: 8", store.define, store, indexed(9))
  -- Each star doubles the paths through two links.
  fails("invalid_query: more than 1,000 paths", stars.observe, stars, print, { keypaths = ("*."):rep(10) .. "n" })
end)
