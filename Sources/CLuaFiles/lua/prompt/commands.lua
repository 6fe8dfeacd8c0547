-- The dot commands of the prompt, by topic, in the order of `.help`. Their functions are in the file that `file` names,
-- which is loaded when the command first runs.
local text = require "prompt/text"
local commands = {}

local modes = { "table", "json", "jsonl", "csv", "line", "lua", "markdown" }

-- Each command: its name, its arguments in the notation of help ("" refuses arguments), a summary, and options.
--   file      the file with its function
--   complete  the kind of completion of its argument (a key of `completion.kinds`), a list of words, or a function
--   paged     whether long output opens the pager
--   save      the Lua code that `.save` writes for the command without arguments; false if the command is omitted or
--             records its own code
--   aliases   other names
local topics = {
  {
    name = "session",
    {
      "help", "[name]", "Show the topics of help, or help on a topic, command, class, method or function of Lua.",
      file = "help", complete = "help", paged = true, save = false,
    },
    { "timing", "on | off", "Show how long each entry takes.", file = "session", complete = { "on", "off" } },
    {
      "quit", "", "End the session, like .exit, exit, quit, and Ctrl-D on an empty line.", file = "session",
      save = false, aliases = { "exit" },
    },
    {
      "studio", "[--no-browser]", "Open the studio on this session in the browser, and show its address.",
      file = "session", complete = { "--no-browser" }, save = false,
    },
    {
      "tutorial", "[N | off]", "Learn the basics in ten steps. N starts at a step; off ends the tutorial.",
      file = "tutorial", complete = { "off" },
    },
  },
  {
    name = "inspecting",
    {
      "schema", "[class] [--tree | --lua | --mermaid | --dot]",
      "Show the classes as boxes with their links, one class as a tree, or the schema in another form.",
      file = "schema", complete = "schema", paged = true,
    },
    { "classes", "", "List the classes with their objects and bytes.", file = "looking", paged = true },
    {
      "explain", "QUERY", "Describe the plan of a query and the cost of observing it.", file = "looking",
      complete = "query",
    },
    { "stats", "", "Show statistics of the store and the session.", file = "looking" },
    { "replication", "", "Show the replication of the store and its progress.", file = "looking" },
    { "pins", "", "List the version pins and the space that each keeps in use.", file = "looking" },
    { "versions", "", "Show the version of the store and the extent of its history.", file = "looking" },
  },
  {
    name = "observing",
    {
      "watch", "QUERY",
      "Show a query as a table that follows the data: new, changed and removed rows in color; q leaves.",
      file = "live", complete = "query",
    },
    {
      "observers", "[live]",
      "List the observers with their cost and source location. live: update the list until Ctrl-C, and mark called "
        .. "observers with ●. Columns: last, mean and longest are durations of the function (running: it has not "
        .. "returned), and finding is the average time to compute a change.",
      file = "observing", complete = { "live" },
    },
    {
      "why", "N",
      "Show the reason for an observer's last call, as a tree from the commit and the changed objects to the observer.",
      file = "observing", complete = "observer", paged = true,
    },
    {
      "whynot", "OBSERVER OBJECT",
      "Explain why an observer was not called for an object, such as Dog 3, and which change would call it.",
      file = "observing", complete = "expression", paged = true,
    },
    {
      "live", "[EXPRESSION | off [N]]",
      "Show the value of an expression above the prompt now and whenever it changes; off ends all, or one.",
      file = "live", complete = "expression", save = false,
    },
  },
  {
    name = "debugging",
    {
      "locals", "", "Show the variables of a frame of the last error.", file = "frames", paged = true, save = false,
    },
    { "up", "", "Select the caller of the frame that .locals shows.", file = "frames", save = false },
    {
      "down", "", "Select the frame that was called from the one that .locals shows.", file = "frames", save = false,
    },
  },
  {
    name = "past",
    {
      "history", "",
      "List the versions with time, script, process and changes; arrows select, Enter shows the difference, g opens "
        .. "the version.",
      file = "history", paged = true,
    },
    {
      "diff", "[A [B]]", "Show the changes of the last commit, since version A, or between A and B.",
      file = "history", complete = "observer", paged = true,
    },
    {
      "goto", "[VERSION]",
      "Show an earlier version: `store` reads that version. Without a version, return to the newest one.",
      file = "history", complete = "observer",
    },
    {
      "undo", "[VERSION]",
      "Reverse the last transaction, or restore the state of a version, in a new transaction.",
      file = "transactions", complete = "observer", save = false,
    },
  },
  {
    name = "transactions",
    {
      "begin", "", "Begin a write transaction. End it with .commit or .rollback.", file = "transactions",
      save = "store:begin_write()",
    },
    { "commit", "", "Commit the open write transaction.", file = "transactions", save = "store:commit_write()" },
    {
      "rollback", "", "Roll back the open write transaction.", file = "transactions", save = "store:cancel_write()",
    },
    {
      "redo", "", "Reapply the last transaction that .undo reversed.", file = "transactions", save = "store:redo()",
    },
    {
      "migration", "NAME [SINCE]",
      "Write the schema changes of the session, or since a version, as the next file of the folder `migrations` "
        .. "(another folder: `db/NAME`), rehearse it on a copy of that version, and record it as applied.",
      file = "transactions", save = false,
    },
  },
  {
    name = "formats",
    { "last", "", "Show the last result completely.", file = "session", paged = true },
    { "mode", table.concat(modes, " | "), "Set the output format of results.", file = "session", complete = modes },
    {
      "once", "FILE | '|'COMMAND",
      "Write the next result to a file or a program; FILE.svg and FILE.html become pictures.", file = "session",
      complete = "file",
    },
    {
      "output", "[FILE]", "Write results to a file. Without FILE, write to the screen again.", file = "session",
      complete = "file",
    },
  },
  {
    name = "files",
    {
      "load", "FILE", "Run a file as if it were typed; its locals remain visible.", file = "session",
      complete = "file", save = false,
    },
    {
      "save", "FILE", "Write the session to a script that `moonpool FILE` runs.", file = "save", complete = "file",
      save = false,
    },
    {
      "transcript", "[FILE]",
      "Record input and output for `moonpool transcript FILE`, or as a picture in FILE.svg or FILE.html. Without "
        .. "FILE, stop recording.",
      file = "session", complete = "file", save = false,
    },
    { "edit", "", "Edit the last entry in $EDITOR and run the result.", file = "session" },
    {
      "reload", "[module | on | off]",
      "Reload a changed module and replace its observers. Without a name, reload all. on: reload automatically.",
      file = "reload", complete = "module",
    },
  },
}
for _, topic in ipairs(topics) do
  for _, command in ipairs(topic) do
    command.name, command.usage, command.summary = command[1], command[2], command[3]
  end
end
commands.topics = topics

-- Returns all commands, in the order of `.help`.
function commands.all()
  local all = {}
  for _, topic in ipairs(topics) do table.move(topic, 1, #topic, #all + 1, all) end
  return all
end

-- Returns the command with a name or an alias.
function commands.find(name)
  local found
  for _, command in ipairs(commands.all()) do
    if command.name == name then return command end
    for _, alias in ipairs(command.aliases or {}) do found = found or alias == name and command end
  end
  return found or nil
end

-- Adds a command of the user to the end of a topic; a command with the same name keeps its position. Returns the number
-- of a wrong argument and what is wrong with it.
function commands.declare(command, replaces)
  if not string.find(command.name, "^[%a\x80-\xff][%w_\x80-\xff-]*$") then
    return 1, "expected a name of letters, digits, '_' and '-', got '" .. command.name .. "'"
  end
  local kinds = { class = true, expression = true, file = true, observer = true, query = true }
  local complete, kind = command.complete, type(command.complete)
  if kind ~= "nil" and kind ~= "table" and kind ~= "function" and not kinds[complete] then
    return 4, "option 'complete': expected " .. table.concat(text.sorted_keys(kinds), ", ")
      .. ", a list of words or a function"
  end
  if command.save ~= nil and command.save ~= false and type(command.save) ~= "string" then
    return 4, "option 'save': expected Lua code or false, got a " .. type(command.save)
  end
  local known = commands.find(command.name)
  if known and known.file and not replaces then
    return 1, "'." .. command.name .. "' is a command of the prompt; replace it with { replace = true }"
  end
  local name = command.topic
  for i = #topics, 1, -1 do
    local topic = topics[i]
    for place = #topic, 1, -1 do
      if topic[place].name == command.name then
        if not name or name == topic.name then
          topic[place] = command
          return
        end
        table.remove(topic, place)
        if #topic == 0 then table.remove(topics, i) end
      end
    end
  end
  name = name or "yours"
  for _, topic in ipairs(topics) do
    if topic.name == name then
      topic[#topic + 1] = command
      return
    end
  end
  topics[#topics + 1] = { name = name, command }
end

local function run(entry)
  local name, argument = string.match(entry, "^%s*%.(%S+)%s*(.-)%s*$")
  local command = commands.find(name)
  if not command then
    local names = {}
    for _, known in ipairs(commands.all()) do
      names[#names + 1] = known.name
      table.move(known.aliases or {}, 1, #(known.aliases or {}), #names + 1, names)
    end
    local near = session.nearest(name, names)
    local remedy = near and "did you mean ." .. near .. "?" or ".help lists all commands"
    error("unknown command ." .. name .. "; " .. remedy, 0)
  end
  if argument ~= "" and command.usage == "" then
    error("." .. name .. " takes no arguments, got '" .. argument .. "'", 0)
  end
  if command.complete == "file" then
    argument = string.match(argument, '^"(.*)"$') or string.match(argument, "^'(.*)'$") or argument
  end
  if command.paged then session.begin_page() end
  local arguments = { text = argument }
  for word in string.gmatch(argument, "%S+") do arguments[#arguments + 1] = word end
  local body = command.run or require("prompt/" .. command.file)[command.name]
  return command, argument, body(arguments)
end

-- Runs an entry such as `.diff 3 4`. Returns the values of its function.
function commands.run(entry)
  local results = table.pack(run(entry))
  local command, argument = results[1], results[2]
  if command.save ~= false then
    session.record("command", string.match(entry, "^%s*(.-)%s*$"), argument == "" and command.save or nil)
  end
  return table.unpack(results, 3, results.n)
end

return commands
