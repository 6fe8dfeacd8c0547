import TestThreads
import Testing

@testable import REPL

/// `.locals`, `.up` and `.down` after an error.
@Suite struct ErrorFrameTests {
    @Test func `the variables of each frame of an error are shown`() throws {
        let session = try TestSession()
        #expect(try session.run(".locals").hasPrefix("no error has occurred"))
        _ = try session.run(
            """
            local rate = 3
            function price(item)
              local total = item.cost * rate
              return total.x
            end
            function order(list)
              local sum = { n = #list }
              for i = 1, 2 do local item = list[i] sum[i] = price(item) .. "" end
              return sum
            end
            """)
        let error = try session.run("result = order { { cost = 2 }, { cost = 3 } }")
        #expect(error.contains("attempt to index a number value (local 'total')"))
        let locals = try session.run(".locals")
        #expect(locals.hasPrefix("frame 1 of 3: entry 2:4 in function 'price'"), "\(locals)")
        #expect(locals.contains(">"), "the line is marked")
        #expect(locals.contains("  item = { cost = 2 }") && locals.contains("  total = 6"))
        #expect(locals.contains("  outer rate = 3"))
        #expect(try session.run(".down") == "this is the innermost frame")
        #expect(try session.run(".up").hasPrefix("frame 2 of 3: entry 2:8 in function 'order'"))
        let outer = try session.run(".locals")
        #expect(outer.contains("  i = 1") && outer.contains("  sum = { n = 2 }"), "\(outer)")
        #expect(try session.run(".up").hasPrefix("frame 3 of 3: entry 3:1"))
        #expect(try session.run(".up") == "this is the outermost frame")
        #expect(try session.run(".down").hasPrefix("frame 2 of 3"))
        // A caught error has no effect; the next error starts at the innermost frame.
        #expect(try session.run("pcall(error, 'x')").contains("false"))
        #expect(try session.run(".locals").hasPrefix("frame 2 of 3"))
        _ = try session.run("local mine = 'text' error('again')")
        #expect(try session.run(".locals").contains("  mine = \"text\""))
    }

    @Test(arguments: [
        "local function f() return f() + 1 end f()",
        "local t = setmetatable({}, { __tostring = function() error('no') end }) error(t)",
        "local s = ('x'):rep(100) error({})",
        "local f = coroutine.wrap(function() local inside = 1 error('in a coroutine') end) f() f = nil",
        "local a <close> = setmetatable({}, { __close = function() error('closing') end }) error('body')",
        "local x = store:write(function() local dog = 1 error('rolled back') end)",
    ]) func `the session continues after every error`(_ entry: String) throws {
        let session = try TestSession()
        #expect(!(try session.run(entry)).isEmpty)
        #expect(!(try session.run(".locals")).isEmpty)
        #expect(try session.run("6 * 7") == "42")
    }

    @Test func `an error in a loaded file shows its lines`() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("function broken(t)\n  return t.a.b\nend\n", to: "part.lua")
        let session = try TestSession()
        _ = try session.run("dofile '\(file)'")
        let shown = try session.run("value = broken {}")
        #expect(shown.contains("> 2 |   return t.a.b"), "\(shown)")
        #expect(shown.contains("^"), "the name is marked")
        #expect(try session.run(".locals").contains("  t = {}"))
    }
}
