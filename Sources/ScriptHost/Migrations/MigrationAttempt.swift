import LuaHost
import ObjectStore
import StoreBindings

/// A migration that failed: nothing of it is in the store.
package struct MigrationFailure: ScriptError {
    /// What the migration has thrown.
    package let cause: any Error
    /// The name of its file.
    package let fileName: String
    /// The object that was being migrated, such as `Person id = 17`.
    package let object: String?
    /// Whether whole batches of it are in the store, and the next run goes on there.
    package let isResumable: Bool
    /// The reports of the migrations before it, which were applied.
    package internal(set) var applied: [ReportValue] = []

    /// The code of the cause.
    package var scriptCode: String { MigrationFailure.code(of: cause) }

    /// Whether it was stopped from outside.
    package var isInterrupt: Bool { scriptCode == "interrupted" }

    /// What happened, where, and what became of the store.
    package var scriptMessage: String {
        let place = object.map { ", at \($0)" } ?? ""
        let outcome =
            isResumable ? "the next run goes on after its last batch" : "nothing of it was kept"
        if isInterrupt { return "'\(fileName)' was interrupted\(place); \(outcome)" }
        return "\(MigrationFailure.message(of: cause)) ('\(fileName)'\(place); \(outcome))"
    }

    /// The code and the sentence of any error.
    package static func describe(_ error: any Error) -> (code: String, message: String) {
        (code(of: error), message(of: error))
    }

    static func code(of error: any Error) -> String {
        if let error = error as? LuaError {
            if error.kind == .interrupted { return "interrupted" }
            return (error.underlying as? any ScriptError)?.scriptCode ?? "error"
        }
        return (error as? any ScriptError)?.scriptCode ?? "error"
    }

    static func message(of error: any Error) -> String {
        if let error = error as? LuaError { return error.message }
        return (error as? any ScriptError)?.scriptMessage ?? "\(error)"
    }
}

/// One try to run a migration, and what there is to say of it.
final class Attempt {
    /// The copy of the store that was made before.
    var backup: String?
    /// The object that was being migrated when it failed.
    var object: String?
    private let file: MigrationFile
    private let start = ContinuousClock.now
    private var failures: [(message: String, object: String)] = []
    private var failureCount = 0
    private static let failureLimit = 20

    init(_ file: MigrationFile) { self.file = file }

    /// Throws ``MigrationFailure`` for what the work throws.
    func run<Result>(on store: Store, _ work: () throws -> Result) throws -> Result {
        do {
            return try work()
        } catch {
            throw MigrationFailure(
                cause: error, fileName: file.fileName, object: object,
                isResumable: isInterrupted(store))
        }
    }

    /// Whether an earlier run of the migration has committed batches.
    func isInterrupted(_ store: Store) -> Bool {
        // A store that cannot be read cannot be resumed either.
        guard let found = try? store.interruptedMigration() else { return false }
        return found.key == file.resumeKey
    }

    /// Notes an object that could not be migrated.
    func failed(_ message: String, _ object: String) {
        failureCount += 1
        if failures.count < Self.failureLimit { failures.append((message, object)) }
    }

    /// What was done, for programs.
    func report(_ report: MigrationReport) -> ReportValue {
        .members([
            "number": .count(file.number), "name": .text(file.name),
            "differences": .texts(report.differences.map(\.description)),
            "classes": .array(report.classes.map(Self.value)),
            "dropped": .array(
                report.dropped.map {
                    .members([
                        "place": .text($0.place), "what": .text($0.isClass ? "objects" : "values"),
                        "count": .count($0.count),
                    ])
                }),
            "failed": .count(failureCount),
            "failures": .array(
                failures.map {
                    .members(["object": .text($0.object), "message": .text($0.message)])
                }),
            "backup": backup.map(ReportValue.text) ?? .null,
            "seconds": .double(MigrationRunner.seconds(since: start)),
        ])
    }

    private static func value(_ report: MigrationReport.ClassReport) -> ReportValue {
        .members([
            "class": .text(report.name), "before": .count(report.before),
            "after": .count(report.after), "created": .count(report.created),
            "deleted": .count(report.deleted), "changed": .count(report.changed),
            "samples": .array(
                report.samples.map {
                    .members(["before": values($0.before), "after": values($0.after)])
                }),
        ])
    }

    private static func values(_ values: [(name: String, value: Value)]) -> ReportValue {
        .object(values.map { ReportValue.Member($0.name, value($0.value)) })
    }

    private static func value(_ value: Value) -> ReportValue {
        switch value {
        case .null: .null
        case .bool(let flag): .bool(flag)
        case .int(let number): .int(number)
        case .double(let number): .double(number)
        case .string(let text): .text(text)
        case .list(let values): .array(values.prefix(20).map(Self.value))
        default: .text(value.summary)
        }
    }
}
