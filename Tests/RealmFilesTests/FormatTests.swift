import RealmFiles
import RealmFixtures
import TestThreads
import Testing

/// Files of every layout, written by the tests.
struct FormatTests {
    @Test(
        "Every value in a file is read unchanged",
        arguments: [9, 10, 22, 23, 24], [0, 1, 19, 130])
    func values(_ format: Int, _ rows: Int) throws {
        var samples = RealmSamples(seed: UInt64(format * 1000 + rows))
        let tables = samples.tables(format: format, rows: rows)
        try TemporaryFile.with(RealmWriter.file(format: format, tables)) { path in
            let file = try RealmFile(path)
            #expect(file.format == format)
            #expect(file.isStreaming)
            #expect(try file.schemaVersion() == 7)
            #expect(file.classes.map(\.name) == tables.map(\.name))
            let pass = file.makePass()
            for (found, table) in zip(file.classes, tables) {
                #expect(found.count == table.rows.count)
                #expect(found.primaryKey == table.primaryKey)
                #expect(found.properties.map(\.name) == table.properties.map(\.name))
                #expect(found.properties.map(\.type) == table.properties.map(\.type))
                #expect(found.properties.map(\.isNullable) == table.properties.map(\.isNullable))
                #expect(found.properties.map(\.collection) == table.properties.map(\.collection))
                #expect(found.properties.map(\.target) == table.properties.map(\.target))
                var next = 0
                try pass.read(found) { batch in
                    for row in 0..<batch.count {
                        let expected = table.rows[next]
                        #expect(batch.key(row) == expected.key)
                        for property in found.properties.indices {
                            let value = try batch.value(row, property)
                            #expect(
                                value == expected.values[property],
                                "\(found.name).\(found.properties[property].name), row \(next)")
                        }
                        next += 1
                    }
                }
                #expect(next == table.rows.count)
            }
            #expect(try file.check() == [])
        }
    }

    @Test("The reader finds an object by its key", arguments: [22, 24])
    func lookup(_ format: Int) throws {
        var samples = RealmSamples(seed: 5)
        let tables = samples.tables(format: format, rows: 130)
        try TemporaryFile.with(RealmWriter.file(format: format, tables)) { path in
            let file = try RealmFile(path)
            let lookup = RealmLookup(file, file.classes[0])
            for row in tables[0].rows.reversed() {
                let (rows, index) = try #require(try lookup.find(row.key))
                #expect(try rows.value(index, 0) == row.values[0])
            }
            #expect(try lookup.find(1) == nil)
            #expect(try lookup.find(-1) == nil)
            #expect(try lookup.find(.max) == nil)
        }
    }

    @Test("A changed byte never crashes the reader", arguments: [9, 10, 22, 23, 24])
    func mutations(_ format: Int) throws {
        var samples = RealmSamples(seed: UInt64(format))
        let whole = RealmWriter.file(
            format: format, samples.tables(format: format, rows: 30))
        for _ in 0..<RandomSeeds.count(8, of: 25) {
            var bytes = whole
            for _ in 0...samples.below(4) {
                bytes[samples.below(bytes.count)] = UInt8(truncatingIfNeeded: samples.next())
            }
            if samples.below(8) == 0 { bytes.removeLast(samples.below(bytes.count)) }
            TemporaryFile.with(bytes) { path in
                _ = Reading.isReadable(path)
                _ = Reading.isReadable(path, rescue: true)
            }
        }
    }

    @Test("A rescue reads the intact objects of a damaged file, and counts the others")
    func rescue() throws {
        var samples = RealmSamples(seed: 3)
        let tables = samples.tables(format: 24, rows: 130)
        let whole = RealmWriter.file(format: 24, tables)
        // The last bytes, with the address of the top node, are lost.
        try TemporaryFile.with(Array(whole.dropLast(16))) { path in
            #expect(throws: RealmFileError.self) { _ = try RealmFile(path) }
            let file = try RealmFile(path, rescue: true)
            var rows = 0
            for found in file.classes { try file.makePass().read(found) { rows += $0.count } }
            #expect(rows == tables.reduce(0) { $0 + $1.rows.count })
        }
        // The end with the lists of tables and names is lost too, so the tables are found by their form.
        let half = Array(whole.dropLast(160))
        try TemporaryFile.with(half) { path in
            let file = try RealmFile(path, rescue: true)
            let all = try #require(
                file.classes.first { $0.properties.count == tables[0].properties.count })
            var rows = 0
            try file.makePass().read(all) { rows += $0.count }
            #expect(rows == 130)
        }
        // A leaf in the middle is damaged; everything else is read.
        var bytes = whole
        let position = try #require(
            bytes.firstRange(of: [0x41, 0x41, 0x41, 0x41])?.lowerBound)
        bytes[position + 4] |= 0x18
        try TemporaryFile.with(bytes) { path in
            let file = try RealmFile(path, rescue: true)
            var rows = 0
            for found in file.classes {
                try file.makePass().read(found) { batch in
                    for row in 0..<batch.count {
                        for property in found.properties.indices {
                            _ = try batch.value(row, property)
                        }
                    }
                    rows += batch.count
                }
            }
            #expect(rows > 0)
            #expect(!file.damage.isEmpty)
        }
    }

    private static let key = (0..<64).map { UInt8($0 * 7 % 256) }

    @Test("An encrypted file can be read only with its key", arguments: [9, 24])
    func encryption(_ format: Int) throws {
        var samples = RealmSamples(seed: 21)
        // More pages than one block of 64.
        let tables = samples.tables(format: format, rows: format == 9 ? 700 : 130)
        let plain = RealmWriter.file(format: format, tables)
        var encrypted = RealmEncryption.encrypt(plain, key: Self.key)
        let key = try #require(RealmKey(bytes: Self.key))
        try TemporaryFile.with(encrypted) { path in
            let file = try RealmFile(path, key: key)
            #expect(file.isEncrypted)
            var row = 0
            try file.makePass().read(file.classes[0]) { rows in
                for index in 0..<rows.count {
                    let value = try rows.value(index, 0)
                    #expect(value == tables[0].rows[row].values[0])
                    row += 1
                }
            }
            #expect(row == tables[0].rows.count)
            let missing = #expect(throws: RealmFileError.self) { _ = try RealmFile(path) }
            #expect(missing?.kind == .notRealm)
            let other = RealmKey(bytes: [UInt8](repeating: 1, count: 64))
            let wrong = #expect(throws: RealmFileError.self) { _ = try RealmFile(path, key: other) }
            #expect(wrong?.kind == .wrongKey)
        }
        // A damaged first page is not reported as a wrong key if the key fits other pages.
        encrypted[4096] ^= 1
        TemporaryFile.with(encrypted) { path in
            let damaged = #expect(throws: RealmFileError.self) { _ = try RealmFile(path, key: key) }
            #expect(damaged?.kind == .damaged)
        }
    }

    @Test("A released page is decrypted again when it is read")
    func releasedPages() throws {
        var samples = RealmSamples(seed: 22)
        let tables = samples.tables(format: 24, rows: 130)
        let encrypted = RealmEncryption.encrypt(
            RealmWriter.file(format: 24, tables), key: Self.key)
        try TemporaryFile.with(encrypted) { path in
            let file = try RealmFile(path, key: RealmKey(bytes: Self.key))
            file.decryptedLimit = 0
            let lookup = RealmLookup(file, file.classes[0])
            let pass = file.makePass()
            var next = 0
            try pass.read(file.classes[0]) { rows in
                for row in 0..<rows.count {
                    // The lookup of an object in another node, before and after reading the values
                    // of this one.
                    let other = tables[0].rows[(next * 37) % 130]
                    for property in tables[0].properties.indices {
                        let value = try rows.value(row, property)
                        #expect(value == tables[0].rows[next].values[property])
                        guard property % 10 == 0 else { continue }
                        let (found, index) = try #require(try lookup.find(other.key))
                        let looked = try found.value(index, property)
                        #expect(looked == other.values[property])
                    }
                    next += 1
                }
            }
            #expect(next == 130)
            #expect(try file.check() == [])
        }
    }

    @Test("A file larger than 4 GiB can be read")
    func largeFile() throws {
        var samples = RealmSamples(seed: 2)
        let tables = samples.tables(format: 24, rows: 40)
        let hole = 5 << 30
        let path = TemporaryFile.path("realm")
        defer { TemporaryFile.remove(path) }
        RealmWriter.write(
            RealmWriter.file(format: 24, hole: hole, tables), to: path, hole: hole)
        let file = try RealmFile(path)
        #expect(file.fileSize > hole)
        #expect(file.classes[0].count == 40)
        #expect(try file.check() == [])
    }

    @Test("Reading a file survives one concurrent commit, but not two")
    func fileInUse() throws {
        var samples = RealmSamples(seed: 4)
        var bytes = RealmWriter.file(format: 24, samples.tables(format: 24, rows: 5))
        // The form of a file in use: the address of the top node in the header.
        let footer = bytes.count - 16
        bytes.replaceSubrange(0..<8, with: bytes[footer..<footer + 8])
        let path = TemporaryFile.path("realm")
        defer { TemporaryFile.remove(path) }
        TemporaryFile.write(bytes, to: path)
        let file = try RealmFile(path)
        try file.checkUnchanged()
        bytes[8] = 24
        bytes[21] = 24
        bytes[23] = 1
        RealmWriter.overwrite(Array(bytes[..<24]), in: path)
        try file.checkUnchanged()
        bytes[0] ^= 8
        bytes[23] = 0
        RealmWriter.overwrite(Array(bytes[..<24]), in: path)
        let changed = #expect(throws: RealmFileError.self) { try file.checkUnchanged() }
        #expect(changed?.kind == .changed)
    }

    @Test("A key is accepted only as hexadecimal digits, Base64 or a file")
    func keys() throws {
        let bytes = Self.key
        let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let base64 = OracleDocument.base64(bytes)
        _ = try RealmKey(digits)
        _ = try RealmKey("0x" + digits.uppercased())
        _ = try RealmKey(base64)
        for contents in [bytes, Array(digits.utf8), Array((base64 + "\n").utf8)] {
            try TemporaryFile.with(contents) { _ = try RealmKey("@" + $0) }
        }
        for text in ["", "abc", String(digits.dropLast()), digits + "00", "@/nowhere/key"] {
            #expect(throws: RealmFileError.self) { _ = try RealmKey(text) }
        }
    }
}
