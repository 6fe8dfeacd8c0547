-- Migrating: three releases of a program open the same file.
--
-- Prints:
--
--     version 1 knows Ann Lee, who is 36
--     without a new version: migration_needed
--     version 2 knows Ann Lee
--     Ann Lee weighs 61.5 kg
--     a migration went wrong: no value for Bob Ray
--     the file still has version 2
--     version 1 knows Ann Lee, who is 36
--     migrating from 2 to 3
--     version 3 knows 2 members, the first is Ann Lee
--     migrating from 1 to 3
--     version 3 knows 2 members, the first is Ann Lee

local moonpool = require "moonpool"

local path, old_path = os.tmpname(), os.tmpname()
os.remove(path)
os.remove(old_path)

-- The first release. The default version of a schema is 0.
local function first_release(path)
  local store <close> = moonpool.open {
    path = path,
    schema_version = 1,
    schema = {
      Person = { id = "int primary", first = "string", last = "string", age = "int", weight = "string" },
      Note = { text = "string" },
    },
  }
  store:write(function()
    store:create("Person", { id = 1, first = "Ann", last = "Lee", age = 36, weight = "61.5 kg" })
    store:create("Person", { id = 2, first = "Bob", last = "Ray", age = 58, weight = "unknown" })
    store:create("Note", { text = "no longer needed" })
  end)
  local ann = store:object("Person", 1)
  print(("version 1 knows %s %s, who is %d"):format(ann.first, ann.last, ann.age))
end

first_release(path)

-- The second release joins the names, stores the year of birth instead of the age, and the weight as a number.
local second = {
  Person = { id = "int primary", name = "string", born = "int", weight = "double?" },
}

-- New classes and indexes do not require a new version; all other changes do.
local ok, err = pcall(moonpool.open, { path = path, schema_version = 1, schema = second })
print("without a new version: " .. err.code)

local function to_second(m)
  m:rename_property("Person", "age", "born") -- keeps the values; they are replaced below
  m:each("Person", function(old, new)
    new.name = old.first .. " " .. old.last
    new.born = 2026 - old.age
    new.weight = tonumber(old.weight:match("^[%d.]+"))
  end)
  m:delete_class("Note")
end

local store = moonpool.open {
  path = path, schema_version = 2, schema = second, migration = to_second,
  drops = { "Person.first", "Person.last" }, -- joined in "name"; data loss must be declared
}
local ann = store:object("Person", 1)
print("version 2 knows " .. ann.name)
print(("%s weighs %s kg"):format(ann.name, ann.weight))
store:close()

-- The third release renames Person to Member, and requires a weight.
local third = {
  Member = { id = "int primary", name = "string", born = "int", weight = "double" },
}

-- An error leaves the file unchanged.
ok, err = pcall(moonpool.open, {
  path = path, schema_version = 3, schema = third,
  migration = function(m)
    m:rename_class("Person", "Member")
    m:each("Member", function(old, new)
      if not old.weight then error("no value for " .. old.name, 0) end
      new.weight = old.weight
    end)
  end,
})
print("a migration went wrong: " .. err)
store = moonpool.open(path)
print("the file still has version " .. store.schema_version)
store:close()

-- One function migrates files of all older versions: each step runs only if the file needs it.
local function to_third(m)
  print(("migrating from %d to %d"):format(m.old_version, m.new_version))
  m:rename_class("Person", "Member")
  m:each("Member", function(old, new)
    if m.old_version < 2 then
      new.name = old.first .. " " .. old.last
      new.born = 2026 - old.age
    end
    new.weight = tonumber(old.weight) or 0
  end)
end

first_release(old_path) -- a user who skipped the second release
for _, file in ipairs { path, old_path } do
  store = moonpool.open {
    path = file, schema_version = 3, schema = third, migration = to_third,
    drops = { "Person.first", "Person.last", "Person.age", "Note" },
  }
  local members = store:objects("Member")
  print(("version 3 knows %d members, the first is %s"):format(#members, members[1].name))
  store:close()
  os.remove(file)
  os.remove(file .. "-lock")
end
