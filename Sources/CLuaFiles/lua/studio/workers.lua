-- Jobs: requests that take long run in workers, which the page can end.
local studio = ...
local host, pages = studio.host, studio.pages
local last_file = 0

-- Starts a worker; returns nil in a script that cannot start workers.
function studio.worker(...)
  local ok, worker = pcall(moonpool.worker, ...)
  return ok and worker or nil
end

-- Returns the path of a new file in the studio's folder.
function studio.new_file(name)
  last_file = last_file + 1
  return host.folder .. "/" .. name .. "-" .. last_file
end

-- Offers a file in the folder to the page once, and returns its address, which has 32 random bytes.
function studio.offer(path, name)
  local digits = {}
  for i = 1, 3 do digits[i] = string.gsub(tostring(moonpool.uuid()), "^(%x+)%-(%x+)%-%x+%-%x+%-", "%1%2") end
  local bytes = string.gsub(string.sub(table.concat(digits), 1, 64), "%x%x", function(byte)
    return string.char(tonumber(byte, 16))
  end)
  local address = "/download/" .. string.gsub(studio.base64(bytes), "[+/=]", { ["+"] = "-", ["/"] = "_", ["="] = "" })
  host.send(0, address .. "\n" .. path .. "\n" .. name)
  return address
end

-- Runs a function of jobs.lua in a worker, or here without workers. `finish` receives its result.
-- After a failure, or if the page ends the request, the files are removed.
function studio.start_job(page, id, job, finish, files, results, ...)
  local source = host.source "jobs"
  local function ended(ok, result)
    if pages[page] then pages[page].subscriptions[id] = nil end
    if ok and pages[page] then return finish(result) end
    for _, path in ipairs(files or {}) do os.remove(path) end
    if not ok then studio.report(page, id, result) end
  end
  local worker = studio.worker("studio " .. job, function(source, job, ...)
    local ok, result = pcall(load(source, "=studio", "t")()[job], ...)
    moonpool.post_to_parent(ok, ok and result or result.message or tostring(result))
  end, source, job, results, ...)
  if not worker then
    local ok, result = pcall(load(source, "=studio", "t")()[job], results, ...)
    return ended(ok, ok and result or result.message or tostring(result))
  end
  local space = results and moonpool.store_of(results)
  pages[page].subscriptions[id] = { id = id, worker = worker, files = files, space = space }
  worker:on_message(ended)
end
