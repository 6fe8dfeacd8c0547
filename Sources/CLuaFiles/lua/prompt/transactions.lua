-- The commands that begin, end and reverse transactions.
local text = require "prompt/text"

prompt.command("begin", "Begin a write transaction. End it with .commit or .rollback.", function()
  text.store():begin_write()
end, { usage = "", save = "store:begin_write()" })

prompt.command("commit", "Commit the open write transaction.", function()
  local store = text.store()
  store:commit_write()
  prompt.write("committed as version ", store.version, "\n")
end, { usage = "", save = "store:commit_write()" })

prompt.command("rollback", "Roll back the open write transaction.", function()
  text.store():cancel_write()
  prompt.write "rolled back\n"
end, { usage = "", save = "store:cancel_write()" })

prompt.command(
  "undo",
  "Reverse the last transaction, or restore the state of a version, in a new transaction.",
  function(args)
    local store = text.store()
    if args.text == "" then
      prompt.write("undid version ", store:undo(), "; the store is at version ", store.version, "\n")
    else
      local version = store:undo(text.version(args.text))
      prompt.write("restored the state of version ", version, " as version ", store.version, "\n")
    end
  end,
  { usage = "[VERSION]", complete = "observer", save = "store:undo()" })

prompt.command("redo", "Reapply the last transaction that .undo reversed.", function()
  local store = text.store()
  store:redo()
  prompt.write("redone; the store is at version ", store.version, "\n")
end, { usage = "", save = "store:redo()" })
