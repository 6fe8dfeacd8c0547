-- The difference between two schemas as an editable migration script, with the probable renames.
--
-- A rename that the user did not confirm is performed and marked, so that no data is lost. If several renames are
-- possible, the script fails until the user has chosen.
local text = require "migrate/text"

local scripts = {}

-- Renames: { class, old, new, is_marked }; without a class, the class itself was renamed.

local function question(rename)
  if not rename.class then return "Was class '" .. rename.old .. "' renamed to '" .. rename.new .. "'?" end
  local prefix = rename.class .. "."
  return "Was '" .. prefix .. rename.old .. "' renamed to '" .. prefix .. rename.new .. "'?"
end

-- Returns the line of a migration that performs a rename, or reverses it.
local function call(rename, is_reversed)
  local old, new = host.quote(rename.old), host.quote(rename.new)
  if is_reversed then old, new = new, old end
  if not rename.class then return "m:rename_class(" .. old .. ", " .. new .. ")" end
  return "m:rename_property(" .. host.quote(rename.class) .. ", " .. old .. ", " .. new .. ")"
end

-- Returns whether only one of two renames can be performed.
local function excludes(one, other)
  return one.class == other.class and (one.old == other.old or one.new == other.new)
end

local function excluded(list, rename, is_excluded)
  return text.filter(list, function(other) return excludes(rename, other) == is_excluded end)
end

-- Asks about renames; returns those to perform, and groups of mutually exclusive ones from which the user has to
-- choose.
local function decide(candidates, ask)
  local renames, choices, open = {}, {}, {}
  for _, rename in ipairs(candidates) do
    if #excluded(renames, rename, true) == 0 then
      local answer = ask and ask(question(rename))
      if answer then
        renames[#renames + 1] = rename
        open = excluded(open, rename, false)
      elseif answer == nil then
        open[#open + 1] = rename
      end
    end
  end
  while #open > 0 do
    local group, index = { table.remove(open, 1) }, 1
    while group[index] do
      text.append(group, excluded(open, group[index], true))
      open = excluded(open, group[index], false)
      index = index + 1
    end
    if #group == 1 then
      group[1].is_marked = true
      renames[#renames + 1] = group[1]
    else
      choices[#choices + 1] = group
    end
  end
  return renames, choices
end

local function sorted(candidates)
  table.sort(candidates, function(a, b)
    if a.distance ~= b.distance then return a.distance < b.distance end
    if (a.class or "") ~= (b.class or "") then return (a.class or "") < (b.class or "") end
    if a.old ~= b.old then return a.old < b.old end
    return a.new < b.new
  end)
  return candidates
end

-- Returns pairs of removed and added classes. More than half of their properties must have a counterpart with the same
-- name or type.
local function class_candidates(differences, before, wanted)
  local function properties(classes, name)
    return text.find(classes, function(class) return class.name == name end).properties
  end
  local function take(left, is_same)
    local found, index = text.find(left, is_same)
    if found then table.remove(left, index) end
    return found ~= nil
  end
  local candidates = {}
  for _, removed in ipairs(differences) do
    for _, added in ipairs(removed.kind == "class_removed" and differences or {}) do
      if added.kind == "class_added" then
        local present = properties(before, removed.class)
        local left, unmatched = text.copy(properties(wanted, added.class)), {}
        for _, property in ipairs(present) do
          if not take(left, function(other) return other.name == property.name end) then
            unmatched[#unmatched + 1] = property
          end
        end
        local by_name = #present - #unmatched
        local by_type = #text.filter(unmatched, function(property)
          return take(left, function(other)
            return other.type == property.type and other.collection == property.collection
              and other.is_primary == property.is_primary
          end)
        end)
        if by_name > 0 and (by_name + by_type) * 2 > #present then
          -- Common properties are stronger evidence than similar names.
          candidates[#candidates + 1] = {
            old = removed.class, new = added.class,
            distance = host.distance(removed.class, added.class) - 100 * by_name - 10 * by_type,
          }
        end
      end
    end
  end
  return sorted(candidates)
end

-- Returns pairs of old and new properties with the same type in the same class; the most similar names come first.
--
-- The old properties are the removed ones, and the new properties the added ones. A property whose type changes is both
-- if another new property has its old type, and another old property has its new type: names were exchanged.
local function property_candidates(differences, renamed)
  local classes = {}
  for _, difference in ipairs(differences) do
    local class = classes[difference.class] or { removed = {}, added = {}, changed = {} }
    local old, new = difference.old, difference.new
    if difference.kind == "property_removed" then
      class.removed[#class.removed + 1] = old
    elseif difference.kind == "property_added" then
      class.added[#class.added + 1] = new
    elseif difference.aspect == "type" and not old.is_backlinks and not new.is_backlinks then
      class.changed[#class.changed + 1] = difference
    end
    classes[difference.class] = class
  end
  local function is_same(old, new)
    return new.type == old.type and new.collection == old.collection and new.name ~= old.name
      and new.target == (old.target and (renamed[old.target] or old.target))
  end
  local function joined(list, changed, key)
    return text.append(text.copy(list), text.map(changed, function(item) return item[key] end))
  end
  local candidates = {}
  for name, class in pairs(classes) do
    local exchanged, count = class.changed, #class.changed + 1
    while #exchanged < count do
      count = #exchanged
      local origins, targets = joined(class.removed, exchanged, "old"), joined(class.added, exchanged, "new")
      exchanged = text.filter(exchanged, function(change)
        return text.find(targets, function(new) return is_same(change.old, new) end)
          and text.find(origins, function(old) return is_same(old, change.new) end) ~= nil
      end)
    end
    for _, old in ipairs(joined(class.removed, exchanged, "old")) do
      local possible = text.filter(joined(class.added, exchanged, "new"), function(new) return is_same(old, new) end)
      -- A property that becomes one with a default is less probable.
      local similar = text.filter(possible, function(new) return not new.has_default or old.has_default end)
      for _, new in ipairs(#similar > 0 and similar or possible) do
        -- A primary key is preferably renamed to a primary key.
        local distance = host.distance(old.name, new.name) + (old.is_primary == new.is_primary and 0 or 100)
        candidates[#candidates + 1] = { class = name, old = old.name, new = new.name, distance = distance }
      end
    end
  end
  return sorted(candidates)
end

-- Compares two schemas, and asks about each probable rename, classes first: ask(question) returns true, false, or nil
-- if the user was not asked.
function scripts.plan(before, wanted, ask)
  before = before:unplaced()
  local first = host.differences(before, wanted)
  local renames, choices = decide(class_candidates(first, before:classes(), wanted:classes()), ask)
  local renamed, old_names = {}, {}
  for _, rename in ipairs(renames) do renamed[rename.old], old_names[rename.new] = rename.new, rename.old end
  local differences, embedded = host.differences(before, wanted, renamed), {}
  for _, classes in ipairs { before:classes(), wanted:classes() } do
    for _, class in ipairs(classes) do
      embedded[class.name] = embedded[class.name] or class.is_embedded and class or nil
    end
  end
  local of_properties, more = decide(property_candidates(differences, renamed), ask)
  return {
    before = before, wanted = wanted, differences = differences, old_names = old_names,
    renames = text.append(renames, of_properties), choices = text.append(choices, more),
    is_empty = #differences == 0, embedded = embedded,
  }
end

-- Returns the renames in an order in which no new name is taken; a ring of names is opened with a temporary name.
local function rename_steps(plan)
  local left, steps = text.copy(plan.renames), {}
  while #left > 0 do
    local _, free = text.find(left, function(following)
      return not text.find(left, function(other)
        return other.class == following.class and other.old == following.new
      end)
    end)
    local rename = table.remove(left, free or 1)
    if not free then
      local name = rename.old .. "_before"
      left[#left + 1] = { class = rename.class, old = name, new = rename.new, is_marked = rename.is_marked }
      rename = { class = rename.class, old = rename.old, new = name }
    end
    steps[#steps + 1] = rename
  end
  return steps
end

-- Returns whether a rename, certain or possible, has this old or new name.
local function is_renamed(plan, key, class, name)
  local function is_wanted(rename) return rename.class == class and rename[key] == name end
  return text.find(plan.renames, is_wanted) ~= nil
    or text.find(plan.choices, function(group) return text.find(group, is_wanted) ~= nil end) ~= nil
end

-- Returns a suggested name for the migration file, such as `add_person_phone`.
function scripts.name(plan)
  local function word(name) return (string.gsub(string.lower(name), "[^a-z0-9]", "_")) end
  local rename = plan.renames[1]
  if rename then return "rename_" .. word(rename.old) .. "_to_" .. word(rename.new) end
  local changes = { type = true, required = true, optional = true, default = true }
  for _, difference in ipairs(plan.differences) do
    local kind, aspect = difference.kind, difference.aspect
    local verb = (kind == "class_added" or kind == "property_added") and "add"
      or (kind == "class_removed" or kind == "property_removed") and "remove"
      or (aspect == "index" or aspect == "full_text") and difference.is_on and "index"
      or changes[aspect] and "change"
    if verb then
      local property = difference.new or difference.old
      return verb .. "_" .. word(difference.class) .. (property and "_" .. word(property.name) or "")
    end
  end
  return "change_schema"
end

-- Returns the old properties and classes from which the user has to choose.
local function undecided(plan)
  local names = {}
  for _, group in ipairs(plan.choices) do
    for _, rename in ipairs(group) do names[(rename.class and rename.class .. "." or "") .. rename.old] = true end
  end
  return names
end

-- Returns the classes and properties that the new schema no longer has, and whose values have no choice.
local function drops(plan, is_delta)
  local open = undecided(plan)
  return text.map(plan.differences, function(difference)
    local class, old, new, kind = difference.class, difference.old, difference.new, difference.kind
    local name
    if kind == "class_removed" then
      name = class
    elseif kind == "property_removed" and (is_delta or not is_renamed(plan, "old", class, old.name)) then
      name = class .. "." .. old.name
    elseif difference.aspect == "type" and is_renamed(plan, "new", class, new.name)
      and not is_renamed(plan, "old", class, old.name) then
      name = class .. "." .. old.name
    elseif kind == "class_renamed" and is_delta then
      return difference.renamed
    end
    return name and not open[name] and name or nil
  end)
end

-- Conversions.

local without_text = { object = true, mixed = true, data = true }

-- Returns the expression that computes the new value, which is nil or raises an error for values that cannot be
-- converted, and the literals for true and false; nil for other conversions.
local function expression(from, to, value)
  local is_number = from == "decimal" or from == "double" or from == "float"
  local as_text = (is_number and to ~= "int" or from == "decimal") and "tostring(" .. value .. ")" or value
  local is_text = from == "string" or from == "mixed"
  if to == "int" and (is_text or is_number) then return "math.tointeger(tonumber(" .. as_text .. "))" end
  if to == "double" or to == "float" then
    if is_text or from == "decimal" then return "tonumber(" .. as_text .. ")" end
    if from == "int" or from == "double" and to == "float" then return value end
    return nil
  end
  if to == "decimal" and (is_text or is_number) then return "moonpool.decimal(" .. as_text .. ")" end
  if is_text and (to == "date" or to == "uuid" or to == "object_id") or from == "string" and to == "data" then
    return "moonpool." .. to .. "(" .. value .. ")"
  end
  if from == "string" and to == "bool" then return value .. ' == "true"', '"true"', '"false"' end
  if from == "int" and to == "bool" then return value .. " == 1", "1", "0" end
  if to == "string" and (from == "data" or from == "mixed") then return "tostring(" .. value .. ")" end
end

-- The parameters of the functions of a script: the object to read and the object to change. `error` begins an error,
-- which contains the object only where its caller does not add it.
local in_loop = { source = "old", target = "new", error = 'error(tostring(old) .. ": ' }
local in_each = {
  up = { source = "old", target = "new", error = 'error("' },
  down = { source = "new", target = "old", error = 'error("' },
}

-- Returns an expression for a map with the values of an embedded object; nil if some are lists, maps or objects.
local function map_of(class, value)
  local parts = {}
  for _, property in ipairs(class.properties) do
    if not property.is_backlinks then
      if not property.is_single or property.type == "object" then return nil end
      local field = host.field(property.name)
      parts[#parts + 1] = string.gsub(field, "^%.", "") .. " = " .. value .. field
    end
  end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

-- Returns the lines that convert a value; nil if the engine converts every value exactly without code. `embedded` has
-- the embedded classes by their names.
local function conversion(old, new, names, embedded)
  local from, field = names.source .. host.field(old.name), names.target .. host.field(new.name)
  local change = "from " .. old.type_name .. " to " .. new.type_name
  local undefined = { names.error .. "decide how to convert '" .. old.name .. "' (" .. change .. ')")' }
  local has_same_type = new.type == old.type and new.target == old.target
  if not old.is_single or not new.is_single then
    if new.collection == "list" and old.is_single and has_same_type then return nil end
    if new.is_single and old.collection == "list" and has_same_type then
      return {
        "if #" .. from .. " > 1 then " .. names.error .. "'" .. old.name .. "' has several values (" .. change
          .. ')") end',
        field .. " = " .. from .. "[1]",
      }
    end
    if old.collection == "set" and new.collection == "list" and new.type == old.type then return nil end
    -- The elements become required.
    if old.collection == new.collection and has_same_type then return nil end
    return undefined
  end
  local value, yes, no = expression(old.type, new.type, from)
  if new.type == "mixed" and embedded[old.target] then
    local map = map_of(embedded[old.target], from)
    return map and { field .. " = " .. from .. " and " .. map } or undefined
  end
  if not value then
    local is_exact = new.type == "mixed" or old.type == "int" and new.type == "decimal"
      or old.type == "float" and new.type == "double" or new.type == "string" and not without_text[old.type]
    return not is_exact and undefined or nil
  end
  local failure = names.error .. old.name .. ' = " .. tostring(' .. from .. ') .. " does not convert ' .. change .. '")'
  if old.is_optional or old.type == "mixed" then
    return { "if " .. from .. " ~= nil then " .. field .. " = " .. value .. " or " .. failure .. " end" }
  end
  if new.type == "bool" then
    return {
      "if " .. from .. " ~= " .. no .. " and " .. from .. " ~= " .. yes .. " then " .. failure .. " end",
      field .. " = " .. from .. " == " .. yes,
    }
  end
  return { field .. " = " .. value .. " or " .. failure }
end

-- The initial values of types, and the expressions that derive a unique key from the count of the objects.
local zeros = {
  bool = "false", int = "0", float = "0.0", double = "0.0", string = '""', data = 'moonpool.data("")',
  date = "moonpool.date(0)", uuid = "moonpool.uuid()", object_id = "moonpool.object_id()",
  decimal = 'moonpool.decimal("0")',
}
local counted = { int = "count", string = "tostring(count)" }
local random = { uuid = true, object_id = true }

-- Returns the lines that set properties by class, the classes in order, and those whose objects are counted; nil if a
-- function for one object cannot set them. `names` are the parameters of the functions.
local function fills(plan, is_up, names)
  local bodies, order, counts = {}, {}, {}
  local is_loop = names == in_loop
  local function add(class, more)
    if not bodies[class] then
      bodies[class] = {}
      order[#order + 1] = class
    end
    text.append(bodies[class], more)
  end
  local function is_new(class)
    return text.find(plan.differences, function(difference)
      return difference.kind == "class_added" and difference.class == class
    end)
  end
  local function fill(class, property)
    local value = property.is_primary and counted[property.type]
    counts[class] = counts[class] or value ~= nil and value ~= false
    add(class, {
      "new" .. host.field(property.name) .. " = " .. (value or zeros[property.type] or "nil")
        .. (property.is_primary and "  -- the primary key: a different value for each object"
          or "  -- new and required (" .. property.type_name .. "): which value?"),
    })
  end
  for _, difference in ipairs(plan.differences) do
    local class, old, new, kind = difference.class, difference.old, difference.new, difference.kind
    if difference.aspect == "type" and not new.is_backlinks and not old.is_backlinks
      and not is_renamed(plan, "old", class, old.name) and not is_renamed(plan, "new", class, new.name) then
      local code = is_up and conversion(old, new, names, plan.embedded)
        or not is_up and conversion(new, old, names, plan.embedded)
      if code then add((is_up or not is_loop) and class or plan.old_names[class] or class, code) end
    elseif is_up and is_loop and difference.aspect == "required" and not new.has_default and new.is_single then
      add(class, {
        "if new" .. host.field(new.name) .. ' == nil then error(tostring(old) .. ": ' .. class .. "." .. new.name
          .. ' is required") end  -- or set a value here',
      })
    elseif is_up and kind == "property_added" and new.is_single and not new.is_optional and not new.has_default
      and not is_renamed(plan, "new", class, new.name) and not is_new(class) then
      if not is_loop and (new.is_primary or random[new.type]) then return nil end
      fill(class, new)
    elseif not is_up and kind == "property_removed" and old.is_primary
      and not is_renamed(plan, "old", class, old.name) then
      if not is_loop then return nil end
      fill(plan.old_names[class] or class, old)
    end
  end
  return bodies, order, counts
end

-- Returns a loop for each class with properties that need code.
local function loops(plan, is_up)
  local lines = {}
  local bodies, order, counts = fills(plan, is_up, in_loop)
  for _, class in ipairs(order) do
    if counts[class] then lines[#lines + 1] = "local count = 0" end
    lines[#lines + 1] = "m:each(" .. host.quote(class) .. ", function(old, new)"
    if counts[class] then lines[#lines + 1] = "  count = count + 1" end
    text.append(lines, text.indented(bodies[class]))
    lines[#lines + 1] = "end)"
  end
  return lines
end

local guess = "  -- RENAMED? A guess. "

-- Returns the lines of `renames` and `each` for a change without a choice; nil if it needs all objects at once.
local function declarations(plan)
  local ups, order = fills(plan, true, in_each.up)
  if #plan.choices > 0 or not ups then return nil end
  local downs, more = fills(plan, false, in_each.down)
  if not downs then return nil end
  local lines = {}
  for index, rename in ipairs(plan.renames) do
    local class = rename.class and (plan.old_names[rename.class] or rename.class)
    local name = host.quote(class and class .. "." .. rename.old or rename.old)
    if index == 1 then lines[1] = "renames = {" end
    lines[#lines + 1] = "  [" .. name .. "] = " .. host.quote(rename.new) .. "," .. (rename.is_marked
      and guess .. "If '" .. rename.new .. "' is something new, move " .. name .. " to drops" or "")
  end
  if #lines > 0 then lines[#lines + 1] = "}," end
  for _, class in ipairs(more) do
    if not ups[class] then order[#order + 1] = class end
  end
  if #order == 0 then
    return text.append(lines, { "-- Values are kept, and converted if the conversion is exact.", "each = {}," })
  end
  lines[#lines + 1] = "each = {"
  local function add(key, parameters, body)
    lines[#lines + 1] = "    " .. key .. " = function(" .. parameters .. ")"
    text.append(lines, text.map(body, function(line) return "      " .. line end))
    lines[#lines + 1] = "    end,"
  end
  for _, class in ipairs(order) do
    lines[#lines + 1] = "  " .. string.gsub(host.field(class), "^%.", "") .. " = {"
    if ups[class] then add("up", "old, new", ups[class]) end
    if downs[class] then
      add("down", "new, old", downs[class])
    elseif #more == 0 and #drops(plan, false) > 0 then
      lines[#lines + 1] = "    down = function(new, old) end,  -- old programs see defaults in what was dropped"
    end
    lines[#lines + 1] = "  },"
  end
  return text.append(lines, { "}," })
end

local function up(plan)
  local lines = text.map(rename_steps(plan), function(rename)
    return call(rename) .. (rename.is_marked
      and guess .. "Delete this line if '" .. rename.new .. "' is something new" or "")
  end)
  for _, group in ipairs(plan.choices) do
    local names, class = {}, group[1].class
    for _, rename in ipairs(group) do names[rename.old] = true end
    lines[#lines + 1] =
      "-- CHOOSE: several renames are possible. Keep those that are right, or none, and delete the line 'error'."
    for _, rename in ipairs(group) do lines[#lines + 1] = "-- " .. call(rename) end
    lines[#lines + 1] = "error " .. host.quote("choose what keeps the values of "
      .. table.concat(text.sorted_keys(names), ", ") .. (class and " of " .. class or ""))
  end
  text.append(lines, loops(plan, true))
  if #lines == 0 then
    lines[1] = plan.is_empty and "-- The schema does not change."
      or "-- Nothing to do beyond the schema: values are kept, and converted if the conversion is exact."
  end
  return lines
end

-- Returns the code that reverses `up`.
local function down(plan)
  if plan.is_empty then return {} end
  local lines, steps = {}, rename_steps(plan)
  for index = #steps, 1, -1 do lines[#lines + 1] = call(steps[index], true) end
  for _, group in ipairs(plan.choices) do
    lines[#lines + 1] = "-- CHOOSE: reverse the renames of up."
    for _, rename in ipairs(group) do lines[#lines + 1] = "-- " .. call(rename, true) end
  end
  text.append(lines, loops(plan, false))
  for _, name in ipairs(drops(plan, false)) do
    lines[#lines + 1] = "-- The values of '" .. name .. "' were dropped."
  end
  return #lines > 0 and lines or { "-- Nothing to do beyond the schema." }
end

-- The first lines of a script, by its kind.
local heads = {
  output = {
    "-- A migration of %s, written by moonpool migrate plan. Review it, complete the marked lines, and",
    "-- save it with the next number, such as 0002_add_owners.lua.",
  },
  first = { "-- The first migration of %s: the schema that migrations start from." },
  next = {
    "-- The next migration of %s, written by moonpool migrate plan. Review it and complete the marked lines.",
  },
  session = {
    "-- The changes of the schema of %s since version %d, as they were made with store:define.",
  },
  adoption = {
    "-- Adopts the changes that were made to %s outside of the migrations. Other stores receive them when",
    "-- this is applied: review the effect on their values.",
  },
}

-- Returns the plan as a script about a store or a folder.
--
-- The kinds are `output`, `first` for the first file of a folder, `next` for the next one, `adoption` for one that
-- adopts the changes of a store, and `session` for one that repeats changes by `store:define`. The next file of a
-- folder, with `is_delta`, contains only the differences if it can; other scripts contain the complete schema.
function scripts.text(plan, subject, kind, details)
  details = details or {}
  local name, is_session = text.file_name(subject), kind == "session"
  local lines = text.map(heads[kind], function(line) return string.format(line, name, details.since) end)
  local function add(...) text.append(lines, { ... }) end
  local function add_function(key, body)
    add("", "  " .. key .. " = function(m)")
    for _, line in ipairs(body) do add("    " .. line) end
    add "  end,"
  end
  local function finished()
    add("}", "")
    return table.concat(lines, "\n")
  end
  add "return {"
  if details.parent then add("  parent = " .. host.quote(details.parent) .. ",") end
  if kind == "adoption" then add("  adopts = " .. host.quote(name) .. ",") end
  local changes = details.is_delta and host.changes(plan.before, plan.wanted, plan.old_names)
  if changes then
    add("  -- The differences in the schema.", "  changes = " .. changes:text() .. ",")
  else
    add("  -- The complete schema after the migration.", "  schema = " .. plan.wanted:text() .. ",")
  end
  if kind == "first" then return finished() end
  local declared = kind == "next" and declarations(plan)
  local dropped = drops(plan, changes and not declared)
  if is_session and not details.up then
    for _, difference in ipairs(plan.differences) do
      if difference.aspect == "type" then dropped[#dropped + 1] = difference.class .. "." .. difference.old.name end
    end
  end
  if #dropped > 0 then
    add("  -- Properties and classes to remove. The values of renamed properties are kept.",
      "  drops = " .. text.literal(dropped) .. ",")
  end
  if is_session then
    if details.up then add("", "  up = " .. details.up .. ",") end
    return finished()
  end
  if declared then
    text.append(lines, text.indented(declared))
    return finished()
  end
  if #plan.choices > 0 then
    local names = text.map(text.sorted_keys(undecided(plan)), host.quote)
    add("  -- After the choice in up, add to drops: " .. table.concat(names, ", "))
  end
  add_function("up", up(plan))
  local reverse = down(plan)
  if #reverse > 0 then add_function("down", reverse) end
  return finished()
end

return scripts
