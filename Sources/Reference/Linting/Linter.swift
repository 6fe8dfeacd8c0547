import LuaHost
import ObjectStore

// Finds errors in a script without running it.
//
// The linter reports only errors that it is certain of. It needs a receiver whose type follows from the text
// (`moonpool.open …`, a local that is assigned once), a class name in a literal, and a schema in a literal or a file.
// It applies the rules of the catalog, the schema and the predicate compiler, and adds a source location. It has no
// rules about style.

/// Finds errors in scripts without running them.
package struct Linter {
    /// The schema of the store that scripts use; nil for none.
    package var schema: Schema?
    /// The path of the store with the schema.
    ///
    /// A script that opens another file is not checked against the schema.
    package var storePath: String?
    /// Additional known globals.
    package var globals: Set<String>

    /// Creates a linter, which can check many scripts.
    package init(schema: Schema? = nil, storePath: String? = nil, globals: Set<String> = []) {
        self.schema = schema
        self.storePath = storePath
        self.globals = globals
    }

    /// Returns the errors in a script, ordered by location.
    ///
    /// Takes a few times as long as compiling the script.
    package func findings(in source: String) -> [LintFinding] {
        let source = Self.withoutFirstLine(source)
        let lines = SourceLines(source)
        if let fault = Self.syntaxFault(in: source, lines) { return [fault] }
        let statements = SourceParser.parse(source)
        let run = LintRun(self, SourceSurvey(statements), lines)
        run.check(statements)
        return Array(Set(run.findings)).sorted {
            ($0.line, $0.column, $0.message) < ($1.line, $1.column, $1.message)
        }
    }

    /// Returns the source with a first line `#!/usr/bin/env moonpool` replaced by spaces.
    private static func withoutFirstLine(_ source: String) -> String {
        guard source.utf8.first == UInt8(ascii: "#") else { return source }
        let rest = source.utf8.drop { $0 != 0x0A }
        let blanks = source.utf8.count - rest.count
        return String(repeating: " ", count: blanks) + String(decoding: rest, as: UTF8.self)
    }

    private static func syntaxFault(in source: String, _ lines: SourceLines) -> LintFinding? {
        let state = LuaState(libraries: [])
        defer { state.close() }
        do throws(LuaError) {
            _ = try state.load(source, name: "=lint")
            return nil
        } catch {
            // A message has the form `lint:12: unexpected symbol near 'x'`.
            let parts = error.message.split(
                separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, let line = Int(parts[1]) else {
                return LintFinding(line: 1, column: 1, rule: .syntaxError, message: error.message)
            }
            var message = String(parts[2])
            while message.first == " " { message.removeFirst() }
            let position = column(of: message, in: source, line, lines)
            return LintFinding(line: line, column: position, rule: .syntaxError, message: message)
        }
    }

    /// Returns the column of the last word of a compiler message.
    private static func column(
        of message: String, in source: String, _ line: Int, _ lines: SourceLines
    ) -> Int {
        guard let range = lines.range(ofLine: line) else { return 1 }
        if message.hasSuffix("near <eof>") { return lines.location(of: range.upperBound).column }
        var word = ""
        if message.last == "'", let quote = message.dropLast().lastIndex(of: "'") {
            word = String(message[message.index(after: quote)...].dropLast())
        }
        let token = LuaLexer.tokens(of: source).last { token in
            range.contains(token.range.lowerBound)
                && (token.text == word || !word.isEmpty && token.text.hasPrefix(word))
        }
        return token.map { lines.location(of: $0.range.lowerBound).column } ?? 1
    }

    /// The globals of Lua and of Moonpool, with the fields of their tables.
    static let known: [String: Set<String>] = {
        let state = LuaState()
        defer { state.close() }
        var known: [String: Set<String>] = [
            "moonpool": [], "arg": [], "_ENV": [], "_PROMPT": [], "_PROMPT2": [],
        ]
        for (name, value) in state.globals.pairs {
            guard let name = name.text else { continue }
            // The contents of `_G` and `package.loaded` are unpredictable.
            let isTable = value.table != nil && name != "_G" && name != "package"
            known[name] = isTable ? Set(value.table?.pairs.compactMap(\.key.text) ?? []) : []
        }
        return known
    }()
}

/// An error in a script, or a very probable one.
package struct LintFinding: Sendable, Hashable {
    /// The kind of error.
    package enum Rule: String, Sendable, Hashable, CaseIterable {
        /// An error of the compiler.
        case syntaxError = "syntax_error"
        /// A global that is never assigned.
        case unknownGlobal = "unknown_global"
        /// A function, a method or a member that its receiver does not have.
        case unknownName = "unknown_name"
        /// A method that is called with a dot.
        case missingColon = "missing_colon"
        /// An unknown key in a table of options.
        case unknownOption = "unknown_option"
        /// A class that the schema does not have.
        case unknownClass = "unknown_class"
        /// A property that the class does not have.
        case unknownProperty = "unknown_property"
        /// An invalid predicate or key path.
        case invalidQuery = "invalid_query"
        /// A schema with contradictions.
        case invalidSchema = "invalid_schema"
    }

    /// The line, starting at 1.
    package let line: Int
    /// The column in characters, starting at 1.
    package let column: Int
    /// The kind of error.
    package let rule: Rule
    /// A message of one sentence, with the most similar name if a name is unknown.
    package let message: String
}

/// Converts offsets in a source to lines and columns.
struct SourceLines {
    private let bytes: [UInt8]
    private let starts: [Int]

    init(_ source: String) {
        let bytes = Array(source.utf8)
        self.bytes = bytes
        starts = [0] + bytes.indices.filter { bytes[$0] == 0x0A }.map { $0 + 1 }
    }

    /// Returns the line and the column of a UTF-8 offset.
    func location(of offset: Int) -> (line: Int, column: Int) {
        let offset = min(max(offset, 0), bytes.count)
        var (low, high) = (0, starts.count - 1)
        while low < high {
            let middle = (low + high + 1) / 2
            if starts[middle] <= offset { low = middle } else { high = middle - 1 }
        }
        let characters = bytes[starts[low]..<offset].count { $0 & 0xC0 != 0x80 }
        return (low + 1, characters + 1)
    }

    /// Returns the bytes of a line, counted from 1.
    func range(ofLine line: Int) -> Range<Int>? {
        guard starts.indices.contains(line - 1) else { return nil }
        let end = starts.indices.contains(line) ? starts[line] : bytes.count
        return starts[line - 1]..<end
    }
}
