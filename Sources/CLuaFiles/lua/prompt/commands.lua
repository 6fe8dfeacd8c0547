-- The dot commands of the prompt, by topic, in the order of `.help`. The files declare them; those that no file
-- declares are written in Swift.
require "prompt/history"
require "prompt/looking"
require "prompt/observing"
require "prompt/schema"
require "prompt/transactions"
require "prompt/tutorial"

return {
  { "session", "help", "timing", "quit", "tutorial" },
  { "inspecting", "schema", "classes", "explain", "stats", "replication", "pins", "versions" },
  { "observing", "watch", "observers", "why", "whynot", "live" },
  { "debugging", "locals", "up", "down" },
  { "past", "history", "diff", "goto", "undo" },
  { "transactions", "begin", "commit", "rollback", "redo", "migration" },
  { "formats", "last", "mode", "once", "output" },
  { "files", "load", "save", "transcript", "edit", "reload" },
}
