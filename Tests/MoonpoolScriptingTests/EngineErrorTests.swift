import MoonpoolScripting
import Synchronization
import Testing

private struct Refused: MoonpoolError, Equatable {
    var what: String
    var code: ErrorCode { "refused" }
    var message: String { "\(what) is refused" }
}
private struct Plain: Error, Equatable {}
private struct Pet: Model {
    var name = ""
    var age = 0
}
private final class Gate: ScriptObject {
    static let scriptClass = ScriptClass<Gate>(
        "Gate",
        [
            .new("Gate(name)") { (name: String) throws -> Gate in throw Refused(what: name) }
        ])
}

@Suite struct EngineErrorTests {
    private func error(
        sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
    ) async -> (any MoonpoolError)? {
        do {
            try await body()
            Issue.record("nothing was thrown", sourceLocation: sourceLocation)
        } catch let error as any MoonpoolError {
            #expect(!error.message.isEmpty, sourceLocation: sourceLocation)
            return error
        } catch {
            Issue.record("without a code: \(error)", sourceLocation: sourceLocation)
        }
        return nil
    }

    @Test func `errors of runs, names and values have a code`() async throws {
        let engine = try ScriptEngine(
            .sandboxed(limits: ScriptLimits(memory: 16 << 20, instructions: 10_000_000)))
        #expect(await error { try await engine.run("x =") }?.code == .syntax)
        #expect(await error { try await engine.run("error('no')") }?.code == .error)
        #expect(await error { try await engine.run("error({ code = 'mine' })") }?.code == "mine")
        #expect(await error { try await engine.run("while true do end") }?.code == .limitExceeded)
        #expect(
            await error { try await engine.run("t = ('x'):rep(1 << 30)") }?.code == .limitExceeded)
        #expect(
            await error { _ = try await engine.run("return {}", as: Int.self) }?.code
                == .typeMismatch)
        #expect(await error { try await engine.call("missing") }?.code == .typeMismatch)
        #expect(await error { try engine.set("1st", to: 1) }?.code == .invalidArgument)
        #expect(
            await error { try engine.register("f(") { (n: Int) in n } }?.code == .invalidArgument)
        #expect(
            await error { try await engine.open(.file("/nowhere/a.moonpool"), models: Pet.self) }?
                .code == .invalidArgument)
        #expect(
            await error { try await engine.run("moonpool.open('/etc/a.moonpool')") }?.code
                == .invalidArgument)
        await engine.close()
        #expect(await error { try await engine.run("return 1") }?.code == .closed)
    }

    @Test func `an error type of the program keeps its code in Lua`() async throws {
        let engine = try ScriptEngine(.sandboxed(limits: .none))
        try await engine.open(.memory("error pets"), models: Pet.self)
        try engine.register("direct(n)") { (n: Int) throws -> Int in throw Refused(what: "\(n)") }
        try engine.register("later(n)") { (n: Int) async throws -> Int in
            throw Refused(what: "\(n)")
        }
        try engine.register(Gate.self)
        try engine.register(Pet.self) { pet in
            pet.method("method()") { (pet: Live<Pet>) throws -> Int in
                throw Refused(what: pet.name)
            }
            pet.property("property") { pet throws -> Int in throw Refused(what: pet.name) }
            pet.function("make()") { () throws -> Int in throw Refused(what: "make") }
        }
        try await engine.run(
            "pet = store:write(function() return store:create('Pet', { name = '1' }) end)")
        for call in [
            "direct(1)", "later(1)", "Gate('1')", "pet:method()", "return pet.property",
            "Pet['make']()",
        ] {
            let seen: String = try await engine.run(
                """
                local ok, err = pcall(function() \(call) end)
                return err.code .. ': ' .. err.message
                """)
            #expect(seen.hasPrefix("refused: ") && seen.hasSuffix(" is refused"), "\(call)")
            let error = await error { try await engine.run(call) }
            #expect(error?.code == "refused", "\(call)")
            #expect((error as? ScriptFailure)?.underlying is Refused, "\(call)")
        }
    }

    @Test func `an error without a code has the code 'error' and keeps its identity`() async throws
    {
        let engine = try ScriptEngine(.sandboxed)
        try engine.register("plain()") { () throws -> Int in throw Plain() }
        let error = await error { try await engine.run("plain()") }
        #expect(error?.code == .error)
        #expect((error as? ScriptFailure)?.underlying as? Plain == Plain())
    }

    @Test func `a host function beyond a limit of its script gets a code`() async throws {
        let engine = try ScriptEngine(.sandboxed(limits: ScriptLimits(memory: 8 << 20)), state: 0)
        try await engine.open(.memory("error pets"), models: Pet.self)
        let codes = Mutex<[ErrorCode]>([])
        try engine.register("fill()") { (call: ScriptCall<Int>) in
            do {
                try call.write { tx in
                    let name = String(repeating: "x", count: 1 << 16)
                    for _ in 0..<1_000 { try tx.insert(Pet(name: name)) }
                }
            } catch let error as any MoonpoolError {
                codes.withLock { $0.append(error.code) }
            }
        }
        _ = try? await engine.run("fill()")
        #expect(codes.withLock { $0 } == [.limitExceeded])
    }
}
