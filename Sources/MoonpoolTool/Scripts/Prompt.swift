import ArgumentParser
import EventLoops
import LuaHost
import ObjectStore
import REPL
import Reference
import ScriptHost
import SystemCalls
import Transfer

/// Starts the prompt at a terminal.
enum Prompt {
    /// Runs the prompt on a store file, or on an in-memory store.
    ///
    /// Runs the `-e`, `-l` and script arguments of the command line before the first prompt.
    static func run(
        _ line: LuaCommandLine, store: String?, realm: RealmPrompt? = nil, data: DataFile? = nil
    ) -> Int32 {
        var options = ReplOptions(
            storePath: store, skipsInitFile: line.skipsInitFile,
            usesEnvironment: !line.ignoresEnvironment, host: line.host, greeting: Texts.greeting)
        if let realm { options.openStore = { try realm.open(in: $0) } }
        if let data {
            options.openStore = { try data.open(in: $0) }
            options.openingCode = data.code
        }
        return ReplSession.run(options) { context in
            try LuaProgram(line, in: context).run()
        }
    }
}

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
            let format = try RowFormats.realm.required().report(path, options).format
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

/// Asks for confirmation before the prompt creates a store, because the name can be misspelled.
enum NewStore {
    /// Returns whether to open the prompt on a path: the file exists, or the user confirms that it should be created.
    static func isWanted(at path: String) -> Bool {
        guard ProcessServices.size(of: path) == nil else { return true }
        let near = nearest(to: path).map { "; did you mean '\($0)'?" } ?? ""
        if !near.isEmpty { ProcessServices.writeError("there is no store '\(path)'\(near)\n") }
        while true {
            ProcessServices.writeError("create new store '\(path)'? y/n ")
            guard let answer = readLine() else {
                ProcessServices.writeError("\n")
                return false
            }
            switch answer.lowercased() {
            case "y", "yes": return true
            case "n", "no": return false
            default: continue
            }
        }
    }

    /// Returns the store in the same folder with the most similar name.
    private static func nearest(to path: String) -> String? {
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { String(path[...$0]) } ?? ""
        let file = slash.map { String(path[path.index(after: $0)...]) } ?? path
        let names = (ProcessServices.names(in: folder.isEmpty ? "." : folder) ?? [])
            .filter { $0.hasSuffix(".moonpool") }
        return NearestName.find(file, among: names).map { folder + $0 }
    }
}

/// A data file that replaces a store: `moonpool people.csv` imports the file into an in-memory store.
struct DataFile: Sendable {
    private static let extensions = [
        "csv", "tsv", "json", "jsonl", "ndjson", "sqlite", "sqlite3", "db",
    ]

    private let path: String
    /// The name of the file without folder and extension.
    private let name: String
    /// The class of all rows; nil if the file contains the class names.
    private let className: String?

    /// Creates a data file.
    ///
    /// Returns nil if the file does not exist, or if its extension is not that of a data format.
    init?(_ path: String) {
        let file = path.split(separator: "/").last.map(String.init) ?? path
        let parts = file.split(separator: ".")
        guard parts.count > 1, let ending = parts.last?.lowercased(),
            Self.extensions.contains(ending), ProcessServices.size(of: path) != nil
        else { return nil }
        self.path = path
        name = parts.dropLast().joined(separator: ".")
        switch ending {
        case "csv", "tsv": className = Self.className(for: name)
        case "json", "jsonl", "ndjson":
            // Exports of stores contain the class name of each row.
            let start = ProcessServices.read(path, limit: 1 << 16) ?? []
            let text = String(decoding: start, as: UTF8.self)
            let namesClasses = ["\"$class\"", "\"$schema\""].contains { text.contains($0) }
            className = namesClasses ? nil : Self.className(for: name)
        default: className = nil
        }
    }

    /// Returns the class name for a file name: `People` for `people`, `MyData` for `my-data`.
    static func className(for name: String) -> String {
        let words = name.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
        let joined = words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        return joined.first?.isLetter == true ? joined : "Data" + joined
    }

    /// The Lua code that opens the store, for saved sessions.
    var code: String { code(assigning: "") }

    private func code(assigning variable: String) -> String {
        let options = className.map { ", { class = \(LuaLiteral.string($0)) }" } ?? ""
        return """
            store = moonpool.open { in_memory = \(LuaLiteral.string(name)) }
            \(variable)store:import(\(LuaLiteral.string(path))\(options))
            """
    }

    /// Imports the file into the global `store` and prints a summary.
    ///
    /// Prints errors before it throws them.
    func open(in context: ScriptContext) throws {
        do throws(LuaError) {
            let summary = try context.state.run(
                code(assigning: "local report = ") + """

                    do
                      local text, names, counts = "", {}, {}
                      for i, note in ipairs(report.notes) do text = text .. "note: " .. note .. "\\n" end
                      for name in pairs(store:schema()) do names[#names + 1] = name end
                      table.sort(names)
                      for i, name in ipairs(names) do
                        local ok, objects = pcall(store.objects, store, name)
                        if ok then counts[#counts + 1] = #objects .. " " .. name end
                      end
                      return text .. "imported " .. \(LuaLiteral.string(path)) .. ": " .. table.concat(counts, ", ") .. "\\n"
                    end
                    """, name: "=moonpool")
            let text = summary.first?.text ?? ""
            ProcessServices.print(Array(ControlCharacters.escaped(text).utf8))
        } catch {
            ProcessServices.writeError("moonpool: \(error.message)\n")
            throw error
        }
    }
}
