import EventLoops
import LuaHost
import Reference
import ScriptHost
import SystemCalls

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
