import Testing

/// The number of in-memory stores is not limited.
@Suite struct ManyStoresTests {
    @Test func `a thousand in-memory stores are open at the same time`() throws {
        let outcome = try Tool.run(
            script: """
                local stores = {}
                for i = 1, 1000 do
                  stores[i] = moonpool.open {
                    in_memory = "store " .. i, schema = { Dog = { id = "int primary", name = "string" } },
                  }
                  stores[i]:write(function() stores[i]:create("Dog", { id = i, name = "d" .. i }) end)
                end
                local sum = 0
                for i, store in ipairs(stores) do
                  assert(store:object("Dog", i).name == "d" .. i and #store:objects "Dog" == 1)
                  sum = sum + store:objects("Dog"):sum "id"
                end
                assert(moonpool.open { in_memory = "store 500" } == stores[500])
                print(sum)
                """)
        #expect(outcome.error == "")
        #expect(outcome.output == "500500\n")
    }

    @Test func `closing an in-memory store releases its space immediately`() throws {
        let outcome = try Tool.run(
            script: """
                local function maps()
                  local _, count = io.open("/proc/self/maps"):read("a"):gsub("moonpool%-", "")
                  return count
                end
                for i = 1, 300 do
                  local store = moonpool.open {
                    in_memory = "one after the other", schema = { Dog = { name = "string" } },
                  }
                  assert(#store:objects "Dog" == 0, "what was closed is gone")
                  store:write(function() store:create("Dog", { name = "x" }) end)
                  store:close()
                end
                print(maps() <= 2)
                """)
        #expect(outcome.error == "")
        #expect(outcome.output == "true\n")
    }

    @Test func `an in-memory store exists while one script of the process has it open`() throws {
        let outcome = try Tool.run(
            script: """
                local store = moonpool.open {
                  in_memory = "shared", schema = { Dog = { name = "string" } },
                }
                store:write(function() store:create("Dog", { name = "Rex" }) end)
                local w = moonpool.worker("w", function(store)
                  moonpool.on_message(function()
                    moonpool.post_to_parent(#store:objects "Dog")
                    moonpool.stop()
                  end)
                  moonpool.post_to_parent "open"
                end, store)
                local observed
                moonpool.on_message(function(value) observed = value end)
                assert(moonpool.wait_until(function() return observed == "open" end, 30))
                store:close()
                w:post()
                w:join()
                assert(moonpool.wait_until(function() return observed == 1 end, 30))
                local again = moonpool.open { in_memory = "shared" }
                print(observed, again:schema().Dog)
                """)
        #expect(outcome.error == "")
        #expect(outcome.output == "1\tnil\n")
    }
}
