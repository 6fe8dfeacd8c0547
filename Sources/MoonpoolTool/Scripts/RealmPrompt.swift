import ArgumentParser
import EventLoops
import LuaHost
import ObjectStore
import ScriptHost
import SystemCalls
import Transfer

/// The command line `moonpool app.realm [--key KEY] [--to FILE]`: a prompt, or standard input, on a copy of a Realm
/// file.
struct RealmPrompt: Sendable {
    private let path: String
    private let options: RealmOptions
    private let target: String?

    /// The arguments after the file; the usage shows the name of the type.
    private struct Moonpool: ParsableArguments {
        @OptionGroup var realm: RealmOptionGroup
        @Option(help: "Keep the copy in this new store instead of memory.")
        var to: String?
    }

    /// Parses the arguments after the file; after an error, prints the message and ends the process.
    init(_ path: String, _ words: [String]) {
        let parsed = Moonpool.parseOrExit(words)
        self.path = path
        options = parsed.realm.options
        target = parsed.to
    }

    /// Imports the file and opens the copy as the global `store`.
    ///
    /// An in-memory copy is read-only, because changes to it would be lost when the process ends.
    func open(in context: ScriptContext) throws {
        do {
            if let target, ProcessServices.size(of: target) ?? 0 > 0 {
                throw StoreError(.invalidArgument, "'\(target)' already exists; name a new file")
            }
            let format = try RealmReport(path, options).format
            let file = path.split(separator: "/").last.map(String.init) ?? path
            let name = file.lowercased().hasSuffix(".realm") ? String(file.dropLast(6)) : file
            let label = "\(name) (realm \(format), read-only copy)"
            let options = context.state.makeTable()
            let filled: Store
            if let target {
                options["path"] = .text(target)
                filled = try CommandStore.open(target, isReadOnly: false)
            } else {
                options["in_memory"] = .text(label)
                options["read_only"] = .boolean(true)
                filled = try CommandStore.openInMemory(named: label)
            }
            // An in-memory store exists while at least one instance of it is open.
            defer { filled.close() }
            let report = try RealmCopy.read(path, into: filled, self.options)
            for note in report.notes { ProcessServices.writeError("note: \(note)\n") }
            let open = try context.module.get("open")
            let opened = try context.state.call(open, [.table(options)])
            context.state.globals["store"] = opened.first ?? .nil
        } catch {
            let message =
                (error as? StoreError)?.scriptMessage ?? (error as? LuaError)?.message ?? "\(error)"
            ProcessServices.writeError("moonpool: \(message)\n")
            throw error
        }
    }
}
