import ObjectStore

/// The Lua API as annotations for LuaLS and other language servers.
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
        var text = """
            ---@meta moonpool
            -- The Lua API of Moonpool, for LuaLS. \(origin)

            ---@alias moonpool.ErrorCode \(ErrorCode.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: "|"))


            """
        // Names that exist only at the prompt are unknown to scripts, and therefore also to editors.
        for type in HelpCatalog.types
        where type != HelpCatalog.moonpool && type != HelpCatalog.prompt {
            text += TypeAnnotation(type).text + "\n"
        }
        return text + TypeAnnotation(HelpCatalog.moonpool).text + additions + "\nreturn moonpool\n"
    }
}

/// The annotations of a type and its members.
private struct TypeAnnotation {
    let type: HelpType
    let entries: [HelpEntry]

    init(_ type: HelpType) {
        self.type = type
        entries = HelpCatalog.entries(of: type)
    }

    /// Whether the type is the module, a table of functions, and not a kind of value.
    private var isModule: Bool { type == HelpCatalog.moonpool }
    private var isGeneric: Bool { !type.element.isEmpty }
    private var className: String { isModule ? "moonpool" : "moonpool.\(type.annotation)" }

    var text: String {
        var lines = ["---\(type.summary)"]
        lines += Self.example(type.example)
        lines.append("---@class \(header)")
        for entry in entries {
            if case .field(let fieldType, _) = entry.kind {
                let (type, mark) = Self.withoutOptional(Self.qualified(fieldType))
                lines.append("---@field \(entry.name)\(mark) \(type) \(entry.summary)")
            }
        }
        if isModule {
            for part in HelpCatalog.types where part.name.hasPrefix("moonpool.") {
                lines.append("---@field \(part.annotation) moonpool.\(part.annotation)")
            }
        }
        lines += Self.operators(of: type)
        let functions = entries.filter { $0.kind == .function || $0.kind == .method }
        if isGeneric {
            lines += functions.map(genericField)
            return lines.joined(separator: "\n") + "\n"
        }
        // The module is also a global of every script.
        let variable = isModule ? "moonpool" : type.annotation
        if isModule || !functions.isEmpty {
            lines.append("\(isModule ? "" : "local ")\(variable) = {}")
        }
        for entry in functions { lines += ["", declaration(entry, variable)] }
        return lines.joined(separator: "\n") + "\n"
    }

    private var header: String {
        var header = className
        if isGeneric {
            header += "<T>"
            if [HelpCatalog.map].contains(type) {
                header += ": { [string]: T }"
            } else if type == HelpCatalog.sectionsType {
                header += ": { [integer]: { key: any, objects: moonpool.Results<T> } }"
            } else if type != HelpCatalog.change {
                header += ": { [integer]: T }"
            }
        } else if let parent = type.parent.flatMap(HelpCatalog.type(named:)) {
            header += ": moonpool.\(parent.annotation)"
        }
        return header
    }

    /// Returns a method of a generic type as a field, because only a field of a function type can refer to the `T` of
    /// the class.
    private func genericField(_ entry: HelpEntry) -> String {
        let own = "\(className)<T>"
        let types = entry.signatures.map { signature in
            let parameters =
                ["self: \(own)"]
                + signature.parameters.map {
                    "\($0.name)\($0.isOptional ? "?" : ""): \(Self.qualified($0.type))"
                }
            let results = signature.results.map { $0.replacing(word: "self", by: own) }
                .map(Self.qualified)
            let tail = results.isEmpty ? "" : ": " + results.joined(separator: ", ")
            return "fun(\(parameters.joined(separator: ", ")))\(tail)"
        }
        let type = types.count == 1 ? types[0] : types.map { "(\($0))" }.joined(separator: "|")
        return "---@field \(entry.name) \(type) \(entry.summary)"
    }

    private func declaration(_ entry: HelpEntry, _ variable: String) -> String {
        var lines = ["---\(entry.summary)"]
        if !entry.errors.isEmpty {
            lines += ["---", "---Errors: \(entry.errors.map(\.rawValue).joined(separator: ", "))"]
        }
        lines += Self.example(entry.example)
        let first = entry.signatures[0]
        let isByClass = first.text.contains("`T`")
        if isByClass { lines.append("---@generic T") }
        func known(_ type: String) -> String {
            Self.qualified(isByClass ? type : type.replacing(word: "T", by: "any"))
        }
        for parameter in first.parameters {
            lines.append(
                "---@param \(parameter.name)\(parameter.isOptional ? "?" : "") \(known(parameter.type))"
            )
        }
        for result in first.results {
            lines.append("---@return \(result == "..." ? "any ..." : known(result))")
        }
        let isMethod = entry.kind == .method
        for other in entry.signatures.dropFirst() {
            var parameters = other.parameters.map {
                "\($0.name)\($0.isOptional ? "?" : ""): \(known($0.type))"
            }
            if isMethod { parameters.insert("self: \(className)", at: 0) }
            let results = other.results.map { $0.replacing(word: "self", by: className) }
                .map(known)
            let tail = results.isEmpty ? "" : ": " + results.joined(separator: ", ")
            lines.append("---@overload fun(\(parameters.joined(separator: ", ")))\(tail)")
        }
        let names = first.parameters.map(\.name).joined(separator: ", ")
        lines.append("function \(variable)\(entry.separator)\(entry.name)(\(names)) end")
        return lines.joined(separator: "\n")
    }

    private static func example(_ text: String) -> [String] {
        guard !text.isEmpty else { return [] }
        return ["---", "---```lua"]
            + text.split(separator: "\n", omittingEmptySubsequences: false).map { "---\($0)" }
            + ["---```"]
    }

    private static func operators(of type: HelpType) -> [String] {
        switch type {
        case HelpCatalog.results, HelpCatalog.list, HelpCatalog.set, HelpCatalog.map,
            HelpCatalog.valuesType,
            HelpCatalog.sectionsType, HelpCatalog.mixedList, HelpCatalog.mixedMap, HelpCatalog.data:
            return ["---@operator len: integer"]
        case HelpCatalog.date:
            return [
                "---@operator add(number): moonpool.Date",
                "---@operator sub(number): moonpool.Date",
                "---@operator sub(moonpool.Date): number",
            ]
        case HelpCatalog.decimal:
            return ["add", "sub", "mul", "div", "mod", "idiv"].map {
                "---@operator \($0)(number|moonpool.Decimal): moonpool.Decimal"
            } + ["---@operator unm: moonpool.Decimal"]
        default: return []
        }
    }

    /// Splits a type into the type without its `?`, and the `?` for the name of the field.
    ///
    /// The parser of LuaLS fails on some types in parentheses before a `?`, such as `("full"|"async"|"memory")?`.
    private static func withoutOptional(_ type: String) -> (type: String, mark: String) {
        guard type.last == "?" else { return (type, "") }
        let inner = type.dropLast()
        var depth = 0
        for index in inner.indices {
            if inner[index] == "(" { depth += 1 }
            if inner[index] == ")" { depth -= 1 }
            // The first parenthesis must match the last one.
            if depth == 0, inner.index(after: index) < inner.endIndex {
                return (String(inner), "?")
            }
        }
        return (inner.first == "(" ? String(inner.dropFirst().dropLast()) : String(inner), "?")
    }

    /// Adds `moonpool.` before the names of API types.
    private static func qualified(_ text: String) -> String {
        HelpCatalog.types.reduce(text) {
            $1 == HelpCatalog.moonpool
                ? $0 : $0.replacing(word: $1.annotation, by: "moonpool.\($1.annotation)")
        }
    }
}

extension String {
    /// Returns the text with a whole word replaced everywhere, except in quoted text and in longer names.
    func replacing(word: String, by other: String) -> String {
        var result = ""
        var current = ""
        var isQuoted = false
        var previous: Character?
        func isPart(_ character: Character) -> Bool {
            character.isLetter || character.isNumber || character == "_"
        }
        for character in self + " " {
            if isPart(character) {
                current.append(character)
                continue
            }
            result += current == word && !isQuoted && previous != "." ? other : current
            if !current.isEmpty || character != "." { current = "" }
            if character == "\"" { isQuoted.toggle() }
            result.append(character)
            previous = character
        }
        result.removeLast()
        return result
    }
}
