import EventLoops
import ObjectStore
import ScriptHost
import Testing

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
        let folder = try Folder()
        try folder.make("m")
        func write(_ text: String, _ name: String) throws {
            try folder.write(text, to: "m/" + name)
        }
        try write(Self.people, "0001_people.lua")
        try write(Self.notes, "0002_notes.lua")
        try write("return   \"x\" -- The suffix.\n", "helper.lua")
        func run(_ body: String) throws -> [String] {
            let script = try ScriptFixture(
                "local store, options = '\(folder.path)/s', { dir = '\(folder.path)/m' }\n" + body)
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
            try write("return 'y'", "helper.lua")
            #expect(try run(check) == ["2"])
            try write("\n\nreturn (  'x' )", "helper.lua")
            // Other tokens with the same meaning do not have the recorded checksum.
            #expect(try run(check) == ["2"])
            return
        }
        try write(
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
        try write("return ('x')", "helper.lua")
        try write(Self.people.replacing("'string'", with: "[[string]]"), "0001_people.lua")
        #expect(try run(check) == ["0"])
        try write(Self.people.replacing("\"--\"", with: "\"-\""), "0001_people.lua")
        #expect(try run(check) == ["2"])
    }

    /// Changes the entries of the record in the folder's store.
    private func change(_ folder: Folder, _ body: (inout MigrationLog.Entry) -> Void) throws {
        let store = try Store(
            StoreConfiguration(.file(folder.path + "/s")), scheduler: IdleScheduler())
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
