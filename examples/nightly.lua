-- A nightly job for cron, with a readable log and exit codes.
--
--     moonpool examples/nightly.lua STORE INBOX.csv OUTBOX
--
-- Exit codes: 0 for success, 1 for rejected rows, 2 for an error without changes. INBOX.csv contains the measurements
-- of the day; OUTBOX is a folder for the backup, the rejected rows and the report. Without arguments, the script runs a
-- demonstration.
--
-- Prints:
--
--     backup: 1 file
--     import: 3 created, 0 updated, 0 rejected
--     report: 2 stations
--     done: 0
--     backup: 1 file
--     import: 1 created, 1 updated, 1 rejected
--       line 4, column 4: 'Measurement.celsius' expects double, got "hot"
--     report: 3 stations
--     done: 1
--     backup: 1 file
--     failed: cannot read nowhere.csv: No such file or directory
--     done: 2

local moonpool = require "moonpool"

local schema = {
  Measurement = { id = "string primary", station = "string indexed", day = "date", celsius = "double" },
}

local function log(text, ...) print(text:format(...)) end

-- Runs the job and returns the exit code. After an error, nothing has changed: the import is one transaction, and each
-- file appears only when it is complete.
local function nightly(path, inbox, outbox)
  local store <close> = moonpool.open { path = path, schema = schema }

  store:backup(outbox .. "/before.moonpool", { overwrite = true })
  log("backup: 1 file")

  local report = store:import(inbox, {
    format = "csv", class = "Measurement", upsert = true, skip_bad = outbox .. "/rejects.jsonl",
  })
  log("import: %d created, %d updated, %d rejected", report.created, report.updated, report.rejected)
  for _, reason in ipairs(report.reasons) do log("  %s", reason) end

  local rows = {}
  for _, group in ipairs(store:objects("Measurement"):group_by "station") do
    rows[#rows + 1] = { station = group.key, count = #group.objects, mean = group.objects:average "celsius" }
  end
  moonpool.csv.write(outbox .. "/report.csv", rows, { "station", "count", "mean" })
  log("report: %d stations", #rows)
  return report.rejected > 0 and 1 or 0
end

local function run(...)
  local ok, result = pcall(nightly, ...)
  if not ok then log("failed: %s", type(result) == "string" and result or result.message) end
  local code = ok and result or 2
  log("done: %d", code)
  return code
end

if arg[1] then os.exit(run(arg[1], arg[2], arg[3])) end

-- Three nights, in a temporary folder.
local folder = os.tmpname()
os.remove(folder)
assert(os.execute("mkdir " .. folder))
local function inbox(text)
  local file <close> = assert(io.open(folder .. "/inbox.csv", "w"))
  file:write(text)
  return folder .. "/inbox.csv"
end
local store = folder .. "/weather.moonpool"
run(store, inbox "id,station,day,celsius\na1,Bern,2026-11-20,3.5\na2,Bern,2026-11-21,1\nb1,Basel,2026-11-21,4\n", folder)
run(store, inbox "id,station,day,celsius\na2,Bern,2026-11-21,1.5\nc1,Chur,2026-11-21,-2\nc2,Chur,2026-11-22,hot\n", folder)
run(store, "nowhere.csv", folder)
os.execute("rm -r " .. folder)
