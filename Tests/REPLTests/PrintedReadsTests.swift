import Testing

@testable import REPL

@Suite struct PrintedReadsTests {
    @Test(arguments: [
        "moonpool.inspect(a)", "moonpool.inspect(b)", "moonpool.inspect(store:objects 'P')",
        "moonpool.inspect { a }", "moonpool.inspect(b:to_table(0))", "moonpool.inspect(a.l)",
        "tostring(a) .. tostring(b.l)",
    ]) func `an effect that prints runs again when the printed text changes`(
        expression: String
    ) throws {
        let session = try TestSession()
        let shown = try session.run(
            """
            store = moonpool.open {
              in_memory = tostring(moonpool.uuid()),
              schema = {
                P = {
                  id = "int primary", i = "int?", p = "P", l = "P[]", st = "P<>", ints = "int[]",
                  mp = "int{}", ps = "P{}", back = "backlinks P.p", x = "mixed", e = "E",
                },
                E = { embedded = true, q = "int?" },
              },
            }
            a, b = store:write(function()
              local a = store:create("P", { id = 1 })
              return a, store:create("P", { id = 2, p = a, x = { 1 } })
            end)
            local function text() return \(expression) end
            local last
            local effect <close> = moonpool.effect(function() last = text() end)
            for name, change in pairs {
              list = function() a.l:append(b) end, set = function() a.st:add(b) end,
              ints = function() a.ints:append(1) end, map = function() a.mp.k = 1 end,
              links = function() a.ps.k = b end, second = function() b.l:append(a) end,
              backlinks = function() store:create("P", { id = 3, p = a }) end,
              value = function() a.i = 7 end, mixed = function() a.x = { 2 } end,
              embedded = function() a.e = { q = 3 } end,
            } do
              store:write(change)
              store:refresh()
              if last ~= text() then print("stale after", name) end
            end
            """)
        #expect(shown == "")
    }
}
