import EventLoops
import LuaHost
import Reference
import SystemCalls

/// The status of the lines typed so far.
enum EntryStatus: Equatable, Sendable {
    /// The entry can run.
    case complete
    /// The entry can become valid with more lines.
    case incomplete
    /// The entry is invalid; contains the compiler's message.
    case wrong(String)
}

/// Distinguishes complete entries from unfinished ones with the Lua compiler.
///
/// Runs no code.
///
/// The main thread has its own instance and Lua state, so that typing never waits for the script.
final class EntryCompiler {
    private let state = LuaState(libraries: [])

    init() {}

    /// Returns the status of an entry: a command, an expression, or statements.
    func status(of entry: String) -> EntryStatus {
        let text = EntryText.lua(entry)
        if EntryText.isCommand(entry) { return .complete }
        let expression = check("return " + text)
        if EntryText.isExpressionOnly(entry) || expression == .complete { return expression }
        let statement = check(text)
        if statement == .complete { return .complete }
        if splittingLastExpression(of: text) != nil { return .complete }
        // `1 +` is not a statement, but the start of an expression.
        return expression == .incomplete ? .incomplete : statement
    }

    /// Returns whether a text is an expression or a list of expressions.
    func isExpression(_ text: String) -> Bool {
        check("return " + text) == .complete && text.contains { !$0.isWhitespace }
    }

    /// Splits statements that end in an expression, such as `a = 1; a`, before the expression.
    ///
    /// Returns nil if the text does not have this form.
    func splittingLastExpression(of text: String) -> (statements: String, expression: String)? {
        let bytes = Array(text.utf8)
        var ends: [Int] = []
        for token in LuaLexer.tokens(of: text) {
            let before = bytes[(ends.last ?? 0)..<token.range.lowerBound]
            if let line = before.lastIndex(of: UInt8(ascii: "\n")) { ends.append(line + 1) }
            if token.isSymbol(";") { ends.append(token.range.upperBound) }
        }
        // An expression of more than eight lines counts as unfinished.
        for end in ends.suffix(8).reversed() {
            let head = String(decoding: bytes[..<end], as: UTF8.self)
            let tail = String(decoding: bytes[end...], as: UTF8.self)
            if isExpression(tail), check(head) == .complete { return (head, tail) }
        }
        return nil
    }

    private func check(_ text: String) -> EntryStatus {
        do {
            // The newline makes a string without a closing quote invalid instead of unfinished.
            _ = try state.load(text + "\n", name: "=entry")
            return .complete
        } catch {
            return error.isIncomplete ? .incomplete : .wrong(error.message)
        }
    }
}

/// Recognizes the forms of entries that are not Lua.
enum EntryText {
    /// Splits the text of a file into entries as the prompt does, each with the number of lines before it.
    ///
    /// Returns nil if an entry is not valid.
    static func entries(of text: String) -> [(entry: String, linesBefore: Int)]? {
        let compiler = EntryCompiler()
        var entries: [(entry: String, linesBefore: Int)] = []
        var unfinished: [Substring] = []
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            unfinished.append(line)
            let entry = unfinished.joined(separator: "\n")
            if entry.allSatisfy(\.isWhitespace) {
                unfinished = []
                continue
            }
            switch compiler.status(of: entry) {
            case .incomplete: continue
            case .wrong: return nil
            case .complete:
                entries.append((entry, index + 1 - unfinished.count))
                unfinished = []
            }
        }
        return unfinished.isEmpty ? entries : nil
    }

    /// Returns whether an entry is a dot command: a dot and a letter.
    ///
    /// No Lua statement begins this way.
    static func isCommand(_ entry: String) -> Bool {
        let trimmed = entry.drop { $0.isWhitespace }
        return trimmed.first == "." && trimmed.dropFirst().first?.isLetter == true
    }

    /// Returns whether an entry has the form `= expression`.
    static func isExpressionOnly(_ entry: String) -> Bool {
        entry.first { !$0.isWhitespace } == "="
    }

    /// Returns the Lua text, without the `=` of `= expression`.
    static func lua(_ entry: String) -> String {
        guard isExpressionOnly(entry), let sign = entry.firstIndex(of: "=") else { return entry }
        return String(entry[entry.index(after: sign)...])
    }
}

/// The locals of earlier entries.
///
/// Each is a real variable: an upvalue of a closure that keeps it alive.
///
/// Uses the `debug` functions as they were at the start of the session. Thread: the thread of its Lua state.
final class LocalScope {
    private let state: LuaState
    private let kept: LuaTable
    private let keep: LuaFunction
    private let bind: LuaFunction
    private let assign: LuaFunction

    // Library functions are locals here because a script can replace the globals.
    private static let source = """
        local join, name_of = debug.upvaluejoin, debug.getupvalue
        local select, sub = select, string.sub
        local kept = {}
        local function position(f, name)
          for index = 1, 255 do
            local found = name_of(f, index)
            if not found then return nil end
            if found == name then return index end
          end
        end
        local function keep(f, ...)
          for number = 1, select("#", ...) do
            local name = select(number, ...)
            local constant = sub(name, 1, 1) == "="
            if constant then name = sub(name, 2) end
            local index = position(f, name)
            if index then
              kept[name] = { f, index, constant }
            else
              -- The compiler folds the constant, so no closure has the variable.
              local value = select(number, f())
              kept[name] = { function() return value end, 1, constant }
            end
          end
        end
        local function bind(f)
          for index = 1, 255 do
            local name = name_of(f, index)
            if not name then return f end
            local variable = kept[name]
            if variable then join(f, index, variable[1], variable[2]) end
          end
          return f
        end
        return kept, keep, bind, debug.setupvalue
        """

    /// Creates an empty scope.
    ///
    /// Returns nil if the state has no `debug` library.
    init?(_ state: LuaState) {
        self.state = state
        guard let parts = try? state.run(Self.source, name: "=moonpool"), parts.count == 4,
            let kept = parts[0].table, let keep = parts[1].function, let bind = parts[2].function,
            let assign = parts[3].function
        else { return nil }
        self.kept = kept
        self.keep = keep
        self.bind = bind
        self.assign = assign
    }

    /// All locals, in no particular order.
    var locals: [EntryRewriter.Local] {
        kept.pairs.compactMap { name, variable in
            guard let name = name.text, let variable = variable.table else { return nil }
            return EntryRewriter.Local(name: name, isConstant: variable[3].isTruthy)
        }
    }

    /// Returns the current value of a local.
    ///
    /// Runs no script code.
    func value(of name: String) -> LuaValue? {
        guard let variable = kept[name].table, let holder = variable[1].function,
            let index = variable[2].integer
        else { return nil }
        let upvalues = holder.upvalues
        return upvalues.indices.contains(Int(index) - 1) ? upvalues[Int(index) - 1].value : nil
    }

    /// Assigns a value to a local; does nothing for unknown names and constants.
    func set(_ name: String, _ value: LuaValue) {
        guard let variable = kept[name].table, !variable[3].isTruthy,
            let holder = variable[1].function
        else { return }
        // The error is ignored: the call fails only for a local that the compiler made a constant.
        _ = try? assign.call([.function(holder), variable[2], value])
    }

    /// Compiles an entry into a function that shares the variables of earlier entries, and returns it with its
    /// arguments.
    ///
    /// Returns nil if the entry names too many variables at once. Throws compiler errors, such as an assignment to a
    /// constant.
    func function(for entry: String, name: String) throws(LuaError) -> (
        function: LuaFunction, arguments: [LuaValue]
    )? {
        let rewriter = EntryRewriter(entry)
        let locals = locals
        guard let keeping = rewriter.chunk(earlier: locals) else { return nil }
        let outer: LuaFunction
        do {
            outer = try state.load(keeping, name: name)
        } catch {
            // Some entries compile only without the added calls, for example a label at the end of the chunk.
            guard let sharing = rewriter.chunk(earlier: locals, keeping: false) else { return nil }
            outer = try state.load(sharing, name: name)
        }
        let inner: LuaValue = try outer.call()
        try bind.call([inner])
        guard let function = inner.function else { return nil }
        return (function, [.function(keep)])
    }
}

/// The text of Lua files that the prompt runs.
enum SourceText {
    /// Reads a file; errors refer to it as `name`.
    static func read(_ path: String, named name: String) throws(CommandError) -> String {
        do {
            let text = String(decoding: try ProcessServices.readWhole(path), as: UTF8.self)
            // The first line of a program can be a `#!` line; it becomes a comment, so that line numbers do not change.
            return text.hasPrefix("#") ? "--" + text : text
        } catch {
            throw CommandError("cannot read \(name): \(error.reason)")
        }
    }
}
