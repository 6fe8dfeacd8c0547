import LuaHost
import Testing

@Suite("The program's own Lua files")
struct RuntimeFileTests {
    @Test("run once in each state, with globals of their own")
    func once() throws {
        let state = LuaState()
        let text = try #require(try state.runtimeFile("prompt/text").table)
        #expect(try state.runtimeFile("prompt/text").table == text)
        #expect(state.globals["text"].isNil)
        try state.run("string.format = nil; string.gsub = nil")
        let count = try #require(text["count"].function)
        #expect(try count.call([.integer(2000), .text("dog")]).first?.text == "2,000 dogs")
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
        let text = try state.runtimeFile("prompt/text")
        let own = try #require(state.runtime["require"].function)
        #expect(try own.call([.text("prompt/text")]).first == text)
    }
}
