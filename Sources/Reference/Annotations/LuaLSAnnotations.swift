import LuaHost
import ObjectStore

/// The Lua API as annotations for LuaLS and other language servers: the files from which ``HelpCatalog`` is read.
package enum LuaLSAnnotations {
    /// A file that declares the module and all its types.
    package static var api: String { file("Written by `moonpool luals`.", "") }

    /// Returns a file that also declares the classes of stores and contains `globals`: annotated Lua code for the names
    /// that a host program adds.
    package static func api(of classes: [ClassSchema], and globals: String) -> String {
        file(
            "Written by `ScriptEngine.stubs()`, with the names that the program adds.",
            LuaLSClasses(classes).declarations + "\n" + globals + "\n")
    }

    private static func file(_ origin: String, _ additions: String) -> String {
        var text = "---@meta moonpool\n-- The Lua API of Moonpool, for LuaLS. \(origin)\n"
        for name in RuntimeFile.names(in: "api/") {
            let lines = RuntimeFile.lines(name)
            // Names that exist only at the prompt are unknown to scripts, and therefore also to editors.
            guard lines.first == "---@meta" else { continue }
            var type: HelpType?
            for line in lines.dropFirst() {
                if line.hasPrefix("---@help ") {
                    let name = line.dropFirst(9).prefix { $0 != "<" }
                    type = HelpCatalog.types.first { $0.name == name }
                } else if line.hasPrefix("---@shares "), let type {
                    text += shared(line, type)
                } else if line != "---@writable" {
                    text += line + "\n"
                }
            }
        }
        return text + additions + "\nreturn moonpool\n"
    }

    /// Returns the members that a line such as `---@shares Object: is_valid, freeze` adds to a type.
    ///
    /// They are fields, because only a field of a function type can refer to the `T` of a generic class.
    private static func shared(_ line: String, _ type: HelpType) -> String {
        let names = Set(line.split { ": ,".contains($0) }.map(String.init))
        return HelpCatalog.entries(of: type)
            .filter { $0.owners[0] != type && names.contains($0.name) }
            .map { text(of: $0, in: type) }.joined()
    }

    private static func text(of entry: HelpEntry, in type: HelpType) -> String {
        if case .field(let fieldType, _) = entry.kind {
            let isOptional = fieldType.hasSuffix("?")
            var required = isOptional ? fieldType.dropLast() : fieldType[...]
            // The parser of LuaLS fails on some types in parentheses before a `?`.
            if isOptional, required.hasPrefix("("), required.hasSuffix(")") {
                required = required.dropFirst().dropLast()
            }
            let name = entry.name + (isOptional ? "?" : "")
            return "---@field \(name) \(qualified(required, in: type)) \(entry.summary)\n"
        }
        var lines = [entry.summary, ""]
        if !entry.errors.isEmpty {
            lines += ["Errors: \(entry.errors.joined(separator: ", "))", ""]
        }
        lines += ["```lua", entry.example.replacing("\n", with: "\n---"), "```"]
        let types = entry.signatures.map { signature in
            let parameters = ["self: self"] + signature.parameters.map(\.text)
            let results = signature.results.joined(separator: ", ")
            return "fun(\(parameters.joined(separator: ", ")))"
                + (results.isEmpty ? "" : ": \(results)")
        }
        let all = types.count == 1 ? types[0] : types.map { "(\($0))" }.joined(separator: "|")
        lines.append("@field \(entry.name) \(qualified(all[...], in: type))")
        return lines.map { "---\($0)\n" }.joined()
    }

    /// Returns a type of the catalog with the full names of API types, as seen from the members of a type.
    private static func qualified(_ text: Substring, in type: HelpType) -> String {
        let isGeneric = !type.element.isEmpty
        var result = ""
        var rest = text
        while let character = rest.first {
            let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
            if word.isEmpty {
                // Quoted words are values.
                let quoted =
                    character == "\"" ? rest.dropFirst().prefix { $0 != "\"" }.count + 1 : 0
                result += rest.prefix(1 + quoted)
                rest = rest.dropFirst(1 + quoted)
                continue
            }
            rest = rest.dropFirst(word.count)
            switch word {
            case "self" where !rest.hasPrefix(":"):
                result += "moonpool.\(type.annotation)" + (isGeneric ? "<T>" : "")
            case "T" where !isGeneric: result += "any"
            case _ where HelpCatalog.types.contains { $0.annotation == word }:
                result += "moonpool.\(word)"
            default: result += word
            }
        }
        return result
    }
}
