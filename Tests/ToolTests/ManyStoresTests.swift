import Testing

/// The number of in-memory stores is not limited.
@Suite struct ManyStoresTests {
    @Test func `a thousand in-memory stores are open at the same time`() throws {
        try Tool.run(
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
                """
        ).expectOutput("500500\n", error: "")
    }

    @Test func `closing an in-memory store releases its space immediately`() throws {
        try Tool.run(
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
                """
        ).expectOutput("true\n", error: "")
    }
}
