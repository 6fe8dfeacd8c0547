-- The Lua frames of the newest error, with their variables, which are kept until the next error.
local frames = {}

local function variables(next_variable)
  local found = { n = 0 }
  for index = 1, 200 do
    local name, value = next_variable(index)
    if not name then break end
    if not string.find(name, "^%(") and not string.find(name, "^__") and name ~= "_ENV" then
      found.n = found.n + 1
      found[found.n] = { name, value }
    end
  end
  return found
end

return {
  -- Records the frames of an error that is being raised.
  collect = function()
    local list = {}
    for level = 2, 400 do
      local info = debug.getinfo(level, "Slnf")
      if not info or #list == 100 then break end
      if info.what ~= "C" and info.short_src ~= "moonpool" and not string.find(info.short_src, "^%[moonpool ") then
        list[#list + 1] = {
          source = info.short_src, line = info.currentline, name = info.name,
          locals = variables(function(index)
            local name, value = debug.getlocal(level + 2, index)
            return name, value
          end),
          upvalues = variables(function(index) return debug.getupvalue(info.func, index) end),
        }
      end
    end
    if #list > 0 then frames = list end
  end,
  frames = function() return frames end,
}
