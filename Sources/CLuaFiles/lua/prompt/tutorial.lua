-- The ten steps of `.tutorial`.
local text = require "prompt/text"

local function has_class(name)
  local store = prompt.store()
  return store and pcall(store.schema, store, name)
end

-- Each step has an entry to type; `is_done` returns whether an entry has completed the step. Later steps use what the
-- entry of a preparation creates.
local steps = {
  {
    title = "Expressions",
    text = "Type Lua. An expression prints its value, and _ is the last result. Try:",
    entry = "6 * 7",
    is_done = function() return session.has_result() end,
  },
  {
    title = "Classes",
    text = "A store holds objects of classes. `store` is an open in-memory store. Define a class by the types of its "
      .. "properties. `int primary` is a primary key, and `?` makes a property optional:",
    entry = 'store:define { Dog = { id = "int primary", name = "string", age = "int?" } }',
    is_done = function() return has_class "Dog" end,
    is_preparation = true,
  },
  {
    title = "Writing",
    text = "Change data in a write transaction: all changes of the function are committed together, or rolled back if "
      .. "it raises an error. The prompt shows the new version:",
    entry = 'store:write(function() for i, name in ipairs { "Rex", "Max", "Cleo" } do '
      .. 'store:create("Dog", { id = i, name = name, age = 2 * i }) end end)',
    is_done = function() return has_class "Dog" and #prompt.store():objects "Dog" > 0 end,
    is_preparation = true,
  },
  {
    title = "Queries",
    text = "Results are lazy and live: they always contain the objects that match now. Tab completes classes, "
      .. "properties and methods, also inside strings:",
    entry = 'dogs = store:objects("Dog"):where("age > 2"):sorted("name")',
    is_done = function()
      local is_known, value = pcall(prompt.evaluate, "dogs")
      return is_known and string.find(tostring(value), "^Results") ~= nil
    end,
    is_preparation = true,
  },
  {
    title = "Printing",
    text = "Objects print their properties and Results print a table. .last prints a shortened result completely. Try:",
    entry = "dogs",
    is_done = function(entry) return string.find(entry, "dogs", 1, true) end,
  },
  {
    title = "Live objects",
    text = "Reading a property always returns the current value. Change an object, then print dogs again:",
    entry = "store:write(function() dogs[1].age = 9 end)",
    is_done = function(entry) return string.find(entry, "age", 1, true) end,
  },
  {
    title = "Observers",
    text = "An observer is called after each change to a collection and receives the insertions, deletions and "
      .. "modifications. Keep the token: the observer ends with it. Its output is labeled with its name:",
    entry = "token = dogs:observe(function(c) print(c.type, #c.insertions, #c.modifications) end, "
      .. '{ name = "kennel" })',
    is_done = function() return #moonpool.observers() > 0 end,
    is_preparation = true,
  },
  {
    title = "Changes arrive",
    text = "Change an object in the observed collection. The observer prints above the line that you type:",
    entry = 'store:write(function() dogs[1].name = "Caesar" end)',
    is_done = function(entry) return string.find(entry, "write", 1, true) end,
  },
  {
    title = "Why",
    text = ".observers lists the observers and their cost. .why NAME explains the last call of an observer. .watch "
      .. "QUERY updates a query on the screen after each change:",
    entry = ".why kennel",
    is_done = function(entry)
      return string.find(entry, "^%.why") or string.find(entry, "^%.observers") or string.find(entry, "^%.watch")
    end,
  },
  {
    title = "Saving your work",
    text = ".save FILE writes your entries as a script. .transcript FILE records a session that can run as a test. "
      .. "`moonpool zoo.moonpool` opens a store file. The last step:",
    entry = ".help",
    is_done = function(entry) return string.find(entry, "^%.") end,
  },
}

-- Returns the session's table with the number of the `current` step, which is nil if the tutorial is not running.
local function kept() return session.state "tutorial" end

local function show()
  local current = kept().current
  local step = steps[current]
  session.write_step(current .. "/" .. #steps .. "  " .. step.title, step.text, step.entry)
end

-- Shows the next step if an entry has completed the current one.
local function advance(entry)
  local own = kept()
  if string.find(entry, "^%.tutorial") or not steps[own.current].is_done(entry) then return end
  own.current = own.current + 1
  if steps[own.current] then return show() end
  own.current = nil
  session.after_entry("tutorial", nil)
  session.write_to_screen(prompt.paint("You have finished the tutorial.", "strong") .. "\n")
end

local function tutorial(args)
  local own = kept()
  if args.text == "off" then
    own.current = nil
    session.after_entry("tutorial", nil)
    return prompt.write "the tutorial has ended\n"
  end
  local number = args.text == "" and (own.current or 1) or math.tointeger(tonumber(args.text))
  if not steps[number] then
    local remark = number and "" or ", or off"
    error("expected a step from 1 to " .. #steps .. remark .. ", got "
      .. (number or "'" .. args.text .. "'"), 0)
  end
  if text.store().path then
    error("the tutorial writes to the store; choose one in memory first: "
      .. 'store = moonpool.open { in_memory = "tour" }', 0)
  end
  for i = 1, number - 1 do
    local step = steps[i]
    if step.is_preparation and not step.is_done "" then session.run_entry(step.entry) end
  end
  own.current = number
  session.after_entry("tutorial", advance)
  show()
end

return { tutorial = tutorial, steps = steps }
