-- CSV cleaning: reads a list with formatting errors, corrects it, imports it, and reports the invalid rows.
--
-- Prints:
--
--     6 rows with the columns Customer No, Name, E-mail, Balance, Since
--     unchanged: line 2, column 1: 'Customer.id' expects int, got "C-001"
--     cleaned: 4 of 6 rows; a duplicate was dropped
--     dry run: 4 would be created, 0 updated, 1 rejected
--     imported: 3 created, 0 updated, 1 rejected
--     line 5, column 5: 'Customer.since' expects date?, got "2026-13-01"
--     1 Ann Lee <ann@example.org> owes 1234.5 since 2026-11-20
--     2 Bob Ray <bob@example.org> owes 0 since 2026-10-01
--     7 Cleo (no address) owes -12 since ?
--     again with upsert: 0 created, 3 updated

local moonpool = require "moonpool"

local function write(path, text)
  local file <close> = assert(io.open(path, "w"))
  file:write(text)
end

local raw, clean, rejects = os.tmpname(), os.tmpname(), os.tmpname()
write(raw, [[
Customer No,Name,E-mail,Balance,Since
C-001,  Ann Lee ,ANN@Example.org,"1,234.50 €",20.11.2026
C-002,Bob Ray,bob@example.org,0,1.10.2026
C-002,Bob Ray,bob@example.org,0,1.10.2026
C-007,Cleo,n/a,-12,
C-009,"Dora ""D"" Day",dora@example.org,5,1.13.2026
,,,,
]])

local store = moonpool.open {
  in_memory = "csv-cleaning",
  schema = {
    Customer = {
      id = "int primary", name = "string", email = "string?", balance = "double", since = "date?",
    },
  },
}

-- 1. Show the rows and the columns.
local rows, names = moonpool.csv.read(raw)
print(("%d rows with the columns %s"):format(#rows, table.concat(names, ", ")))

-- 2. Import the file unchanged. An invalid row rolls back the whole import.
local map = { ["Customer No"] = "id", Name = "name", ["E-mail"] = "email", Balance = "balance", Since = "since" }
local ok, err = pcall(store.import, store, raw, { format = "csv", class = "Customer", map = map })
print("unchanged: " .. err.message:match("line .*"))

-- 3. Clean each row and write the result to another file: ISO 8601 dates, and numbers without units.
local cleaners = {
  id = function(text) return text:match("^C%-0*(%d+)$") end,
  name = function(text) return (text:gsub("^%s+", ""):gsub("%s+$", "")) end,
  email = function(text) return text:find("@", 1, true) and text:lower() or nil end,
  balance = function(text) return (text:gsub("[^%d.-]", "")) end,
  since = function(text)
    local day, month, year = text:match("^(%d+)%.(%d+)%.(%d+)$")
    return day and ("%04d-%02d-%02d"):format(year, month, day)
  end,
}
local cleaned, seen, doubles = {}, {}, 0
for _, row in ipairs(rows) do
  local new = {}
  for column, property in pairs(map) do
    if row[column] then new[property] = cleaners[property](row[column]) end
  end
  if new.id then
    local fingerprint = table.concat({ new.id, new.name, new.email or "", new.balance }, "\0")
    if seen[fingerprint] then doubles = doubles + 1 else cleaned[#cleaned + 1] = new end
    seen[fingerprint] = true
  end
end
moonpool.csv.write(clean, cleaned, { "id", "name", "email", "balance", "since" })
local dropped = doubles == 1 and "a duplicate" or doubles .. " duplicates"
print(("cleaned: %d of %d rows; %s was dropped"):format(#cleaned, #rows, dropped))

-- 4. Import the file, first as a dry run. Invalid rows go to a separate file with the reasons.
local options = { format = "csv", class = "Customer", skip_bad = rejects, dry_run = true }
local function summary(report)
  return ("%d created, %d updated, %d rejected"):format(report.created, report.updated, report.rejected)
end
local trial = store:import(clean, options)
print(("dry run: %d would be created, %d updated, %d rejected"):format(
  trial.created + trial.rejected, trial.updated, trial.rejected))
options.dry_run = false
local report = store:import(clean, options)
print("imported: " .. summary(report))
for _, reason in ipairs(report.reasons) do print(reason) end

for customer in store:objects("Customer"):sorted("id"):each() do
  print(("%d %s %s owes %g since %s"):format(
    customer.id, customer.name, customer.email and "<" .. customer.email .. ">" or "(no address)",
    customer.balance, customer.since and tostring(customer.since):sub(1, 10) or "?"))
end

-- 5. Import the list again. With `upsert`, rows with a known key update their objects.
options.upsert = true
report = store:import(clean, options)
print(("again with upsert: %d created, %d updated"):format(report.created, report.updated))

for _, file in ipairs { raw, clean, rejects } do os.remove(file) end
