import EventLoops
import ObjectStore
import ScriptHost
import SystemCalls
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Records that earlier builds wrote, with the checksums of tokens.
@Suite struct MigrationRecordTests {
    private static let people = """
        -- People, with a helper.
        local suffix = require "helper" --[[ a
          comment ]]
        return {
          schema = { Person = { id = "int primary", name = 'string' } },
          up = function(m) m:create("Person", { id = 1, name = "--" .. suffix .. [[ a]] }) end
        }

        """
    private static let notes = "return { changes = { Person = { note = \"string?\" } } }\n"

    @Test(arguments: [true, false])
    func `files of an old record are recognized and recorded again`(isEdited: Bool) throws {
        var template = Array("/tmp/moonpool-record-XXXXXX".utf8CString)
        _ = try #require(mkdtemp(&template))
        let folder = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        defer {
            for name in [
                "m/0001_people.lua", "m/0002_notes.lua", "m/helper.lua", "m", "s", "s-lock", "",
            ] { remove("\(folder)/\(name)") }
        }
        mkdir(folder + "/m", 0o755)
        func write(_ text: String, _ name: String) {
            #expect(ProcessServices.write(text, to: "\(folder)/m/\(name)") == nil)
        }
        write(Self.people, "0001_people.lua")
        write(Self.notes, "0002_notes.lua")
        write("return   \"x\" -- The suffix.\n", "helper.lua")
        func run(_ body: String) throws -> [String] {
            let script = try ScriptFixture(
                "local store, options = '\(folder)/s', { dir = '\(folder)/m' }\n" + body)
            _ = script.finish()
            return script.log
        }
        let check = "log(tostring(moonpool.migrate.check(store, options)))"
        #expect(try run("moonpool.migrate.up(store, options) " + check) == ["0"])
        // The record as an earlier build wrote it.
        let checksums = ["86a23fb92cf0476e", "0a6df4b5eae0f770"]
        try change(folder) { entry in
            #expect(entry.checksum != checksums[entry.number - 1])
            entry.checksum = checksums[entry.number - 1]
            entry.codeChecksum = "69fec9929ffd5414"
            entry.helpers = entry.helpers.mapValues { _ in "0ea960ea4364d1fd" }
        }
        if isEdited {
            write("return 'y'", "helper.lua")
            #expect(try run(check) == ["2"])
            write("\n\nreturn (  'x' )", "helper.lua")
            // Other tokens with the same meaning do not have the recorded checksum.
            #expect(try run(check) == ["2"])
            return
        }
        write(
            "-- Another comment.\n\n" + Self.people.replacing("  up", with: "\tup"),
            "0001_people.lua")
        #expect(try run(check) == ["0"])
        let list =
            "for _, m in ipairs(moonpool.migrate.status(store, options).applied) do log(m.checksum) end"
        #expect(try run(list) == checksums)
        #expect(try run("log(#moonpool.migrate.up(store, options).applied)") == ["0"])
        #expect(Set(try run(list)).isDisjoint(with: checksums))
        try change(folder) { entry in
            // As another release of Lua would have recorded it.
            #expect(entry.checksum.hasSuffix("+" + checksums[entry.number - 1]))
            entry.checksum = "0123456789abcdef+" + checksums[entry.number - 1]
        }
        #expect(try run(check) == ["0"])
        #expect(try run("log(#moonpool.migrate.up(store, options).applied)") == ["0"])
        // The new checksums ignore everything that the compiler ignores.
        write("return ('x')", "helper.lua")
        write(Self.people.replacing("'string'", with: "[[string]]"), "0001_people.lua")
        #expect(try run(check) == ["0"])
        write(Self.people.replacing("\"--\"", with: "\"-\""), "0001_people.lua")
        #expect(try run(check) == ["2"])
    }

    /// Changes the entries of the record in the folder's store.
    private func change(
        _ folder: String, _ body: (inout MigrationLog.Entry) -> Void
    ) throws {
        let store = try Store(
            StoreConfiguration(.file(folder + "/s")), scheduler: IdleScheduler())
        defer { store.close() }
        let transaction = try store.beginMigration()
        var log = transaction.log
        log.replaceEntries(
            log.entries.map { entry in
                var entry = entry
                body(&entry)
                return entry
            })
        let change = try transaction.change(
            to: store.schema.classes.map(\.unplaced), version: store.schema.version)
        try change.apply()
        try change.commit(recording: log)
    }
}
