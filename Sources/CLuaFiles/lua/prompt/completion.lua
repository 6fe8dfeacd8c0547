-- Completion at the cursor, the number of matches of a typed query, and suggestions for misspelled names.
--
-- All of it reads tables without metamethods, and schemas; it runs no code of a script and reads no object.
local text = require "prompt/text"
local sub, find, match, gmatch, lower = string.sub, string.find, string.match, string.gmatch, string.lower

local completion = {}
local opening = { ["{"] = true, ["("] = true, ["["] = true }
local closing = { ["}"] = true, [")"] = true, ["]"] = true }

local function is(token, symbol) return token and token.kind == "symbol" and token.text == symbol end

-- Returns the content of a string, which can lack its closing quote.
local function content(token)
  local body = match(token.text, "^%[=*%[(.*)$")
  if body then return token.closed and match(body, "^(.*)%]=*%]$") or body end
  return sub(token.text, 2, token.closed and -2 or -1)
end

local function slice(tokens, first, last) return table.move(tokens, first, last, 1, {}) end

-- Returns a list of candidates for a typed word if one of them begins with it.
local function matching(found)
  for _, name in ipairs(found[2]) do
    if sub(name, 1, #found[1]) == found[1] then return found end
  end
end

local function last_word(argument) return match(argument, "[^ ]*$") end

local function class_names()
  local store = prompt.store()
  return store and text.sorted_keys(store:schema()) or {}
end

local function properties(class)
  local store = prompt.store()
  return store and class and text.properties(store, class)
end

-- Returns `3 objects` for the name of a class; the number is part of the snapshot.
local function object_count(name)
  local is_known, objects = pcall(prompt.store().objects, prompt.store(), name)
  return is_known and text.count(#objects, "object") or nil
end

-- MARK: The value before a dot or a colon
--
-- A subject is what is known of a value without running code: the value itself, a type of the API with the class of its
-- objects, or the names of a projection.

local function classify(value) return session.classify(value) or { value = value } end

-- Returns the subject of a field, an element or the result of a method.
local function step_from(subject, step)
  if subject.type then return session.follow(subject.type, subject.class, step) end
  if subject.names then
    local is_element = step.index or step.call == "first" or step.call == "last"
    if is_element and not subject.is_row then return { names = subject.names, is_row = true } end
    local derived = { where = true, sorted = true, distinct = true, limit = true, freeze = true }
    return derived[step.call] and subject or nil
  end
  local value = subject.value
  if type(value) ~= "table" then return nil end
  if step.call then return session.is_module(value) and session.follow("moonpool", nil, step) or nil end
  local key = step.field
  if step.index then key = math.tointeger(tonumber(step.index.text)) or content(step.index) end
  local found = rawget(value, key)
  return found ~= nil and classify(found) or nil
end

-- Resolves a chain such as `store:objects("Dog"):where("…")[1].owner` from its end to its first name, and returns the
-- subject that it refers to. With `needs_access`, the tokens must end in the `.` or `:` before a function's name.
local function resolve(tokens, needs_access)
  local n, steps = #tokens, {}
  if needs_access then
    if not is(tokens[n], ".") and not is(tokens[n], ":") then return nil end
    n = n - 1
  end
  while true do
    local last, argument, is_call, is_index = tokens[n], nil, false, false
    if not last then return nil end
    if last.kind == "string" then
      argument, is_call, n = content(last), true, n - 1
    elseif last.kind == "symbol" and closing[last.text] then
      local first, depth = n, 0
      while first > 0 do
        local token = tokens[first]
        if token.kind == "symbol" then
          depth = depth + (closing[token.text] and 1 or opening[token.text] and -1 or 0)
        end
        if depth == 0 then break end
        first = first - 1
      end
      local inside = tokens[first + 1]
      is_index, is_call = last.text == "]", last.text ~= "]"
      if is_index then
        if n - first ~= 2 then return nil end
        steps[#steps + 1] = { index = inside }
      elseif first + 1 < n and inside.kind == "string" then
        argument = content(inside)
      end
      n = first - 1
    end
    if not is_index then
      local name = tokens[n]
      if not name or name.kind ~= "name" then return nil end
      n = n - 1
      if not is(tokens[n], ".") and not is(tokens[n], ":") then
        local value = session.variable(name.text)
        -- The result of a function that is called by its bare name is unknown.
        if is_call or value == nil then return nil end
        local subject = classify(value)
        for i = #steps, 1, -1 do subject = subject and step_from(subject, steps[i]) end
        return subject
      end
      n = n - 1
      steps[#steps + 1] = is_call and { call = name.text, argument = argument } or { field = name.text }
    end
  end
end

-- Returns the names of a subject that can begin with the typed text; for large tables, only some of them.
local function names_of(subject, typed, is_method)
  local names = {}
  local function add(more) table.move(more, 1, #more, #names + 1, names) end
  if subject.type then
    if not is_method and subject.type == "object" then
      for _, property in ipairs(properties(subject.class) or {}) do names[#names + 1] = property.name end
    end
    add(session.type_names(subject.type, is_method))
  elseif subject.names then
    if not is_method and subject.is_row then add(subject.names) end
    add(session.type_names(subject.is_row and "projection" or "projected Results", is_method))
  elseif type(subject.value) == "string" then
    add(session.names(session.globals("string"), typed, false))
  elseif type(subject.value) == "table" then
    add(session.names(subject.value, typed, is_method))
  else
    add(session.members(subject.value, is_method))
  end
  return names
end

-- MARK: Surroundings of the cursor

-- Returns the call whose arguments contain the cursor: `dogs:where "na`, `dogs:observe(handler, { keypaths = { "na`.
local function call_around(tokens)
  local n, depth = #tokens, 0
  local function call(name)
    return { name = tokens[name].text, receiver = slice(tokens, 1, name - 1), is_first = name >= n - 1 }
  end
  if n > 0 and tokens[n].kind == "name" then return call(n) end
  for i = n, 1, -1 do
    local token = tokens[i]
    if token.kind == "symbol" and closing[token.text] then depth = depth + 1 end
    if token.kind == "symbol" and opening[token.text] then
      if depth > 0 then
        depth = depth - 1
      -- A brace or a bracket begins a table or an index, which can itself be part of an argument.
      elseif i > 1 and tokens[i - 1].kind == "name" and token.text ~= "[" then
        return call(i - 1)
      end
    end
  end
end

-- Returns the table constructor around the cursor: the index of its `{` and the names of its fields before the cursor.
-- Returns nil after the `=` of a field.
local function open_table(tokens)
  local n, depth, names = #tokens, 0, {}
  if not is(tokens[n], "{") and not is(tokens[n], ",") then return nil end
  for i = n, 1, -1 do
    local token = tokens[i]
    if token.kind == "symbol" then
      if closing[token.text] then depth = depth + 1 end
      if depth == 0 and token.text == "=" and i > 1 and tokens[i - 1].kind == "name" then
        names[tokens[i - 1].text] = true
      end
      if opening[token.text] then
        if depth == 0 then return token.text == "{" and i or nil, names end
        depth = depth - 1
      end
    end
  end
end

-- Returns the class whose properties the table after the tokens sets: `store:create("Dog", {`, `dogs:where {`.
local function class_of_table(tokens)
  local n, class = #tokens, nil
  if is(tokens[n], ",") then
    if not tokens[n - 1] or tokens[n - 1].kind ~= "string" then return nil end
    class, n = content(tokens[n - 1]), n - 2
  end
  if is(tokens[n], "(") then n = n - 1 end
  local name = tokens[n] and tokens[n].kind == "name" and tokens[n].text
  if class then return (name == "create" or name == "new") and class or nil end
  if name ~= "where" and name ~= "update" then return nil end
  local subject = resolve(slice(tokens, 1, n - 1), true)
  return subject and subject.class
end

-- Returns the name of the function that would receive a table after the tokens as an argument.
local function function_of_table(tokens)
  local last, depth = tokens[#tokens], 0
  if not last then return nil end
  if last.kind == "name" then return last.text end
  if not is(last, "(") and not is(last, ",") then return nil end
  local nesting = { ["end"] = 1, ["until"] = 1, ["function"] = -1, ["do"] = -1, ["if"] = -1, ["repeat"] = -1 }
  for i = #tokens, 1, -1 do
    local token = tokens[i]
    if token.kind == "keyword" then depth = depth + (nesting[token.text] or 0) end
    if token.kind == "symbol" then
      if closing[token.text] then depth = depth + 1 end
      if opening[token.text] then
        if depth == 0 then
          local before = token.text == "(" and tokens[i - 1]
          return before and before.kind == "name" and before.text or nil
        end
        depth = depth - 1
      end
    end
  end
end

-- MARK: Predicates and key paths

-- The end of a text that can be a path: `owner.na`, `toys[1].@su`, `notes['food'].`.
local path_characters = "[%w_.`@%[%]'\x80-\xff]*$"

-- Returns the completions of a path such as `owner.na` or `toys.@su`. Without a class, the candidates are the names of
-- all properties and classes. In a predicate, names that would have another meaning are in backquotes.
local function path(word, class, is_predicate)
  local first, typed = match(word, "^(.-)([^.]*)$")
  if not prompt.store() then return nil end
  if not class then
    local names = first == "" and class_names() or {}
    for _, name in ipairs(class_names()) do
      for _, property in ipairs(properties(name)) do names[#names + 1] = property.name end
    end
    return { typed, names }
  end
  local is_quoted = sub(typed, 1, 1) == "`"
  local function written(name)
    if is_quoted then return "`" .. name .. "`" end
    return is_predicate and sub(name, 1, 1) ~= "@" and session.written(name, first == "") or name
  end
  local types, names, plain = {}, {}, {}
  for name, kind in next, session.continuations(class, first, is_quoted and sub(typed, 2) or typed) do
    name = written(name)
    types[name], names[#names + 1] = kind, name
    if sub(name, 1, #typed) == typed then plain[#plain + 1] = name end
  end
  -- A word of the predicate language is offered in backquotes, unless other names begin with what was typed.
  return {
    typed, #plain > 0 and plain or names, is_filtered = true,
    details = function(name) return types[name] ~= "" and types[name] or nil end,
  }
end

local comparisons = { "==", "!=", "<", "<=", ">", ">=", "between", "in" }
local texts = { "==", "!=", "beginswith", "contains", "endswith", "like", "in" }
local conjunctions = { "and", "or", "sort(", "distinct(", "limit(" }
local equality = { "==", "!=" }
-- Words after which a key path or a value follows.
local openers = {}
for word in gmatch("and or not any all none some in between contains beginswith endswith like text", "%a+") do
  openers[word] = true
end

local function joined(...)
  local all = {}
  for _, list in ipairs { ... } do table.move(list, 1, #list, #all + 1, all) end
  return all
end

local function operators(property)
  if not property.is_single then
    return joined(equality, { "contains", property.collection == "{" and "geoWithin" or nil })
  end
  if property.target then return joined(equality, { "geoWithin" }) end
  local kind = match(property.type, "^%a+")
  if kind == "mixed" then return joined(texts, comparisons, { "geoWithin" }) end
  if kind == "string" then return joined(texts, { property.is_full_text and "text" or nil }) end
  return kind == "bool" and equality or comparisons
end

-- Returns the words of a predicate; a closed string or group is `''`. The second result is the quote of an open string.
local function words_of(predicate)
  local quote, words = nil, { "" }
  for character in gmatch(predicate, ".") do
    if quote then
      if character == quote then quote = nil end
    elseif character == "'" or character == '"' then
      quote, words[#words] = character, "''"
    elseif find(character, "%s") then
      if words[#words] ~= "" then words[#words + 1] = "" end
    elseif find(character, "[({,]") then
      words[#words + 1] = ""
    elseif find(character, "[)}]") then
      words[#words] = "''"
    else
      words[#words] = words[#words] .. character
    end
  end
  return words, quote
end

-- Returns the completions in a predicate: a key path, an operator for its type, or a conjunction.
local function predicate(typed_text, class)
  local words, quote = words_of(typed_text)
  if quote then return nil end
  local typed, before = table.remove(words), ""
  for _, word in ipairs(words) do
    if word ~= "" then before = word end
  end
  local function in_path() return path(match(typed_text, path_characters), class, true) end
  local is_word, bare = find(typed, "^[%a\x80-\xff]*$"), lower(before)
  if bare == "geowithin" and is_word then
    return { typed, { "geoBox(", "geoCircle(", "geoPolygon(" }, suffix = " " }
  end
  if sub(bare, -1) == "]" then bare = match(bare, "^[^%[]*") end
  if before == "" or not is_word or openers[bare] or find(before, "[=<>!&|+%-*/]$") then return in_path() end
  local property
  for name in gmatch(before .. ".", "([^.]*)%.") do
    local next_property
    for _, found in ipairs(properties(class) or {}) do
      if found.name == string.gsub(name, "`", "") then next_property = found end
    end
    property, class = next_property, next_property and next_property.target
    if not property then break end
  end
  return { typed, property and operators(property) or conjunctions, suffix = " " }
end

-- Completes the type of a property in a schema: `store:define { Dog = { age = "in`.
local function schema_types(typed, call, tokens)
  local n = #tokens
  if not is(tokens[n], "=") or n < 3 or not call or call.name ~= "define" and call.name ~= "open" then return nil end
  local defined, depth, has_schema = {}, 0, false
  for i, token in ipairs(tokens) do
    depth = depth + (is(token, "{") and 1 or is(token, "}") and -1 or 0)
    if token.kind == "name" and token.text == "schema" then
      has_schema = true
    elseif token.kind == "name" and is(tokens[i + 1], "=") and is(tokens[i + 2], "{") then
      defined[#defined + 1] = token.text
    end
  end
  -- In `open`, only the table `schema` has types.
  if call.name == "open" and not (has_schema and depth > 2) then return nil end
  local first = match(typed, "^(%S+) ")
  if not first then
    return { typed, joined(text.sorted_keys(session.property_types), { "backlinks" }, defined, class_names()) }
  end
  local candidates = {}
  if first == "backlinks" then
    for _, name in ipairs(class_names()) do
      for _, property in ipairs(properties(name)) do
        local is_link = property.target and not property.is_backlinks
        candidates[#candidates + 1] = is_link and name .. "." .. property.name or nil
      end
    end
  else
    for _, word in ipairs { "primary", "indexed", "fulltext" } do
      if not find(typed, " " .. word .. " ", 1, true) then candidates[#candidates + 1] = word end
    end
  end
  return { last_word(typed), candidates }
end

-- MARK: Completion

local function file(typed)
  return session.files(typed)
end

-- Returns the completions inside a string: class names or file names if the call expects them, otherwise key paths.
local function in_string(typed, tokens)
  local call = call_around(tokens)
  local name = call and call.is_first and call.name
  local of_class = { objects = 1, object = 1, create = 1, schema = 1, delete_all = 1, new = 1 }
  if of_class[name] then return { typed, class_names(), details = object_count } end
  if name == "open" or name == "dofile" or name == "loadfile" then return file(typed) end
  if name == "require" then
    local names = {}
    for key in next, session.loaded() do names[#names + 1] = type(key) == "string" and key or nil end
    return { typed, names }
  end
  local types = schema_types(typed, call, tokens)
  if types then return types end
  -- The receiver of `dogs:where "…"` determines the class of the properties.
  local subject = call and resolve(call.receiver, true)
  local class = subject and subject.class
  if name == "where" and class then return predicate(typed, class) end
  return path(match(typed, path_characters), class)
end

-- Returns the completions of a name: a field, a method, a field of a table constructor, or a variable.
local function name_at_end(tokens, size)
  local last, typed = tokens[#tokens], ""
  if last and (last.kind == "name" or last.kind == "keyword") and last.last == size then
    typed = last.text
    tokens[#tokens] = nil
  end
  local access = tokens[#tokens]
  if is(access, ".") or is(access, ":") then
    tokens[#tokens] = nil
    local subject = resolve(tokens)
    return subject and {
      typed, names_of(subject, typed, access.text == ":"),
      details = function(name)
        for _, property in ipairs(access.text == "." and properties(subject.class) or {}) do
          if property.name == name then return property.type end
        end
      end,
    }
  end
  local start, used = open_table(tokens)
  local before = start and slice(tokens, 1, start - 1)
  local class, names = start and class_of_table(before), {}
  for _, property in ipairs(class and properties(class) or {}) do
    if not property.is_backlinks and not used[property.name] then names[#names + 1] = property.name end
  end
  local found = matching { typed, names, suffix = " = " }
  local receiver = not found and start and start > 1 and function_of_table(before)
  if receiver then
    names = {}
    for _, option in ipairs(session.options(receiver)) do
      if not used[option] then names[#names + 1] = option end
    end
    found = matching { typed, names, suffix = " = " }
  end
  if found or typed == "" then return found end
  return { typed, joined(session.names(session.globals(), typed, false), session.local_names(), session.keywords) }
end

completion.kinds = {
  class = function(argument) return { argument, class_names(), details = object_count } end,
  file = file,
  expression = function(argument) return completion.complete(argument) end,
  query = function(argument)
    local class, rest = match(argument, "^(%S+)%s(.*)$")
    if not class then
      return matching { argument, class_names(), details = object_count } or completion.complete(argument)
    end
    if not properties(class) then return completion.complete(argument) end
    if not find(rest, "%s") then
      local introduction = matching { rest, { "where" }, suffix = " " }
      if introduction then return introduction end
    end
    return predicate(match(rest, "^%S*%s*(.*)$"), class)
  end,
  observer = function(argument)
    local names = {}
    for i, token in ipairs(moonpool.observers()) do names[i] = token.name or tostring(token.number) end
    return { argument, names }
  end,
  schema = function(argument)
    return { last_word(argument), joined(class_names(), { "--tree", "--lua", "--mermaid", "--dot" }) }
  end,
  module = function(argument) return { argument, joined(require("prompt/reload").names(), { "on", "off" }) } end,
  help = function(argument) return { argument, joined(require("prompt/help").names(), class_names()) } end,
}

local function command(before)
  local commands = require "prompt/commands"
  local name, argument = match(before, "^%s*%.(%S+)%s+(.*)$")
  if not name then
    local names = {}
    for i, known in ipairs(commands.all()) do names[i] = "." .. known.name end
    return { match(before, "%S*$"), names, suffix = " " }
  end
  local known = commands.find(name)
  local complete = known and known.complete
  if type(complete) == "table" then return { last_word(argument), complete } end
  if type(complete) == "function" then
    local candidates = session.candidates(complete, argument)
    return { last_word(argument), type(candidates) == "table" and candidates or {} }
  end
  return complete and completion.kinds[complete](argument)
end

-- Returns the completions at the end of a text: the typed word and the candidates, and with `is_filtered` only those
-- that fit; `suffix` follows a candidate, and `details` describes one. Returns nil if there are none.
function completion.complete(before)
  if session.is_command(before) or before == "." then return command(before) end
  local tokens = session.tokens(before)
  local last = tokens[#tokens]
  if last and not last.closed then
    if last.kind == "comment" then return nil end
    tokens[#tokens] = nil
    return in_string(content(last), tokens)
  end
  return name_at_end(tokens, #before)
end

-- MARK: The number of matches

-- The number of objects that a count scans in a microsecond, by the durations of earlier counts.
local speed = 10

-- Returns whether counting so many objects is likely to take less than 20 ms.
function completion.can_count(objects) return objects <= speed * 20000 end

-- Records the duration of a count.
function completion.note_count(objects, microseconds)
  -- Short counts measure only their overhead.
  if objects <= 1000 then return end
  local measured = objects / math.max(1, microseconds)
  -- The average lets counts resume after one slow predicate.
  speed = measured < speed and math.max(measured, 1) or (speed + measured) / 2
end

-- Returns the collection of a receiver such as `dogs:` or `store:objects("Dog"):`.
local function collection(tokens)
  local n = #tokens - 1
  if not is(tokens[n + 1], ":") or n == 0 then return nil end
  local function begins_chain(first) return not is(tokens[first - 1], ".") and not is(tokens[first - 1], ":") end
  if tokens[n].kind == "name" then
    local value = begins_chain(n) and session.variable(tokens[n].text)
    local subject = value and session.classify(value)
    return subject and subject.type == "Results" and value or nil
  end
  if is(tokens[n], ")") then n = n - 1 end
  local class = tokens[n]
  if not class or class.kind ~= "string" then return nil end
  n = is(tokens[n - 1], "(") and n - 2 or n - 1
  if n < 3 or tokens[n].text ~= "objects" or not is(tokens[n - 1], ":") or tokens[n - 2].kind ~= "name"
    or not begins_chain(n - 2)
  then
    return nil
  end
  local store = session.variable(tokens[n - 2].text)
  local subject = store and session.classify(store)
  return subject and subject.type == "store" and store:objects(content(class)) or nil
end

-- Returns the collection and the predicate of `dogs:where("age > 3` or `.watch Dog where age > 3`.
local function typed_query(typed)
  if session.is_command(typed) then
    local name, class, where, condition = match(typed, "^%s*%.(%S+)%s+(%S+)%s+(%S+)%s+(.*)$")
    local known = name and require("prompt/commands").find(name)
    if known and known.complete == "query" and lower(where) == "where" then
      return prompt.store():objects(class), condition
    end
    return nil
  end
  local tokens = session.tokens(typed)
  local last = table.remove(tokens)
  if not last or last.kind ~= "string" or last.closed or content(last) == "" then return nil end
  local call = call_around(tokens)
  if call and call.name == "where" and call.is_first then return collection(call.receiver), content(last) end
end

-- Returns `3 of 10 Dog` for a text that ends in a query on a class, if counting is quick.
function completion.matches(typed)
  -- An unfinished predicate is not valid yet.
  local is_valid, shown = pcall(function()
    local all, condition = typed_query(typed)
    local start, total = session.clock(), all and all:count()
    if not total or not completion.can_count(total) then return nil end
    local count = all:where(condition):count()
    completion.note_count(total, (session.clock() - start) * 1e6)
    return text.count(count) .. " of " .. text.count(total) .. " " .. session.classify(all).class
  end)
  return is_valid and shown or nil
end

-- MARK: Misspelled names

local function question(name, names)
  local others = {}
  for _, other in ipairs(names) do
    if other ~= name then others[#others + 1] = other end
  end
  local near = session.nearest(name, others)
  return near and "did you mean '" .. near .. "'?"
end

local function variables() return joined(session.names(session.globals(), "", false), session.local_names()) end

-- Returns a suggestion for an error such as `attempt to index a nil value (global 'stroe')` of an entry.
function completion.hint(message, entry)
  local kind, name = match(message, "a nil value %((%a+) '([^']*)'")
  if kind == "global" then return question(name, variables()) end
  if kind ~= "field" and kind ~= "method" then return nil end
  local tokens = session.tokens(entry)
  for i = 3, #tokens do
    if tokens[i].text == name and is(tokens[i - 1], kind == "method" and ":" or ".") then
      local subject = resolve(slice(tokens, 1, i - 2))
      if subject then return question(name, names_of(subject, "", kind == "method")) end
    end
  end
end

-- Returns a suggestion for an entry that is a name or a field such as `moonpool.opn` and whose value is nil.
function completion.hint_for_nil(entry)
  local tokens = session.tokens(match(entry, "^%s*=(.*)$") or entry)
  local n = #tokens
  local last = tokens[n]
  if not last or last.kind ~= "name" then return nil end
  local names = n == 1 and variables()
  if not names then
    for i = 1, n - 1 do
      if tokens[i].kind ~= "name" and not is(tokens[i], ".") then return nil end
    end
    local subject = is(tokens[n - 1], ".") and resolve(slice(tokens, 1, n - 2))
    if not subject then return nil end
    names = names_of(subject, "", false)
  end
  -- An existing property can be nil.
  for _, name in ipairs(names) do
    if name == last.text then return nil end
  end
  return question(last.text, names)
end

return completion
