-- The commands that show values which follow the data: `.live` above the prompt, `.watch` instead of it.
local text = require "prompt/text"
local paint = prompt.paint

-- MARK: Live expressions

-- Returns the expressions of the session in an array, and the number of the last one.
local function kept()
  local own = session.state "live"
  own.last_number = own.last_number or 0
  return own
end

local function show(number, expression, shown)
  session.write_to_screen(paint("[live " .. number .. "]", "type") .. " " .. paint(expression .. " =", "dim")
    .. (string.find(shown, "\n", 1, true) and "\n" or " ") .. shown .. "\n")
end

-- Removes the expressions that have ended; returns whether others remain.
local function has_expressions()
  local own = kept()
  for i = #own, 1, -1 do
    if not own[i].is_active() then table.remove(own, i) end
  end
  return #own > 0
end

local function end_expressions(number)
  local has_ended = false
  for _, live in ipairs(kept()) do
    if not number or tostring(live.number) == number then
      live.dispose()
      has_ended = true
      session.record("command", ".live off " .. live.number, "live_" .. live.number .. ":dispose()")
    end
  end
  has_expressions()
  if not has_ended then
    error(number and "there is no live expression " .. number or "there are no live expressions", 0)
  end
end

local function live(args)
  if args[1] == "off" and #args <= 2 then return end_expressions(args[2]) end
  if args.text == "" then
    if not has_expressions() then error(".live takes an expression, such as store:objects(\"Dog\"):count()", 0) end
    for _, known in ipairs(kept()) do prompt.write(known.number, ": ", known.text, "\n") end
    return
  end
  local expression, evaluate = args.text, session.prepare(args.text, false)
  local own = kept()
  own.last_number = own.last_number + 1
  local number, last = own.last_number, nil
  local dispose, is_active = table.unpack(session.effect(
    function()
      local values = table.pack(evaluate())
      for i = 1, values.n do values[i] = prompt.format(values[i]) end
      local shown = table.concat(values, ", ")
      if shown ~= last then show(number, expression, shown) end
      last = shown
    end,
    function(message) show(number, expression, paint(message, "error")) end))
  if not is_active() then
    return prompt.write(paint("the expression reads no data that can change", "dim"), "\n")
  end
  own[#own + 1] = { number = number, text = expression, dispose = dispose, is_active = is_active }
  session.record("live", expression, tostring(number))
end

-- MARK: The watched query

-- New rows, changed cells and removed rows have colors, which fade. The observers that ran and the commit that caused
-- the change appear below the table.
local function watch(args)
  if args.text == "" then
    error("expected a query, such as Dog where age > 3, or an expression, such as "
      .. 'store:objects "Dog":sorted "age"', 0)
  end
  local evaluate, store = session.prepare(args.text, true), prompt.store()
  local rows, grid, others, width, height = {}, nil, {}, nil, nil
  local calls, fired, fades = {}, {}, nil

  local function note_calls()
    local next_calls = {}
    fired = {}
    for _, token in ipairs(moonpool.observers()) do
      local stats = token:stats()
      next_calls[token.number] = stats.calls
      if stats.calls > (calls[token.number] or 0) then
        fired[#fired + 1] = (token.name or "observer " .. token.number) .. " " .. text.duration(stats.last_us)
      end
    end
    calls = next_calls
  end

  -- Takes the rows of a new grid, and marks what is different.
  local function take(next_grid, is_marking)
    local before, present, merged, has_marks = {}, {}, {}, false
    for _, row in ipairs(rows) do
      if row.mark ~= "removed" then before[row.key] = row.cells end
    end
    for i, cells in ipairs(next_grid.rows) do
      local row = { key = next_grid.keys[i], cells = cells }
      local old = before[row.key]
      present[row.key], merged[i] = true, row
      if not old then row.mark = "added" end
      for column, cell in ipairs(cells) do
        if old and old[column] ~= cell then
          row.old = row.old or {}
          row.old[column] = old[column]
        end
      end
      has_marks = has_marks or row.mark or row.old
      if not is_marking then row.mark, row.old = nil, nil end
    end
    if is_marking then
      for i, row in ipairs(rows) do
        if not present[row.key] and row.mark ~= "removed" then
          has_marks = true
          table.insert(merged, math.min(i, #merged + 1), { key = row.key, cells = row.cells, mark = "removed" })
        end
      end
      if has_marks then
        fades = session.clock() + 1.4
        prompt.refresh(1.5)
      end
    end
    rows, grid = merged, next_grid
  end

  local function update(is_marking)
    local limit = height and math.max(1, height - 9) or 20
    local values = table.pack(pcall(evaluate))
    if not values[1] then
      local err = values[2]
      grid, others = nil, { paint(type(err) == "userdata" and err.message or tostring(err), "error") }
    else
      local found = values.n == 2 and session.grid(values[2], limit, width)
      if found then
        take(found, is_marking and grid)
      else
        grid, others = nil, {}
        for i = 2, values.n do others[i - 1] = prompt.format(values[i], { rows = limit, items = limit }) end
      end
    end
    note_calls()
  end

  -- Returns the commit that caused the change.
  local function cause()
    if not store or store.is_closed then return "" end
    local parts, version = { paint("v" .. store.version, "type") }, session.version(store.version)
    if version then
      local origin = text.origin(version)
      if origin ~= "" then parts[2] = paint(origin, "dim") end
      parts[#parts + 1] = text.changes(version)
    end
    return table.concat(parts, "  ")
  end

  local function lines(columns, window_rows)
    if columns ~= width or window_rows ~= height then
      width, height = columns, window_rows
      update(false)
    elseif fades and session.clock() >= fades then
      fades, fired = nil, {}
      for i = #rows, 1, -1 do
        if rows[i].mark == "removed" then table.remove(rows, i) end
      end
      for _, row in ipairs(rows) do row.mark, row.old = nil, nil end
    end
    local shown = { paint(prompt.truncate(args.text, math.max(10, columns - 1)), "strong") }
    if grid then
      local cells, styles, removed = {}, {}, 0
      for i, row in ipairs(rows) do
        cells[i], styles[i] = table.move(row.cells, 1, #row.cells, 1, {}), {}
        if row.mark == "removed" then removed = removed + 1 end
        for column, cell in ipairs(row.cells) do
          local old = row.old and row.old[column]
          if old then cells[i][column] = old .. " → " .. cell end
          styles[i][column] = row.mark == "removed" and "struck" or row.mark or old and "changed" or "plain"
        end
      end
      local rendered = grid.render(cells, styles, math.max(grid.count, #rows - removed), math.max(20, columns - 1))
      table.move(rendered, 1, #rendered, 2, shown)
    else
      table.move(others, 1, #others, 2, shown)
    end
    shown[#shown + 1] = cause()
    if #fired > 0 then
      shown[#shown + 1] = paint("ran: " .. table.concat(fired, ", ", 1, math.min(4, #fired)), "word")
    end
    if window_rows then shown[#shown + 1] = paint("q leaves", "dim") end
    return shown
  end

  evaluate()
  note_calls()
  prompt.panel {
    lines = lines,
    changed = function() update(true) end,
    follows = true,
  }
end

return { live = live, watch = watch, has_expressions = has_expressions }
