-- The fields of the requests and of the operations of a write, with their types; a question mark follows optional ones.
local studio = ...
local null, fail = moonpool.null, studio.fail

local requests = {
  hello = "protocol:number",
  schema = "", schema_text = "", versions = "", observers = "", panels = "", redo = "", interrupt = "", save = "",
  rows = "class:text where:text? sort:sort? linked:link? reveal:number? first:number? count:number? at:number?",
  window = "on:name reveal:number? chosen:numbers? first:number? count:number?",
  ["end"] = "on:name", cancel = "on:name",
  object = "class:text ref:number at:number?",
  value = "class:text ref:number property:text at:number?",
  backlinks = "class:text refs:numbers",
  write = "operations:operations",
  undo = "version:number?",
  diff = "first:number second:number?",
  why = "observer:number", whynot = "observer:number object:text",
  plan = "text:text? dir:text? save:flag?", define = "text:text losses:texts?",
  migrations = "dir:text", rehearse = "dir:text", migrate = "dir:text",
  panel = "name:text", press = "on:name number:number",
  copy = "class:text refs:numbers format:text at:number?",
  complete = "class:text? property:text? text:text? entry:text?",
  evaluate = "text:text",
  export = "class:text where:text? sort:sort? linked:link? format:text at:number?",
  import = "upload:text name:text class:text? preview:flag? discard:flag?",
}

local writing = { write = true, undo = true, redo = true, define = true, import = true, migrate = true, press = true }

local element = "class:text ref:number? created:number? property:text key:key? value:any? was:any?"
local operations = {
  create = "class:text values:object?", delete = "class:text ref:number",
  set = element, append = element, remove = element,
}

-- Whether a value is a list, and each element has a type.
local function is_list(value, is_element)
  if type(value) ~= "table" or next(value) ~= nil and #value == 0 then return false end
  for i = 1, #value do
    if not is_element(value[i]) then return false end
  end
  return true
end

local function is_text(value) return type(value) == "string" end
local function is_number(value) return math.type(value) == "integer" and value >= 0 and value < 1 << 53 end
local function is_object(value) return type(value) == "table" and #value == 0 end

-- The types, with the words that describe them.
local types = {
  any = { "", function() return true end },
  text = { "a text", is_text },
  number = { "a whole number", is_number },
  name = { "a number or a text", function(value) return math.type(value) == "integer" or is_text(value) end },
  key = { "a whole number or a text", function(value) return is_number(value) or is_text(value) end },
  flag = { "true or false", function(value) return type(value) == "boolean" end },
  object = { "an object", is_object },
  texts = { "a list of texts", function(value) return is_list(value, is_text) end },
  numbers = { "a list of whole numbers", function(value) return is_list(value, is_number) end },
  sort = { 'a list of pairs such as ["age","descending"]', function(value)
    return is_list(value, function(key)
      local order = is_list(key, is_text) and key[1] and (key[2] or "ascending")
      return order == "ascending" or order == "descending"
    end)
  end },
  link = { 'an object such as {"class":"Person","ref":0,"property":"owner"}', function(value)
    return is_object(value) and is_text(value.class) and is_number(value.ref) and is_text(value.property)
  end },
  operations = { "a list of operations", function(value) return is_list(value, is_object) end },
}

-- Returns what a value of a message is.
function studio.kind_of(value)
  if value == nil then return "nothing" end
  if type(value) == "string" then return "a text" end
  if type(value) == "table" then
    return #value > 0 and "a list" or next(value) and "an object" or "an empty list or object"
  end
  return value == null and "null" or tostring(value)
end

-- Reports a value of a message that has another type.
function studio.expected(what, name, value)
  fail("invalid_argument", "expected " .. what .. " for '" .. name .. "', got " .. studio.kind_of(value))
end

-- Checks the fields of a message. An optional field can be null.
function studio.check(declared, message)
  for name, kind, mark in string.gmatch(declared, "([%w_]+):(%l+)(%??)") do
    if message[name] == null and kind ~= "any" then message[name] = nil end
    local description, is_valid = types[kind][1], types[kind][2]
    if message[name] ~= nil and not is_valid(message[name]) or message[name] == nil and mark == "" then
      studio.expected(description, name, message[name])
    end
  end
end

-- Checks that a request is permitted, and its fields, which then have the types that this file declares.
function studio.check_request(request)
  if writing[request["do"]] then studio.check_writable() end
  studio.check(requests[request["do"]], request)
  for _, operation in ipairs(request["do"] == "write" and request.operations or {}) do
    local declared = operations[operation["do"]]
      or fail("invalid_argument", "unknown operation '" .. tostring(operation["do"]) .. "'")
    studio.check(declared, operation)
  end
end
