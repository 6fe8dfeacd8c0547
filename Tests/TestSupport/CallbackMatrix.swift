/// Lua code that performs every kind of store operation in every kind of callback.
package enum CallbackMatrix {
    /// Defines `operations`, `callbacks` and `matrix(name)`.
    ///
    /// `matrix(callback, share)` runs each operation in one callback, each time on a new store, and then verifies the
    /// store; or only each operation with a number of `share`, beginning at different ones for different callbacks.
    ///
    /// It needs the globals `options_of(n)`, which returns the options of the n-th store, `turn()`, which runs pending
    /// callbacks, and `faults()`, which returns the errors in the open stores as text.
    package static let source = """
        local number = 0
        local hook
        local function value() return hook and hook() or 1 end
        schema = {
            A = { { "id", "int primary" }, { "n", "int?" }, { "one", "B" }, { "l", "B[]" }, { "m", "B{}" },
                  { "e", "E" }, { "es", "E[]" }, { "em", "E{}" }, { "ints", "int[]" }, { "tags", "string<>" },
                  { "x", "mixed" } },
            B = { { "id", "int primary" }, { "x", { type = "int", default = value } } },
            E = { embedded = true, { "x", { type = "int", default = value } }, { "b", "B" } },
        }
        function fresh()
            number = number + 1
            local options = options_of(number)
            options.schema = schema
            local s = moonpool.open(options)
            s:write(function()
                for i = 1, 3 do
                    s:create("A", { id = i, n = i, one = { id = i, x = i }, l = { { id = 10 + i, x = 1 }, { id = 20 + i, x = 1 } },
                        m = { k = { id = 30 + i, x = 1 } }, e = { x = 1, b = { id = 40 + i, x = 1 } }, es = { { x = 1 }, { x = 2 } },
                        em = { k = { x = 1 } }, ints = { 1, 2, 3 }, tags = { "a", "b" }, x = { 1, { k = { 2, 3 } } } })
                end
            end)
            return s
        end

        operations = {
            close = function(s) s:close() end,
            begin = function(s) s:begin_write() end,
            commit = function(s) s:commit_write() end,
            cancel = function(s) s:cancel_write() end,
            restart = function(s) s:cancel_write() s:begin_write() end,
            write = function(s) s:write(function() s:create("B", { id = math.random(1000, 9999), x = 1 }) end) end,
            create = function(s) s:create("B", { id = math.random(1000, 9999), x = 1 }) end,
            upsert = function(s) s:create("A", { id = 1, one = { id = 1 }, e = { b = { id = 41 } }, es = {}, l = {} }, "all") end,
            delete = function(s) s:delete(s:object("A", 1)) end,
            delete_all = function(s) s:delete_all() end,
            delete_class = function(s) s:delete_all "B" end,
            delete_results = function(s) s:delete(s:objects "B") end,
            clear_list = function(s) s:object("A", 1).l:clear() end,
            clear_embedded = function(s) s:object("A", 1).es:clear() end,
            clear_map = function(s) s:object("A", 1).m:clear() end,
            remove = function(s) s:object("A", 1).l:remove(1) end,
            set_link = function(s) s:object("A", 1).one = nil end,
            set_embedded = function(s) s:object("A", 1).e = nil end,
            set_mixed = function(s) s:object("A", 1).x = nil end,
            edit_mixed = function(s) s:object("A", 1).x:clear() end,
            update = function(s) s:objects("A"):update { n = 7 } end,
            define = function(s) s:define { Z = { y = "int" } } end,
            redefine = function(s) s:define({ A = { { "id", "int primary" } } }, { force = true }) end,
            refresh = function(s) s:refresh() end,
            undo = function(s) s:undo() end,
            freeze = function(s) s:freeze():objects("A"):first():to_table(3) end,
            observe = function(s) s:objects("A"):observe(function() end) end,
            queue = function(s) s:write_async(function() s:delete_all() end) end,
            add = function(s) s:add(moonpool.new("A", { id = 77, one = moonpool.new("B", { id = 78, x = 1 }) })) end,
            collect = function() collectgarbage() end,
            other = function() local o = fresh() o:write(function() o:delete_all() end) o:close() end,
            raise = function() error "no" end,
            turn = function() turn() end,
        }

        -- Each runs `act` inside a store operation.
        callbacks = {
            default_create = function(s, act) s:write(function() hook = act s:create("B", { id = 500 }) end) end,
            default_nested = function(s, act) s:write(function() hook = act s:create("A", { id = 500, l = { { id = 501 }, { id = 502 } }, m = { a = { id = 503 } } }) end) end,
            default_upsert = function(s, act) s:write(function() hook = act s:create("A", { id = 1, one = { id = 504 }, es = { {}, {}, {} }, em = { k = {}, q = {} }, e = {} }, "modified") end) end,
            default_assign = function(s, act) s:write(function() hook = act s:object("A", 1).one = { id = 505 } end) end,
            default_embedded = function(s, act) s:write(function() hook = act s:object("A", 1).e = {} end) end,
            default_element = function(s, act) s:write(function() hook = act s:object("A", 1).l[2] = { id = 506 } end) end,
            default_insert = function(s, act) s:write(function() hook = act s:object("A", 1).es:insert(2, {}) end) end,
            default_append = function(s, act) s:write(function() hook = act s:object("A", 1).l:append({ id = 507 }, { id = 508 }) end) end,
            default_entry = function(s, act) s:write(function() hook = act s:object("A", 1).em.k = {} end) end,
            default_update = function(s, act) s:write(function() hook = act s:objects("A"):update { one = { id = 509 } } end) end,
            default_add = function(s, act) s:write(function() hook = act s:add(moonpool.new("A", { id = 510, one = moonpool.new("B", { id = 511 }), es = { {} } }), "all") end) end,
            write = function(s, act) s:write(act) end,
            each = function(s, act) s:write(function() for a in s:objects("A"):each() do act() local n = a:is_valid() and a.n end end) end,
            pairs = function(s, act) s:write(function() for k, v in pairs(s:object("A", 1)) do act() end end) end,
            list_pairs = function(s, act) s:write(function() for i, b in ipairs(s:object("A", 1).l) do act() end end) end,
            map_pairs = function(s, act) s:write(function() for k, b in pairs(s:object("A", 1).m) do act() end end) end,
            mixed_pairs = function(s, act) s:write(function() for i, b in pairs(s:object("A", 1).x) do act() end end) end,
            filter = function(s, act) s:write(function() s:objects("A"):filter(function(a) act() return true end) end) end,
            map = function(s, act) s:write(function() s:objects("A"):map(function(a) act() return a:is_valid() and a.n end) end) end,
            observer = function(s, act) local t = s:objects("A"):observe(act) s:refresh() s:write(function() s:object("A", 1).n = 9 end) s:refresh() end,
            list_observer = function(s, act) local t = s:object("A", 1).l:observe(act) s:refresh() s:write(function() s:object("A", 1).l:remove(1) end) s:write(function() end) end,
            object_observer = function(s, act) local t = s:object("A", 1):observe(act) s:write(function() s:object("A", 1).n = 9 end) s:write(function() end) end,
            value_observer = function(s, act) local t = s:object("A", 1):observe_value("n", act) s:write(function() s:object("A", 1).n = 9 end) s:write(function() end) end,
            sections_observer = function(s, act) local t = s:objects("A"):group_by("n"):observe(act) s:refresh() s:write(function() s:object("A", 1).n = 9 end) s:write(function() end) end,
            store_observer = function(s, act) local t = s:observe(act) s:write(function() s:object("A", 1).n = 9 end) end,
            queued = function(s, act) s:write_async(act, function() end) turn() end,
            queued_error = function(s, act) s:write_async(function() error "x" end, act) turn() end,
            migration = function(s, act) s:define({ A = { { "id", "int primary" }, { "q", "int?" } } }, act) end,
            migration_each = function(s, act) s:define({ B = { { "id", "int primary" }, { "q", "int?" } } }, function(m) m:each("B", function(old, new) act() new.q = old.x end) end) end,
            values_index = function(s, act) s:write(function() s:create("A", setmetatable({ id = 600 }, { __index = function() act() end, __pairs = function(t) act() return next, t end, __len = function() act() return 0 end })) end) end,
            values_name = function(s, act) s:write(function() s:object("A", 1).n = setmetatable({}, { __tostring = function() act() return "x" end, __name = "X" }) end) end,
            finalizer = function(s, act) s:write(function() for i = 1, 30 do setmetatable({}, { __gc = act }) s:create("A", { id = 700 + i, l = { { id = 700 + i, x = 1 } }, x = { ("x"):rep(500), { "y" } } }) collectgarbage "step" end end) end,
            closing = function(s, act) s:write(function() local c <close> = setmetatable({}, { __close = act }) error "x" end) end,
            coroutine = function(s, act) s:write(function() coroutine.wrap(act)() end) end,
            should_compact = function(s, act)
                local path = os.tmpname()
                os.remove(path)
                moonpool.open { path = path, schema = schema }:close()
                pcall(function() moonpool.open { path = path, should_compact = function() act() return true end }:close() end)
                os.remove(path) os.remove(path .. "-lock")
            end,
        }

        function matrix(callback, share)
            local names, ran = {}, 0
            for name in pairs(operations) do names[#names + 1] = name end
            table.sort(names)
            for number = #callback % share + 1, #names, share do
                local name, s = names[number], fresh()
                local calls = 0
                pcall(callbacks[callback], s, function()
                    calls, ran = calls + 1, ran + 1
                    if calls > 3 then return 1 end
                    operations[name](s)
                    return 1
                end)
                hook = nil
                pcall(turn)
                if not s.is_closed then
                    if s.is_in_write then s:cancel_write() end
                    s:refresh()
                    for a in s:objects("A"):each() do a:to_table(3) end
                end
                local found = faults()
                assert(found == "", callback .. " " .. name .. ": " .. found)
                s:close()
                collectgarbage()
            end
            return ran
        end
        """
}
