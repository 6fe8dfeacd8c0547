import Testing

/// Earlier versions, undo and redo in scripts.
@Suite struct HistoryTests {
    let session: Session

    init() throws { session = try Session() }

    @Test func `a store shows its content at an earlier version`() {
        session.expect(
            """
            local rex = dog { id = 1, age = 3, marks = { 1, 2 }, owner = { name = "Ann" } }
            local v = store.version
            store:write(function() rex.age = 4 rex.marks:append(3) rex.owner = nil end)
            dog { id = 2 }
            local past = store:at(v)
            assert(past.version == v and past.is_frozen and past.is_read_only and past.path == store.path)
            local old = past:object("Dog", 1)
            assert(old.age == 3 and #old.marks == 2 and old.owner.name == "Ann" and old.owner.owned[1] == old)
            assert(#past:objects "Dog" == 1 and past:objects("Dog"):where("age == 3")[1] == old)
            assert(old:is_frozen() and old:thaw() == rex and old.store == past and store:at(v) == past)
            assert(tostring(past):find("version " .. v, 1, true))
            assert(store:at(store.version) == store:freeze())
            assert(code(function() old.age = 1 end) == "frozen" and code(past.undo, past) == "frozen")
            assert(code(store.at, store, store.version + 1) == "out_of_range")
            assert(message(store.at, store, 0):find("oldest version is"))
            assert(message(store.at, store, -1):find("0 or more"))
            assert(not pcall(store.at, store, "x") and not pcall(store.at, store) and not pcall(store.at, store, 1.5))
            past:close()
            assert(code(past.objects, past, "Dog") == "closed")
            """)
    }

    @Test func `undo and redo change the data, and observers receive the changes`() {
        session.expect(
            """
            local rex = dog { id = 1, age = 3 }
            turn()
            local observed = {}
            local token = store:objects("Dog"):observe(function(c)
                observed[#observed + 1] = #c.deletions .. #c.insertions .. #c.modifications
            end)
            turn()
            store:write(function() rex.age = 4 end)
            turn()
            store:write(function() store:delete(rex) end)
            turn()
            assert(store:undo() == store.version - 1)
            assert(rex:is_valid() and rex.age == 4)
            turn()
            assert(store:undo() < store.version - 1 and rex.age == 3)
            turn()
            assert(table.concat(observed, " ") == "000 001 100 010 001", table.concat(observed, " "))
            store:redo()
            assert(rex.age == 4)
            store:redo()
            assert(not rex:is_valid())
            assert(message(store.redo, store):find("nothing to redo"))
            store:undo()
            store:write(function() rex.age = 5 end)
            assert(code(store.redo, store) == "invalid_argument")
            store:begin_write()
            assert(code(store.undo, store) == "already_in_write")
            store:cancel_write()
            token:invalidate()
            """)
    }

    @Test func `undo with a version restores its state in one commit, and redo reverses that`() {
        session.expect(
            """
            local rex = dog { id = 1, age = 3 }
            local v = store.version
            store:write(function() rex.age = 4 end)
            dog { id = 2 }
            store:write(function() rex.age = 5 end)
            local last = store.version
            assert(store:undo(v) == v and store.version == last + 1)
            assert(rex.age == 3 and #store:objects "Dog" == 1)
            local versions = store:versions()
            local newest = versions[#versions]
            assert(newest.version == last + 1 and newest.restored == v)
            store:redo()
            assert(rex.age == 5 and #store:objects "Dog" == 2)
            assert(code(store.undo, store, store.version) == "invalid_argument")
            assert(code(store.undo, store, store.version + 1) == "out_of_range")
            assert(message(store.undo, store, -1):find("0 or more"))
            """)
    }

    @Test func `all changes after the last schema change can be undone`() {
        session.expect(
            """
            for i = 1, 5 do dog { id = i } end
            for i = 5, 1, -1 do
                store:undo()
                assert(#store:objects "Dog" == i - 1)
            end
            assert(message(store.undo, store):find("changed the schema"))
            for i = 1, 5 do store:redo() end
            assert(#store:objects "Dog" == 5)
            """)
    }

    @Test func `diff returns added, removed and changed objects with values`() {
        session.expect(
            """
            local rex, max = dog { id = 1, age = 3 }, dog { id = 2 }
            local v = store.version
            store:write(function() rex.age = 4 rex.marks:append(7) rex.owner = { name = "Ann" } end)
            store:write(function() store:delete(max) end)
            dog { id = 3, name = "New" }
            local diff = store:diff(v, store.version)
            assert(#diff.Dog.inserted == 1 and diff.Dog.inserted[1].name == "New")
            assert(#diff.Dog.deleted == 1 and diff.Dog.deleted[1].id == 2)
            local changed = diff.Dog.modified
            assert(#changed == 1 and changed[1].object:thaw() == rex)
            local byName = {}
            for _, p in ipairs(changed[1].properties) do byName[p.name] = p end
            assert(byName.age.old == 3 and byName.age.new == 4)
            assert(#byName.marks.old == 0 and byName.marks.new[1] == 7)
            assert(byName.owner.old == nil and byName.owner.new.name == "Ann")
            assert(#diff.Person.inserted == 1 and diff.Toy == nil)
            assert(store:diff(store.version, v).Dog.deleted[1].name == "New")
            assert(next(store:diff(v, v)) == nil)
            assert(code(store.diff, store, v, store.version + 9) == "out_of_range")
            """)
    }

    @Test func `versions lists the changes of each`() {
        session.expect(
            """
            local rex = dog { id = 1 }
            store:write(function() rex.age = 1 end)
            store:undo()
            local versions = store:versions()
            local last = versions[#versions]
            assert(last.version == store.version and last.restored == store.version - 2 and last.is_kept)
            assert(last.classes.Dog.modified == 1 and last.classes.Dog.inserted == 0)
            assert(versions[#versions - 2].classes.Dog.inserted == 1)
            local schema = 0
            for _, version in ipairs(versions) do if version.changes_schema then schema = schema + 1 end end
            assert(schema >= 1)
            """)
    }

    @Test
    func `history = 0 keeps no versions, and another number is an error while the store is open`() {
        session.expect(
            """
            local s = moonpool.open { in_memory = "h0", history = 0, schema = { A = { x = "int" } } }
            s:write(function() s:create("A", { x = 1 }) end)
            assert(message(s.undo, s):find("history = 0"))
            assert(code(moonpool.open, { in_memory = "h0", history = 5 }) == "invalid_argument")
            assert(message(moonpool.open, { in_memory = "h1", history = -1 }):find("history"))
            """)
    }
}

/// Recording and replaying changes in scripts.
@Suite struct RecordingTests {
    let session: Session

    init() throws { session = try Session() }

    @Test func `replaying a recording notifies the observers of another store`() {
        session.expect(
            """
            local path = os.tmpname()
            local recording = store:record(path)
            assert(recording.path == path and recording.is_active and recording.steps == 0)
            local rex = dog { id = 1, age = 3, owner = { name = "Ann" }, toys = { { label = "ball", price = 1 } } }
            store:write(function() rex.age = 4 end)
            store:undo()
            store:write(function() store:delete(rex) end)
            assert(recording.steps == 4)
            recording:stop()
            recording:stop()
            dog { id = 2 }
            assert(not recording.is_active and recording.steps == 4 and tostring(recording):find("stopped"))

            local copy = moonpool.open { in_memory = "copy of " .. path }
            copy:define { Dog = store:schema "Dog", Person = store:schema "Person", Toy = store:schema "Toy" }
            local observed = {}
            local token = copy:objects("Dog"):observe(function(change)
                if change.type == "initial" then return end
                observed[#observed + 1] = "-" .. #change.deletions .. "+" .. #change.insertions .. "~" .. #change.modifications
            end)
            turn()
            local steps, changes = moonpool.replay(path, copy)
            turn()
            assert(steps == 4 and changes == 6, changes)
            assert(table.concat(observed, " ") == "-0+1~0 -0+0~1 -0+0~1 -1+0~0", table.concat(observed, " "))
            assert(#copy:objects "Dog" == 0 and copy:object("Person", "Ann") and #copy:objects "Toy" == 1)
            token:invalidate()
            os.remove(path)
            """)
    }

    @Test func `a fault in a recording is reported with its line`() {
        session.expect(
            """
            local path = os.tmpname()
            local function replay(text)
                local file <close> = assert(io.open(path, "w"))
                file:write(text)
                file:close()
                return message(moonpool.replay, path, store)
            end
            assert(replay('{"id":1}\\n'):find("line 1"))
            assert(replay('{"$changes":1}\\n{"change":"deleted","class":"Dog","key":5}\\n'):find("line 2: the store has no 'Dog' with the key 5"))
            assert(not store.is_in_write)
            assert(message(moonpool.replay, "/nowhere/at/all", store):find("/nowhere/at/all"))
            assert(message(store.record, store, "/nowhere/at/all"):find("/nowhere/at/all"))
            assert(not pcall(moonpool.replay, path) and not pcall(store.record, store))
            store:begin_write()
            assert(code(moonpool.replay, path, store) == "already_in_write")
            assert(code(store.record, store, path) == "already_in_write")
            store:cancel_write()
            os.remove(path)
            """)
    }

    @Test func `closing the store ends its recordings`() {
        session.expect(
            """
            local path = os.tmpname()
            local other = moonpool.open { in_memory = path, schema = { A = { x = "int" } } }
            local recording = other:record(path)
            other:write(function() other:create("A", { x = 1 }) end)
            other:close()
            assert(not recording.is_active and recording.steps == 1)
            local lines = 0
            for line in io.lines(path) do lines = lines + 1 end
            assert(lines == 3)
            do local scoped <close> = store:record(path) end
            os.remove(path)
            """)
    }
}
