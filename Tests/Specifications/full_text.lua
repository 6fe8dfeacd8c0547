-- The operator `text` on full-text properties, and the order `@rank`.

schema {
  Note = {
    { "title", "string" }, { "body", "string? fulltext" }, { "stars", { type = "int", default = 0 } }, { "parent", "Note" },
    { "children", "Note[]" }, { "tale", { type = "string", fulltext = true, default = "" } },
  },
}

local notes

before(function() notes = store:objects "Note" end)

-- Creates notes with these bodies (false for nil), whose titles are their numbers, counted from 0.
local function add(...)
  local bodies = { ... }
  store:write(function()
    for n, body in ipairs(bodies) do
      store:create("Note", { title = tostring(n - 1), body = body or moonpool.null, stars = (n - 1) % 3 })
    end
  end)
end

local function titles(results)
  local found = results:map(function(note) return note.title end)
  equal(results:count(), #found)
  return table.concat(found, " ")
end

local function found(text) return titles(notes:where("body text $1", text)) end

scenario("an error marks properties that cannot be searched", function()
  for text, part in pairs {
    ["title text 'x'"] = 'declare it "string fulltext"', ["stars text 'x'"] = "is not one", ["body text 5"] = "needs a string",
    ["body text title"] = "needs a string", ["body text[c] 'x'"] = "no options", ["'x' text body"] = "is not one",
    ["body text '" .. ("word "):rep(65) .. "'"] = "at most 64 words", ["title == 'x' sort(@rank)"] = "filter with 'text'",
  } do
    fails("invalid_query: " .. part, notes.where, notes, text)
  end
  equal(#notes:where("body text $1", ("word "):rep(64)), 0)
  fails("invalid_query: filter with 'text'", notes.sorted, notes, "@rank")
  fails("invalid_schema: cannot have a full-text index", store.define, store, { Bad = { n = "int fulltext" } })
  equal(store:schema("Note").body, "string? fulltext")
  equal(store:schema("Note").tale.type, "string fulltext")
end)

scenario("a search ignores case and diacritics, excludes words, and matches prefixes", function()
  add("Red dog", "blue dog", "réd car", false, "", "The reddish DOG")
  for text, expected in pairs {
    ["red"] = "0 2", ["DOG -blue"] = "0 5", ["re* dog"] = "0 5", ["-dog"] = "2 4", [""] = "", ["missing dog"] = "",
  } do
    equal({ text, found(text) }, { text, expected })
  end
  for predicate, expected in pairs {
    ["body text 'dog' and stars == 1"] = "1", ["not body text 'dog'"] = "2 3 4", ["body text 'car' or stars == 1"] = "1 2 4",
  } do
    equal({ predicate, titles(notes:where(predicate)) }, { predicate, expected })
  end
  local plan = notes:where("body text 'red dog'"):explain()
  assert(plan:find("2 words in the full-text index for: body text 'red dog'", 1, true), plan)
  store:write(function() notes[1].tale = "Once upon a time" end)
  equal(titles(notes:where "tale text 'upon once'"), "0")
end)

scenario("a search follows links and lists", function()
  add("red dog", "blue dog", false)
  store:write(function()
    notes[3].parent = notes[1]
    notes[2].children = { notes[1] }
  end)
  equal(titles(notes:where "parent.body text 'red'"), "2")
  equal(titles(notes:where "any children.body text 'red'"), "1")
  equal(titles(notes:where("parent.body text 'red'"):sorted "@rank"), "2")
  local children = notes:where "any children.body text 'red'"
  fails("invalid_query", children.sorted, children, "@rank")
end)

scenario("a search through a link uses the index of the linked texts", function()
  local bodies = {}
  for n = 0, 1999 do bodies[n + 1] = n % 900 == 1 and "a rare word" or "common words only" end
  add(table.unpack(bodies))
  local parents = { notes[2], notes[3], notes[902] }
  store:write(function() for n, note in ipairs(notes) do note.parent = parents[(n - 1) % 3 + 1] end end)
  local rare = notes:where "parent.body text 'rare' and stars == 0"
  assert(#rare == 667 and rare:explain():find("linked objects", 1, true))
  equal(titles(notes:where "parent.body text 'rare -common' and title == '3'"), "3")
end)

scenario("@rank puts the best match first, and last when descending", function()
  add("a dog among many other words that say nothing about it", "dog", "dog dog cat", "no match", "dog dog")
  local dogs = notes:where "body text 'dog'"
  equal(titles(dogs), "0 1 2 4")
  equal(titles(dogs:sorted "@rank"), "4 2 1 0")
  equal(titles(dogs:sorted("@rank", "desc")), "0 1 2 4")
  equal(titles(notes:where "body text 'dog' sort(@rank) limit(2)"), "4 2")
  equal(titles(dogs:sorted { "stars", "@rank" }), "0 4 1 2")
end)

scenario("define adds the index to a class with objects, and drops it", { Note = { body = "string?" } }, function()
  local function create(body) store:write(function() store:create("Note", { body = body }) end) end
  local function count() return #store:objects("Note"):where "body text 'red'" end
  create "red dog"
  create "blue dog"
  fails("invalid_query", count)
  store:define { Note = { body = "string? fulltext" } }
  equal(count(), 1)
  create "red car"
  equal(count(), 2)
  store:define { Note = { body = "string?" } }
  fails("invalid_query", count)
end)
