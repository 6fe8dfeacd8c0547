-- The commands that begin, end and reverse transactions, and that keep changes of the schema as migrations.
local text = require "prompt/text"
local transactions = {}

function transactions.begin()
  text.store():begin_write()
end

function transactions.commit()
  local store = text.store()
  store:commit_write()
  prompt.write("committed as version ", store.version, "\n")
end

function transactions.rollback()
  text.store():cancel_write()
  prompt.write "rolled back\n"
end

function transactions.undo(args)
  local store = text.store()
  if args.text == "" then
    prompt.write("undid version ", store:undo(), "; the store is at version ", store.version, "\n")
  else
    local version = store:undo(text.version(args.text))
    prompt.write("restored the state of version ", version, " as version ", store.version, "\n")
  end
end

function transactions.redo()
  local store = text.store()
  store:redo()
  prompt.write("redone; the store is at version ", store.version, "\n")
end

function transactions.migration(args)
  local version = math.tointeger(tonumber(args[2]))
  if not args[1] or #args > 2 or args[2] and not version then
    error("expected a name, and a version number: .migration NAME [SINCE]", 0)
  end
  local folder, name = string.match(args[1], "^(.*)/([^/]*)$")
  local lines = session.write_migration(name or args[1], folder or "migrations", version)
  prompt.write(lines and table.concat(lines, "\n")
    or "the schema has not changed since " .. (version and "version " .. version or "the store was opened"), "\n")
end

return transactions
