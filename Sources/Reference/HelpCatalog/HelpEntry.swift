/// An entry of the Lua API: a function, a method, a property or an option.
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
    /// The types that have the member; several types can share a method.
    package let owners: [HelpType]
    /// The kind of member.
    package let kind: Kind
    /// Parameters and results, one for each overload; empty for fields.
    package let signatures: [Signature]
    /// A description of one sentence.
    package let summary: String
    /// The codes of the errors that the function can raise.
    package let errors: [ErrorCode]
    /// An example script that runs after ``HelpCatalog/examplePrelude``; expected output follows `-->`.
    package let example: String

    /// The separator before the name: `.` or `:`.
    package var separator: String { kind == .method ? ":" : "." }

    static func function(
        _ name: String, of owner: HelpType, _ signatures: [String], _ summary: String,
        errors: [ErrorCode] = [], example: String
    ) -> HelpEntry {
        HelpEntry(
            name: name, owners: [owner], kind: .function,
            signatures: signatures.map(Signature.init),
            summary: summary, errors: errors, example: example)
    }

    static func method(
        _ name: String, of owners: [HelpType], _ signatures: [String], _ summary: String,
        errors: [ErrorCode] = [], example: String
    ) -> HelpEntry {
        HelpEntry(
            name: name, owners: owners, kind: .method, signatures: signatures.map(Signature.init),
            summary: summary, errors: errors, example: example)
    }

    static func field(
        _ name: String, of owners: [HelpType], _ type: String, _ summary: String,
        isWritable: Bool = false, errors: [ErrorCode] = [], example: String = ""
    ) -> HelpEntry {
        HelpEntry(
            name: name, owners: owners, kind: .field(type: type, isWritable: isWritable),
            signatures: [], summary: summary, errors: errors, example: example)
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
    }

    /// The text of the signature.
    package let text: String

    /// Creates a signature.
    ///
    /// An invalid text has no parameters; a test checks that every entry of the catalog is valid.
    package init(_ text: String) { self.text = text }

    /// The parameters in order.
    package var parameters: [Parameter] {
        Self.split(pieces?.parameters ?? "").compactMap { part in
            guard let colon = part.firstIndex(of: ":") else { return nil }
            var name = part[..<colon]
            let isOptional = name.last == "?"
            if isOptional { name.removeLast() }
            return Parameter(
                name: String(name), type: Self.trimmed(part[part.index(after: colon)...]),
                isOptional: isOptional)
        }
    }

    /// The types of the results.
    package var results: [String] {
        var rest = Self.trimmed(pieces?.results ?? "")[...]
        if rest.first == ":" { rest = rest.dropFirst() }
        return Self.split(rest)
    }

    private var pieces: (parameters: Substring, results: Substring)? {
        Self.close(of: text).map { close in
            (text[text.index(after: text.startIndex)..<close], text[text.index(after: close)...])
        }
    }

    /// The text of the parameters, with their parentheses.
    var parameterText: String { Self.close(of: text).map { String(text[...$0]) } ?? text }

    /// Returns the index of the parenthesis that closes the first one.
    private static func close(of text: String) -> String.Index? {
        var depth = 0
        for index in text.indices {
            if text[index] == "(" { depth += 1 }
            if text[index] == ")" {
                depth -= 1
                if depth == 0 { return index }
            }
        }
        return nil
    }

    /// Splits a text at commas outside of brackets of any kind.
    private static func split(_ text: Substring) -> [String] {
        var parts: [Substring] = []
        var depth = 0
        var start = text.startIndex
        for index in text.indices {
            switch text[index] {
            case "(", "<", "{": depth += 1
            case ")", ">", "}": depth -= 1
            case "," where depth == 0:
                parts.append(text[start..<index])
                start = text.index(after: index)
            default: break
            }
        }
        parts.append(text[start...])
        return parts.map(trimmed).filter { !$0.isEmpty }
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text.drop { $0 == " " }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
