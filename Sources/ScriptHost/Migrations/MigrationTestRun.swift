import EventLoops
import LuaHost
import ObjectStore
import StoreBindings

/// Tests the migrations of a folder with the test files next to them.
///
/// `0002_name_test.lua` returns `{ before = function(store) … end, after = function(store) … end }`. `before` fills an
/// in-memory store, to which the earlier migrations were applied, in a write transaction. `after` checks the result of
/// `up`, and the optional `down` checks the result of the migration's `down`. An array of such tables contains several
/// tests; `name` is the name of a test.
///
/// A migration with a `down` is also tested with generated objects: after `up` and `down`, the store must be unchanged,
/// except for declared losses.
package struct MigrationTestRun {
    /// The outcome of a test.
    package struct Outcome: Sendable {
        /// The migration; nil for a test file without a migration.
        package let file: MigrationFile?
        /// The path of the test file, or of the migration if it has no test file.
        package let path: String
        /// The name of the test, if its file contains several.
        package let name: String?
        /// Whether there was a fixture; otherwise the migration ran on an empty store.
        package let hasFixture: Bool
        /// The reason for a failure; nil if the test passed.
        package let message: String?
        /// What to do about the failure.
        package var advice: String?
        /// The reason why the test did not run; nil if it ran.
        package var skipped: String?

        /// The migration and the name of the test.
        package var title: String {
            (file.map { "\(MigrationState.number($0.number)) \($0.name)" } ?? path)
                + (name.map { ": \($0)" } ?? "")
        }

        /// The failure as a finding; nil for a test that passed.
        package var finding: MigrationFinding? {
            message.map { message in
                MigrationFinding(
                    .test, message, advice: advice, path: path,
                    line: MigrationFinding.line(in: message, of: path),
                    number: file?.number, object: name)
            }
        }

        /// The report of the outcome for programs.
        var report: ReportValue {
            .members([
                "number": file.map { .count($0.number) } ?? .null,
                "migration": file.map { .text($0.name) } ?? .null, "file": .text(path),
                "test": name.map(ReportValue.text) ?? .null, "fixture": .bool(hasFixture),
                "ok": .bool(message == nil), "skipped": skipped.map(ReportValue.text) ?? .null,
                "message": message.map(ReportValue.text) ?? .null,
            ])
        }
    }

    private let module: StoreModule
    private let directory: MigrationDirectory
    private let scripts: MigrationScripts

    /// Creates a test run for a folder.
    package init(_ module: StoreModule, directory: MigrationDirectory) {
        self.module = module
        self.directory = directory
        scripts = MigrationScripts(directory, module)
    }

    /// Runs all tests in order.
    ///
    /// Throws only errors that end the whole run, such as an interrupt.
    package func outcomes() throws -> [Outcome] {
        var outcomes = directory.strayTests.map { name in
            Outcome(
                file: nil, path: MigrationListing.path(name, in: directory.path), name: nil,
                hasFixture: true,
                message: directory.message(aboutStray: name), advice: MigrationDirectory.strayAdvice
            )
        }
        for file in directory.files {
            let path = file.testPath
            guard ProcessServices.size(of: path) != nil else {
                outcomes.append(try outcome(file, nil, hasFixture: false) { try test(file, nil) })
                try outcomes.append(contentsOf: generatedOutcomes(file))
                continue
            }
            var cases: [LuaTable] = []
            let reading = try outcome(file, nil, hasFixture: true) {
                cases = try self.cases(try MigrationFile.source(of: path), path)
            }
            if reading.message != nil { outcomes.append(reading) }
            for fixture in cases {
                let name = fixture["name"].text
                outcomes.append(
                    try outcome(file, name, hasFixture: true) { try test(file, fixture) })
            }
            try outcomes.append(contentsOf: generatedOutcomes(file))
        }
        return outcomes
    }

    /// Returns the report of outcomes for programs.
    package static func report(_ outcomes: [Outcome]) -> ReportValue {
        .members([
            "tests": .array(outcomes.map(\.report)),
            "failures": .count(outcomes.count { $0.message != nil }),
        ])
    }

    /// Returns the outcomes as lines of text.
    package static func lines(_ outcomes: [Outcome]) -> [String] {
        let failures = outcomes.count { $0.message != nil }
        let lines = outcomes.flatMap { outcome in
            let title = outcome.title
            if let message = outcome.message { return ["failed  \(title)", "        \(message)"] }
            if let skipped = outcome.skipped { return ["skipped \(title)", "        \(skipped)"] }
            return ["ok      \(title)" + (outcome.hasFixture ? "" : " (on an empty store)")]
        }
        return lines + [
            "\(outcomes.count) test\(outcomes.count == 1 ? "" : "s"), "
                + (failures == 0 ? "none" : "\(failures)") + " failed"
        ]
    }

    private func outcome(
        _ file: MigrationFile, _ name: String?, hasFixture: Bool, _ work: () throws -> Void
    ) throws -> Outcome {
        var message: String?
        var advice: String?
        do {
            try work()
        } catch {
            if MigrationFailure.code(of: error) == "interrupted" { throw error }
            message = MigrationFailure.message(of: error)
            advice = MigrationFailure.advice(of: error)
        }
        return Outcome(
            file: file, path: hasFixture ? file.testPath : file.path, name: name,
            hasFixture: hasFixture, message: message, advice: advice)
    }

    private func cases(_ source: [UInt8], _ path: String) throws -> [LuaTable] {
        let form = "{ before = function(store) … end, after = function(store) … end }"
        let table = try MigrationScript.table(source, path: path, module, form: form)
        let cases = table.count > 0 ? table.array.compactMap(\.table) : [table]
        let known = ["name", "before", "after", "down"]
        for fixture in cases {
            for (key, value) in fixture.pairs {
                guard let name = key.text, known.contains(name) else {
                    let shown = key.text ?? "a \(key.typeName)"
                    throw StoreError(
                        .invalidArgument,
                        "'\(path)': unknown key '\(shown)'"
                            + NearestName.hint(for: shown, among: known))
                }
                guard name == "name" || value.function != nil else {
                    throw StoreError(
                        .invalidArgument,
                        "'\(path)': '\(name)' must be a function, got a \(value.typeName)")
                }
            }
        }
        guard table.count == 0 || cases.count == table.count else {
            throw StoreError(.invalidArgument, "'\(path)': each test must be \(form)")
        }
        for (index, fixture) in cases.enumerated()
        where ["before", "after", "down"].allSatisfy({ fixture[$0].isNil }) {
            let name = fixture["name"].text.map { "test '\($0)'" } ?? "test \(index + 1)"
            throw StoreError(
                .invalidArgument, "'\(path)': \(name) does not test anything; write \(form)")
        }
        return cases
    }

    private func test(_ file: MigrationFile, _ fixture: LuaTable?) throws {
        let borrowed = try borrowEmptyStore()
        defer { borrowed.end() }
        let handle = borrowed.handle
        for earlier in directory.files where earlier.number < file.number {
            try apply(earlier, to: handle)
        }
        let store = module.value(of: handle)
        do {
            let environment = try scripts.environment(of: file)
            defer { environment.end() }
            if let before = fixture?["before"].function {
                try handle.store.write { _ = try before.call([store]) }
            }
            try apply(file, to: handle)
            if let after = fixture?["after"].function { try after.call([store]) }
        }
        // A `down` is always tested if it exists: it must run, and restore the previous schema.
        guard try scripts.script(file).down != nil || fixture?["down"].function != nil else {
            return
        }
        try revert(file, handle)
        if let down = fixture?["down"].function {
            let environment = try scripts.environment(of: file)
            defer { environment.end() }
            try down.call([store])
        }
        // Running `up` again restores the state before `down`.
        try apply(file, to: handle)
    }

    /// Tests whether `down` reverses `up`; returns no outcome without a `down`, and for a file that cannot run.
    private func generatedOutcomes(_ file: MigrationFile) throws -> [Outcome] {
        // A file that cannot run has already failed in its other test.
        guard let script = try? scripts.script(file), script.down != nil else { return [] }
        var skipped: String?
        var result = try outcome(file, "generated objects", hasFixture: true) {
            for kind in [GeneratedFixture.Kind.words, .digits] {
                skipped = try testGenerated(file, script, kind)
                if skipped == nil { break }
            }
            // An up that accepts only certain values can reject the values at the boundaries of the types.
            for kind in [GeneratedFixture.Kind.boundaries, .empty] {
                _ = try testGenerated(file, script, kind)
            }
        }
        if result.message == nil { result.skipped = skipped }
        return [result]
    }

    /// Applies `up` and `down` to generated objects; returns the reason if `up` rejects the objects, otherwise nil.
    private func testGenerated(
        _ file: MigrationFile, _ script: MigrationScript, _ kind: GeneratedFixture.Kind
    ) throws -> String? {
        let borrowed = try borrowEmptyStore()
        defer { borrowed.end() }
        let handle = borrowed.handle
        for earlier in directory.files where earlier.number < file.number {
            try apply(earlier, to: handle)
        }
        do {
            try GeneratedFixture(handle.store, kind).fill()
        } catch let error as StoreError {
            return "the store rejects them: \(error.message)"
        }
        let before = try StoreContents(handle.store)
        let report: MigrationReport
        do {
            report = try apply(file, to: handle)
        } catch {
            if MigrationFailure.code(of: error) == "interrupted" { throw error }
            return "up rejects them: \(MigrationFailure.message(of: error))"
        }
        try revert(file, handle)
        var lost = script.drops.union(script.downDrops).union(
            report.dropped.map(\.qualifiedName))
        for case .classRenamed(let old, let new) in report.differences {
            for name in lost where name.hasPrefix(new + ".") {
                lost.insert(old + name.dropFirst(new.count))
            }
        }
        let after = try StoreContents(handle.store)
        guard let difference = before.difference(to: after, except: lost) else { return nil }
        throw StoreError(
            .invalidArgument,
            "after up and down, \(difference); change down, or declare the values that it cannot restore with "
                + "down_drops")
    }

    private func borrowEmptyStore() throws -> BorrowedStore {
        try module.borrow(
            StoreConfiguration(.memory("migration test \(UUIDValue.random())")))
    }

    @discardableResult  // because most tests check the store instead
    private func apply(_ file: MigrationFile, to handle: StoreHandle) throws -> MigrationReport {
        try scripts.apply(scripts.script(file), to: handle)
    }

    private func revert(_ file: MigrationFile, _ handle: StoreHandle) throws {
        let script = try scripts.script(file)
        guard script.down != nil else {
            throw StoreError(.invalidArgument, "'\(file.path)' has no 'down' function to test")
        }
        let previous = directory.file(before: file.number)
        let classes = try scripts.schema(after: previous)
        let added = try SchemaDifference.between(classes, and: script.schema)
            .compactMap(\.addition)
        let transaction = try handle.store.beginMigration()
        defer { transaction.end() }
        let change = try transaction.change(
            to: classes, version: UInt64(previous?.number ?? 0),
            dropping: script.downDrops.union(added))
        try change.apply { [scripts] migration in
            try scripts.call(script.down, of: script, with: migration, on: handle)
        }
        try change.commit(recording: transaction.log)
    }
}
