-- The commands that show the frames of the last error.
local frames, selected = {}, 1

local function current()
  local newest = session.frames()
  if newest ~= frames then
    frames, selected = newest, 1
  end
  return frames[selected]
    or error("no error has occurred in Lua code; .locals shows the local variables of the last error", 0)
end

local function write_frame(frame)
  local location = frame.source .. ":" .. frame.line
  prompt.write(prompt.paint("frame " .. selected .. " of " .. #frames .. ": ", "dim"), location,
    frame.name and " in function '" .. frame.name .. "'" or "", "\n")
  local excerpt = session.excerpt(location .. ": ")
  if excerpt then prompt.write(excerpt, "\n") end
end

local function write_variables(variables, kind)
  for i = 1, variables.n do
    local name, value = variables[i][1], variables[i][2]
    local shown = prompt.format(value, { depth = 2, rows = 5, items = 10 })
    prompt.write("  ", prompt.paint(kind, "dim"), prompt.paint(name, "key"), " =",
      string.find(shown, "\n", 1, true) and "\n" or " ", shown, "\n")
  end
end

local function move(distance, remark)
  current()
  if not frames[selected + distance] then error(remark, 0) end
  selected = selected + distance
  write_frame(frames[selected])
end

return {
  locals = function()
    local frame = current()
    write_frame(frame)
    write_variables(frame.locals, "")
    write_variables(frame.upvalues, "outer ")
    if frame.locals.n + frame.upvalues.n == 0 then prompt.write "no variables\n" end
  end,
  up = function() move(1, "this is the outermost frame") end,
  down = function() move(-1, "this is the innermost frame") end,
}
