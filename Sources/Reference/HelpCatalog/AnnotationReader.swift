import LuaHost

// Reads the description of the Lua API: the annotations for LuaLS in `Sources/CLuaFiles/lua/api`.
//
//     ---A read-only view of one version of a store.       The description of the type, or member, below it
//     ---@class moonpool.FrozenStore: moonpool.Store       A type, with its parent
//     ---@help frozen store                                Its name in help
//     ---@shares Object: is_valid, freeze                  Members that it shares with a type above
//     ---@field path? string The path of the file.         A field; one of the type `fun(self: …)` is a method
//     ---@writable                                         The next field can be assigned
//     local FrozenStore = {}
//
//     ---Returns the object with a primary key, or nil.    A method, with its errors and its example
//     ---
//     ---Errors: unknown_class, closed
//     ---
//     ---```lua
//     ---print(store:object("Dog", 1).name)  --> Rex
//     ---```
//     ---@generic T
//     ---@param class `T`
//     ---@param key any
//     ---@return T?
//     function FrozenStore:object(class, key) end
//
// A generic type has its methods as fields, because only a field can refer to the `T` of its class: `---@help
// list<value>` also says what `T` means. A class without a name in help is for editors only. A file without
// `---@meta` is not for editors. The tags `help`, `shares` and `writable` are our own: `LuaLSAnnotations` replaces them.

/// Reads the names of types and members, and finds the lines that describe them.
struct AnnotationReader {
    private(set) var types: [HelpType] = []
    private(set) var entries: [HelpEntry] = []
    /// For each type, the indexes of its entries.
    private(set) var members: [[Int]] = []
    private(set) var errors: [ErrorCode] = []

    /// The first letters of `generic`, `param`, `return` and `type`.
    private static let laterTags = Array("gprt".utf8)

    /// Reads the lines of a file.
    mutating func read(_ lines: [String]) {
        // The first line that describes the next type or member, and the line of the last class.
        var (start, header) = (0, lines[..<0])
        for (index, line) in lines.enumerated() {
            if line.hasPrefix("---@") {
                // Most tags belong to parameters and results, which are read when they are used.
                if line.utf8.dropFirst(4).first.map(Self.laterTags.contains) == true { continue }
                let (tag, text) = TypeText.divide(line[...], at: " ")
                switch tag {
                case "---@class": header = lines[start...index]
                case "---@help": addType(text, header)
                case "---@field":
                    let name = TypeText.divide(text, at: " ").first.utf8
                    add(
                        name.last == UInt8(ascii: "?") ? name.dropLast() : name,
                        lines[start...index])
                case "---@shares": share(text)
                case "---@operator": break
                default: continue
                }
            } else if line.hasPrefix("---") {
                if line.hasPrefix("---| ") { addError(line) }
                continue
            } else if line.hasPrefix("function ") {
                // function Store:object(class, key) end
                let path = line[...].utf8.dropFirst(9).prefix { $0 != UInt8(ascii: "(") }
                let name = path.split { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ":") }.last
                add(name ?? path, lines[start...index])
            }
            start = index + 1
        }
    }

    /// Adds a type with a name in help: `frozen store`, `list<value>`.
    private mutating func addType(_ text: Substring, _ header: ArraySlice<String>) {
        // ---@class moonpool.List<T>: { [integer]: T }
        let declaration = TypeText.divide(header.last?[...] ?? "", at: " ").rest
        let (own, parents) = TypeText.divide(declaration, at: ":")
        let parent = TypeText.type(of: parents).type
        let (name, element) = TypeText.generic(text)
        types.append(
            HelpType(
                name: String(name), annotation: TypeText.type(of: TypeText.generic(own).name).type,
                element: String(element),
                parent: types.first { $0.annotation == parent }?.name, lines: header))
        members.append([])
    }

    private mutating func add(_ name: Substring.UTF8View, _ lines: ArraySlice<String>) {
        guard let type = types.last else { return }
        members[types.count - 1].append(entries.count)
        entries.append(HelpEntry(name: String(Substring(name)), owners: [type], lines: lines))
    }

    /// Adds members of another type to the last type: `Object: is_valid, freeze`.
    private mutating func share(_ text: Substring) {
        let (annotation, names) = TypeText.divide(text, at: ":")
        guard let source = types.firstIndex(where: { $0.annotation == annotation }) else { return }
        for name in TypeText.split(names, at: ",") {
            guard let entry = members[source].first(where: { entries[$0].name == name }) else {
                continue
            }
            entries[entry].owners.append(types[types.count - 1])
            members[types.count - 1].append(entry)
        }
    }

    /// Adds the code of errors of a line such as `---| "closed" # The store was closed`.
    private mutating func addError(_ line: String) {
        let (name, summary) = TypeText.divide(line[...], at: "#")
        errors.append(
            ErrorCode(
                name: String(Substring(name.utf8.dropFirst(6).dropLast())), summary: String(summary)
            ))
    }
}

/// The description of a type or member.
struct AnnotationText {
    private(set) var summary = ""
    private(set) var errors: [String] = []
    private(set) var example = ""

    /// Reads the lines that do not begin with a tag.
    init(_ lines: ArraySlice<String>) {
        enum Part { case summary, errors, example }
        var part = Part.summary
        for line in lines where line.hasPrefix("---") && !line.hasPrefix("---@") {
            let text = Substring(line.utf8.dropFirst(3))
            switch part {
            case .example where text == "```", .errors where text.isEmpty: part = .summary
            case .example: example += example.isEmpty ? text : "\n" + text
            case .errors: errors += TypeText.split(text, at: ",").map(String.init)
            case .summary where text == "```lua": part = .example
            case .summary where text.utf8.starts(with: "Errors: ".utf8):
                part = .errors
                errors = TypeText.split(Substring(text.utf8.dropFirst(8)), at: ",").map(String.init)
            case .summary: summary += summary.isEmpty || text.isEmpty ? text : " " + text
            }
        }
    }
}
