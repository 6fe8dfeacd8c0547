-- What the commands of a store and a folder share. A run is a table with the path `store`, the folder `dir`, and the
-- options `lock_timeout`, `keep`, `is_trial`, `did_apply`, `notice`, which gets a line to show, and `is_opening`.
local text = require "migrate/text"
local folder = require "migrate/folder"
local history = require "migrate/history"
local fail = text.fail

local runs = {}

function runs.new(store, dir, options)
  options = options or {}
  return {
    store = store, dir = type(dir) == "string" and folder.open(dir) or dir,
    lock_timeout = options.lock_timeout or 60, keep = options.keep,
  }
end

-- Opens the store, which is created if it does not exist.
function runs.open(run)
  return host.open { path = run.store, is_trial = run.is_trial, timeout = run.lock_timeout }
end

-- Opens the store, which must already exist.
function runs.open_existing(run, is_read_only)
  -- An empty file is a new store, which must be created first.
  local is_empty = host.is_empty(run.store)
  return host.open { path = run.store, read_only = is_read_only and not is_empty, timeout = run.lock_timeout }
end

-- Opens the store for reading and compares it with the folder.
function runs.examine(run)
  local store <close> = runs.open_existing(run, true)
  return history.compare(run, store)
end

-- Raises version_too_low for a store that has a higher version than a migration, or the version of one that is to run,
-- whose work a program has done.
function runs.check_version(run, version, file, is_recorded)
  if version < file.number or is_recorded and version == file.number then return end
  fail("version_too_low",
    "'" .. run.store .. "' already has schema version " .. version .. ", and '" .. file.file_name .. "' migrates to "
      .. file.number,
    "number the migrations from " .. version + 1 .. ", or record those that were applied to the store with moonpool "
      .. "migrate baseline")
end

-- Raises schema_in_transition while a migration is started.
function runs.require_one_version(store)
  local state = store:started()
  if not state then return end
  fail("schema_in_transition", "migration " .. state.number .. " (" .. state.name .. ") is started and not complete",
    "complete or abort it first")
end

-- Raises the error of a record that has changed during the wait for the write lock.
function runs.migrated_meanwhile(run)
  fail("invalid_argument", "another process has migrated '" .. run.store .. "'; run moonpool migrate status")
end

-- Raises an error if another process has reverted migrations before one that is to run.
function runs.require_next(run, compared, file)
  if compared.pending[1].number ~= file.number then runs.migrated_meanwhile(run) end
end

-- Commits a change of the schema without a migration function, and a new record, and sets `mark.is_committed`.
function runs.record(write, schema, version, log, mark)
  write:change(schema, version)
  write:apply()
  write:commit(log, mark)
end

-- Backups. A backup is made at the end of a migration, from the version before it: only then it is known whether the
-- migration has overwritten or removed values. Backups are recorded by name, so that a folder can be moved as a whole.

-- Returns the path of a backup beside the store's file; a symbolic link to the file may be in another folder.
function runs.beside(run, name)
  return (string.match(host.path_behind_link(run.store), "^(.*/)[^/]*$") or "") .. name
end

-- Returns when to make a backup: always, never, or if a migration overwrites or removes values or objects.
function runs.backup(choice) return choice == nil and "when_losing" or choice and "always" or "never" end

-- Returns the first of base, base-2, base-3 … that does not exist.
function runs.free_path(base)
  local path, count = base, 1
  while host.size(path) do
    count = count + 1
    path = base .. "-" .. count
  end
  return path
end

-- Makes a backup for an attempt to migrate: of the version before the open write transaction, or of the newest
-- version.
function runs.make_backup(run, store, log, attempt)
  if not store.has_file then return end
  local last = log.entries[#log.entries]
  local path = runs.free_path(host.path_behind_link(run.store) .. ".backup-" .. (last and last.number or 0))
  store:backup(path)
  attempt.backup, attempt.made_backup = path, path
end

function runs.remove_store(path)
  for _, ending in ipairs { "", "-lock", "-log" } do host.remove(path .. ending) end
end

-- Removes the oldest backups of the store.
function runs.prune_backups(run)
  local file = host.path_behind_link(run.store)
  local prefix = text.file_name(file) .. ".backup-"
  local backups = text.map(host.names(string.match(file, "^(.*)/[^/]*$") or ".") or {}, function(name)
    if string.sub(name, 1, #prefix) ~= prefix or string.match(name, "%-lock$") or string.match(name, "%-log$") then
      return nil
    end
    local number, count = string.match(string.sub(name, #prefix + 1), "^([^-]*)%-?(.*)$")
    return { name = name, number = tonumber(number) or 0, count = tonumber(count) or 0 }
  end)
  -- By number and then by count, which is the order of creation.
  table.sort(backups, function(a, b)
    return a.number < b.number or a.number == b.number and a.count < b.count
  end)
  for index = 1, #backups - run.keep do runs.remove_store(runs.beside(run, backups[index].name)) end
end

-- Returns what was done with a migration, for reports.
function runs.applied(file, attempt, start, report)
  return {
    file = file, report = report, backup = attempt.backup, seconds = host.clock() - start,
    written_since = attempt.written_since,
  }
end

return runs
