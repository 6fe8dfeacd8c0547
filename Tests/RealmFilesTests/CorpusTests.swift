import RealmFiles
import Testing

/// Files that Realm has written, in formats 2 to 24, and their expected contents.
@Suite(
    .enabled(
        if: SharedFiles.arePresent,
        "skipped: ../shared/realm, with files that Realm wrote, is not beside the project"))
struct CorpusTests {
    @Test(
        "A file written by Realm contains the expected objects",
        arguments: SharedFiles.entries("files.json"))
    func contents(_ entry: SharedFiles.Entry) throws {
        let (path, isTemporary) = SharedFiles.path(entry)
        defer { if isTemporary { TemporaryFile.remove(path) } }
        let key = try entry.key.map { try RealmKey($0) }
        guard entry.expect == "read" else {
            #expect(throws: RealmFileError.self) { _ = try RealmFile(path, key: key) }
            return
        }
        let file = try RealmFile(path, key: key)
        let expected = SharedFiles.oracle(entry)
        if expected["form"]?.string == "digest" {
            #expect(try Digest.classes(file) == expected["classes"]?.elements)
            return
        }
        let found = try OracleDocument(file).classes()
        let wanted = expected["classes"]?.elements ?? []
        #expect(found.count == wanted.count)
        for (found, wanted) in zip(found, wanted) {
            let differences = Self.differences(found.canonical, wanted.canonical)
            #expect(differences.isEmpty, "\(differences.prefix(5))")
        }
        #expect(try file.check().isEmpty)
    }

    /// A short description of the differences between two classes.
    private static func differences(_ found: JSON, _ wanted: JSON) -> [String] {
        guard found != wanted, case .object(let left) = found, case .object(let right) = wanted
        else {
            return found == wanted ? [] : ["not two classes"]
        }
        var result: [String] = []
        for name in Set(left.keys).union(right.keys) where left[name] != right[name] {
            let pairs = zip(left[name]?.elements ?? [], right[name]?.elements ?? [])
            for (left, right) in pairs where left != right {
                result.append("\(name): \(left.text.prefix(300)) is not \(right.text.prefix(300))")
            }
            if result.isEmpty {
                result.append(
                    "\(name): \(left[name]?.text.prefix(200) ?? "") is not "
                        + "\(right[name]?.text.prefix(200) ?? "")")
            }
        }
        return result
    }

    @Test(
        "Reading a damaged file succeeds or throws",
        arguments: SharedFiles.entries("hostile/files.json"))
    func hostile(_ entry: SharedFiles.Entry) throws {
        let path = SharedFiles.folder + "/hostile/" + entry.file
        let key = try entry.key.map { try RealmKey($0) }
        let start = ContinuousClock.now
        let isRead = Reading.isReadable(path, key: key)
        switch entry.expect {
        case "error": #expect(!isRead)
        case "reading": #expect(isRead)
        default: break
        }
        _ = Reading.isReadable(path, key: key, rescue: true)
        #expect(ContinuousClock.now - start < .seconds(60))
    }
}

/// Reads the whole content of a file.
enum Reading {
    /// Whether a file can be read completely.
    static func isReadable(_ path: String, key: RealmKey? = nil, rescue: Bool = false) -> Bool {
        do {
            let file = try RealmFile(path, key: key, rescue: rescue)
            let pass = file.makePass()
            for found in file.classes {
                try pass.read(found, backlinks: true) { rows in
                    for row in 0..<rows.count {
                        for property in found.properties.indices {
                            _ = try rows.value(row, property)
                        }
                        for index in found.backlinks.indices { _ = try rows.origins(row, index) }
                    }
                }
            }
            _ = try file.schemaVersion()
            return true
        } catch {
            return false
        }
    }
}

/// The digest form of expected contents: checksums of columns.
enum Digest {
    static func classes(_ file: RealmFile) throws -> [JSON] {
        let pass = file.makePass()
        return try file.classes.map { found in
            var keys = (count: 0, crc: ~UInt32(0))
            var columns = found.properties.map { _ in (count: 0, crc: ~UInt32(0)) }
            try pass.read(found) { rows in
                for row in 0..<rows.count {
                    keys.count += 1
                    keys.crc = CRC32.update(keys.crc, bytes(rows.key(row)))
                    for index in columns.indices {
                        let value = try rows.value(row, index)
                        guard value != .null else { continue }
                        columns[index].count += 1
                        columns[index].crc = CRC32.update(columns[index].crc, bytes(value))
                    }
                }
            }
            func column(_ name: String, _ column: (count: Int, crc: UInt32)) -> JSON {
                let digits = String(~column.crc, radix: 16)
                return .array([
                    .string(name), .int(Int64(column.count)),
                    .string(String(repeating: "0", count: 8 - digits.count) + digits),
                ])
            }
            return .object([
                "name": .string(found.name), "count": .int(Int64(found.count)),
                "columns": .array(
                    [column("#key", keys)]
                        + zip(found.properties, columns).map { column($0.name, $1) }),
            ])
        }
    }

    private static func bytes(_ value: RealmValue) -> [UInt8] {
        switch value {
        case .int(let number): bytes(number)
        case .link(let link): bytes(link.key)
        case .double(let number): bytes(number.bitPattern)
        case .bool(let flag): [flag ? 1 : 0]
        case .string(let text): bytes(UInt32(text.utf8.count)) + Array(text.utf8)
        case .binary(let data): bytes(UInt32(data.count)) + data
        default: []
        }
    }

    private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }
}
