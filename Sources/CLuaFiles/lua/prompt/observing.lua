-- The commands about observers: the list, the reason for a call, and the reason for its absence.
local text = require "prompt/text"
local observing = {}
local paint, count, duration = prompt.paint, text.count, text.duration

local function title(token)
  if token.name then return "'" .. token.name .. "'" end
  local where = token:stats().where
  return where == "" and "an observer" or "the observer of " .. where
end

-- Returns the active observer with a number, a name or a source location.
local function find(word)
  local tokens = moonpool.observers()
  for _, token in ipairs(tokens) do
    if word == tostring(token.number) or word == (token.name or "") or word == token:stats().where then return token end
  end
  local ended = session.ended_observer(word)
  if ended then error(ended .. " has ended and receives no more calls; observe again", 0) end
  if #tokens == 0 then error("there are no observers; register one with results:observe(fn)", 0) end
  local known = {}
  for i, token in ipairs(tokens) do
    if i <= 12 then known[i] = token.number .. " " .. (token.name or token:stats().where) end
  end
  error("expected the number, name or location of an observer: " .. table.concat(known, ", "), 0)
end

-- MARK: The list

local bars = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }

-- Returns a bar for each of the last calls, the newest at the right.
local function sparkline(calls)
  local greatest, shown = 0, {}
  for _, call in ipairs(calls) do greatest = math.max(greatest, call.us) end
  for i = math.max(1, #calls - 15), #calls do
    local step = greatest > 0 and math.floor(calls[i].us / greatest * #bars) or 0
    shown[#shown + 1] = bars[math.min(step, #bars - 1) + 1]
  end
  return table.concat(shown)
end

local header = {
  "N", "name", "of", "calls", "coalesced", "last", "mean", "longest", "finding", "last calls", "from", "depends on",
}
-- The columns that appear below the numbers in a narrow window.
local below = { 3, 5, 11, 12 }
local is_below = { [3] = true, [5] = true, [11] = true, [12] = true }

local function too_wide(lines)
  local widest = 0
  for _, line in ipairs(lines) do widest = math.max(widest, prompt.width(line)) end
  return widest + 1 - prompt.size()
end

local function folded(rows)
  local longest = 0
  for i = 2, #rows do longest = math.max(longest, prompt.width(rows[i][2])) end
  local function layout(name_width)
    local narrow = {}
    for i, row in ipairs(rows) do
      narrow[i] = {}
      for column, cell in ipairs(row) do
        if column == 2 and i > 1 then cell = prompt.truncate(cell, name_width) end
        if not is_below[column] then table.insert(narrow[i], cell) end
      end
    end
    return prompt.layout(narrow, { numeric = { 1, 3, 4, 5, 6, 7 } })
  end
  local lines = layout(longest)
  local excess = too_wide(lines)
  if excess > 0 then lines = layout(math.max(8, longest - excess)) end
  local shown = { lines[1] }
  for i = 2, #rows do
    table.insert(shown, lines[i])
    local words = ""
    for _, column in ipairs(below) do
      local cell = rows[i][column]
      if cell ~= "" and cell ~= "0" then
        local word = header[column] .. " " .. cell
        local longer = words == "" and "   " .. word or words .. " · " .. word
        if words ~= "" and prompt.width(longer) >= prompt.size() then
          table.insert(shown, paint(words, "dim"))
          longer = "   " .. word
        end
        words = longer
      end
    end
    table.insert(shown, paint(words, "dim"))
  end
  return shown
end

-- Returns the observers as lines; `marks` has the numbers of those to mark with ●.
local function list(marks)
  local rows = { table.move(header, 1, #header, 1, {}) }
  for i, token in ipairs(moonpool.observers()) do
    local stats = token:stats()
    rows[i + 1] = {
      (marks and marks[token.number] and "● " or "") .. token.number, token.name or "-", token.subject,
      count(stats.calls), count(stats.coalesced), stats.is_running and "running" or duration(stats.last_us),
      duration(stats.mean_us), duration(stats.max_us), duration(stats.find_mean_us), sparkline(token:calls()),
      stats.where, table.concat(stats.depends_on, ", "),
    }
  end
  if #rows == 1 then return { "no observers" } end
  -- The mark must not move the columns.
  if marks then rows[1][1] = "  N" end
  local lines = prompt.layout(rows, { numeric = { 1, 4, 5, 6, 7, 8, 9 } })
  if too_wide(lines) > 0 then lines = folded(rows) end
  for i, line in ipairs(lines) do
    if string.find(line, "● ", 1, true) then lines[i] = paint(line, "added") end
  end
  return lines
end

function observing.observers(args)
  if args.text == "" then return prompt.write(table.concat(list(), "\n"), "\n") end
  if args.text ~= "live" then error("expected nothing or live, got '" .. args.text .. "'", 0) end
  local calls, until_time
  session.live(0.25, function()
    local now, marks, next_calls = session.clock(), {}, {}
    until_time = until_time or {}
    for _, token in ipairs(moonpool.observers()) do
      local number = token.number
      next_calls[number] = token:stats().calls
      -- An observer stays marked for a second after a call.
      if calls and next_calls[number] > (calls[number] or 0) then until_time[number] = now + 1 end
      marks[number] = until_time[number] and now < until_time[number]
    end
    calls = next_calls
    return list(marks)
  end)
end

-- MARK: Why

-- Returns the first objects of a reason, with their changed properties as far as the difference is known.
local function cause_lines(reason, difference)
  local function entry(objects, id)
    for _, found in ipairs(objects or {}) do
      if moonpool.id_of(type(found) == "table" and found.object or found) == id then return found end
    end
  end
  local lines = {}
  for i, cause in ipairs(reason.causes) do
    if i > 5 or not cause.class then break end
    local class = difference[cause.class] or {}
    local change, deleted = entry(class.modified, cause.id), entry(class.deleted, cause.id)
    local line
    if entry(class.inserted, cause.id) then
      line = paint("+ " .. text.label(cause.object), "added")
    elseif deleted then
      line = paint("- " .. text.label(deleted), "removed")
    elseif change then
      local named, parts = {}, {}
      for _, name in ipairs(cause.properties) do named[name] = true end
      for _, everything in ipairs { false, true } do
        for _, property in ipairs(change.properties) do
          if #parts < 3 and (named[property.name] or everything) then
            parts[#parts + 1] = paint(property.name, "key") .. " " .. paint(text.value(property.old), "removed")
              .. " → " .. paint(text.value(property.new), "added")
          end
        end
        if #parts > 0 then break end
      end
      line = text.label(cause.object) .. "  " .. table.concat(parts, ", ")
    elseif cause.object then
      line = text.label(cause.object) .. paint("  " .. table.concat(cause.properties, ", "), "key")
        .. paint("  set to equal values", "dim")
    else
      line = cause.class .. " (deleted)"
    end
    lines[#lines + 1] = line
  end
  if reason.count > 5 then lines[#lines + 1] = paint("… " .. count(reason.count - 5) .. " more", "dim") end
  return lines
end

local function causes(reason, store)
  local is_known, lines = pcall(
    text.with_difference, store, reason.previous_version, reason.version,
    function(difference) return cause_lines(reason, difference) end)
  return is_known and lines or cause_lines(reason, {})
end

function observing.why(args)
  local token = find(args.text)
  local reason, stats = token:why(), token:stats()
  if not reason then return prompt.write(title(token), " has not been called for a change yet\n") end
  local depth = 0
  local function add(branch, line)
    local indent = string.rep("   ", math.max(0, depth - 1))
    branch = depth == 0 and "" or indent .. branch
    -- A long line continues below its own text.
    local hanging = string.rep(" ", math.max(prompt.width(branch), 3))
    local width = prompt.width(branch .. line)
    local parts = width < prompt.size() and { line } or prompt.wrap(line, hanging)
    parts[1] = string.match(parts[1], "^ *(.*)$")
    prompt.write(branch, table.concat(parts, "\n"), "\n")
  end
  local function down(line)
    add("└─ ", line)
    depth = depth + 1
  end
  local commits, origin = reason.version - reason.previous_version, text.origin(reason)
  down(paint("version " .. reason.version, "strong")
    .. (commits > 1 and paint("  " .. count(commits) .. " commits, after " .. reason.previous_version, "dim") or "")
    .. (origin == "" and "" or paint("  " .. origin, "dim")))
  local objects = causes(reason, text.store())
  for i, line in ipairs(objects) do add(i == #objects and "└─ " or "├─ ", line) end
  if #objects > 0 then depth = depth + 1 end
  if reason.keypath then
    down("key path " .. paint(reason.keypath, "key"))
  elseif #reason.properties > 0 then
    down("properties " .. paint(table.concat(reason.properties, ", "), "key"))
  end
  down(paint(title(token), "type") .. (stats.where == "" and "" or " (" .. stats.where .. ")") .. ", of "
    .. token.subject)
  down(count(reason.rows, "object") .. ", the call took " .. duration(stats.last_us))
  if stats.cost ~= "" then down(paint("it " .. stats.cost, "dim")) end
end

-- MARK: Why not

-- Returns the object that an expression evaluates to, or that a class and a key name: `Dog 3`.
local function object_of(expression)
  local store = text.store()
  local class, key = string.match(expression, "^(%S+)%s+(.+)$")
  if class and pcall(store.schema, store, class) then
    key = string.match(key, "^([\"'])(.*)%1$") and string.sub(key, 2, -2) or key
    return store:object(class, math.tointeger(tonumber(key)) or key)
      or error("there is no " .. class .. " with the key " .. key, 0)
  end
  local value = prompt.evaluate(expression)
  if not pcall(moonpool.class_of, value) then
    error("expected an object, got " .. type(value) .. ": pass an expression, or Dog 3", 0)
  end
  return moonpool.is_valid(value) and value or error("the object was deleted", 0)
end

function observing.whynot(args)
  local name, expression = string.match(args.text, "^(%S+)%s+(.+)$")
  if not name then
    error(".whynot takes an observer and an object: .whynot 2 Dog 3, or .whynot kennel rex", 0)
  end
  local token, object = find(name), object_of(expression)
  local found = token:whynot(object)
  prompt.write(paint(title(token), "type"), " and ", paint(text.label(object), "strong"), ":\n")
  for _, reason in ipairs(found.reasons) do
    prompt.write("  ", reason.holds and paint("✓", "added") or paint("✗", "removed"), " ", paint(reason.kind, "dim"),
      string.rep(" ", math.max(1, 10 - #reason.kind)), reason.text,
      (reason.remark or "") ~= "" and paint("   " .. reason.remark, "dim") or "", "\n")
  end
  prompt.write(found.summary, "\n")
end

return observing
