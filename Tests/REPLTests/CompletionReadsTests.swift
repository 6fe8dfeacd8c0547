import TestThreads
import Testing

@testable import REPL

/// The cost of completion does not depend on the stored data: completion reads no page of the store's file and runs no
/// code of the script.
@Suite(.serialized) struct CompletionReadsTests {
    /// A store file with linked objects, values of all kinds for completion, and metamethods that count their calls.
    static func session(objects: Int, in file: String) throws -> TestSession {
        let session = try TestSession()
        let shown = try session.run(
            """
            store = moonpool.open {
              path = "\(file)",
              schema = {
                Dog = { id = "int primary", name = "string", owner = "Person", friends = "Dog[]" },
                Person = { name = "string primary", dogs = "backlinks Dog.owner" },
              },
            }
            store:write(function()
              for id = 1, \(objects) do
                store:create("Dog", { id = id, name = "dog " .. id, owner = { name = "Ann" } }, "modified")
              end
            end)
            dogs, rex = store:objects("Dog"):where("id >= 1"):sorted("name"), store:object("Dog", 1)
            friends, frozen, steps = rex.friends, store:freeze():objects("Dog"), 0
            local function step() steps = steps + 1 end
            trap = setmetatable({}, {
              __index = step, __len = step, __pairs = step, __tostring = step, __name = "trap",
            })
            nested = setmetatable({ x = trap }, { __index = { inherited = true } })
            """)
        #expect(shown == "")
        return session
    }

    static let texts = [
        "ne", "store:", "print(store:objects('D", "store:objects('Dog'):wh",
        "store:objects('Dog')[1].na", "store:objects('Dog'):first().owner.na", "dogs:",
        "dogs[1].na",
        "dogs[1].owner.dogs[1].na", "dogs:where 'owner.na", "dogs:where { na", "dogs:sorted('own",
        "frozen:so", "frozen[1].na", "rex.", "rex:up", "rex.owner.", "rex:update { na",
        "friends:ap",
        "friends[1].na", "store:create('Dog', { na", "nested.", "nested.inh", ".schema D",
        ".help ob",
        ".explain dogs:where 'na", "print 'na", "string.f", "moonpool.", "nested.x", "tra",
    ]

    @Test(arguments: [10, 2000])
    func `completion reads no page of the store and runs no code of the script`(
        objects: Int
    ) throws {
        let folder = try TemporaryFolder()
        let file = folder.file("dogs.moonpool")
        let session = try Self.session(objects: objects, in: file)
        let found = try session.with { session in
            let steps = { session.context.state.globals["steps"].integer ?? -1 }
            let before = steps()
            var empty: [String] = []
            let touched = GuardedPages.touched(of: file) {
                empty = Self.texts.filter { session.completion(of: $0) == nil }
            }
            return (touched: touched, lua: steps() - before, empty: empty)
        }
        // The identity of the version is compared, to notice a replaced file.
        #expect(found.touched <= 1)
        #expect(found.lua == 0)
        #expect(found.empty == [])
        // The counters work: reading touches the file, and the metamethods count.
        let control = try session.with { session in
            let steps = { session.context.state.globals["steps"].integer ?? -1 }
            let before = steps()
            let touched = GuardedPages.touched(of: file) {
                _ = try? session.context.state.run("return #dogs, rex.name, trap.x", name: "=read")
            }
            return (touched: touched, lua: steps() - before)
        }
        #expect(control.touched > 0)
        #expect(control.lua > 0)
    }

    @Test func `completion reads only some keys of a large table`() throws {
        let session = try TestSession()
        _ = try session.run(
            "big = { alpha = 1 } for i = 1, 300000 do big['k' .. i] = i end methods = { go = print, ga = 1 }"
        )
        #expect(try session.complete("big.k").count == Session.maxCandidates)
        #expect(try session.complete("big.k29999").count <= 11)
        #expect(try session.complete("methods:g") == ["go"])
        #expect(try session.complete("methods.g") == ["ga", "go"])
    }
}
