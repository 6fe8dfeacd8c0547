-- Findings of `check`, `lint` and `test`: { kind, code, message, advice, path, line, number, object, store }, as text
-- and in the formats of CI systems.
--
-- The kinds are `drift` (the store and the folder do not match), `failure` (a file or its migration fails), `test`,
-- `check` (what a check of the team has found; its name is the code), `drops` and `rewrites` (what a migration does to
-- values), and `data` (what a change of the schema would lose).
local text = require "migrate/text"

local findings = {}

-- Returns the line in a message about a file: `path:12: …`.
function findings.line(message, path)
  local _, last = string.find(message, path .. ":", 1, true)
  return last and math.tointeger(tonumber(string.match(message, "^%d+", last + 1)))
end

-- Returns the finding about the error that has ended a rehearsal of some files.
function findings.of_error(err, files)
  local found = host.describe(err)
  local file = not found.file and text.find(files, function(item)
    return string.find(found.message, item.path, 1, true) ~= nil
  end)
  local path = found.file or file and file.path or nil
  return {
    kind = "failure", code = found.code, message = found.message, advice = found.advice, path = path,
    line = found.line or path and findings.line(found.message, path) or nil,
    number = found.number or file and file.number or nil, object = found.object,
  }
end

-- Returns the findings of the kinds in `gate`, such as `drops,rewrites`, for migrations that were applied or rehearsed.
function findings.gated(report, gate)
  local found = {}
  local function add(kind, applied, count, name, message, advice)
    found[#found + 1] = {
      kind = kind, code = kind, message = count .. " of " .. name .. message, advice = advice,
      path = applied.file.path, number = applied.file.number, object = name,
    }
  end
  for _, applied in ipairs(report and report.applied or {}) do
    for _, dropped in ipairs(string.find(gate, "drops", 1, true) and applied.report.dropped or {}) do
      add("drops", applied, text.count(dropped.count, dropped.is_class and "objects" or "values"), dropped.name,
        " would be dropped", "keep them with a rename or in another property, or accept the loss")
    end
    for _, class in ipairs(string.find(gate, "rewrites", 1, true) and applied.report.classes or {}) do
      if class.rewritten > 0 then
        add("rewrites", applied, text.count(class.rewritten, "values"), class.name, " would be rewritten",
          "compare the samples of moonpool migrate up --dry-run")
      end
    end
  end
  return found
end

function findings.report(list)
  return text.map(list, function(found)
    return text.object(
      "kind", found.kind, "code", found.code, "message", found.message, "advice", found.advice, "file", found.path,
      "line", found.line, "number", found.number, "object", found.object, "store", found.store)
  end)
end

local function store_message(found) return (found.store and found.store .. ": " or "") .. found.message end
local function object(found) return found.object and " (" .. found.object .. ")" or "" end

local function as_text(list)
  if #list == 0 then return "no findings" end
  return table.concat(text.map(list, function(found)
    local place = (found.path or "") .. (found.line and (found.path and ":" or "") .. found.line or "")
    local is_known = place == "" or string.find(found.message, place, 1, true)
    return (found.store and found.store .. ": " or "") .. (is_known and "" or place .. ": ") .. found.code .. ": "
      .. found.message .. object(found)
  end), "\n")
end

-- Returns a text for a workflow command of GitHub Actions.
local function escaped(value, is_property)
  local codes = { ["%"] = "%25", ["\r"] = "%0D", ["\n"] = "%0A" }
  if is_property then codes[":"], codes[","] = "%3A", "%2C" end
  return (string.gsub(value, ".", codes))
end

local function as_annotations(list)
  return table.concat(text.map(list, function(found)
    local fields = "title=" .. escaped(found.code, true)
    if found.path then fields = fields .. ",file=" .. escaped(found.path, true) end
    if found.line then fields = fields .. ",line=" .. found.line end
    local level = (found.kind == "drops" or found.kind == "rewrites") and "warning" or "error"
    return "::" .. level .. " " .. fields .. "::" .. escaped(store_message(found) .. object(found))
  end), "\n")
end

local function markup(value)
  value = string.gsub(value, "[&<>\"]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" })
  value = string.gsub(value, "\xEF\xBF[\xBE\xBF]", "\u{FFFD}")
  return (string.gsub(value, "[^\t\n\r -\xFF]", "\u{FFFD}"))
end

local function as_junit(list, suite, passed)
  local lines = {
    '<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>",
    string.format('<testsuite name="%s" tests="%d" failures="%d">', markup(suite), #list + #passed, #list),
  }
  local function add(...) lines[#lines + 1] = table.concat { ... } end
  for _, name in ipairs(passed) do add('<testcase name="', markup(name), '"/>') end
  for _, found in ipairs(list) do
    local names = {}
    for _, key in ipairs { "store", "path", "object" } do names[#names + 1] = found[key] end
    local name = table.concat(names, " ")
    add('<testcase name="', markup(name == "" and found.code or name), '"',
      found.path and ' file="' .. markup(found.path) .. '"' or "",
      found.line and ' line="' .. found.line .. '"' or "", ">")
    add('<failure type="', markup(found.code), '" message="', markup(store_message(found)), '"/>')
    add("</testcase>")
  end
  add "</testsuite>"
  add "</testsuites>"
  return table.concat(lines, "\n")
end

-- Returns findings in a format; `suite` is the name of the checked item, and `passed` has the names without findings.
function findings.format(format, list, suite, passed)
  if format == "text" then return as_text(list) end
  if format == "github" then return as_annotations(list) end
  if format == "junit" then return as_junit(list, suite, passed) end
  return text.json(text.object("version", 1, "suite", suite, "findings", findings.report(list), "passed", passed))
end

return findings
