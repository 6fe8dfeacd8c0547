-- The commands that show the versions of a store and what they changed.
local text = require "prompt/text"
local paint, count = prompt.paint, text.count

-- MARK: Differences

-- Returns an object with its first values on one line: `Dog 3 { age = 7, name = "Rex" }`.
local function summary(object)
  local values, seen = {}, 0
  for _, property in ipairs(text.properties(moonpool.store_of(object), moonpool.class_of(object))) do
    if seen < 6 and property.is_single then
      seen = seen + 1
      local shown = not property.is_primary and property.name .. " = " .. text.value(object[property.name]) or nil
      values[#values + 1] = shown
    end
  end
  local label = text.label(object)
  return #values == 0 and label or label .. " { " .. table.concat(values, ", ") .. " }"
end

local function difference_lines(found)
  local lines = {}
  for _, name in ipairs(text.sorted_keys(found)) do
    local class = found[name]
    for _, object in ipairs(class.inserted) do lines[#lines + 1] = paint("+ " .. summary(object), "added") end
    for _, object in ipairs(class.deleted) do lines[#lines + 1] = paint("- " .. summary(object), "removed") end
    for _, change in ipairs(class.modified) do
      lines[#lines + 1] = "~ " .. paint(text.label(change.object), "type")
      local width = 0
      for _, property in ipairs(change.properties) do width = math.max(width, prompt.width(property.name)) end
      for _, property in ipairs(change.properties) do
        lines[#lines + 1] = "    " .. paint(property.name, "key")
          .. string.rep(" ", width - prompt.width(property.name) + 2)
          .. paint(text.value(property.old), "removed") .. " → " .. paint(text.value(property.new), "added")
      end
    end
  end
  return #lines > 0 and lines or { paint("no differences", "dim") }
end

-- Returns the differences between two versions by object and property, one per line.
local function differences(store, first, second, limit)
  local lines = text.with_difference(store, first, second, difference_lines)
  local more = #lines - (limit or #lines)
  if more > 0 then
    lines = table.move(lines, 1, limit, 1, {})
    lines[limit + 1] = paint("… " .. count(more) .. " more lines", "dim")
  end
  table.insert(lines, 1, paint("version " .. first .. " → " .. second, "strong"))
  return lines
end

local function diff(args)
  local store = text.store()
  if #args > 2 then error(".diff takes at most two versions", 0) end
  local first = args[1] and text.version(args[1]) or math.max(0, store.version - 1)
  local second = args[2] and text.version(args[2]) or store.version
  prompt.write(table.concat(differences(store, first, second), "\n"), "\n")
end

-- MARK: The list of versions

-- The list as a panel: arrows select, Enter shows the difference, g opens the version.
local function history()
  local store = text.store()
  local versions, loaded = {}, nil
  local selected, first = 1, 1
  local detail, remark = {}, ""

  local function load_versions()
    local current = selected > 1 and versions[selected].version
    local all = store:versions()
    versions, loaded = {}, store.version
    for i = #all, 1, -1 do
      versions[#versions + 1] = all[i]
      if all[i].version == current then selected = #versions end
    end
  end

  local function show_difference()
    local version = versions[selected]
    if not version then return end
    if version.changes_schema then
      detail = { "version " .. version.version .. " changed the schema, so the previous version cannot be read" }
      return
    end
    local done, found = pcall(differences, store, version.version - 1, version.version, 100)
    detail, remark = done and found or {}, done and "" or found.message or tostring(found)
  end

  local function move(distance)
    selected = math.max(1, math.min(#versions, selected + distance))
    if #detail > 0 then show_difference() end
  end

  local function lines(columns, rows)
    if loaded ~= store.version then load_versions() end
    local visible = rows and math.max(3, (rows - 4) // (#detail == 0 and 1 or 2)) or #versions
    first = math.max(math.min(first, selected), selected - visible + 1)
    local last = math.min(#versions, first + visible - 1)
    local present = session.visited_version() or store.version
    local width, origin_width, origins, shown = 1, 0, {}, {}
    for i = first, last do
      origins[i] = text.origin(versions[i])
      width = math.max(width, #tostring(versions[i].version))
      origin_width = math.max(origin_width, prompt.width(origins[i]))
    end
    for i = first, last do
      local version, is_selected = versions[i], rows and i == selected
      local number = tostring(version.version)
      local line = (is_selected and paint("❯ ", "strong") or "  ") .. string.rep(" ", width - #number)
        .. paint("v" .. number, is_selected and "strong" or "type")
        .. (version.version == present and paint(" ◂ ", "strong") or "   ")
      if origin_width > 0 then
        line = line .. paint(origins[i], "dim") .. string.rep(" ", origin_width - prompt.width(origins[i]) + 2)
      end
      shown[#shown + 1] = line .. text.changes(version) .. (version.is_kept and "" or paint("  (values gone)", "dim"))
    end
    if #versions == 0 then shown[1] = "no versions are recorded" end
    if not rows then return shown end
    if #detail > 0 then
      shown[#shown + 1] = paint(string.rep("─", math.min(40, columns - 1)), "dim")
      for i = 1, math.min(#detail, math.max(2, rows - #shown - 3)) do shown[#shown + 1] = detail[i] end
    end
    if remark ~= "" then shown[#shown + 1] = paint(remark, "error") end
    shown[#shown + 1] = paint("↑↓ select · Enter difference · g open · q leave", "dim")
    return shown
  end

  local function close_detail() detail = {} end
  local keys = {
    up = function() move(-1) end, k = function() move(-1) end,
    down = function() move(1) end, j = function() move(1) end,
    page_up = function() move(-10) end, page_down = function() move(10) end,
    home = function() move(-#versions) end, ["end"] = function() move(#versions) end,
    enter = show_difference, right = show_difference, left = close_detail, escape = close_detail,
    q = function() return true end,
    g = function()
      local version = versions[selected]
      if not version then return end
      local done, err = pcall(session.visit, version.version)
      if not done then remark = err.message end
      return done
    end,
  }
  load_versions()
  prompt.panel {
    lines = lines,
    key = function(key)
      remark = ""
      return keys[key] and keys[key]()
    end,
    follows = store,
  }
end

local function visit(args)
  if args.text == "" then return session.return_to_present() end
  local version = text.version(args.text)
  session.visit(version)
  if session.visited_version() == version then prompt.write("store shows version ", version, "; .goto returns\n") end
end

return { diff = diff, history = history, ["goto"] = visit }
