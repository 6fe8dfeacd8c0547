import Glibc
import Testing

/// `moonpool check` tells a sound store from a damaged one.
@Suite struct CheckCommandTests {
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

    @Test func `no file, a foreign file and a sound store`() throws {
        let folder = try TemporaryFolder()
        let missing = try Tool.run(["check", folder.path + "/none.moonpool"])
        #expect(missing.exitCode == 1)
        #expect(missing.error.contains("none.moonpool"))
        let letter = try folder.write("This is a letter, not a store.", to: "letter")
        #expect(try Tool.run(["check", letter]).exitCode == 1)
        let store = folder.path + "/sound.moonpool"
        let script = try folder.write(Self.writer, to: "writer.lua")
        #expect(try Tool.run([script, store]).exitCode == 0)
        let sound = try Tool.run(["check", store])
        #expect(sound.exitCode == 0, "\(sound.output)\(sound.error)")
        #expect(sound.output == "\(store) is sound: 2 classes, 2001 objects\n")
    }

    @Test func `a store with changed bytes never crashes the check, and is mostly found out`()
        throws
    {
        let folder = try TemporaryFolder()
        let store = folder.path + "/whole.moonpool"
        let script = try folder.write(Self.writer, to: "writer.lua")
        #expect(try Tool.run([script, store]).exitCode == 0)
        let file = try #require(fopen(store, "r"))
        fseek(file, 0, SEEK_END)
        var whole = [UInt8](repeating: 0, count: ftell(file))
        rewind(file)
        _ = fread(&whole, 1, whole.count, file)
        fclose(file)
        var found = 0
        for round in 0..<6 {
            var bytes = whole
            // Text of the objects, somewhere in a leaf: looked for, because most of a file is unused pages.
            let needle = Array("Dog number \(round * 300 + 17)".utf8)
            guard
                let place = bytes.indices.dropLast(needle.count).first(where: {
                    bytes[$0] == needle[0] && Array(bytes[$0..<$0 + needle.count]) == needle
                })
            else { continue }
            bytes[place] = 0x58
            let damaged = folder.path + "/damaged-\(round).moonpool"
            let out = try #require(fopen(damaged, "w"))
            fwrite(bytes, 1, bytes.count, out)
            fclose(out)
            let outcome = try Tool.run(["check", damaged])
            #expect(outcome.exitCode == 0 || outcome.exitCode == 1)
            if outcome.exitCode == 1, outcome.output.contains("'Dog.name'") { found += 1 }
        }
        #expect(found > 0)
    }
}
