import DataFormats
import Glibc
import ObjectStore
import TestThreads
import Testing
import Transfer

/// Rows of any form are imported or rejected with a reason.
///
/// The process does not crash, and the store stays valid.
///
/// A failure shows its seed; `MOONPOOL_SEED` runs it again.
@Suite struct HostileRowTests {
    private static let schema = [
        "Thing": [
            "id": "int primary", "flag": "bool?", "count": "int?", "ratio": "float?",
            "size": "double?", "name": "string? indexed fulltext", "bytes": "data?",
            "born": "date?", "tag": "uuid?", "oid": "object_id?", "price": "decimal?",
            "numbers": "int[]", "words": "string?[]", "days": "date?[]", "thing": "Thing",
            "things": "Thing[]", "part": "Part", "any": "mixed", "set": "int<>",
            "map": "mixed{}",
        ],
        "Part": ["label": "string", "count": "int?"],
    ]

    private static let seed =
        getenv("MOONPOOL_SEED").flatMap { UInt64(String(cString: $0)) }
        ?? UInt64.random(in: 0...UInt64.max)

    @Test(arguments: [
        (#"{"id": 1, "born": {"$date": {"$numberLong": 1700000000000}}}"#, ""),
        (#"{"id": 1, "born": {"$date": {"$numberLong": "1700000000000"}}}"#, ""),
        (#"{"id": 1, "born": {"$date": {"$numberLong": [1]}}}"#, "expects date?, got an object"),
        (#"{"id": 1, "born": {"$date": 1e300}}"#, "expects date?, got an object"),
        (#"{"id": 1, "born": {"$date": 9223372036854775807}}"#, "expects date?, got an object"),
        (#"{"id": 1, "bytes": {"$binary": 99999999}}"#, "expects data?, got an object"),
        (#"{"id": 1, "bytes": {"$binary": {"base64": 99999999}}}"#, "expects data?, got an object"),
        (#"{"id": 1, "tag": {"$uuid": {"$uuid": 5}}}"#, "expects uuid?, got an object"),
        (
            #"{"id": 1, "any": {"$binary": 99999999}}"#,
            "\"$binary\" does not contain a value of type data"
        ),
    ])
    func `values with a wrong type are rejected`(row: String, expected: String) throws {
        let world = try TransferWorld(Self.schema)
        let options = ImportOptions(class: "Thing")
        guard expected.isEmpty else {
            let said = message { try world.take(row, as: "a.jsonl", options) }
            #expect(said.contains(expected), "\(said)")
            return
        }
        try world.take(row, as: "a.jsonl", options)
        let moment = Timestamp(microseconds: 1_700_000_000_000_000)
        #expect(try world.values("Thing", "born") == [.date(moment)])
    }

    @Test(arguments: [false, true])
    func `random rows are imported or rejected`(isUpsert: Bool) throws {
        var random = SeededGenerator(seed: Self.seed)
        for round in 0..<20 {
            let world = try TransferWorld(Self.schema)
            var options = ImportOptions(class: "Thing")
            options.isUpsert = isUpsert
            options.rejects = world.path("rejects.jsonl")
            let rows = (0..<60).map { _ in Self.row(&random) }
            let report = try world.take(rows.joined(separator: "\n"), as: "a.jsonl", options)
            let context = "seed \(Self.seed), round \(round)"
            #expect(report.created + report.updated + report.rejected >= 60, "\(context)")
            #expect(try world.store.verify() == [], "\(context)")
        }
    }

    @Test(arguments: ["lua", "sqlite"])
    func `files with changed bytes are imported or rejected`(format: String) throws {
        var random = SeededGenerator(seed: Self.seed &+ 1)
        let source = try TransferWorld(Self.schema)
        var options = ImportOptions(class: "Thing")
        options.rejects = source.path("rejects.jsonl")
        let rows = (0..<200).map { _ in Self.row(&random) }
        try source.take(rows.joined(separator: "\n"), as: "a.jsonl", options)
        let whole = source.path("whole.\(format)")
        _ = try Exporter(.store(source.store), as: try TransferFormat(path: whole))
            .write(to: whole)
        let bytes = try Self.bytes(of: whole)
        for round in 0..<20 {
            var changed = bytes
            for _ in 0...Int.random(in: 0..<4, using: &random) {
                let index = Int.random(in: 0..<changed.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: changed[index] = UInt8.random(in: 0...255, using: &random)
                case 1 where format != "sqlite": changed.remove(at: index)
                default: changed[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                }
            }
            let world = try TransferWorld()
            let path = world.path("changed.\(format)")
            try Self.write(changed, to: path)
            var options = ImportOptions()
            if Bool.random(using: &random) { options.rejects = world.path("rejects.jsonl") }
            do {
                _ = try Importer(into: world.store, options).read(
                    path, as: try TransferFormat(path: path))
            } catch is FormatError {} catch is StoreError {}
            let context = "seed \(Self.seed), round \(round)"
            #expect(!world.store.isInWrite, "\(context)")
            #expect(try world.store.verify() == [], "\(context)")
        }
    }

    @Test(arguments: [
        #"{"$schema": {"Thing": "x"}}"#, #"{"$schema": {"Thing": 1, "Other": {"x": "int"}}}"#,
        #"{"$schema": "x"}"#, #"{"$schema": {}, "Thing": [{"id": 1}]}"#,
        #"{"$other": {"a": null}}"#,
    ])
    func `a random schema is accepted or rejected`(text: String) throws {
        let world = try TransferWorld()
        do {
            try world.take(text, as: "a.json", ImportOptions())
        } catch is FormatError {} catch is StoreError {}
        #expect(try world.store.verify() == [])
    }

    // MARK: Rows

    private static let tags = [
        "$date", "$binary", "$oid", "$uuid", "$numberLong", "$numberInt", "$numberDouble",
        "$numberDecimal", "$data", "$float", "$link", "$map", "$key", "$object_id", "$decimal",
        "$nothing",
    ]

    private static let scalars = [
        "null", "true", "false", "0", "-1", "9223372036854775807", "-9223372036854775808",
        "9223372036854775808", "0.1", "-0.0", "1e5", "1e308", "1e999", "-1e999", "1e-999",
        "123456789012345678901234567890.5", "\"\"", "\"x\"", "\"\\u0000\"", "\"\\ud83d\\ude00\"",
        "\"2026-11-22T03:04:05Z\"", "\"9999999-01-01T00:00:00Z\"", "\"0001-01-01T00:00:00Z\"",
        "\"12345678-1234-1234-1234-123456789012\"", "\"0123456789abcdef01234567\"",
        "\"AAECAw==\"", "\"=\"", "\"NaN\"", "\"Infinity\"", "\"-9223372036854775809\"",
        "\"1E+6200\"", "[]", "{}",
    ]

    private static func row(_ random: inout SeededGenerator) -> String {
        var members = ["\"id\": \(Int.random(in: 0..<40, using: &random))"]
        for name in (schema["Thing"] ?? [:]).keys.sorted()
        where name != "id" && Int.random(in: 0..<4, using: &random) == 0 {
            members.append("\"\(name)\": \(value(3, &random))")
        }
        switch Int.random(in: 0..<12, using: &random) {
        case 0: members.append("\"unknown\": 1")
        case 1: members.insert("\"$class\": \"Part\"", at: 0)
        case 2: members.append("\"$key\": \(value(0, &random))")
        case 3: members.append(members[0])
        default: break
        }
        return "{" + members.joined(separator: ", ") + "}"
    }

    private static func value(_ depth: Int, _ random: inout SeededGenerator) -> String {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 4), using: &random) {
        case 4:
            return "{\"\(tags.randomElement(using: &random)!)\": \(value(depth - 1, &random))}"
        case 5:
            let count = Int.random(in: 0..<4, using: &random)
            return "[" + (0..<count).map { _ in value(depth - 1, &random) }.joined(separator: ",")
                + "]"
        case 6:
            return "{\"label\": \(value(depth - 1, &random)), \"count\": \(value(0, &random))}"
        case 7: return "{\"id\": \(value(0, &random)), \"thing\": \(value(depth - 1, &random))}"
        case 3: return String(Int.random(in: 0..<60, using: &random))
        default: return scalars.randomElement(using: &random)!
        }
    }

    // MARK: Files

    private static func bytes(of path: String) throws -> [UInt8] {
        let file = try FileReader(path)
        var bytes: [UInt8] = []
        while true {
            let more = try file.read()
            if more.isEmpty { return bytes }
            bytes += more
        }
    }

    private static func write(_ bytes: [UInt8], to path: String) throws {
        guard let file = fopen(path, "w") else { throw FormatError("cannot write \(path)") }
        defer { fclose(file) }
        guard fwrite(bytes, 1, bytes.count, file) == bytes.count else {
            throw FormatError("cannot write \(path)")
        }
    }
}
