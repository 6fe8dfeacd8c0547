import EventLoops
import LuaHost
import ScriptHost
import Synchronization
import SystemCalls
import TestThreads
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A change of a folder that ends after any of its steps is finished when the command runs again.
@Suite struct MigrationEditTests {
    private struct Killed: Error {}

    /// The primitives that change files.
    private static let steps = ["write", "rename", "remove", "make_folder"]

    /// Runs a command of `moonpool migrate` in a folder, which ends after this number of changes of files; returns
    /// whether it has finished.
    private func run(
        _ command: String, _ list: [String], _ fields: [String: LuaValue], in folder: String,
        steps: Int = .max, of names: [String] = Self.steps
    ) throws -> Bool {
        let outcome = Mutex<Result<Void, any Error>?>(nil)
        let script = try Script(ScriptConfiguration(name: "edit")) { context in
            let state = context.state
            let host = MigrationHost.attached(to: context)
            guard let primitives = state.runtime["host"].table else { return 1 }
            var left = steps
            for name in names {
                guard let original = primitives[name].function else { return 1 }
                primitives[name] = .function(
                    state.makeFunction(name) { call in
                        guard left > 0 else { throw Killed() }
                        left -= 1
                        return try call.answer(original.call(call.rest(from: 1)))
                    })
            }
            let arguments = state.makeTable(list.map { .text($0) })
            arguments["dir"] = .text(folder + "/m")
            arguments["store"] = .text(folder + "/s")
            for (name, value) in fields { arguments[name] = value }
            let result = Result {
                _ = try host.call("run", of: "commands", [.text(command), .table(arguments)])
            }
            outcome.withLock { $0 = result }
            return 0
        }
        _ = script.wait()
        switch outcome.withLock({ $0 }) {
        case .success?: return true
        case .failure(let error)?:
            guard error is Killed || (error as? LuaError)?.underlying is Killed else {
                throw error
            }
            return false
        case nil: throw Killed()
        }
    }

    /// The texts of the files in a folder and its subfolder `squashed`, by name.
    private func content(_ folder: String) throws -> [String: String] {
        var result: [String: String] = [:]
        for part in ["m/", "m/squashed/"] {
            for name in ProcessServices.names(in: "\(folder)/\(part)") ?? []
            where name != "squashed" {
                let bytes = try ProcessServices.readWhole("\(folder)/\(part)\(name)")
                result[part + name] = String(decoding: bytes, as: UTF8.self)
            }
        }
        return result
    }

    /// Makes a folder with these migrations, the first `applied` of which were applied to a store.
    private func make(_ files: KeyValuePairs<String, String>, applied: Int) throws
        -> TemporaryFolder
    {
        let folder = try TemporaryFolder()
        try folder.make("m")
        for (index, (name, text)) in files.enumerated() {
            if index == applied, applied > 0 { try up(folder) }
            try folder.write(text, to: "m/" + name)
        }
        if applied == files.count { try up(folder) }
        return folder
    }

    private func up(_ folder: TemporaryFolder) throws {
        try expectScript("moonpool.migrate.up('\(folder.path)/s', { dir = '\(folder.path)/m' })")
    }

    /// Compares the end of a command with its end after it was killed after every change of a file.
    private func killEverywhere(
        _ command: String, _ list: [String] = [], _ fields: [String: LuaValue] = [:],
        _ make: () throws -> TemporaryFolder
    ) throws {
        let done = try make()
        #expect(try run(command, list, fields, in: done.path))
        let after = try content(done.path)
        var steps = 0
        var isFinished = false
        while !isFinished {
            let folder = try make()
            isFinished = try run(command, list, fields, in: folder.path, steps: steps)
            if !isFinished {
                #expect(
                    try run(command, list, fields, in: folder.path), "killed after \(steps) steps")
            }
            // A file under its temporary name is written again by the next change.
            let left = try content(folder.path).filter { !$0.key.hasSuffix(".new") }
            #expect(left == after, "killed after \(steps) steps")
            steps += 1
        }
        #expect(steps > 3)
    }

    private static let person = "return { schema = { P = { id = 'int primary' } } }"
    private static let mail = "return { changes = { P = { mail = 'string?' } } }"
    private static let phone = "return { changes = { P = { phone = 'string?' } } }"

    @Test func `a merge of several files`() throws {
        try killEverywhere("merge", ["0002_phone.lua", "0003_fax.lua"]) {
            try make(
                [
                    "0001_person.lua": Self.person, "0002_mail.lua": Self.mail,
                    "0002_phone.lua": Self.phone,
                    "0002_phone_test.lua": "return { after = function() end }",
                    "0003_fax.lua": "return { changes = { P = { fax = 'string?' } } }",
                ], applied: 0)
        }
    }

    @Test func `a squash`() throws {
        try killEverywhere("squash", [], ["to": 2]) {
            try make(
                [
                    "0001_person.lua": Self.person, "0002_phone.lua": Self.phone,
                    "0002_phone_test.lua": "return { after = function() end }",
                ], applied: 0)
        }
    }

    @Test func `a repair that adopts the schema of a store`() throws {
        try killEverywhere("repair", [], ["yes": true]) {
            let folder = try make(
                ["0001_person.lua": Self.person, "0002_phone.lua": Self.phone], applied: 2)
            try expectScript(
                """
                local store <close> = moonpool.open '\(folder.path)/s'
                store:define { Extra = { x = "int" } }
                """)
            return folder
        }
    }

    @Test func `a backup stays if the run ends after the commit`() throws {
        let folder = try make(
            [
                "0001_person.lua": """
                return { schema = { P = { n = 'int' } }, up = function(m) m:create('P', { n = 1 }) end }
                """,
                "0002_two.lua": """
                return { changes = {}, up = function(m) m:each('P', function(old, new) new.n = 2 end) end }
                """,
            ], applied: 1)
        let fields: [String: LuaValue] = ["fail_on": "", "json": true]
        // The time is read before the run, before the migration, and after the commit.
        let failure = #expect(throws: MigrationFailure.self) {
            try run("up", [], fields, in: folder.path, steps: 2, of: ["clock"])
        }
        #expect(failure?.scriptMessage.contains("'0002_two.lua'; it is applied") == true)
        #expect(ProcessServices.exists(folder.file("s.backup-1")))
        try expectScript(
            """
            local status = moonpool.migrate.status('\(folder.path)/s', { dir = '\(folder.path)/m' })
            log(#status.pending .. status.applied[2].backup)
            """, logs: ["0s.backup-1"])
    }

    @Test func `migrations do not see the functions that run them`() throws {
        let folder = try make(
            [
                "0001_person.lua": """
                assert(host == nil and _G.host == nil and not pcall(require, "migrate/up"))
                string.format, string.match, table.concat, select = nil, nil, nil, nil
                \(Self.person)
                """
            ], applied: 0)
        try expectScript(
            """
            local options = { dir = '\(folder.path)/m' }
            moonpool.migrate.up('\(folder.path)/s', options)
            log(moonpool.migrate.check('\(folder.path)/s', options))
            """, logs: ["0"])
    }
}
