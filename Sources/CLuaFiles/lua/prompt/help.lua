-- The command and the function for help.
local text = require "prompt/text"
local commands = require "prompt/commands"
local paint = prompt.paint
local find, match = string.find, string.match

local function write(lines)
  for _, line in ipairs(lines) do prompt.write(line, "\n") end
end

local function concat(...)
  local all = {}
  for _, list in ipairs { ... } do table.move(list, 1, #list, #all + 1, all) end
  return all
end

-- MARK: Lua's own library

-- The entries of the file: their names, signatures and summaries, and the libraries in the order of the manual.
local entries, libraries = {}, {}
for _, line in ipairs(session.file_lines "library.lua") do
  local signature, summary = match(line, "^%-%- (.-) | (.*)$")
  if signature then
    local name = match(signature, "^[^( ]*")
    local library = match(name, "^(.-)[.:]") or "basic"
    entries[#entries + 1] = { name = name, signature = signature, summary = summary, library = library }
    if libraries[#libraries] ~= library then libraries[#libraries + 1] = library end
  end
end

-- Returns the entries that a name refers to: a library, `string.format`, or only `format`.
local function find_entries(name)
  local of_library, found = {}, {}
  for _, entry in ipairs(entries) do
    if entry.library == name then of_library[#of_library + 1] = entry end
    if entry.name == name or match(entry.name, "[.:]([^.:]*)$") == name then found[#found + 1] = entry end
  end
  return #of_library > 0 and of_library or found
end

local function library_names()
  local names = table.move(libraries, 1, #libraries, 1, {})
  for i, entry in ipairs(entries) do names[#libraries + i] = entry.name end
  return names
end

-- Returns the name of a function or table of the library; nil for other values.
local function library_name(value)
  for _, name in ipairs(library_names()) do
    local found = not find(name, ":", 1, true) and session.globals() or nil
    for part in string.gmatch(name, "[^.]+") do found = type(found) == "table" and rawget(found, part) or nil end
    if found ~= nil and rawequal(found, value) then return name end
  end
end

local function library_page(name)
  local found = find_entries(name)
  if #found == 0 then return nil end
  local rows, lines = {}, {}
  for i, entry in ipairs(found) do
    rows[i] = { entry.signature, entry.summary }
    for _, line in ipairs(prompt.wrap(entry.signature, "", "    ")) do lines[#lines + 1] = paint(line, "type") end
    lines = concat(lines, prompt.wrap(entry.summary, "    "))
  end
  return found[1].library == name and session.definitions(rows, "type") or lines
end

-- MARK: Pages

local keys = {
  { "Enter", "Run the entry, or continue it on a new line if it is unfinished." },
  { "Alt-Enter", "Begin a new line in the entry." },
  { "Tab", "Complete the word, or list the candidates." },
  { "Up, Down", "Move between the lines of an entry, then between the entries that begin with the typed text." },
  { "Page Up, Page Down", "Move between the entries of the history." },
  { "Right, Ctrl-F", "Accept the gray suggestion at the end of the line, or move right." },
  { "Ctrl-R, Ctrl-S", "Search the history backward or forward." },
  { "Home, Ctrl-A", "Move to the start of the line." },
  { "End, Ctrl-E", "Move to the end of the line." },
  { "Ctrl-Left, Ctrl-Right", "Move by a word." },
  { "Ctrl-W", "Delete the word before the cursor." },
  { "Ctrl-K, Ctrl-Y", "Cut the rest of the line; insert the text that was cut." },
  { "Ctrl-_", "Undo the last change of the entry." },
  { "Ctrl-L", "Clear the screen." },
  { "Ctrl-C", "Clear the entry, or interrupt the running code." },
  { "Ctrl-D", "End the session, on an empty line." },
  { "Ctrl-Z", "Suspend moonpool; fg continues it." },
  { "q", "Leave .watch and .history." },
}

-- Returns the names of the pages with several entries.
local function topics()
  local names = {}
  for i, topic in ipairs(commands.topics) do names[i] = topic.name end
  return concat(names, { "commands", "shortcuts", "api", "errors", "lua" })
end

local function overview()
  local rows = {}
  for i, topic in ipairs(commands.topics) do
    local names = {}
    for n, command in ipairs(topic) do names[n] = "." .. command.name end
    rows[i] = { topic.name, table.concat(names, " ") }
  end
  rows = concat(rows, {
    { "commands", "all dot commands" }, { "shortcuts", "the keys" },
    { "api", "the module moonpool: stores, objects, Results …" }, { "errors", "the codes of errors" },
    { "lua", table.concat(libraries, ", ") .. ": Lua's own library" },
  })
  write(concat(
    prompt.wrap("Type Lua. An expression prints its value. Locals stay visible to later entries. _ is the last result; "
      .. "_1, _2 … are the results by number."),
    prompt.wrap("The prompt >> continues an unfinished entry. Ctrl-C clears the entry or interrupts running code. Tab "
      .. "completes, Ctrl-R searches the history, and Ctrl-D on an empty line ends the session."),
    { "", "Topics, for .help TOPIC:" }, session.definitions(rows, "key", "  "), { "" },
    prompt.wrap("For help on a name, type .help NAME, for example .help .watch, .help store, .help Results, .help "
      .. "observe or .help string.format.")))
end

-- Writes a page with several entries; returns false for other names.
local function write_topic(name)
  local rows, listed = {}, name == "commands" and commands.all()
  for _, topic in ipairs(commands.topics) do
    if topic.name == name then listed = topic end
  end
  if name == "shortcuts" or name == "keys" then
    write(concat(session.definitions(keys, "key"), { "" },
      prompt.wrap "The file ~/.editrc can bind other keys (see man editrc); bind -v selects the keys of vi."))
    return true
  elseif name == "api" or name == "errors" then
    rows = session.catalog(name)
  elseif name == "lua" then
    for i, library in ipairs(libraries) do
      local names = {}
      for n, entry in ipairs(find_entries(library)) do names[n] = match(entry.name, "[^.:]*$") end
      rows[i] = { library, table.concat(names, ", ") }
    end
  elseif listed then
    for i, command in ipairs(listed) do rows[i] = { "." .. command.name .. " " .. command.usage, command.summary } end
  else
    return false
  end
  write(session.definitions(rows, "key"))
  return true
end

local function write_command(command)
  write(concat(prompt.wrap("." .. command.name .. " " .. command.usage, "", "    "),
    prompt.wrap(command.summary, "    ")))
end

-- Writes help on a name of the API, a dot command or a class of the store.
local function write_name(given)
  local name = match(given, "^[.:]*(.*)$")
  if write_topic(name) then return end
  local command, page = commands.find(name), session.help_page(name)
  if command and (match(given, "^%.") or not page) then return write_command(command) end
  for _, entry in ipairs(find_entries(name)) do
    -- `string.format` is not a member of the API that is also called format.
    if entry.name == name and entry.library ~= "basic" then page = nil end
  end
  local library = library_page(name)
  if page or library then
    prompt.write(page or "", page and library and "\n" or "")
    write(library or {})
    if command then
      prompt.write "\n"
      write_command(command)
    end
    return
  end
  local store, others = prompt.store(), concat(topics(), library_names())
  local schema = store and store:schema() or {}
  if schema[name] then return require("prompt/schema").write_code(session.class_rows(name)) end
  for _, known in ipairs(commands.all()) do others[#others + 1] = known.name end
  local near = session.nearest(name, concat(others, text.sorted_keys(schema)), true)
  error("no help on '" .. name .. "'" .. (near and "; did you mean '" .. near .. "'?" or ""), 0)
end

-- MARK: Values

-- Writes a description of a value without a help entry, and how to get help.
local function write_about(value, hint)
  write(prompt.wrap(value .. "; " .. (hint
    or 'pass a name such as "where", a function such as store.write, or a value such as store')))
end

-- Returns the text of the comment lines directly above a line; nil if there are none.
local function comment_above(number, source)
  local comment, lines = {}, {}
  for line in string.gmatch(source .. "\n", "(.-)\n") do lines[#lines + 1] = line end
  for i = number - 1, 1, -1 do
    local body = match(lines[i] or "", "^%s*%-%-+%s*(.-)%s*$")
    if not body then break end
    table.insert(comment, 1, body)
  end
  return #comment > 0 and comment or nil
end

local function write_function(value)
  local name = session.api_name(value) or library_name(value)
  if name then return write_name(name) end
  local info = debug and debug.getinfo(value, "Su")
  if not info or info.what == "C" then return write_about "a built-in function" end
  local parameters = {}
  for i = 1, info.nparams do parameters[i] = debug.getlocal(value, i) end
  if info.isvararg then parameters[#parameters + 1] = "..." end
  local origin = "function (" .. table.concat(parameters, ", ") .. "), from " .. info.short_src .. ":"
    .. info.linedefined
  local source = session.source(info.short_src)
  local comment = source and comment_above(info.linedefined, source)
  if not comment then return write_about(origin) end
  local lines = prompt.wrap(origin)
  for _, line in ipairs(comment) do
    local is_fitting = prompt.width("    " .. line) < prompt.size()
    lines = concat(lines, is_fitting and { "    " .. line } or prompt.wrap(line, "    "))
  end
  write(lines)
end

-- The global function `help`, which takes a name, a function or a value.
local function help(...)
  if select("#", ...) == 0 then return overview() end
  local value = ...
  if value == nil then
    local inside = match(session.newest_entry(), "%((.*)%)")
    return write_about("nil", inside and require("prompt/completion").hint_for_nil(inside))
  end
  if type(value) == "string" then return write_name(value) end
  if type(value) == "function" then return write_function(value) end
  local subject = session.classify(value)
  if subject and subject.type == "object" then
    require("prompt/schema").write_code(session.class_rows(value))
    return prompt.write("\n", session.help_page "object")
  end
  local name = library_name(value)
  if name then return write_name(name) end
  local type_name = session.type_name(value)
  local page = session.help_page(type_name, true)
  if page then return prompt.write(page) end
  write_about("a " .. type_name)
end

return {
  help = function(args)
    if args.text == "" then overview() else write_name(args.text) end
  end,
  show = help,
  topics = topics,
  entries = entries,
  libraries = libraries,
  find_entries = find_entries,
  -- Returns all names that have help, for completion.
  names = function()
    local names = concat(topics(), library_names(), session.help_names())
    for _, command in ipairs(commands.all()) do names[#names + 1] = command.name end
    return names
  end,
}
