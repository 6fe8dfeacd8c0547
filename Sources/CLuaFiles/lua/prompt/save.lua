-- The command that writes the entries of the session as a script, which prints the value of each expression as the
-- prompt does. Dot commands become calls or comments, and failed entries become comments.
local text = require "prompt/text"
local sub, find, match, format = string.sub, string.find, string.match, string.format

local function trimmed(code) return match(code, "^%s*(.-)%s*$") end

local function quoted(word) return (string.gsub(format("%q", word), "\\\n", "\\n")) end

local function comment(lines) return "-- " .. string.gsub(lines, "\n", "\n-- ") end

-- Returns the tokens of a code without its comments.
local function tokens(code)
  local all = {}
  for _, token in ipairs(session.tokens(code)) do
    if token.kind ~= "comment" then all[#all + 1] = token end
  end
  return all
end

local function is(token, symbol) return token and token.kind == "symbol" and token.text == symbol end

local function is_expression(code) return find(code, "%S") and load("return " .. code .. "\n") and true end

local function ends_in_comment(code)
  local all = session.tokens(code)
  return #all > 0 and all[#all].kind == "comment"
end

-- Finds the `return` outside of functions and blocks that ends a chunk. The second result is whether blocks contain
-- others.
local function returns(all)
  local last, is_nested, openers = nil, false, {}
  for _, token in ipairs(all) do
    local word = token.kind == "keyword" and token.text
    if word == "function" or word == "do" or word == "if" or word == "repeat" then
      openers[#openers + 1] = word
    elseif word == "end" or word == "until" then
      openers[#openers] = nil
    elseif word == "return" and #openers == 0 then
      last = token
    elseif word == "return" and not find(table.concat(openers, " "), "function", 1, true) then
      is_nested = true
    end
  end
  return not is_nested and last or nil, is_nested
end

-- Returns an entry as a statement that is independent of the line above.
local function statement(code)
  local all = tokens(code)
  local last, is_nested = returns(all)
  -- A `return` outside of a function would end the script.
  if last or is_nested then return ";(function(...)\n" .. code .. "\nend)()" end
  return is(all[1], "(") and ";" .. code or code
end

-- Returns code that prints an expression, and assigns the names of its results that other entries use.
local function printing(expression, first, last, names)
  -- A comment at the end must not hide the closing parentheses.
  local has_lines = find(expression, "\n", 1, true) or ends_in_comment(expression)
  expression = trimmed(expression)
  local argument = has_lines and "\n" .. expression .. "\n" or expression
  if first < last then
    local lines = { "do\n  local all = table.pack(" .. argument .. ")\n"
      .. "  for i = 1, all.n do print(moonpool.inspect(all[i])) end" }
    for number = first, last do
      local targets = {}
      if names["_" .. number] then targets[1] = "_" .. number .. " = all[" .. number - first + 1 .. "]" end
      if number == first and names._ then targets[#targets + 1] = "_ = all[1]" end
      if #targets > 0 then lines[#lines + 1] = "  " .. table.concat(targets, " ") end
    end
    return table.concat(lines, "\n") .. "\nend"
  end
  local used = {}
  if names["_" .. first] then used[1] = "_" .. first end
  if names._ then used[#used + 1] = "_" end
  if #used == 0 then return "print(moonpool.inspect(" .. argument .. "))" end
  return used[1] .. " = " .. expression .. "\n" .. (used[2] and "_ = " .. used[1] .. "\n" or "")
    .. "print(moonpool.inspect(" .. used[1] .. "))"
end

-- Returns the code of an entry whose results have the numbers from `first` to `last`; nil if it had none.
local function code_of(entry, first, last, names)
  local code = match(entry, "^%s*=(.*)$") or entry
  if not first then return statement(code) end
  local all = tokens(code)
  local expression = all[1] and all[1].text == "return" and sub(code, all[1].last + 1) or code
  if is_expression(expression) then return printing(expression, first, last, names) end
  local parts = session.split_entry(code)
  if parts then return statement(parts[1]) .. "\n" .. printing(parts[2], first, last, names) end
  local returned, is_nested = returns(all)
  if returned then
    local head, tail = trimmed(sub(code, 1, returned.first - 1)), trimmed(sub(code, returned.last + 1))
    return (head == "" and "" or statement(head) .. "\n")
      .. printing(string.gsub(tail, ";$", ""), first, last, names)
  end
  return is_nested and printing("(function(...)\n" .. code .. "\nend)()", first, last, names) or statement(code)
end

-- Returns an entry such as `store:define { … }` with the option that permits data loss; other entries unchanged.
local function forcing(entry)
  local all = tokens(entry)
  local last = all[#all]
  if #all < 5 or not is(all[2], ":") or all[3].text ~= "define" then return entry end
  if is(all[4], "{") and is(last, "}") then
    return sub(entry, 1, all[4].first - 1) .. "(" .. sub(entry, all[4].first, last.last) .. ", { force = true })"
  end
  return is(all[4], "(") and is(last, ")") and sub(entry, 1, last.first - 1) .. ", { force = true })" or entry
end

-- Returns an expression of `.live` as an effect that prints its value.
local function live_code(expression, number)
  local single = "(\n" .. expression .. "\n)"
  local shown = "(function(...)\n    local values = table.pack(...)\n"
    .. "    for i = 1, values.n do values[i] = moonpool.inspect(values[i]) end\n"
    .. '    return table.concat(values, ", ")\n  end)(\n' .. expression .. "\n  )"
  if is_expression(single) then
    shown = "moonpool.inspect" .. (ends_in_comment(expression) and single or "(" .. expression .. ")")
  end
  return "live_" .. number .. " = moonpool.effect(function()\n  print("
    .. quoted("[live " .. number .. "] " .. expression .. " = ") .. " .. " .. shown .. ")\nend)"
end

-- Returns the script and the number of its entries.
local function script()
  local steps, names, count, lines = session.recorded(), {}, 0, {}
  for _, step in ipairs(steps) do
    if step.kind ~= "code" and step.kind ~= "failed" then count = count + 1 end
    if step.kind == "forced" then step.text = forcing(step.text) end
    step.code = step.kind == "code" and step.text or step.kind == "file" and step.detail
      or step.kind == "live" and live_code(step.text, step.detail)
      or step.kind == "command" and step.detail and step.detail .. "  -- " .. step.text
    local named = step.code or (step.kind == "entry" or step.kind == "forced") and step.text or ""
    for _, token in ipairs(tokens(named)) do
      if token.kind == "name" then names[token.text] = true end
    end
  end
  -- The function and the module are the prompt's, which a script does not have.
  if names.help then lines[1] = "help = help or function() end" end
  if names.prompt then
    lines[#lines + 1] = "moonpool.prompt = moonpool.prompt or "
      .. "setmetatable({}, { __index = function() return function() end end })"
  end
  for _, name in ipairs { "complete", "evaluate" } do
    if names[name] then lines[#lines + 1] = "moonpool." .. name .. " = moonpool." .. name .. " or function() end" end
  end
  for _, step in ipairs(steps) do
    local kind, line = step.kind, step.text
    if kind == "failed" then line = "failed: " .. line end
    if kind == "file" then lines[#lines + 1] = comment(".load " .. line) end
    if kind == "live" then lines[#lines + 1] = comment(".live " .. line) end
    if kind == "entry" or kind == "forced" then
      lines[#lines + 1] = code_of(line, step.first, step.last, names)
    elseif kind == "file" then
      lines[#lines + 1] = statement(step.code)
    else
      lines[#lines + 1] = step.code or comment(line)
    end
  end
  if #moonpool.observers() > 0 or require("prompt/live").has_expressions() then
    lines[#lines + 1] = "-- Observers keep a script running. Delete the next line to keep observing."
    -- Notifications of the last writes arrive while the event loop runs.
    lines[#lines + 1] = "moonpool.sleep(0.05) moonpool.stop()"
  end
  return table.concat(lines, "\n") .. "\n", count
end

local function save(args)
  if args.text == "" then error("expected a file name: .save FILE", 0) end
  local code, count = script()
  session.write_file(args.text, code)
  prompt.write(text.count(count, "entry", "entries"), " in ", args.text, "; run it with: moonpool ",
    text.shell_word(args.text), "\n")
end

return { save = save, script = script, forcing = forcing }
