import Glibc
import LuaHost
import Moonpool
import MoonpoolScripting
import ObjectStore
import ScriptHost
import Synchronization
import TestThreads
import Testing

/// A file of scenarios in Lua, and the environments that run them.
///
/// Each scenario has an engine and a store of its own, so that none depends on another one.
struct Specification: Sendable, CustomTestStringConvertible {
    /// Where a scenario runs.
    enum Environment: String, CaseIterable, Sendable {
        /// An engine with all rights, as scripts run.
        case engine
        /// An engine with the rights and the limits of untrusted scripts.
        case confined
        /// An engine whose store the typed Swift API has opened, and keeps open.
        case typed
    }

    struct Scenario: Sendable {
        var title: String
        var line: Int
        /// The reason for each environment that does not run the scenario.
        var exceptions: [Environment: String]
    }

    struct Failure: Error, Sendable {
        var line: Int
        var message: String
    }

    let name: String
    let source: String
    var testDescription: String { name }

    private static let root = #filePath.split(
        separator: "/", omittingEmptySubsequences: false
    ).dropLast(2).joined(separator: "/")
    private static let vocabulary = text(of: "\(root)/SpecificationTests/vocabulary.lua")
    /// The memory of untrusted scripts, and time for a busy machine.
    private static let limits = ScriptLimits(memory: 64 << 20, time: .seconds(60))
    private static let stores = Atomic(0)

    /// The files in `Tests/Specifications`, or the one that `MOONPOOL_SPECIFICATION` names.
    static let all: [Specification] = {
        let only = getenv("MOONPOOL_SPECIFICATION").map { String(cString: $0) }
        guard let folder = opendir("\(root)/Specifications") else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasSuffix(".lua"), only == nil || name == "\(only!).lua" { names.append(name) }
        }
        return names.sorted().map {
            Specification(name: $0, source: text(of: "\(root)/Specifications/\($0)"))
        }
    }()

    private static func text(of path: String) -> String {
        guard let file = fopen(path, "r") else { return "error 'no file \(path)'" }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while case let byte = getc(file), byte != EOF { bytes.append(UInt8(byte)) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The location of a line, for issues.
    func location(_ line: Int) -> SourceLocation {
        SourceLocation(
            fileID: "Specifications/\(name)", filePath: "\(Self.root)/Specifications/\(name)",
            line: max(line, 1), column: 1)
    }

    /// Returns the scenarios that the file declares.
    func scenarios() async throws(Failure) -> [Scenario] {
        try await perform(in: .engine, scenario: nil)
    }

    /// Runs a scenario, counted from 0, and throws why it does not hold.
    func run(_ number: Int, in environment: Environment) async throws(Failure) {
        _ = try await perform(in: environment, scenario: number)
    }

    private func perform(
        in environment: Environment, scenario: Int?
    ) async throws(Failure) -> [Scenario] {
        let reports = Reports()
        do {
            let folder = try TemporaryFolder()
            let name = "specification \(Self.stores.add(1, ordering: .relaxed).newValue)"
            var configuration =
                environment == .confined
                ? ScriptConfiguration.sandboxed(
                    files: .folders([folder.path]), limits: Self.limits)
                : ScriptConfiguration(name: "engine")
            configuration.report = { reports.add($0) }
            let engine = try ScriptEngine(configuration)
            var typed: Moonpool.Store?
            if environment == .typed, scenario != nil {
                typed = try Moonpool.Store(.memory(name), on: nil)
                try await engine.open(.memory(name))
            }
            let result = await Result {
                try await engine.perform { context in
                    try run(scenario, in: context, environment, reports, folder: folder.path, name)
                }
            }
            try typed?.refresh()
            typed?.close()
            await engine.close()
            return try result.get()
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(line: 1, message: "\(error)")
        }
    }

    private func run(
        _ scenario: Int?, in context: ScriptContext, _ environment: Environment,
        _ reports: Reports, folder: String, _ name: String
    ) throws(Failure) -> [Scenario] {
        let globals = context.state.globals
        globals["environment"] = .text(environment.rawValue)
        globals["folder"] = .text(folder)
        globals["tests_all"] = .boolean(RandomSeeds.areAll)
        globals["store_name"] = .text(name)
        globals["reports"] = .function(
            context.state.makeFunction("reports") { call in
                call.answer(
                    .table(
                        context.state.makeTable(
                            reports.take().map { report in
                                let fields = context.state.makeTable(fields: 2)
                                fields["source"] = .text(report.source)
                                fields["message"] = .text(report.message)
                                return .table(fields)
                            })))
            })
        globals["elsewhere"] = .function(
            context.state.makeFunction("elsewhere") { call in
                try change(context, call)
                return .none
            })
        do {
            try context.state.load(Self.vocabulary, name: "@vocabulary.lua").call([])
            try context.state.load(source, name: "@" + self.name).call([])
            guard let table = globals["specification"].table else { return [] }
            if let scenario {
                try table["run"].function?.call([.integer(Int64(scenario) + 1)])
            } else {
                return (table["scenarios"].table?.array ?? []).compactMap(\.table).map(
                    Scenario.init)
            }
        } catch {
            let traceback = error.traceback ?? ""
            throw Failure(
                line: line(in: error.message) ?? line(in: traceback) ?? 1,
                message: "\(error.message)\n\(traceback)")
        }
        // A hint has no source.
        if let report = reports.take().first(where: { !$0.source.isEmpty }) {
            throw Failure(
                line: line(in: report.message) ?? 1,
                message: "error in \(report.source): \(report.message)")
        }
        return []
    }

    /// Returns the first line of the file that a text names.
    private func line(in text: String) -> Int? {
        text.firstRange(of: name + ":").flatMap { found in
            Int(text[found.upperBound...].prefix { $0.isNumber })
        }
    }

    /// `elsewhere(class, key, values)` creates or changes an object in another store of the same file; without values,
    /// deletes it.
    private func change(_ context: ScriptContext, _ call: borrowing LuaCall) throws {
        let configuration = StoreConfiguration(
            context.openStores[0].configuration.location)
        let store = try ObjectStore.Store(configuration, scheduler: IdleScheduler())
        defer { store.close() }
        let (className, key) = (try call.text(1), try call.integer(2))
        let values = call.isNil(3) ? nil : try call.table(3)
        try store.write {
            let found = try store.object(className, primaryKey: .int(key))
            guard let values else { return try store.delete(#require(found)) }
            let object = try found ?? store.create(className, .dictionary(["id": .int(key)]))
            for (name, value) in values.pairs {
                try object.set(name.text ?? "", value.integer.map { .int($0) } ?? .null)
            }
        }
    }
}

extension Specification.Scenario {
    fileprivate init(_ table: LuaTable) {
        title = table["title"].text ?? ""
        line = Int(table["line"].integer ?? 1)
        exceptions = [:]
        for (name, reason) in table["except"].table?.pairs ?? [] {
            guard let environment = name.text.flatMap(Specification.Environment.init) else {
                title += " (unknown environment)"
                continue
            }
            exceptions[environment] = reason.text ?? ""
        }
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

/// The reports of an engine that no scenario has read.
private final class Reports: Sendable {
    private let reports = Mutex<[ScriptReport]>([])
    func add(_ report: ScriptReport) { reports.withLock { $0.append(report) } }
    func take() -> [ScriptReport] {
        reports.withLock { reports in
            defer { reports = [] }
            return reports
        }
    }
}

/// The scheduler of a store that only writes.
private struct IdleScheduler: Scheduler {
    private struct IdleWakeup: Wakeup {
        func wake() {}
        func cancel() {}
    }
    var isOnThread: Bool { true }
    var canDeliver: Bool { false }
    func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup { IdleWakeup() }
}
