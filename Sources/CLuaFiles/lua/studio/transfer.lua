-- Files: exports that the page downloads, and imports of uploaded files.
local studio = ...
local host, store, requests, pages, fail = studio.host, studio.store, studio.requests, studio.pages, studio.fail

local extensions = { csv = "csv", json = "json", jsonl = "jsonl", sqlite = "sqlite", lua = "lua" }

function requests.export(page, id, request)
  local extension = extensions[request.format]
  if not extension then
    error("unknown format '" .. request.format .. "'; use csv, json, jsonl, sqlite or lua", 0)
  end
  local path = studio.new_file("export") .. "." .. extension
  studio.start_job(page, id, "export", function(count)
    local name = request.class .. "." .. extension
    studio.reply(page, id, { count = count, name = name, download = studio.offer(path, name) })
  end, { path }, studio.results_of(request), path)
end

local formats = {
  csv = "csv", tsv = "csv", json = "json", jsonl = "jsonl", ndjson = "jsonl", sqlite = "sqlite", db = "sqlite",
  sqlite3 = "sqlite", realm = "realm", lua = "lua",
}

-- The files of the last uploads have no names; the number of an upload begins with the index of its path.
local upload_paths = {}
for path in string.gmatch(host.uploads or "", "%S+") do upload_paths[#upload_paths + 1] = path end

-- Imports an uploaded file, shows what it contains, or removes it. A page that ends removes its files.
function requests.import(page, id, request)
  local upload, name = request.upload, request.name
  local path, uploads = upload_paths[tonumber(string.match(upload, "^(%d)%-"))], pages[page].uploads
  if not path or uploads[upload] == false then fail("invalid_argument", "unknown upload '" .. upload .. "'") end
  uploads[upload] = true
  local function forget()
    uploads[upload] = false
    host.send(0, upload) -- the server deletes the file
  end
  if request.discard then
    forget()
    return studio.reply(page, id, true)
  end
  local ending = string.match(string.lower(name), "%.(%w+)$")
  local format = formats[ending]
  if not format then
    fail("invalid_argument", "unknown format '" .. name .. "'; use CSV, JSON, JSON Lines, SQLite or .realm")
  end
  local needs_class = format == "csv" or format == "json" or format == "jsonl"
  local class, separator = needs_class and request.class or nil, ending == "tsv" and "\t" or nil
  local options = { format = format, class = class, separator = separator }
  local function finish(report)
    if not request.preview then forget() end
    studio.reply_with_text(page, id, report)
  end
  if request.preview then return studio.start_job(page, id, "preview", finish, nil, nil, path, options, name) end
  local first = studio.class_names[1]
  if first then return studio.start_job(page, id, "import", finish, nil, store:objects(first), path, options, name) end
  -- No worker can receive an empty store in memory, but this script can import the file.
  local report = store:import(path, options)
  local created, updated = report.created or 0, report.updated or 0
  finish(moonpool.json.encode { created = created, updated = updated, notes = report.notes or {} })
end
