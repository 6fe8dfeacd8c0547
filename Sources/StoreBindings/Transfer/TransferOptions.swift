import DataFormats
import LuaHost
import ObjectStore
import Transfer

/// The options of imports, exports and rows in scripts.
///
/// A value of the wrong type is an error that names the option.
struct TransferOptions {
    private let table: LuaTable?

    /// Creates options from a table; nil for no options.
    init(_ table: LuaTable?) { self.table = table }

    /// Returns a flag.
    ///
    /// Any value except nil and false is true.
    func flag(_ name: String) -> Bool { table?[name].isTruthy ?? false }

    /// Returns a text; nil if the option is missing.
    func text(_ name: String) throws -> String? {
        guard let value = table?[name], !value.isNil else { return nil }
        guard let text = value.string?.text else { throw Self.refusal(name, "a string", value) }
        return text
    }

    /// Returns names that are separated by dots, as in `path.to.array`; nil if the option is missing.
    func path(_ name: String) throws -> [String]? {
        try text(name)?.split(separator: ".").map(String.init)
    }

    /// Returns a number of at least `least`; nil if the option is missing.
    func count(_ name: String, least: Int = 1) throws -> Int? {
        guard let value = table?[name], !value.isNil else { return nil }
        guard let count = value.integer, count >= least else {
            let wanted = least == 1 ? "a positive integer" : "an integer of at least \(least)"
            throw Self.refusal(name, wanted, value)
        }
        return Int(count)
    }

    /// Returns texts by name, as in `{ Name = "name", Comment = "" }`; empty if the option is missing.
    func texts(_ name: String) throws -> [String: String] {
        guard let value = table?[name], !value.isNil else { return [:] }
        guard let given = value.table else {
            throw Self.refusal(name, "a table of strings by name", value)
        }
        var texts: [String: String] = [:]
        for (key, value) in given.pairs {
            guard let key = key.string?.text,
                let text = value == .boolean(false) ? "" : value.string?.text
            else {
                throw Self.refusal(
                    "\(name)\(key.text.map { ".\($0)" } ?? "")", "a string", value)
            }
            texts[key] = text
        }
        return texts
    }

    /// Returns the texts of an array, or one text; empty if the option is missing.
    func list(_ name: String) throws -> [String] {
        guard let texts = table?[name].table else { return try text(name).map { [$0] } ?? [] }
        return try texts.array.map {
            guard let text = $0.string?.text else { throw Self.refusal(name, "strings", $0) }
            return text
        }
    }

    private static func refusal(
        _ name: String, _ wanted: String, _ value: LuaValue
    ) -> StoreError {
        let got = value.integer.map { "\($0)" } ?? value.string?.text.map { "\"\($0)\"" }
        return StoreError(
            .invalidArgument, "'\(name)' must be \(wanted), got \(got ?? value.typeName)")
    }

    // MARK: CSV

    /// Returns the dialect of a file; fields of a `.tsv` file are separated by tabs.
    func csv(_ path: String) throws -> CSVFormat {
        var format = (try? TransferFormat(path: path)) == .tsv ? CSVFormat.tabs : CSVFormat()
        if let separator = try character("separator") { format.separator = separator }
        if table?["quote"] == .boolean(false) {
            format.quote = nil
        } else if try text("quote") == "" {
            format.quote = nil
        } else if let quote = try character("quote") {
            format.quote = quote
        }
        format.hasHeader = !flag("no_header")
        format.skippedLines = try count("skip_lines", least: 0) ?? 0
        format.nulls = try list("null")
        if let fault = format.fault { throw StoreError(.invalidArgument, fault) }
        return format
    }

    /// Returns one character; nil if the option is missing.
    func character(_ name: String) throws -> Character? {
        guard let text = try text(name) else { return nil }
        guard let character = CSVFormat.character(text), character.isASCII, !character.isNewline
        else {
            throw StoreError(
                .invalidArgument, "'\(name)' must be one ASCII character, got \"\(text)\"")
        }
        return character
    }

    /// Returns the types of columns; only types of single values are valid.
    func columnTypes() throws -> [String: PropertyType] {
        try texts("types").mapValues { text in
            let base = text.hasSuffix("?") ? String(text.dropLast()) : text
            guard let type = PropertyType(rawValue: base), type != .object, type != .backlinks,
                type != .mixed
            else {
                throw StoreError(
                    .invalidArgument,
                    "'\(text)' is not a type of a single value, such as int or date")
            }
            return type
        }
    }
}
