/// The scripts of ``RandomObserverTests``: writers that make random changes, and observers that compare every report
/// with the collection before and after it.
///
/// All scripts synchronize several times. A script continues only after every script has received the last commits of
/// all others, so that the next report does not hide a missed one. Handlers and writes sleep at times, because a commit
/// at that time is delivered in another way.
///
/// They read their parameters from the environment: `STORE`, `SEED`, `CHANGES` (of each writer), `PARTIES` (the total
/// number of scripts), `ROUNDS` (the number of synchronizations) and `SECONDS` (the maximum wait for other scripts).
enum RandomObserverScripts {
    static let prelude = """
        local seed = tonumber(os.getenv "SEED")
        local changes, rounds = tonumber(os.getenv "CHANGES"), tonumber(os.getenv "ROUNDS")
        local parties, deadline = tonumber(os.getenv "PARTIES"), tonumber(os.getenv "SECONDS")
        local store = moonpool.open {
          path = os.getenv "STORE", durability = "memory",
          schema = {
            Obj = {
              id = "int primary", value = "int", text = "string?", link = "Target", targets = "Target[]",
              ints = "int[]", marks = "int<>", notes = "int{}",
            },
            Target = { id = "int primary", value = "int", linked = "backlinks Obj.link" },
            Party = { id = "uuid primary", round = "int" },
          },
        }
        math.randomseed(seed)

        -- Runs the script's loop for a moment in one of `times` calls on average.
        local function doze(times)
          local die = math.random(2 * times)
          if die == 1 then moonpool.sleep(0) elseif die == 2 then moonpool.sleep(0.003) end
        end

        -- Waits until each script has recorded in the store that all have come this far; false after the timeout.
        local me = moonpool.uuid()
        -- Many are asleep when the last one comes.
        local sleeper = store:objects("Party"):observe(function() doze(2) end)
        local function meet(round)
          local function own()
            local party = store:object("Party", me)
            return party and party.round or -1
          end
          local there = store:objects("Party"):where("round >= $1", round)
          repeat
            -- Who has not come yet can undo what the others have written here.
            store:write(function()
              if own() < round then store:create("Party", { id = me, round = round }, "all") end
            end)
            local signaled = moonpool.wait_until(function() return #there == parties or own() < round end, deadline)
          until not signaled or #there == parties
          if #there < parties then return false end
          -- Said outside of the store, where a further commit would wake those who have missed one.
          local path <const> = os.getenv "STORE" .. ".round" .. round
          local file = assert(io.open(path, "a"))
          file:write "x"
          file:close()
          return moonpool.wait_until(function()
            local file <close> = assert(io.open(path))
            return file:seek "end" == parties
          end, deadline)
        end

        """

    /// Makes its changes in commits of random size; some are undone, some are rolled back.
    static let writer =
        prelude + """
            local random = math.random
            local function any(class)
              local all = store:objects(class)
              return all[random(math.max(#all, 1))]
            end
            local function change()
              local die = random(24)
              if die <= 3 then
                store:create("Obj", {
                  id = random(40), value = random(20), text = random(3) > 1 and "t" .. random(5) or nil, link = any "Target",
                }, "all")
              elseif die <= 5 then
                store:create("Target", { id = random(12), value = random(20) }, "all")
              elseif die == 6 then
                local obj = any "Obj"
                if obj then store:delete(obj) end
              elseif die == 7 then
                local target = any "Target"
                if target and random(3) == 1 then store:delete(target) end
              elseif die <= 10 then
                local target = any "Target"
                if target then target.value = random(20) end
              else
                local obj = any "Obj"
                if not obj then return end
                if die <= 14 then obj.value = random(20)
                elseif die == 15 then obj.text = random(2) == 1 and "t" .. random(5) or nil
                elseif die == 16 then obj.link = random(4) > 1 and any "Target" or nil
                elseif die == 17 then
                  local target = any "Target"
                  if target then obj.targets:insert(random(#obj.targets + 1), target) end
                elseif die == 18 then
                  if #obj.targets > 0 then obj.targets:remove(random(#obj.targets)) end
                elseif die == 19 then obj.ints:append(random(9))
                elseif die == 20 then
                  if #obj.ints > 0 then obj.ints:remove(random(#obj.ints)) end
                elseif die == 21 then
                  if #obj.ints > 1 then obj.ints:move(random(#obj.ints), random(#obj.ints)) end
                elseif die == 22 then
                  if random(2) == 1 then obj.marks:add(random(9)) else obj.marks:remove(random(9)) end
                elseif die == 23 then obj.notes["k" .. random(5)] = random(3) > 1 and random(9) or nil
                else obj.ints = { random(9), random(9) } end
              end
            end
            local made, round = 0, 0
            while made < changes do
              if made >= changes * round // rounds then
                round = round + 1
                assert(meet(round), "waited too long for the others")
              end
              local count = math.min(random(6), changes - made)
              local kind = random(30)
              if kind == 1 then
                pcall(random(2) == 1 and store.undo or store.redo, store)
                made = made + 1
              else
                pcall(store.write, store, function()
                  for _ = 1, count do change() end
                  doze(30)
                  if kind == 2 then error "rolled back" end
                end)
                made = made + count
              end
              if random(20) == 1 then moonpool.sleep(0) end
            end
            assert(meet(rounds + 1), "waited too long for the others at the end")
            sleeper:invalidate()
            print "done"
            """

    /// Registers observers of every kind, each with a shadow copy of the observed data, and checks every call against
    /// the copy.
    static let observer =
        prelude + """
            local calls, problems = 0, {}
            local function problem(name, text, ...)
              if #problems < 10 then problems[#problems + 1] = name .. ": " .. text:format(...) end
            end
            -- A handler sleeps as long as it likes: nothing changes under it.
            local function nap()
              local version = store.version
              doze(30)
              if store.version ~= version then problem("store", "changed while a handler slept") end
            end

            -- The properties of a row that an observer reports.
            local function own(obj)
              local targets = {}
              for i, target in ipairs(obj.targets) do targets[i] = target.id end
              local notes = {}
              for _, key in ipairs(obj.notes:keys()) do notes[#notes + 1] = key .. obj.notes[key] end
              return table.concat({
                obj.value, tostring(obj.text), obj.link and obj.link.id or "-", table.concat(targets, ","),
                table.concat(obj.ints, ","), table.concat(obj.marks, ","), table.concat(notes, ","),
              }, " ")
            end
            local function value(obj) return tostring(obj.value) end
            local function linked(obj) return obj.link and tostring(obj.link.value) or "-" end
            local function target(t) return tostring(t.value) end
            local function plain(v) return tostring(v) end
            -- Values have no identity: one that is replaced is a modification at its index.
            local function no_identity() return "value" end

            local shadows = {}
            -- A sequence of objects (distinguished by key) or of values, with a text for each row.
            local function sequence(name, collection, text, identity, options)
              local shadow = { name = name, rows = {} }
              local function row(element) return { id = identity(element), text = text(element) } end
              local function read()
                local rows = {}
                for i = 1, #collection do rows[i] = row(collection[i]) end
                return rows
              end
              local function check(change)
                calls = calls + 1
                if not change.collection:is_valid() then shadow.over = true return end
                if change.type == "initial" then shadow.rows = read() return end
                nap()
                local rows, now = shadow.rows, read()
                local before = #rows
                for i = #change.deletions, 1, -1 do
                  if change.deletions[i] > before then problem(name, "deletion at %d of %d", change.deletions[i], before) end
                  table.remove(rows, change.deletions[i])
                end
                for _, i in ipairs(change.insertions) do
                  if i > #rows + 1 then return problem(name, "insertion at %d after %d rows", i, #rows) end
                  table.insert(rows, i, now[i])
                end
                if #rows ~= #now then problem(name, "%d rows, but %d are there", #rows, #now) end
                local modified = {}
                for _, i in ipairs(change.modifications_new) do modified[i] = true end
                if #change.modifications ~= #change.modifications_new then problem(name, "modifications differ") end
                for i, new in ipairs(now) do
                  local old = rows[i]
                  if not old or old.id ~= new.id then
                    problem(name, "row %d is %s, not %s", i, new.id, old and old.id or "nothing")
                    break
                  elseif old.text ~= new.text and not modified[i] then
                    problem(name, "row %d (%s) changed from %s to %s unreported", i, new.id, old.text, new.text)
                  end
                end
                shadow.rows = now
                nap()
              end
              -- Describes a difference between the reports and the objects; nil if there is none.
              function shadow.difference()
                if shadow.over or not collection:is_valid() then return end
                local now = read()
                for i = 1, math.max(#now, #shadow.rows) do
                  local old, new = shadow.rows[i], now[i]
                  if not old or not new or old.id ~= new.id or old.text ~= new.text then
                    return ("row %d is another one"):format(i)
                  end
                end
              end
              shadow.token = collection:observe(check, options)
              shadows[#shadows + 1] = shadow
            end

            -- The entries of a map, by their keys.
            local function entries(name, map)
              local shadow = { name = name, rows = {} }
              local function read()
                local rows = {}
                for key, value in pairs(map) do rows[key] = value end
                return rows
              end
              shadow.token = map:observe(function(change)
                calls = calls + 1
                if not change.collection:is_valid() then shadow.over = true return end
                if change.type == "initial" then shadow.rows = read() return end
                nap()
                local rows, now, modified = shadow.rows, read(), {}
                for _, key in ipairs(change.deletions) do
                  if rows[key] == nil then problem(name, "deletion of %s, which was not there", key) end
                  rows[key] = nil
                end
                for _, key in ipairs(change.insertions) do
                  if rows[key] ~= nil then problem(name, "insertion of %s, which was there", key) end
                  rows[key] = now[key]
                end
                for _, key in ipairs(change.modifications) do modified[key] = true end
                for key, value in pairs(now) do
                  if rows[key] ~= value and not (modified[key] and rows[key] ~= nil) then
                    problem(name, "%s became %d unreported", key, value)
                  end
                end
                for key in pairs(rows) do
                  if now[key] == nil then problem(name, "%s went unreported", key) end
                end
                shadow.rows = now
                nap()
              end)
              function shadow.difference()
                if shadow.over or not map:is_valid() then return end
                local now = read()
                for key, value in pairs(now) do if shadow.rows[key] ~= value then return key .. " is another one" end end
                for key in pairs(shadow.rows) do if now[key] == nil then return key .. " is gone" end end
              end
              shadows[#shadows + 1] = shadow
            end

            -- Sections of objects: which there are, and which objects they have, in order.
            local function sections(name, observed)
              local shadow = { name = name, rows = {} }
              local function read()
                local rows = {}
                for i = 1, #observed do
                  local section, ids = observed[i], {}
                  for k, obj in ipairs(section.objects) do ids[k] = obj.id end
                  rows[i] = { key = section.key, ids = ids }
                end
                return rows
              end
              local function text(row) return tostring(row.key) .. ": " .. table.concat(row.ids, ",") end
              shadow.token = observed:observe(function(change)
                calls = calls + 1
                if change.type == "initial" then shadow.rows = read() return end
                nap()
                local rows, now = shadow.rows, read()
                for i = #change.section_deletions, 1, -1 do table.remove(rows, change.section_deletions[i]) end
                for _, i in ipairs(change.section_insertions) do
                  table.insert(rows, i, { key = now[i] and now[i].key, ids = now[i] and now[i].ids or {}, isNew = true })
                end
                for _, section in ipairs(change.sections) do
                  local row = rows[section.section]
                  if not row or not now[section.section] then
                    problem(name, "a change of section %d of %d", section.section, #rows)
                  elseif not row.isNew then
                    for i = #section.deletions, 1, -1 do table.remove(row.ids, section.deletions[i]) end
                    for _, i in ipairs(section.insertions) do table.insert(row.ids, i, now[section.section].ids[i]) end
                  end
                end
                for i = 1, math.max(#rows, #now) do
                  if not rows[i] or not now[i] or text(rows[i]) ~= text(now[i]) then
                    problem(name, "section %d is %s, not %s", i, now[i] and text(now[i]) or "nothing", rows[i] and text(rows[i]) or "nothing")
                    break
                  end
                end
                shadow.rows = now
                nap()
              end)
              function shadow.difference()
                local now = read()
                for i = 1, math.max(#now, #shadow.rows) do
                  if not now[i] or not shadow.rows[i] or text(now[i]) ~= text(shadow.rows[i]) then
                    return ("section %d is another one"):format(i)
                  end
                end
              end
              shadows[#shadows + 1] = shadow
            end

            local function key(obj) return obj.id end
            local all, targets = store:objects "Obj", store:objects "Target"
            sequence("all", all, own, key)
            sequence("where", all:where "value > 8", value, key, { keypaths = "value" })
            sequence("through a link", all:where "link.value > 8", linked, key, { keypaths = { "link.value" } })
            sequence("through a list", all:where "any targets.value > 15", value, key, { keypaths = "value" })
            sequence("sorted", all:sorted("value", "desc"), own, key)
            sequence("sorted by link", all:sorted { { "link.value" }, { "id" } }, linked, key, { keypaths = "link.value" })
            sequence("limit", all:sorted("value"):limit(5), value, key, { keypaths = "value" })
            sequence("distinct", all:sorted("id"):distinct "text", value, key, { keypaths = "value" })
            sequence("backlinks filter", targets:where "linked.@count > 1", target, key, { keypaths = "value" })
            sequence("targets", targets, target, key)
            sections("sections", all:group_by "text")
            sections("sections of a query", all:where("value > 5"):sorted("id"):group_by "value")
            sequence("debounced", all:where "value > 3", value, key, { keypaths = "value", debounce = 0.001 })

            -- Objects and their collections, as they come.
            local watched = {}
            local function watch(obj)
              if watched[obj.id] or obj.id > 12 then return end
              local id = obj.id
              local name = "object " .. id
              local seen = { value = obj.value, text = obj.text }
              local shadow = { name = name }
              watched[id] = shadow
              shadow.token = obj:observe(function(change)
                calls = calls + 1
                if change.type == "deleted" then
                  if obj:is_valid() then problem(name, "deleted, but it is there") end
                  shadow.over, watched[id] = true, nil
                  return
                end
                if #change.properties == 0 then problem(name, "a call without properties") end
                for _, p in ipairs(change.properties) do
                  if p.name == "value" or p.name == "text" then
                    if p.old ~= seen[p.name] then
                      problem(name, "%s was %s, reported as %s", p.name, tostring(seen[p.name]), tostring(p.old))
                    end
                    if p.new ~= obj[p.name] then problem(name, "%s has a wrong new value", p.name) end
                    seen[p.name] = p.new
                  end
                end
                if seen.value ~= obj.value or seen.text ~= obj.text then problem(name, "a change unreported") end
                nap()
              end)
              shadow.value = obj:observe_value("value", function(new)
                calls = calls + 1
                if obj:is_valid() and new ~= obj.value then problem(name, "value reported as %d", new) end
              end)
              function shadow.difference()
                if not shadow.over and obj:is_valid() and (seen.value ~= obj.value or seen.text ~= obj.text) then
                  return "it is another"
                end
              end
              shadows[#shadows + 1] = shadow
              if id <= 4 then
                sequence("ints of " .. id, obj.ints, plain, no_identity)
                sequence("marks of " .. id, obj.marks, plain, no_identity)
                sequence("high ints of " .. id, obj.ints:where "SELF > 4", plain, no_identity)
                sequence("sorted ints of " .. id, obj.ints:sorted "desc", plain, no_identity)
                sequence("first ints of " .. id, obj.ints:distinct():sorted():limit(3), plain, no_identity)
                sequence("high notes of " .. id, obj.notes:where "SELF > 4", plain, no_identity)
                entries("notes of " .. id, obj.notes)
                sequence("targets of " .. id, obj.targets, target, key)
              end
            end
            local watcher = all:observe(function(change)
              if store.is_in_write then return end
              for i = 1, #all do watch(all[i]) end
            end, { keypaths = "id" })

            local versions = store.version
            local commits = store:observe(function(type)
              calls = calls + 1
              if type == "did_change" and store.version < versions then problem("store", "went back") end
              versions = store.version
            end)
            -- An observer that writes.
            local own_writes = 0
            local writing = targets:where("value == 13"):observe(function(change)
              if #change.collection > 0 and own_writes < 200 then
                own_writes = own_writes + 1
                pcall(store.write, store, function()
                  for one in change.collection:each() do one.value = 14 end
                  doze(30)
                end)
              end
            end)

            io.write("ready\\n") io.flush()
            local function difference()
              for _, shadow in ipairs(shadows) do
                local difference = shadow.difference()
                if difference then return shadow.name .. ": " .. difference end
              end
            end
            for round = 1, rounds + 1 do
              if not meet(round) then
                problem("round " .. round, "only %d of %d are there", #store:objects("Party"):where("round >= $1", round), parties)
                break
              end
              -- Other observers receive a handler's writes a moment later, and so do delayed ones.
              if not moonpool.wait_until(function() return not difference() end, 20) then
                problem("round " .. round, "not reported: %s", difference())
              end
            end
            for _, text in ipairs(problems) do print("PROBLEM " .. text) end
            print("checked " .. calls .. " calls, " .. #problems .. " problems")
            moonpool.stop()
            os.exit(#problems == 0 and 0 or 1)
            """
}
