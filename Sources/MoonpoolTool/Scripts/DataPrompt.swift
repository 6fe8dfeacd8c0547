import DataFormats
import EventLoops
import LuaHost
import ObjectStore
import Reference
import ScriptHost
import Transfer

/// `moonpool people.csv`: a prompt, or a script, on the data of a file, imported into memory.
struct DataPrompt: Sendable {
    private let path: String
    private let format: TransferFormat

    /// Nil for a file that is no data, by its name, or does not exist.
    init?(_ path: String) {
        guard path.contains("."), ProcessServices.exists(path),
            let format = try? TransferFormat(path: path), format != .lua, format != .realm
        else { return nil }
        self.path = path
        self.format = format
    }

    /// Imports the file and opens the copy as the global `store`.
    func open(in context: ScriptContext) throws {
        do {
            let file = path.split(separator: "/").last.map(String.init) ?? path
            let filled = try CommandStore.openInMemory(named: file)
            // The content of a store in memory lives while one store is open.
            defer { filled.close() }
            let report = try read(into: filled)
            let options = context.state.makeTable()
            options["in_memory"] = .text(file)
            let open = try context.module.get("open")
            let opened = try context.state.call(open, [.table(options)])
            context.state.globals["store"] = opened.first ?? .nil
            if context.configuration.isInteractive {
                ProcessServices.writeOutput(summary(filled, report))
            }
        } catch {
            let message =
                (error as? StoreError)?.message ?? (error as? FormatError)?.description
                ?? (error as? LuaError)?.message ?? "\(error)"
            ProcessServices.writeError("moonpool: \(message)\n")
            throw error
        }
    }

    /// The statements by which a saved script imports the same file.
    static func opening(of path: String) -> String {
        let name = LuaLiteral.string(path)
        let format = try? TransferFormat(path: path)
        let options =
            format == .csv || format == .tsv ? ", { class = \"\(className(of: path))\" }" : ""
        return
            "local store = moonpool.open { in_memory = \(name) }\nstore:import(\(name)\(options))"
    }

    /// Rows that name no class become objects of a class named after the file.
    private func read(into store: Store) throws -> ImportReport {
        try FileReader.check(path)
        var options = ImportOptions()
        if format == .csv || format == .tsv {
            options.className = className
        } else {
            do {
                return try importing(store, options)
            } catch {
                // Rows that name no class are told by the first of them.
                guard format != .sqlite, store.schema.classes.isEmpty else { throw error }
                options.className = className
            }
        }
        return try importing(store, options)
    }

    private func importing(_ store: Store, _ options: ImportOptions) throws -> ImportReport {
        let progress = ProgressLine("imported")
        defer { progress.end() }
        return try Importer(into: store, options, progress: progress.update).read(path, as: format)
    }

    /// `people-2024.csv` → `People2024`.
    private var className: String { Self.className(of: path) }

    private static func className(of path: String) -> String {
        let file = path.split(separator: "/").last.map(String.init) ?? path
        let stem = file.split(separator: ".").first.map(String.init) ?? file
        let words = stem.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
        let name = words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        guard let first = name.first, first.isLetter else { return "Rows" + name }
        return name
    }

    private func summary(_ store: Store, _ report: ImportReport) -> String {
        var lines: [String] = []
        for classSchema in store.schema.classes where !classSchema.isEmbedded {
            let count = store.view.table(classSchema).count
            let properties = classSchema.properties.map { property in
                "\(property.name) \(PropertySyntax.text(of: property))"
            }
            lines.append(
                "\(classSchema.name): \(count) \(count == 1 ? "object" : "objects")  (\(properties.prefix(8).joined(separator: ", "))"
                    + (properties.count > 8 ? ", …)" : ")"))
        }
        lines += report.notes.map { "note: \($0)" }
        lines.append("a copy in memory of \(path); store:backup \"name.moonpool\" keeps it")
        return lines.joined(separator: "\n") + "\n"
    }
}
