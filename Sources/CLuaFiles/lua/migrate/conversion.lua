-- The environment of the functions of a started migration: what depends on nothing but the arguments of a function.
local conversion = {}

local names = {
  "_VERSION", "assert", "error", "getmetatable", "ipairs", "next", "pairs", "pcall", "rawequal", "rawget", "rawlen",
  "select", "setmetatable", "string", "table", "tonumber", "tostring", "type", "utf8", "xpcall",
}

-- Returns the constructors of values; a value that depends on the time or on chance needs an argument.
local function constructors(values)
  local copy = {}
  for name, make in pairs(values) do
    copy[name] = type(make) ~= "function" and make or function(value, ...)
      if value == nil then error("moonpool." .. name .. " needs a value in a conversion", 2) end
      return make(value, ...)
    end
  end
  return copy
end

-- Returns a table with the contents of a table that a conversion cannot change; `what` names it in errors.
local function protected(contents, what)
  return setmetatable({}, {
    __index = contents, __metatable = false,
    __newindex = function(_, name)
      error("conversions cannot assign to " .. what .. " '" .. tostring(name) .. "'", 2)
    end,
  })
end

-- Runs the text of a migration's file, and returns its functions by class: { up =, down = }. `helpers` has the texts of
-- the files that it loads, `values` the constructors of values, and `globals` the globals of the state.
function conversion.functions(text, file_name, helpers, values, globals)
  local base, loaded = {}, { moonpool = protected(constructors(values), "moonpool's") }
  for _, name in ipairs(names) do
    local value = globals[name]
    base[name] = type(value) == "table" and protected(value, name .. "'s") or value
  end
  local chance = { random = true, randomseed = true }
  local numbers = {}
  for name, value in pairs(globals.math) do numbers[name] = not chance[name] and value or nil end
  base.math, base.moonpool = protected(numbers, "math's"), loaded.moonpool
  function base.rawset(t, key, value)
    if getmetatable(t) == false then error("conversions cannot assign to protected tables", 2) end
    return rawset(t, key, value)
  end
  local environment = protected(base, "the global")
  base._G = environment
  local function run(source, name) return assert(load(source, "@" .. name, "t", environment))() end
  function base.require(name)
    if loaded[name] == nil then
      local path = string.gsub(name, "%.", "/")
      local found = helpers[path .. ".lua"] and path .. ".lua" or path .. "/init.lua"
      if not helpers[found] then error("module '" .. name .. "' is not a file of the migration's folder", 2) end
      local result = run(helpers[found], found)
      loaded[name] = result == nil and true or result
    end
    return loaded[name]
  end
  local each = {}
  for class, functions in pairs(run(text, file_name).each or {}) do
    each[class] = type(functions) == "function" and { up = functions } or functions
  end
  return each
end

return conversion
