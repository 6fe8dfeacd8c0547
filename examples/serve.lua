-- Writing from other machines: one script owns the store and handles the requests of other scripts.
--
-- Prints:
--
--     usage: moonpool examples/serve.lua nats://host:4222
--
-- With an address, prints:
--
--  | Rex was added, 1 dog in total
--  | Rex already exists, 1 dog in total
--  | Max was added, 2 dogs in total
--  | refused: a dog needs a name (bad_request)
--  | refused: zoo.feed is not a request of this service (unknown_request)
--  | the service answered 5 requests
--
-- In a real system the service runs beside the publisher of the store (`store:publish`), and the other scripts run
-- where `store:follow` keeps a copy to read from. If a reply is lost, the request may still have been handled. A
-- request to add a dog therefore contains its key, so that a repeated request does not add a second dog.

local moonpool = require "moonpool"

local url = arg[1]
if not url then
  print "usage: moonpool examples/serve.lua nats://host:4222"
  os.exit(0)
end

local store = moonpool.open {
  in_memory = "zoo",
  schema = { Dog = { id = "int primary", name = "string" } },
}
local dogs = store:objects "Dog"

-- One function for each subject below zoo. An error with a code is sent as the reply.
local requests = {}

requests["zoo.add"] = function(dog)
  if not dog.name then error { code = "bad_request", message = "a dog needs a name" } end
  local known = store:object("Dog", dog.id)
  store:write(function() store:create("Dog", dog, "modified") end)
  return { name = dog.name, is_new = known == nil, count = #dogs }
end

local service <close> = moonpool.serve {
  url = url,
  subject = "zoo.*",
  handler = function(request)
    local handle = requests[request.subject]
    if not handle then
      error { code = "unknown_request", message = request.subject .. " is not a request of this service" }
    end
    return handle(request.body)
  end,
}
moonpool.wait_until(function() return service.is_connected end)

-- A worker runs this part, as another machine would.
local visitor = moonpool.worker("visitor", function(url)
  local moonpool = require "moonpool"

  local function add(dog, subject)
    local ok, reply = pcall(moonpool.request, { url = url, subject = subject or "zoo.add", body = dog, timeout = 30 })
    if not ok then return print(("refused: %s (%s)"):format(reply.message, reply.code)) end
    local what = reply.is_new and "was added" or "already exists"
    print(("%s %s, %d dog%s in total"):format(reply.name, what, reply.count, reply.count == 1 and "" or "s"))
  end

  add { id = 1, name = "Rex" }
  add { id = 1, name = "Rex" }
  add { id = 2, name = "Max" }
  add { id = 3 }
  add({ id = 1 }, "zoo.feed")
end, url)

visitor:join()
print(("the service answered %d requests"):format(service.requests))
