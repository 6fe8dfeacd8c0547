---@meta
-- The functions for commands of the prompt.

---Adds dot commands and shows text, tables, questions and panels. It exists only at the prompt, and is nil in scripts.
---@class moonpool.prompt
---@help moonpool.prompt
moonpool.prompt = {}

---Adds a dot command. The function receives the words after the name, and the whole text as args.text. Values that it
---returns are shown.
---
---Errors: invalid_argument
---
---```lua
---moonpool.prompt.command("twice", "Show twice a number.", function(args) return 2 * args[1] end)
---```
---@param name string
---@param summary string
---@param body fun(args: table): any
---@param options? moonpool.CommandOptions
function moonpool.prompt.command(name, summary, body, options) end

---Writes values as text, where the results of entries go. Control characters are escaped.
---
---```lua
---moonpool.prompt.write("a line\n")  --> a line
---```
---@param ... any
function moonpool.prompt.write(...) end

---Writes rows as a table. The first row is the header. Columns of numbers are aligned at the right.
---
---Errors: invalid_argument
---
---```lua
---moonpool.prompt.columns { { "name", "age" }, { "Rex", 12 } }
-----> name  age
-----> Rex    12
---```
---@param rows table[]
---@param options? moonpool.ColumnsOptions
function moonpool.prompt.columns(rows, options) end

---Returns the lines that columns writes.
---
---Errors: invalid_argument
---
---```lua
---print(moonpool.prompt.layout({ { "age", 7 } }, { header = false })[1])  --> age  7
---```
---@param rows table[]
---@param options? moonpool.ColumnsOptions
---@return string[]
function moonpool.prompt.layout(rows, options) end

---Returns a text for write or a panel in the color of a style, such as "dim", "strong", "error" or "added".
---
---Errors: invalid_argument
---
---```lua
---moonpool.prompt.write(moonpool.prompt.paint("done", "added"))  --> done
---```
---@param text string
---@param style string
---@return string
function moonpool.prompt.paint(text, style) end

---Returns the number of columns that a text takes, without its colors.
---
---```lua
---print(moonpool.prompt.width "犬")  --> 2
---```
---@param text string
---@return integer
function moonpool.prompt.width(text) end

---Returns a text cut to a number of columns; a cut text ends in an ellipsis.
---
---```lua
---print(moonpool.prompt.truncate("Rex the dog", 4))  --> Rex…
---```
---@param text string
---@param width integer
---@return string
function moonpool.prompt.truncate(text, width) end

---Returns the lines of a text that is wrapped at the width of the window. The first line begins with indent, the others
---begin with hanging, which is indent by default.
---
---```lua
---print(#moonpool.prompt.wrap(("many words "):rep(20)))  --> 3
---```
---@param text string
---@param indent? string
---@param hanging? string
---@return string[]
function moonpool.prompt.wrap(text, indent, hanging) end

---Returns the text of a value as the prompt shows it, in colors. The options are those of moonpool.inspect.
---
---Errors: invalid_argument
---
---```lua
---moonpool.prompt.write(moonpool.prompt.format({ 1, "a" }), "\n")  --> { 1, "a" }
---```
---@param value any
---@param options? {depth: integer?, items: integer?, rows: integer?, string: integer?, width: integer?}
---@return string
function moonpool.prompt.format(value, options) end

---Returns the number of columns and rows of the window.
---
---```lua
---print((moonpool.prompt.size()))  --> 80
---```
---@return integer
---@return integer
function moonpool.prompt.size() end

---Asks the user until the answer is one of the choices or the beginning of one. Returns nil after Ctrl-C, and without a
---terminal.
---
---```lua
---print(moonpool.prompt.ask("Delete all dogs?", { "yes", "no" }))  --> nil
---```
---@param question string
---@param choices? string[]
---@return string?
function moonpool.prompt.ask(question, choices) end

---Replaces the prompt after the entry by lines that are redrawn in place. Without a terminal, writes them once.
---
---Errors: invalid_argument
---
---```lua
---moonpool.prompt.panel { lines = function(columns, rows) return { "a", "b" } end }
-----> a
-----> b
---```
---@param panel moonpool.PanelOptions
function moonpool.prompt.panel(panel) end

---Draws the open panel again soon, or after a number of seconds.
---
---```lua
---moonpool.prompt.refresh()
---```
---@param seconds? number
function moonpool.prompt.refresh(seconds) end

---Returns the store of the prompt: the variable store, otherwise the store that was opened last.
---
---```lua
---print(moonpool.prompt.store().is_closed)  --> false
---```
---@return moonpool.Store?
function moonpool.prompt.store() end

---The options of moonpool.prompt.command.
---@class moonpool.CommandOptions
---@help command options
---@field usage? string The arguments in the notation of help, such as "CLASS [N]"; "" refuses arguments.
---@field complete? string|string[]|function The completion of the argument: "class", "file", "expression", "query" or "observer", a list of words, or a function that receives the argument and returns candidates for its last word.
---@field topic? string The topic of help that lists the command; "yours" by default.
---@field paged? boolean Whether long output opens the pager.
---@field save? string|boolean The Lua code that .save writes for the command without arguments, or false to omit the command; by default a comment.
---@field replace? boolean Whether the command replaces one of the prompt's own.

---The options of moonpool.prompt.columns.
---@class moonpool.ColumnsOptions
---@help columns options
---@field header? boolean Whether the first row is a header; true by default.
---@field numeric? integer[] The numbers of more columns to align at the right.

---The functions of a panel of moonpool.prompt.panel.
---@class moonpool.PanelOptions
---@help panel options
---@field lines fun(columns: integer, rows: integer?): string[] Returns the lines for a window of this size; rows is nil if the lines are written once.
---@field key? fun(key: string): boolean Receives a key: a character, "up", "down", "left", "right", "page_up", "page_down", "home", "end", "enter" or "escape". Returns true to close the panel. Without the function, q and Escape close it; Ctrl-C always does.
---@field follows? moonpool.Store|true Draws the panel again after each change of this store, or of any open store.
---@field changed? fun() Runs after a change of a followed store, before the panel is drawn again.
---@field closed? fun() Runs when the panel is closed.
