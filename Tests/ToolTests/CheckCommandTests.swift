import Glibc
import TestThreads
import Testing

/// `moonpool check` distinguishes valid from damaged stores.
@Suite struct CheckCommandTests {
    private let folder = try! TemporaryFolder()

    private static let writer = """
        local store = moonpool.open {
          path = arg[1],
          schema = { Dog = { id = "int primary", name = "string indexed fulltext", age = "int", owner = "Person",
            indexes = { {"owner", "age"} } }, Person = { name = "string", dogs = "Dog[]" } },
        }
        store:write(function()
          local ann = store:create("Person", { name = "Ann" })
          for id = 1, 2000 do
            ann.dogs:append(store:create("Dog", { id = id, name = "Dog number " .. id, age = id % 7, owner = ann }))
          end
        end)
        """

    @Test func `the classes and objects of a valid file are counted`() throws {
        let store = folder.path + "/sound.moonpool"
        let script = try folder.write(Self.writer, to: "writer.lua")
        try Tool.run([script, store]).expectSuccess()
        try Tool.run(["check", store]).expectOutput("\(store) is intact: 2 classes, 2001 objects\n")
    }

    @Test func `the last common commit of two stores is printed`() throws {
        let (store, copy) = (folder.path + "/a.moonpool", folder.path + "/b.moonpool")
        let script = try folder.write(Self.writer, to: "writer.lua")
        try Tool.run([script, store]).expectSuccess()
        try Tool.run(["backup", store, copy]).expectSuccess()
        func write(_ path: String) throws {
            let text = "store:write(function() store:create('Person', { name = 'Bob' }) end)"
            try Tool.run([path, "-e", text]).expectSuccess()
        }
        func compare() throws -> Tool.Outcome {
            try Tool.run(["check", store, "--against", copy])
        }
        let same = try compare()
        #expect(same.exitCode == 0 && same.lines.count == 2, "\(same.output)\(same.error)")
        let common = "the last common commit of \(store) and \(copy) is version "
        #expect(same.output.contains(common))
        try write(store)
        let ahead = try compare().expectSuccess("\(store) continues up to version")
        #expect(ahead.lines[1] == same.lines[1])
        try write(copy)
        let diverged = try compare().expectError("have diverged after version")
        #expect(diverged.lines.count == 4 && diverged.lines[1] == same.lines[1])
    }

    /// A store with every kind of value and index, as bytes.
    private func makeWhole(_ folder: TemporaryFolder) throws -> [UInt8] {
        let store = folder.path + "/whole.moonpool"
        let script = try folder.write(Self.writer, to: "writer.lua")
        try Tool.run([script, store]).expectSuccess()
        let file = try #require(fopen(store, "r"))
        defer { fclose(file) }
        fseek(file, 0, SEEK_END)
        var whole = [UInt8](repeating: 0, count: ftell(file))
        rewind(file)
        _ = fread(&whole, 1, whole.count, file)
        return whole
    }

    private func check(_ bytes: [UInt8], _ folder: TemporaryFolder) throws -> Tool.Outcome {
        let damaged = folder.path + "/damaged.moonpool"
        unlink(damaged + "-lock")
        let out = try #require(fopen(damaged, "w"))
        fwrite(bytes, 1, bytes.count, out)
        fclose(out)
        return try Tool.run(["check", damaged])
    }

    @Test func `text that was changed outside of the store is detected by its checksum`() throws {
        let whole = try makeWhole(folder)
        var found = 0
        for round in 0..<6 {
            var bytes = whole
            // Finds text of the objects in a leaf by searching, because most pages of the file are unused.
            let needle = Array("Dog number \(round * 300 + 17)".utf8)
            guard
                let offset = bytes.indices.dropLast(needle.count).first(where: {
                    bytes[$0] == needle[0] && Array(bytes[$0..<$0 + needle.count]) == needle
                })
            else { continue }
            bytes[offset] = 0x58
            let outcome = try check(bytes, folder)
            #expect(outcome.exitCode == 0 || outcome.exitCode == 1)
            if outcome.exitCode == 1, outcome.output.contains("has changed since it was written") {
                found += 1
            }
        }
        #expect(found > 0)
    }

    @Test func `bytes changed at random, on any page, never crash the check`() throws {
        let whole = try makeWhole(folder)
        var random = SeededGenerator(seed: 1)
        var found = 0
        for _ in 0..<40 {
            var bytes = whole
            var changes: [(offset: Int, byte: UInt8)] = []
            for _ in 0..<[1, 1, 4, 16].randomElement(using: &random)! {
                // Every second change is in a page header, where damage has the largest effect.
                var offset = Int.random(in: 0..<bytes.count, using: &random)
                if Bool.random(using: &random) { offset = offset / 4096 * 4096 + offset % 64 }
                bytes[offset] ^= UInt8.random(in: 1...255, using: &random)
                changes.append((offset, bytes[offset]))
            }
            let outcome = try check(bytes, folder)
            #expect(outcome.exitCode == 0 || outcome.exitCode == 1, "\(changes): \(outcome.error)")
            if outcome.exitCode == 1 {
                found += 1
                #expect(outcome.error.contains("damaged.moonpool"), "\(outcome.error)")
            }
        }
        #expect(found > 0)
    }

    @Test func `a damaged schema is reported with the file's name`() throws {
        var bytes = try makeWhole(folder)
        // Every occurrence of the class name after its length, which is its form in the schema.
        let name = [3] + Array("Dog".utf8)
        for offset in bytes.indices.dropLast(name.count)
        where bytes[offset] == 3 && Array(bytes[offset..<offset + name.count]) == name {
            bytes[offset] = 0x7f
        }
        let outcome = try check(bytes, folder).expectError("damaged.moonpool' is damaged")
        #expect(outcome.output.contains("of table 'meta' has changed"), "\(outcome.output)")
    }

    @Test func `damaged pages are listed`() throws {
        let whole = try makeWhole(folder)
        var isNamed = false
        for page in 2..<whole.count / 4096 {
            var bytes = whole
            // The page's number, with which each page begins.
            guard bytes[page * 4096] == UInt8(page & 255), bytes[page * 4096 + 10] == 2 else {
                continue
            }
            bytes[page * 4096] ^= 1
            let outcome = try check(bytes, folder)
            // Unused pages can have any content.
            guard outcome.exitCode != 0 else { continue }
            #expect(outcome.output.contains("has the number \(page ^ 1)"))
            #expect(outcome.output.hasPrefix("page \(page) of "), "\(outcome.output)")
            #expect(outcome.error.contains("is damaged"), "\(outcome.error)")
            isNamed = true
            break
        }
        #expect(isNamed)
        try check(Array(whole[..<(whole.count / 2)]), folder).expectError("damaged")
    }

    @Test func `a store is checked while another process writes to it`() throws {
        let store = folder.path + "/busy.moonpool"
        let script = try folder.write(Self.writer, to: "writer.lua")
        try Tool.run([script, store]).expectSuccess()
        let writer = try folder.write(
            """
            local store = moonpool.open(arg[1])
            print "begun" io.flush()
            while true do
              for id = 1, 2000, 7 do
                store:write(function() store:object("Dog", id).age = math.random(100) end)
              end
            end
            """, to: "busy.lua")
        let process = try Subprocess(Tool.path, [writer, store], until: "begun")
        for _ in 0..<5 {
            try Tool.run(["check", store]).expectSuccess()
        }
        try process.kill()
        try Tool.run(["check", store]).expectSuccess()
    }
}
