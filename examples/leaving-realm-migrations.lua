-- Converts the migration block of a Realm app to a folder of migrations.
--
-- The app's block was a chain of versions:
--
--     migration.enumerateObjects(ofType: "Person") { old, new in
--         if oldVersion < 1 { new["fullName"] = "\(old["first"]) \(old["last"])" }
--         if oldVersion < 2 { migration.renameProperty(onType: "Person", from: "fullName", to: "name") }
--     }
--     if oldVersion < 3 { migration.deleteData(forType: "Draft") }
--
-- Each `if oldVersion < n` becomes the file with the number n.
--
-- Prints:
--
--     5 tests, 0 failed
--     applied start
--     applied full_names
--     applied rename_to_name
--     applied remove_drafts
--     Ada Lovelace, and no drafts

local moonpool = require "moonpool"
local migrate = moonpool.migrate

local dir = os.tmpname()
os.remove(dir)
os.execute("mkdir " .. dir)
local function write(name, text)
  local file <close> = assert(io.open(dir .. "/" .. name, "w"))
  file:write(text)
end

-- The schema of the first release.
write("0001_start.lua", [[
return {
  schema = {
    Person = { id = "int primary", first = "string", last = "string" },
    Draft = { text = "string" },
  },
  up = function(m)
    m:create("Person", { id = 1, first = "Ada", last = "Lovelace" })
    m:create("Draft", { text = "unfinished" })
  end,
}
]])

-- if oldVersion < 1: enumerateObjects becomes m:each.
write("0002_full_names.lua", [[
return {
  changes = { Person = { fullName = "string" } },
  drops = { "Person.first", "Person.last" },
  up = function(m)
    m:each("Person", function(old, new) new.fullName = old.first .. " " .. old.last end)
  end,
}
]])

-- if oldVersion < 2: renameProperty keeps its name.
write("0003_rename_to_name.lua", [[
return {
  changes = { Person = { name = "string" } },
  drops = { "Person.fullName" }, -- the property was renamed; its values are kept
  up = function(m) m:rename_property("Person", "fullName", "name") end,
  down = function(m) m:rename_property("Person", "name", "fullName") end,
}
]])

-- if oldVersion < 3: deleteData is a declared loss.
write("0004_remove_drafts.lua", [[
return { changes = {}, drops = { "Draft" } }
]])

local tests = migrate.test(dir)
print(("%d tests, %d failed"):format(#tests.tests, tests.failures))

local path = dir .. "/app.moonpool"
for _, migration in ipairs(migrate.up(path, { dir = dir, backup = false }).applied) do
  print("applied " .. migration.name)
end

do
  local store <close> = moonpool.open(path)
  print(store:object("Person", 1).name .. ", and " .. (pcall(store.schema, store, "Draft") and "drafts" or "no drafts"))
end
os.execute("rm -r " .. dir)
