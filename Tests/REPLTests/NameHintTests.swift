import Testing

@testable import REPL

@Suite struct NameHintTests {
    @Test func `a misspelled name gets a suggestion`() throws {
        let session = try TestSession()
        #expect(try session.run("stroe:objects 'Dog'").contains("did you mean 'store'?"))
        #expect(try session.run("pirnt('x')").contains("did you mean 'print'?"))
        #expect(try session.run("stroe") == "nil\ndid you mean 'store'?")
        #expect(try session.run("moonpool.opn") == "nil\ndid you mean 'open'?")
        #expect(try session.run("string.fromat") == "nil\ndid you mean 'format'?")
        #expect(try session.run("moonpool.opne 'x'").contains("did you mean 'open'?"))
        #expect(try session.run("('x'):uper()").contains("attempt to call"))
        _ = try session.run("local kennel = {}")
        #expect(try session.run("kenel.x = 1").contains("did you mean 'kennel'?"))
        #expect(try session.run("string.fromat('x')").contains("did you mean 'format'?"))
    }

    @Test func `a name without similar names gets no suggestion`() throws {
        let session = try TestSession()
        #expect(try session.run("zzzzzz") == "nil")
        #expect(try session.run("string.zzzzzz") == "nil")
        #expect(!(try session.run("a.b.c")).contains("did you mean"))
        #expect(try session.run("x = nil") == "")
        #expect(try session.run("nil") == "nil")
        #expect(!(try session.run("zzzzzz.x")).contains("did you mean"))
    }

    @Test func `suggestions run no code of the script`() throws {
        let session = try TestSession()
        _ = try session.run(
            "touched = 0 trap = setmetatable({ opened = 1 }, { __index = function() touched = touched + 1 end })"
        )
        #expect(try session.run("trap.opned()").contains("did you mean 'opened'?"))
        #expect(try session.run("touched") == "1")
    }
}
