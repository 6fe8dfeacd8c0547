import ScriptHost
import Testing

@Suite struct SurplusArgumentTests {
    @Test func `a call with arguments that a method does not take changes nothing`() throws {
        let script = try Script(ScriptConfiguration(name: "surplus")) { context in
            _ = try context.state.run(
                """
                local s <close> = moonpool.open { in_memory = "surplus", schema = { A = { id = "int primary" } } }
                s:write(function() for i = 1, 5 do s:create("A", { id = i }) end end)
                local all = s:objects "A"
                local function refused(wanted, body, ...)
                  local ok, err = pcall(body, ...)
                  assert(not ok and err.code == "invalid_argument", wanted)
                  assert(err.message:find(wanted, 1, true), err.message)
                end
                s:write(function()
                  refused("'objects' takes 1 argument, got 2; write store:objects(class)", function()
                    s:delete(s:objects("A", "id == 2"))
                  end)
                  refused("'delete' takes 1 argument, got 2", s.delete, s, all[1], all[2])
                end)
                refused("'limit' takes 1 argument, got 2", all.limit, all, 2, 1)
                refused("'last' takes no arguments, got 1", all.last, all, 2)
                refused("'is_valid' takes no arguments, got 1", all[1].is_valid, all[1], true)
                assert(#all == 5)
                -- Functions pass on arguments that they have not received as nil.
                assert(#all:limit(2, nil, nil) == 2 and all:last(nil).id == 5)
                """)
            return 0
        }
        #expect(script.wait() == 0)
    }

    @Test func `names of other libraries lead to ours`() throws {
        let script = try Script(ScriptConfiguration(name: "names")) { context in
            _ = try context.state.run(
                """
                local s <close> = moonpool.open { in_memory = "names", schema = { A = { l = "int[]" } } }
                local a = s:write(function() return s:create("A") end)
                local function hint(value, name)
                  local ok, err = pcall(function() return value[name] end)
                  return err.message:match "did you mean '(.*)'"
                end
                assert(hint(s, "get") == "object" and hint(s, "insert") == "create")
                assert(hint(s, "transaction") == "write" and hint(s, "query") == "objects")
                local all = s:objects "A"
                assert(hint(all, "take") == "limit" and hint(all, "subscribe") == "observe")
                assert(hint(all, "find") == "where" and hint(all, "get") == "[1]")
                assert(hint(all, "delete") == "store:delete")
                assert(hint(a.l, "push") == "append" and hint(all, "push") == nil)
                assert(hint(all, "xyzzy") == nil and hint(s, "wriet") == "write")
                """)
            return 0
        }
        #expect(script.wait() == 0)
    }
}
