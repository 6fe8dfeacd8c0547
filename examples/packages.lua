-- Imports the package database of a Debian system, queries it, and observes changes.
--
--     moonpool examples/packages.lua [FILE [STORE]]
--
-- FILE is a list in Debian's control format, by default /var/lib/dpkg/status; `apt-cache dumpavail > FILE` writes a
-- list of all Debian packages. With STORE, the objects are stored in that file, and `moonpool STORE` opens it at the
-- prompt; otherwise they are in memory.
--
-- A dependency links to one package: the first alternative in the list with a matching version, otherwise the first
-- virtual package with a provider. Dependencies without a match are stored as text in `unmet`. Versions of virtual
-- packages are not checked.
--
-- Prints, in this form:
--
--     807 packages, 57 virtual packages, 31 sections, 230 maintainers, 2543 dependencies (4 unmet)
--     import: 0.05 s, of which 0.02 s in the store, 0.03 s reading and parsing
--
--     Largest packages
--         181.2 MB  llvm-14-dev                      Modular compiler and toolchain technologies
--     …
--     Most depended-on
--           543  libc6                            GNU C Library: Shared libraries
--     …
--     git requires 34 packages, 120.4 MB; the largest are
--     …
--     Sections by size
--     …
--     Changes, as an observer of packages over 100 MB sees them
--         at first 12 packages
--         entered at 1: a-new-giant
--         …

local moonpool = require "moonpool"

local file_name = arg[1] or "/var/lib/dpkg/status"

local store = moonpool.open {
  path = arg[2],
  in_memory = not arg[2] and "packages" or nil,
  schema = {
    Package = {
      name = "string primary",
      version = "string?",             -- nil for a virtual package
      priority = "string?",
      summary = "string?",
      installed_size = "int",          -- KiB
      is_virtual = "bool",
      section = "Section",
      maintainer = "Maintainer",
      depends = "Package[]",
      provides = "Package[]",
      unmet = "string[]",
      needed_by = "backlinks Package.depends",
      provided_by = "backlinks Package.provides",
    },
    Section = { name = "string primary", packages = "backlinks Package.section" },
    Maintainer = {
      email = "string primary",
      name = "string",
      packages = "backlinks Package.maintainer",
    },
  },
}

local clock = os.clock

---------------------------------------------------------------------------------------------------
-- Reading: stanzas of fields, separated by empty lines

local field_names = {
  "Package", "Status", "Version", "Priority", "Section", "Maintainer", "Installed-Size",
  "Description", "Pre-Depends", "Depends", "Provides",
}

--- Splits "a (>= 1) | b, c:any" into its groups, and calls `use` with the text of each group.
local function each_group(text, use)
  for group in text:gmatch("%s*([^,]+)") do use(group) end
end

--- Calls `use` with arrays of a few thousand stanzas. A stanza is a table of fields, with the parsed maintainer and the
--- names of the provided packages. Searching for the needed fields is twice as fast as parsing every line.
local function read_stanzas(name, use)
  local find, sub = string.find, string.sub
  local maintainer_names, maintainer_emails = {}, {}
  local starts = {}
  for i, field in ipairs(field_names) do starts[i] = "\n" .. field .. ": " end

  local function parse(text)
    local stanza = {}
    for i = 1, #starts do
      local _, last = find(text, starts[i], 1, true)
      if last then stanza[field_names[i]] = sub(text, last + 1, find(text, "\n", last, true) - 1) end
    end
    -- All packages of a maintainer have the same text, which is parsed once.
    local maintainer = stanza.Maintainer or "unknown <unknown>"
    local name = maintainer_names[maintainer]
    if not name then
      name, maintainer_emails[maintainer] = maintainer:match("^%s*(.-)%s*<(.-)>")
      name = name or maintainer
      maintainer_names[maintainer] = name
    end
    stanza.maintainer_name = name
    stanza.maintainer_email = maintainer_emails[maintainer] or maintainer
    if stanza.Provides then
      stanza.provided = {}
      each_group(stanza.Provides, function(group)
        stanza.provided[#stanza.provided + 1] = group:match("^[^%s:(]+")
      end)
    end
    return stanza
  end

  local file <close> = assert(io.open(name))
  local rest, at_end = "\n", false
  while not at_end do
    local block = file:read(1 << 20)
    at_end = not block
    local text = rest .. (block or "\n\n")
    local stanzas, position = {}, 1
    while true do
      local last = find(text, "\n\n", position + 1, true)
      if not last then break end
      local stanza = parse(sub(text, position, last))
      if stanza.Package then stanzas[#stanzas + 1] = stanza end
      position = last + 1
    end
    rest = sub(text, position)
    use(stanzas)
  end
end

---------------------------------------------------------------------------------------------------
-- Versions, in the order of Debian's policy (section 5.6.12)

--- Returns the sort key of a character: the tilde precedes everything, even the end; letters precede other characters.
local function weight(text, position)
  local byte = text:byte(position)
  if not byte or byte >= 48 and byte <= 57 then return 0 end
  if byte == 126 then return -1 end
  local is_letter = byte >= 65 and byte <= 90 or byte >= 97 and byte <= 122
  return is_letter and byte or byte + 256
end

local function compare_parts(a, b)
  local i, j = 1, 1
  while i <= #a or j <= #b do
    while weight(a, i) ~= 0 or weight(b, j) ~= 0 do
      local difference = weight(a, i) - weight(b, j)
      if difference ~= 0 then return difference end
      i, j = i + 1, j + 1
    end
    local x, y = a:match("^%d*", i), b:match("^%d*", j)
    i, j = i + #x, j + #y
    local difference = (tonumber(x) or 0) - (tonumber(y) or 0)
    if difference ~= 0 then return difference end
  end
  return 0
end

local function split_version(version)
  local epoch, rest = version:match("^(%d+):(.*)$")
  local upstream, revision = (rest or version):match("^(.*)%-([^-]*)$")
  return tonumber(epoch or 0), upstream or rest or version, revision or ""
end

local function compare_versions(a, b)
  if a == b then return 0 end
  local epoch_a, upstream_a, revision_a = split_version(a)
  local epoch_b, upstream_b, revision_b = split_version(b)
  if epoch_a ~= epoch_b then return epoch_a - epoch_b end
  local difference = compare_parts(upstream_a, upstream_b)
  return difference ~= 0 and difference or compare_parts(revision_a, revision_b)
end

local fits = {
  ["<<"] = function(order) return order < 0 end,
  ["<="] = function(order) return order <= 0 end,
  ["="] = function(order) return order == 0 end,
  [">="] = function(order) return order >= 0 end,
  [">>"] = function(order) return order > 0 end,
}

---------------------------------------------------------------------------------------------------
-- Import: first the packages, then the links between them

local packages = {}       -- by name: the object of a real or virtual package
local versions = {}       -- by name, of real packages
local relations = {}      -- the fields of each package for the second pass
local dependency_count, unmet_count = 0, 0

--- Returns a function that finds or creates the section, maintainer or virtual package with a key.
local function keeper(class, make)
  local known = {}
  return function(key, ...)
    local object = known[key]
    if not object then
      object = store:create(class, make(key, ...))
      known[key] = object
    end
    return object
  end
end

local section_of = keeper("Section", function(name) return { name = name } end)
local maintainer_of = keeper("Maintainer", function(email, name) return { email = email, name = name } end)

local function create_packages(stanzas)
  for _, stanza in ipairs(stanzas) do
    local name = stanza.Package
    local is_installed = not stanza.Status or stanza.Status:find(" installed", 1, true)
    -- Another package with the same name is another architecture or version; only the first one is imported.
    if is_installed and not versions[name] then
      versions[name] = stanza.Version or "0"
      packages[name] = store:create("Package", {
        name = name,
        version = stanza.Version,
        priority = stanza.Priority,
        summary = stanza.Description,
        installed_size = tonumber(stanza["Installed-Size"]) or 0,
        is_virtual = false,
        section = section_of(stanza.Section or "unknown"),
        maintainer = maintainer_of(stanza.maintainer_email, stanza.maintainer_name),
      })
      relations[#relations + 1] = {
        name, stanza["Pre-Depends"], stanza.Depends, stanza.provided,
      }
    end
  end
end

--- Returns the package that satisfies "a (>= 1) | b": the name of a real package, otherwise of a virtual package,
--- otherwise false.
local function choose(group)
  local virtual
  for alternative in group:gmatch("[^|]+") do
    local name, constraint = alternative:match("^%s*([^%s:(]+)[^(]*(.*)")
    local version = versions[name]
    if version then
      local relation, wanted = constraint:match("^%(([<>=]+)%s*([^%s)]+)")
      if not relation or fits[relation](compare_versions(version, wanted)) then return name end
    elseif packages[name] then
      virtual = virtual or name
    end
  end
  return virtual or false
end

local choices = {}        -- by group: the result of `choose`; most groups occur many times

--- Returns the unique names of all packages that a package needs, and the groups without a match.
local function resolve(relation)
  local names, unmet, seen = {}, {}, {}
  local function add(group)
    dependency_count = dependency_count + 1
    local name = choices[group]
    if name == nil then
      name = choose(group)
      choices[group] = name
    end
    if not name then
      unmet_count = unmet_count + 1
      unmet[#unmet + 1] = group
    elseif not seen[name] then
      seen[name] = true
      names[#names + 1] = name
    end
  end
  if relation[2] then each_group(relation[2], add) end
  if relation[3] then each_group(relation[3], add) end
  return names, unmet
end

local started = clock()
local storing = 0

--- Runs a step of the store and adds its duration.
local function in_store(step, ...)
  local start = clock()
  step(...)
  storing = storing + clock() - start
end

local function create_virtual_packages()
  for _, relation in ipairs(relations) do
    if relation[4] then
      local provided = {}
      for i, name in ipairs(relation[4]) do
        if not packages[name] then
          packages[name] = store:create("Package", {
            name = name, is_virtual = true, installed_size = 0,
          })
        end
        provided[i] = packages[name]
      end
      packages[relation[1]].provides = provided
    end
  end
end

local function link(resolved)
  for _, entry in ipairs(resolved) do
    local package = packages[entry.name]
    local targets = {}
    for i, name in ipairs(entry.names) do targets[i] = packages[name] end
    package.depends = targets
    if #entry.unmet > 0 then package.unmet = entry.unmet end
  end
end

local function import()
  in_store(store.delete_all, store)
  read_stanzas(file_name, function(stanzas) in_store(create_packages, stanzas) end)
  in_store(create_virtual_packages)
  local resolved = {}
  for i, relation in ipairs(relations) do
    local names, unmet = resolve(relation)
    if #names > 0 or #unmet > 0 then
      resolved[#resolved + 1] = { name = relation[1], names = names, unmet = unmet }
    end
    if #resolved == 1000 or i == #relations then
      in_store(link, resolved)
      resolved = {}
    end
  end
end

store:begin_write()
import()
in_store(store.commit_write, store)
local total = clock() - started
packages, versions, relations, choices = nil, nil, nil, nil

---------------------------------------------------------------------------------------------------
-- Questions

local function printf(format, ...) print(format:format(...)) end
local function megabytes(kibibytes) return ("%.1f MB"):format(kibibytes / 1024) end

--- Shortens a text. Names with accents have more bytes than characters.
local function short(text) return (text or ""):sub(1, 48) end

local real = store:objects("Package"):where("is_virtual == false")
printf("%d packages, %d virtual packages, %d sections, %d maintainers, %d dependencies (%d unmet)",
  #real, #store:objects("Package"):where("is_virtual == true"), #store:objects "Section",
  #store:objects "Maintainer", dependency_count, unmet_count)
printf("import: %.2f s, of which %.2f s in the store, %.2f s reading and parsing",
  total, storing, total - storing)

print "\nLargest packages"
for package in real:sorted("installed_size", "desc"):limit(5):each() do
  printf("    %9s  %-32s %s", megabytes(package.installed_size), package.name, short(package.summary))
end

print "\nMost depended-on"
local ranking = {}
for package in store:objects("Package"):where("needed_by.@count > 0"):each() do
  ranking[#ranking + 1] = { count = #package.needed_by, name = package.name, package = package }
end
table.sort(ranking, function(a, b)
  if a.count ~= b.count then return a.count > b.count end
  return a.name < b.name
end)
for i = 1, math.min(5, #ranking) do
  local package = ranking[i].package
  local note = package.is_virtual and "virtual, provided by " .. #package.provided_by or package.summary
  printf("    %5d  %-32s %s", ranking[i].count, package.name, short(note))
end

--- Returns all packages that `package` requires. Of the providers of a virtual package, only the first one is included.
local function pulled_in(package)
  local found, seen, queue = {}, { [package.name] = true }, { package }
  local function add(needed)
    if seen[needed.name] then return end
    seen[needed.name] = true
    queue[#queue + 1] = needed
    if not needed.is_virtual then found[#found + 1] = needed end
  end
  for _, next_package in ipairs(queue) do
    for _, needed in ipairs(next_package.depends) do add(needed) end
    if next_package.is_virtual and next_package.provided_by[1] then add(next_package.provided_by[1]) end
  end
  return found
end

local asked = store:object("Package", "git") or real:sorted("installed_size", "desc"):first()
if asked then
  local needed, size = pulled_in(asked), 0
  for _, package in ipairs(needed) do size = size + package.installed_size end
  table.sort(needed, function(a, b) return a.installed_size > b.installed_size end)
  printf("\n%s requires %d packages, %s; the largest are", asked.name, #needed, megabytes(size))
  for i = 1, math.min(5, #needed) do
    printf("    %9s  %s", megabytes(needed[i].installed_size), needed[i].name)
  end
end

print "\nSections by size"
local sections = store:objects("Section"):map(function(section)
  return { name = section.name, count = #section.packages, size = section.packages:sum "installed_size" }
end)
table.sort(sections, function(a, b) return a.size > b.size end)
for i = 1, math.min(5, #sections) do
  printf("    %9s  %-20s %d packages", megabytes(sections[i].size), sections[i].name, sections[i].count)
end

---------------------------------------------------------------------------------------------------
-- Observing

print "\nChanges, as an observer of packages over 100 MB sees them"

local giants = real:where("installed_size > $1", 100 * 1024):sorted("installed_size", "desc")
local calls = 0
local token = giants:observe(function(change)
  calls = calls + 1
  if change.type == "initial" then
    printf("    at first %d packages", #change.collection)
    return
  end
  for _, package in ipairs(change:deleted()) do printf("    left: %s", package.name) end
  for _, index in ipairs(change.insertions) do
    printf("    entered at %d: %s", index, change.collection[index].name)
  end
  for _, index in ipairs(change.modifications_new) do
    printf("    changed at %d: %s", index, change.collection[index].name)
  end
end, { keypaths = { "installed_size", "version" }, name = "giants" })

--- Changes something, and waits until the observer has been notified.
local function change(what)
  local before = calls
  store:write(what)
  moonpool.wait_until(function() return calls > before end, 5)
end

moonpool.wait_until(function() return calls == 1 end, 5)
change(function()
  store:create("Package", {
    name = "a-new-giant", version = "1.0", is_virtual = false, installed_size = 1 << 40,
  }, "all")
end)
change(function() store:object("Package", "a-new-giant").version = "1.1" end)
change(function() store:object("Package", "a-new-giant").installed_size = 1 end)
store:write(function() store:delete(store:object("Package", "a-new-giant")) end)
token:invalidate()
store:close()
