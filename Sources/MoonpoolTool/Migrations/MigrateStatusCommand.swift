import ArgumentParser
import EventLoops
import ObjectStore
import ScriptHost
import StoreBindings

/// `moonpool migrate status STORE --dir DIR`.
struct MigrateStatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show applied and pending migrations.")

    @OptionGroup var place: MigrationPlace

    func run() throws {
        let place = place
        let stores = StorePattern(place.store).paths
        MigrationSession.run(json: place.json) { context in
            try MigrationSession.each(stores) { store in
                let runner = try MigrationPlace.runner(context, store, place.folder, nil, nil)
                let state = try runner.state()
                return .init(report: state.report, lines: state.lines)
            }
        }
    }
}

/// `moonpool migrate check STORE --dir DIR`.
struct MigrateCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract:
            "Check whether a store is up to date and its pending migrations work.",
        discussion: """
            Compiles every pending file and applies it to a copy of the store. The exit code is 0 if the store is up to \
            date, 1 if migrations are pending, and 2 after an error: a pending file does not compile or fails, the schema \
            was changed by hand, an applied migration was edited (except comments and white space), the store is newer than \
            the folder, or there is no store. With --fail-on, the exit code is 3 if a pending migration drops or rewrites \
            values.
            """)

    @OptionGroup var place: MigrationPlace
    @OptionGroup var gate: MigrationGate
    @OptionGroup var output: FindingOptions

    func run() throws {
        let (place, gate, format) = (place, gate.kinds, output.format)
        let stores = StorePattern(place.store).paths
        MigrationSession.run(json: place.json, failure: 2) { context in
            try MigrationSession.each(stores) { store in
                let runner = try MigrationPlace.runner(context, store, place.folder, nil, nil)
                var (state, findings, rehearsal) = try runner.check()
                let gated = rehearsal.map { MigrationFinding.gated($0, gate) } ?? []
                findings += gated
                let code = state.problems.isEmpty && !gated.isEmpty ? 3 : state.code
                if let format {
                    return .init(
                        report: state.report,
                        lines: [
                            format.text(
                                findings, suite: "migrate check \(store)", passed: [state.summary])
                        ], exitCode: code, isFormatted: true)
                }
                var lines = state.problems.isEmpty ? [state.summary] : state.lines
                lines += gated.map { "\($0.path ?? ""): \($0.message)" }
                return .init(report: state.report, lines: lines, exitCode: code)
            }
        }
    }
}
