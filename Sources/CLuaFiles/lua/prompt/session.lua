-- The commands that set how the session behaves, where its results go, and what it runs.
local function argument(args, command, what)
  if args.text == "" then error("expected a " .. what .. ": ." .. command, 0) end
  return args.text
end

local session_commands = {}

function session_commands.timing(args)
  local flags = { on = true, off = false, [""] = not session.timing() }
  if flags[args.text] == nil then error("expected on or off, got '" .. args.text .. "'", 0) end
  prompt.write("timing is ", session.timing(flags[args.text]) and "on" or "off", "\n")
end

function session_commands.quit() session.quit() end

function session_commands.studio(args)
  if args.text ~= "" and args.text ~= "--no-browser" then
    error("expected --no-browser, got '" .. args.text .. "'", 0)
  end
  session.studio(args.text ~= "")
end

function session_commands.last() session.write_last() end

function session_commands.mode(args)
  local modes = require("prompt/commands").find("mode").complete
  if args[1] and not session.mode(args.text) then
    error("unknown mode '" .. args.text .. "'; use " .. table.concat(modes, ", "), 0)
  end
  session.write_to_screen("output mode: " .. session.mode() .. "\n")
end

function session_commands.once(args)
  if args.text == "" then error("expected a file name, or | and a command", 0) end
  session.redirect(args.text, true)
end

function session_commands.output(args) session.redirect(args[1] and args.text, false) end

function session_commands.load(args)
  local path = session.load(argument(args, "load FILE", "file name"))
  require("prompt/reload").note_file(path)
end

function session_commands.transcript(args)
  if not session.end_transcript() then argument(args, "transcript FILE", "file name") end
  if args[1] then session.begin_transcript(args.text) end
end

function session_commands.edit() session.edit() end

return session_commands
