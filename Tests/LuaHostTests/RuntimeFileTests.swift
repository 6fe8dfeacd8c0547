import LuaHost
import Testing

@Suite("The program's own Lua files")
struct RuntimeFileTests {
    @Test("run once in each state, with globals of their own")
    func once() throws {
        let state = LuaState()
        let strings = try #require(try state.runtimeFile("strings").table)
        #expect(try state.runtimeFile("strings").table == strings)
        #expect(state.globals["strings"].isNil)
        let count = try #require(strings["count"].function)
        #expect(try count.call([.integer(2), .text("dog")]).first?.text == "2 dogs")
    }

    @Test("see the standard functions as they were before scripts ran", arguments: [false, true])
    func captured(isConfined: Bool) throws {
        let state = LuaState(
            libraries: isConfined ? .confined : .all, isConfined: isConfined)
        try state.run("string.format = nil; table.concat = nil; print = nil; math = nil")
        let runtime = state.runtime
        #expect(runtime["string"].table?["format"].function != nil)
        #expect(runtime["table"].table?["concat"].function != nil)
        #expect(runtime["print"].function != nil)
        #expect(runtime["math"].table?["floor"].function != nil)
        // These lead to tables that scripts can change.
        #expect(runtime["_G"].isNil)
        #expect(runtime["package"].isNil)
        #expect(runtime["os"].table?["exit"].isNil == isConfined)
    }

    @Test("can use each other")
    func require() throws {
        let state = LuaState()
        _ = try state.runtimeFile("strings")
        let own = try #require(state.runtime["require"].function)
        #expect(try own.call([.text("strings")]).first == state.runtimeFile("strings"))
    }
}
