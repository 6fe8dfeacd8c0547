/// An entry of the Lua API: a function, a method, a property or an option.
///
/// Everything except the name and the owners is read from the annotations when it is used.
package struct HelpEntry: Sendable {
    /// The kind of member.
    package enum Kind: Sendable, Hashable {
        /// A function: `moonpool.open(…)`.
        case function
        /// A method: `store:create(…)`.
        case method
        /// A property, such as `store.version`, or a key in a table that a script passes or receives.
        case field(type: String, isWritable: Bool)
    }

    /// The name in Lua.
    package let name: String
    /// The types that have the member; several types can share one.
    package internal(set) var owners: [HelpType]
    /// The annotations: the description, the tags, and the declaration as the last line.
    let lines: ArraySlice<String>

    /// The kind of member.
    package var kind: Kind {
        guard let field else {
            let path = lines.last?.utf8.prefix { $0 != UInt8(ascii: "(") }
            return path?.contains(UInt8(ascii: ":")) == true ? .method : .function
        }
        guard Signature(type: Self.overloads(field.type)[0])?.isMethod != true else {
            return .method
        }
        let isBare = Self.overloads(field.type).count == 1 && !field.type.hasPrefix("fun(")
        let type = !field.isOptional ? field.type : isBare ? field.type + "?" : "(\(field.type))?"
        return .field(type: type, isWritable: lines.contains("---@writable"))
    }

    /// Parameters and results, one for each overload; empty for fields.
    package var signatures: [Signature] {
        if let field {
            let signatures = Self.overloads(field.type).compactMap { Signature(type: $0) }
            return signatures.first?.isMethod == true ? signatures : []
        }
        var first = Signature()
        var others: [Signature] = []
        for line in lines {
            let (tag, rest) = TypeText.divide(line[...], at: " ")
            switch tag {
            case "---@param":
                let (name, type) = TypeText.divide(rest, at: " ")
                first.parameters.append(.init(name: name, type: TypeText.type(of: type).type))
            case "---@return":
                let (type, rest) = TypeText.type(of: rest)
                first.results.append(rest == "..." ? "..." : type)
            case "---@overload":
                Signature(type: TypeText.type(of: rest).type).map { others.append($0) }
            default: break
            }
        }
        return [first] + others
    }

    /// A description of one sentence.
    package var summary: String {
        if let summary = field?.summary, !summary.isEmpty { return String(summary) }
        return AnnotationText(lines).summary
    }
    /// The codes of the errors that the function can raise.
    package var errors: [String] { AnnotationText(lines).errors }
    /// An example script that runs after ``HelpCatalog/examplePrelude``; expected output follows `-->`.
    package var example: String { AnnotationText(lines).example }

    /// The separator before the name: `.` or `:`.
    package var separator: String { kind == .method ? ":" : "." }

    /// The parts of `---@field path? string The path of the file.`; nil for a function.
    private var field: (isOptional: Bool, type: String, summary: Substring)? {
        guard let line = lines.last, line.hasPrefix("---@field ") else { return nil }
        let (name, rest) = TypeText.divide(Substring(line.utf8.dropFirst(10)), at: " ")
        let (type, summary) = TypeText.type(of: rest)
        return (name.utf8.last == UInt8(ascii: "?"), type, summary)
    }

    /// Returns the alternatives of a type, without their parentheses.
    private static func overloads(_ type: String) -> [Substring] {
        TypeText.split(type[...], at: "|").map { part in
            part.utf8.first == UInt8(ascii: "(")
                ? Substring(part.utf8.dropFirst().dropLast()) : part
        }
    }
}

/// The parameters and results of a function: `(class: string, values?: table): T`.
///
/// The types are those of LuaLS, without the prefix `moonpool.` for types of the API. `T` is the class of the objects
/// in a collection, or the class that a parameter of type `T` in backticks names.
package struct Signature: Sendable, Hashable {
    /// One parameter.
    package struct Parameter: Sendable, Hashable {
        /// The name; `...` for a variable number of arguments.
        package let name: String
        /// The type.
        package let type: String
        /// Whether the parameter is optional.
        package let isOptional: Bool

        /// Creates a parameter; a name with `?` is that of an optional one.
        init(name: Substring, type: String) {
            isOptional = name.utf8.last == UInt8(ascii: "?")
            self.name = String(isOptional ? Substring(name.utf8.dropLast()) : name)
            self.type = type
        }

        /// The parameter as in a signature: `values?: table`.
        package var text: String { "\(name)\(isOptional ? "?" : ""): \(type)" }
    }

    /// The parameters in order, without the receiver.
    package internal(set) var parameters: [Parameter] = []
    /// The types of the results.
    package internal(set) var results: [String] = []
    /// Whether the function has a parameter `self`.
    private(set) var isMethod = false

    /// The text of the parameters, with their parentheses.
    var parameterText: String { "(\(parameters.map(\.text).joined(separator: ", ")))" }

    init() {}

    /// Parses the type of a function or method: `fun(class: string, values?: table): T`.
    ///
    /// Returns nil for other types.
    package init?(type: some StringProtocol) {
        guard type.utf8.starts(with: "fun(".utf8) else { return nil }
        let (call, results) = TypeText.divide(Substring(type), at: ":")
        for part in TypeText.split(Substring(call.utf8.dropFirst(4).dropLast()), at: ",") {
            let (name, type) = TypeText.divide(part, at: ":")
            if name == "self" {
                isMethod = true
            } else {
                parameters.append(Parameter(name: name, type: String(type)))
            }
        }
        self.results = TypeText.split(results, at: ",").map(String.init)
    }
}

/// Divides the text of types, which is that of LuaLS, outside of brackets.
enum TypeText {
    /// Splits a text at each separator, and removes the spaces around the parts.
    static func split(_ text: Substring, at separator: Unicode.Scalar) -> [Substring] {
        var parts: [Substring] = []
        var rest = text
        while !rest.isEmpty {
            let (part, next) = divide(rest, at: separator)
            if !part.isEmpty { parts.append(part) }
            rest = next
        }
        return parts
    }

    /// Divides a text at the first separator, and removes the spaces around both parts.
    static func divide(
        _ text: Substring, at separator: Unicode.Scalar
    ) -> (first: Substring, rest: Substring) {
        let bytes = text.utf8
        let separator = UInt8(ascii: separator)
        var depth = 0
        var index = bytes.startIndex
        while index < bytes.endIndex, depth != 0 || bytes[index] != separator {
            depth += nesting(bytes[index])
            index = bytes.index(after: index)
        }
        return (trimmed(bytes[..<index]), trimmed(bytes[index...].dropFirst()))
    }

    /// Divides the line `moonpool.Results<T>? All objects` into the type, without the prefix of its names, and the text
    /// after it.
    static func type(of line: Substring) -> (type: String, rest: Substring) {
        var type: [UInt8] = []
        var depth = 0
        let bytes = line.utf8
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            depth += nesting(byte)
            if byte == UInt8(ascii: " "), depth == 0, let last = type.last, !joins(last) { break }
            index = bytes.index(after: index)
            if byte == UInt8(ascii: "."), type.suffix(module.count) == module {
                type.removeLast(module.count)
            } else {
                type.append(byte)
            }
        }
        return (String(decoding: type, as: UTF8.self), trimmed(bytes[index...]))
    }

    /// Divides `List<T>` into the name and the text in the brackets.
    static func generic(_ text: Substring) -> (name: Substring, element: Substring) {
        let name = text.utf8.prefix { $0 != UInt8(ascii: "<") }
        return (Substring(name), Substring(text.utf8.dropFirst(name.count + 1).dropLast()))
    }

    private static let module = ArraySlice("moonpool".utf8)

    private static func nesting(_ byte: UInt8) -> Int {
        switch byte {
        case UInt8(ascii: "("), UInt8(ascii: "<"), UInt8(ascii: "{"), UInt8(ascii: "["): 1
        case UInt8(ascii: ")"), UInt8(ascii: ">"), UInt8(ascii: "}"), UInt8(ascii: "]"): -1
        default: 0
        }
    }

    /// Whether a type continues after a space that follows a byte.
    private static func joins(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ":") || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "|")
    }

    private static func trimmed(_ bytes: Substring.UTF8View) -> Substring {
        var bytes = bytes
        while bytes.first == UInt8(ascii: " ") { bytes = bytes.dropFirst() }
        while bytes.last == UInt8(ascii: " ") { bytes = bytes.dropLast() }
        return Substring(bytes)
    }
}

/// A type of the Lua API: a table of functions, a kind of value, or a table of options.
package struct HelpType: Sendable, Hashable {
    /// The name in help: `store`, `Results`, `open options`.
    package let name: String
    /// The name in annotations and signatures, without the prefix `moonpool.`: `Store`.
    package let annotation: String
    /// The replacement of `T` in printed signatures: `object` or `value`; empty for types without `T`.
    package let element: String
    /// The type from which it inherits members; nil for none.
    package let parent: String?
    /// The annotations: the description, and the class as the last line.
    let lines: ArraySlice<String>

    /// A description of one sentence.
    package var summary: String { AnnotationText(lines).summary }
    /// An example script; empty if the examples of its members suffice.
    package var example: String { AnnotationText(lines).example }

    /// Returns the prefix of member names: `store:`, `moonpool.`, or an empty text for globals.
    func prefix(_ separator: String) -> String {
        self == HelpCatalog.prompt ? "" : name + separator
    }

    /// Returns the names of the methods or of the fields, including inherited ones.
    package func names(isMethod: Bool) -> [String] {
        HelpCatalog.entries(of: self).filter { ($0.kind == .method) == isMethod }.map(\.name)
            + (parent.flatMap(HelpCatalog.type(named:))?.names(isMethod: isMethod) ?? [])
    }

    /// Compares names, which are unique.
    package static func == (left: HelpType, right: HelpType) -> Bool {
        left.name == right.name
    }

    /// Hashes the name.
    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
