import ObjectStore
import Testing
import Transfer

/// Texts with any content are parsed or rejected with an error.
@Suite struct TextFuzzTests {
    private let world: FuzzWorld

    init() throws { world = try FuzzWorld() }

    @Test(.timeLimit(.minutes(600)))
    func `a predicate is evaluated or rejected with an error in the query`() throws {
        let store = try FuzzWorld.memoryStore()
        for number in 0..<6 { try FuzzWorld.commit(number, in: store) }
        let words = [
            "any ", "all ", "none ", "subquery(friends, $x, ", "@links.Dog.owner", "@count",
            "@sum.",
            "@keys", "@values", "@type", "@size", " and ", " or ", "not ", "between {", "in {",
            "beginswith[c] ", "like[cd] ", "matches ", "[first]", "[last]", "[*]", "uuid(", "oid(",
            "nil", "true", "limit(1)", "sort(age desc)", "distinct(name)", "==", "<>", "$1", "any.",
            "(", ")",
        ]
        var loop = try FuzzLoop("predicates", words: words)
        loop.run(count: 500) { input, _ in
            let text = String(decoding: input, as: UTF8.self)
            do {
                let results = try store.objects("Dog").filtered(text, [.int(1), .double(2)])
                return
                    "\(try results.count() > 0) \(text.contains("subquery")) \(text.contains("@"))"
            } catch let error as StoreError {
                if ![.invalidQuery, .unknownProperty].contains(error.code) {
                    Issue.record("\(error.code): \(FuzzLoop.shown(input))")
                }
                return FuzzLoop.outcome(of: error)
            } catch {
                Issue.record("\(error): \(FuzzLoop.shown(input))")
                return ""
            }
        }
    }

    /// Imports inputs of a format, with and without existing classes.
    private func importAll(_ name: String, _ format: TransferFormat, words: [String]) throws {
        let path = world.path("input")
        var store = try FuzzWorld.memoryStore()
        var loop = try FuzzLoop(name, words: words)
        loop.run(count: 300) { input, round in
            FuzzLoop.write(input, to: path)
            do {
                var options = ImportOptions()
                if round % 3 != 0 { options.className = "Dog" }
                options.isUpsert = round % 2 == 0
                options.isRounding = round % 5 == 0
                options.isDryRun = round % 7 != 0
                options.links = round % 11 == 0 ? ["friends": "Dog", "owner": "Person"] : [:]
                if round % 150 == 0 {
                    store.close()
                    store = try FuzzWorld.memoryStore(round % 300 == 0 ? nil : FuzzWorld.classes)
                }
                let report = try Importer(into: store, options).read(path, as: format)
                if round % 7 == 0 {
                    let faults = try store.verify()
                    if !faults.isEmpty { Issue.record("\(faults): \(FuzzLoop.shown(input))") }
                }
                return "\(report.rows > 1) \(report.created > 0) \(report.updated > 0)"
            } catch {
                if store.isInWrite { Issue.record("an open write: \(FuzzLoop.shown(input))") }
                return FuzzLoop.outcome(of: error)
            }
        }
    }

    private static let jsonWords = [
        "{", "}", "[", "]", "\"", "\":", ",", "null", "true", "\\u0000", "\\ud800", "\\udc00",
        "\u{FEFF}",
        "{\"$date\":", "{\"$binary\":", "{\"$uuid\":", "{\"$oid\":", "{\"$numberLong\":\"",
        "{\"$link\":",
        "{\"$key\":", "\"$class\":", "\"$schema\":", "\"$ref\":", "\"id\":1,", "\"friends\":[",
    ]

    @Test(.timeLimit(.minutes(600))) func `JSON is imported or rejected`() throws {
        try importAll("json", .json, words: Self.jsonWords)
    }

    @Test(.timeLimit(.minutes(600))) func `JSON Lines are imported or rejected`() throws {
        try importAll("json", .jsonLines, words: Self.jsonWords + ["\n", "\r\n"])
    }

    @Test(.timeLimit(.minutes(600))) func `CSV is imported or rejected`() throws {
        let words = [
            ",", ";", "\t", "\"", "\"\"", "\n", "\r", "\r\n", "\u{FEFF}", "sep=;\n", "id", "name",
            "1,",
        ]
        try importAll("csv", .csv, words: words)
    }

    @Test(.timeLimit(.minutes(600))) func `a change stream is replayed or rejected`() throws {
        let path = world.path("changes")
        var store = try FuzzWorld.memoryStore()
        let words =
            Self.jsonWords + [
                "\n", "\"$changes\":1", "\"op\":\"insert\"", "\"op\":\"update\"",
                "\"op\":\"delete\"",
                "\"op\":\"commit\"", "\"version\":", "\"before\":", "\"after\":",
            ]
        var loop = try FuzzLoop("changes", words: words)
        loop.run(count: 300) { input, round in
            FuzzLoop.write(input, to: path)
            do {
                if round % 100 == 0 {
                    store.close()
                    store = try FuzzWorld.memoryStore(round % 200 == 0 ? nil : FuzzWorld.classes)
                }
                let replay = ChangeReplay(into: store)
                try replay.run(path)
                if round % 5 == 0 {
                    let faults = try store.verify()
                    if !faults.isEmpty { Issue.record("\(faults): \(FuzzLoop.shown(input))") }
                }
                return "\(replay.steps) \(replay.changes > 2)"
            } catch {
                if store.isInWrite { Issue.record("an open write: \(FuzzLoop.shown(input))") }
                return FuzzLoop.outcome(of: error)
            }
        }
    }
}
