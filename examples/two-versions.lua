-- Programs of two versions use one store while it is migrated: nothing stops, and no write is lost.
--
-- The migrations are in `two-versions/` beside this file. The programs are workers here; usually they are processes, and
-- an operator runs `moonpool migrate start` and `moonpool migrate complete`.
--
-- Prints:
--
--     both versions are in use
--     old program: Ann Lee is 3
--     new program: Bob Ray is 5
--     new program renames dog 2 to Bob Stone Ray
--     old program: Bob, Stone Ray
--     old program renames dog 1 to Ann van, Lee
--     new program: Ann van Lee
--     new program makes dog 1 older
--     old program: Ann van, Lee
--     complete: schema version 2

local moonpool = require "moonpool"
local migrate = moonpool.migrate
local here = arg[0]:match "^(.*)/[^/]*$" or "."
local folder = { dir = here .. "/two-versions" }

local path = os.tmpname()
os.remove(path)
migrate.up(path, { dir = folder.dir, to = 1 })

-- A program opens the store with its schema version, and changes a dog for each message.
local function program(path, version)
  local store = moonpool.open { path = path, schema_version = version }
  moonpool.on_message(function(id, values)
    store:refresh()
    local dog = store:object("Dog", id)
    store:write(function()
      for name, value in pairs(values) do dog[name] = value end
    end)
    moonpool.post_to_parent(version == 1 and { dog.first, dog.last, dog.age } or { dog.name, dog.age })
  end)
end

-- Sends a message to a program, and returns its dog afterward.
local function ask(worker, id, values)
  local reply
  worker:on_message(function(dog) reply = dog end)
  worker:post(id, values or {})
  while not reply do moonpool.sleep(0.005) end
  return reply
end

local old = moonpool.worker("old", program, path, 1)
ask(old, 1)  -- The old program is running.
local report = migrate.start(path, { dir = folder.dir, pace = 100 })
print(report.started.state == "both" and "both versions are in use" or "not converted")
local new = moonpool.worker("new", program, path, 2)

print(("old program: %s %s is %d"):format(table.unpack(ask(old, 1))))
print(("new program: %s is %d"):format(table.unpack(ask(new, 2))))

print "new program renames dog 2 to Bob Stone Ray"
ask(new, 2, { name = "Bob Stone Ray" })
print(("old program: %s, %s"):format(table.unpack(ask(old, 2))))

-- What the old program writes stays as it is: `down` would split this name in another way.
print "old program renames dog 1 to Ann van, Lee"
ask(old, 1, { first = "Ann van", last = "Lee" })
print(("new program: %s"):format(table.unpack(ask(new, 1))))
print "new program makes dog 1 older"
ask(new, 1, { age = 4 })
print(("old program: %s, %s"):format(table.unpack(ask(old, 1))))

-- Without the old program, the migration can be completed.
old:stop()
old:join()
migrate.complete(path, { dir = folder.dir, wait = 10, backup = false })
new:stop()
new:join()
do
  local store <close> = moonpool.open(path)
  print("complete: schema version " .. store.schema_version)
end
for _, ending in ipairs { "", "-lock", "-log" } do os.remove(path .. ending) end
