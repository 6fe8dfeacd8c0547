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
  local version = args.text ~= "" and text.version(args.text) or nil
  local reversed = store:undo(version)
  if version then
    prompt.write("restored the state of version ", reversed, " as version ", store.version, "\n")
  else
    prompt.write("undid version ", reversed, "; the store is at version ", store.version, "\n")
  end
  session.record("command", version and ".undo " .. version or ".undo", "store:undo(" .. (version or "") .. ")")
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
