-- SQLite: exports a store as a database, queries it with SQL, and imports it without loss.
--
-- Prints:
--
--     7 objects exported
--     Ann|2|10
--     Bob|1|2
--     ball|1
--     rope|2
--     back again: 7 objects; Rex, owned by Ann, has 2 toys
--     a database from elsewhere: OrderItems, Orders
--     the primary key of 'order_items' over 2 columns became an index; uniqueness is not enforced
--     order 1 has 2 items for 12.5
--
-- Needs the command `sqlite3`.

local moonpool = require "moonpool"

if not os.execute("command -v sqlite3 > /dev/null") then
  print "sqlite3 is not installed"
  os.exit(0)
end

-- Runs SQL with the command line of SQLite.
local function sql(path, text)
  local pipe = assert(io.popen(("sqlite3 '%s' \"%s\""):format(path, text)))
  for line in pipe:lines() do print(line) end
  assert(pipe:close())
end

local store = moonpool.open {
  in_memory = "sqlite",
  schema = {
    Person = { name = "string primary" },
    Dog = { id = "int primary", name = "string", age = "int", owner = "Person", toys = "Toy<>" },
    Toy = { name = "string primary" },
  },
}
store:write(function()
  local ann, bob = store:create("Person", { name = "Ann" }), store:create("Person", { name = "Bob" })
  local ball, rope = store:create("Toy", { name = "ball" }), store:create("Toy", { name = "rope" })
  store:create("Dog", { id = 1, name = "Rex", age = 7, owner = ann, toys = { ball, rope } })
  store:create("Dog", { id = 2, name = "Max", age = 3, owner = ann, toys = { rope } })
  store:create("Dog", { id = 3, name = "Pup", age = 2, owner = bob })
end)

local base = os.tmpname()
local database, shop = base .. ".sqlite", base .. "-shop.sqlite"
print(store:export(database) .. " objects exported")

-- A link becomes a foreign key; a list or set of links becomes a table.
sql(database, "SELECT owner, count(*), sum(age) FROM Dog GROUP BY owner ORDER BY owner")
sql(database, "SELECT target, count(*) FROM Dog_toys GROUP BY target ORDER BY target")

-- The database contains the schema, so an empty store restores it.
local copy = moonpool.open { in_memory = "copy" }
local report = copy:import(database)
local rex = copy:object("Dog", 1)
print(("back again: %d objects; Rex, owned by %s, has %d toys"):format(report.created, rex.owner.name, #rex.toys))

-- Other databases can be imported too: tables become classes, and foreign keys become links.
sql(shop, [[
  CREATE TABLE orders (id INTEGER PRIMARY KEY, made DATE);
  CREATE TABLE order_items (
    order_id INTEGER NOT NULL REFERENCES orders, line INTEGER, price REAL, PRIMARY KEY (order_id, line));
  INSERT INTO orders VALUES (1, '2026-11-20');
  INSERT INTO order_items VALUES (1, 1, 10), (1, 2, 2.5);
]])
local bought = moonpool.open { in_memory = "shop" }
report = bought:import(shop)
table.sort(report.new_classes)
print("a database from elsewhere: " .. table.concat(report.new_classes, ", "))
print(table.concat(report.notes, "\n"))
local items = bought:objects("OrderItems"):where("order.id == $1", 1)
print(("order 1 has %d items for %g"):format(#items, items:sum "price"))

for _, file in ipairs { base, database, shop } do os.remove(file) end
