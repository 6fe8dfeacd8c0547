-- Five migrations of a shop's data: tested, applied and undone.
--
-- The migrations and their tests are in `migrations/` beside this file. The commands `moonpool migrate test migrations`
-- and `moonpool migrate up shop.moonpool --dir migrations` do the same as the functions in this script.
--
-- Prints:
--
--     9 tests, 0 failed
--     4 pending
--     migration 3 would fail: JAM has no price: 'ask'
--     the store is still at migration 1
--     applied 2 split_names, 3 prices_in_cents, 4 orders, 5 addresses
--     dropped: 3 values of Customer.name
--     backup: shop.moonpool.backup-1
--     Ann Lee of Berlin has 2 orders, worth 26.00
--     up to date: true
--     after undo: migration 1, Ann Lee

local moonpool = require "moonpool"
local migrate = moonpool.migrate

local here = arg[0]:match "^(.*)/[^/]*$" or "."
local migrations = here .. "/migrations"

local path = os.tmpname()
os.remove(path)
local function short(text) return (text:gsub(path:gsub("%p", "%%%0"), "shop.moonpool")) end

-- Each migration has a test file, which does not need a store.
local tests = migrate.test(migrations)
print(("%d tests, %d failed"):format(#tests.tests, tests.failures))

-- The data of the shop before the migrations.
migrate.up(path, { dir = migrations, to = 1 })
do
  local store <close> = moonpool.open(path)
  store:write(function()
    store:create("Customer", { id = 1, name = "Ann Lee", address = "1 Low Road, 10115 Berlin", joined = "2026-01-02" })
    store:create("Customer", { id = 2, name = "Bob Ray", address = "2 High Road, 20095 Hamburg", joined = "2026-01-03" })
    store:create("Customer", { id = 3, name = "Plato", address = "unknown", joined = "2026-02-01" })
    store:create("Product", { sku = "TEA", title = "Tea", price = "4.50" })
    store:create("Product", { sku = "CUP", title = "Cup", price = "$12" })
    store:create("Product", { sku = "JAM", title = "Jam", price = "ask" })
    store:create("Sale", { customer = 1, sku = "TEA", count = 2, day = "2026-02-01" })
    store:create("Sale", { customer = 1, sku = "CUP", count = 1, day = "2026-02-01" })
    store:create("Sale", { customer = 1, sku = "JAM", count = 1, day = "2026-03-01" })
    store:create("Sale", { customer = 2, sku = "TEA", count = 1, day = "2026-03-01" })
  end)
end
print(#migrate.status(path, { dir = migrations }).pending .. " pending")

-- A dry run applies the migrations to a copy, and reports every object that fails.
local trial = migrate.up(path, { dir = migrations, dry_run = true })
for _, migration in ipairs(trial.applied) do
  for _, failure in ipairs(migration.failures) do
    print(("migration %d would fail: %s"):format(migration.number, failure.message:match ": (.*)"))
  end
end
print("the store is still at migration " .. #migrate.status(path, { dir = migrations }).applied)

-- Correct the data, and apply the pending migrations.
do
  local store <close> = moonpool.open(path)
  store:write(function() store:object("Product", "JAM").price = "5" end)
end
local report = migrate.up(path, { dir = migrations })
local names = {}
for _, migration in ipairs(report.applied) do names[#names + 1] = migration.number .. " " .. migration.name end
print("applied " .. table.concat(names, ", "))
local dropped = report.applied[1].dropped[1]
print(("dropped: %d %s of %s"):format(dropped.count, dropped.what, dropped.name))
print("backup: " .. short(report.backup))

do
  local store <close> = moonpool.open(path)
  local ann = store:object("Customer", 1)
  local cents = 0
  for _, order in ipairs(ann.orders) do
    for _, line in ipairs(order.lines) do cents = cents + line.count * line.product.cents end
  end
  print(("%s %s of %s has %d orders, worth %.2f"):format(
    ann.first_name, ann.last_name, ann.address.city, #ann.orders, cents / 100))
end
print("up to date: " .. tostring(migrate.check(path, { dir = migrations }) == 0))

-- The last backup replaces the store; the replaced file is kept beside it.
local undone = migrate.undo(path, { dir = migrations })
do
  local store <close> = moonpool.open(path)
  print(("after undo: migration %d, %s"):format(store.schema_version, store:object("Customer", 1).name))
end

for _, file in ipairs { path, path .. "-lock", undone.restored, undone.kept } do os.remove(file) end
