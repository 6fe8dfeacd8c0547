-- A background image cache: the main script adds files, and a worker observes them, downloads them and records the
-- result.
--
-- Another worker is the web server, so the example works without a network. It needs the Lua module luv (Debian:
-- lua-luv).
--
-- Prints:
--
--     /cat.png: 2700 bytes
--     /dog.png: 2700 bytes
--     /gone.png: 404 Not Found
--     /owl.png: 2700 bytes

local moonpool = require "moonpool"
local found, luv = pcall(require, "luv")
if not found then
  io.stderr:write("image-cache.lua needs the Lua module luv; Debian has it as the package lua-luv\n")
  os.exit(1)
end

local store = moonpool.open {
  in_memory = "image cache",
  schema = { File = { remote_url = "string primary", local_path = "string?", problem = "string?" } },
}
local folder = assert(luv.fs_mkdtemp("/tmp/image-cache-XXXXXX"))

-- A worker has its own thread and event loop. It cannot use the local variables of the script; values are passed as
-- arguments.
local server = moonpool.worker("server", function()
  local uv = require "luv"
  local listener = uv.new_tcp()
  assert(listener:bind("127.0.0.1", 0))
  listener:listen(16, function()
    local client, request = uv.new_tcp(), ""
    listener:accept(client)
    client:read_start(function(_, data)
      request = request .. (data or "")
      local path = request:match("^GET (%S+) HTTP.-\r\n\r\n")
      if data and not path then return end
      client:read_stop()
      local answer = "HTTP/1.0 404 Not Found\r\n\r\n"
      if path ~= "/gone.png" then answer = "HTTP/1.0 200 OK\r\n\r\n" .. ("a picture"):rep(300) end
      client:write(answer, function() client:close() end)
    end)
  end)
  moonpool.post_to_parent(listener:getsockname().port)
end)

-- The worker receives `store` as its own store with the same data.
local cache = moonpool.worker("cache", function(store, folder)
  local uv = require "luv"

  local function fetch(url, done)
    local host, port, path = url:match("^http://([%d.]+):(%d+)(/%S*)$")
    if not host then return done("not a URL that this cache understands") end
    local socket, parts = uv.new_tcp(), {}
    socket:connect(host, tonumber(port), function(err)
      if err then
        socket:close()
        return done(err)
      end
      socket:write("GET " .. path .. " HTTP/1.0\r\n\r\n")
      socket:read_start(function(err, data)
        if data then
          parts[#parts + 1] = data
          return
        end
        socket:close()
        local status, body = table.concat(parts):match("^HTTP/1%.%d (%d+ [^\r]*)\r\n.-\r\n(.*)$")
        if err or status ~= "200 OK" then return done(err or status or "no answer") end
        done(nil, (body:gsub("^\r\n", "")))
      end)
    end)
  end

  local fetching = {}
  local function cache(file)
    local url = file.remote_url
    if fetching[url] then return end
    fetching[url] = true
    fetch(url, function(problem, body)
      local path = folder .. "/" .. url:match("([^/]*)$")
      if body then
        local image <close> = assert(io.open(path, "wb"))
        image:write(body)
      end
      store:write(function()
        local file = store:object("File", url) -- may have been deleted in the meantime
        if file then file:update { local_path = body and path, problem = problem } end
      end)
      fetching[url] = nil
    end)
  end

  local missing = store:objects("File"):where("local_path == nil and problem == nil")
  token = missing:observe(function(change)
    for file in change.collection:each() do cache(file) end
  end)
end, store, folder)

local port
server:on_message(function(number) port = number end)
moonpool.wait_until(function() return port end)

-- From here on, the main script only adds files.
local names = { "/cat.png", "/dog.png", "/gone.png", "/owl.png" }
for _, name in ipairs(names) do
  store:write(function()
    store:create("File", { remote_url = "http://127.0.0.1:" .. port .. name })
  end)
end

local done = store:objects("File"):where("local_path != nil or problem != nil"):sorted("remote_url")
assert(moonpool.wait_until(function() return #done == #names end, 30), "the cache is too slow")
for file in done:each() do
  local name = file.remote_url:match("[^/]*$")
  if file.local_path then
    local image <close> = assert(io.open(file.local_path, "rb"))
    print("/" .. name .. ": " .. #image:read("a") .. " bytes")
    os.remove(file.local_path)
  else
    print("/" .. name .. ": " .. file.problem)
  end
end
os.remove(folder)

cache:stop()
server:stop()
