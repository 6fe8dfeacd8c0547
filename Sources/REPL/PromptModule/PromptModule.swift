import EventLoops
import LuaHost
import ScriptHost
import StoreBindings

// The module `moonpool.prompt`: what a dot command needs, for the commands of users and for the prompt's own.
//
// A script has one module and one list of commands. Several sessions can share them, because several processes can
// attach to one script, so each function acts on the session whose entry is running.

/// The module `moonpool.prompt` and the dot commands of a script.
///
/// Thread: the script's thread.
final class PromptModule {
    private unowned let context: ScriptContext
    private weak var running: Session?
    private weak var newest: Session?
    private var list: CommandList?
    private let table: LuaTable

    /// Returns the module of a script.
    static func attached(to context: ScriptContext) -> PromptModule {
        let key = ObjectIdentifier(PromptModule.self)
        if let known = context.attachments[key] as? PromptModule { return known }
        let made = PromptModule(context)
        context.attachments[key] = made
        return made
    }

    private init(_ context: ScriptContext) {
        self.context = context
        table = context.state.makeTable(fields: 16)
        addOutput()
        addCommands()
        addPanels()
    }

    /// Makes `moonpool.prompt` available; a script that `moonpool attach` has opened keeps its own value.
    func install(for session: Session) {
        newest = session
        if context.configuration.isInteractive || context.module["prompt"].isNil {
            context.module["prompt"] = .table(table)
        }
    }

    /// Runs a function of a session; until it returns, the module acts on this session.
    func using<Result>(_ session: Session, _ body: () -> Result) -> Result {
        let outer = running
        running = session
        newest = session
        defer { running = outer }
        return body()
    }

    /// The session that functions act on.
    private func session() throws -> Session {
        guard let session = running ?? newest else { throw CommandError("no prompt is open") }
        return session
    }

    // MARK: - Commands

    /// Returns the dot commands, which are declared when they are first used.
    func commands() throws -> CommandList {
        if let list { return list }
        var list = CommandList()
        for (topic, commands) in MetaCommand.topics {
            for command in commands { list.add(command, to: topic) }
        }
        self.list = list
        return list
    }

    private func addCommands() {
        add("command") { [unowned self] _, call in
            let name = try call.text(1)
            guard Self.isName(name) else {
                throw call.argumentError(
                    1, "expected a name of letters, digits, '_' and '-', got '\(name)'")
            }
            let summary = try call.text(2)
            let function = try call.function(3)
            let options = try call.options(4, Self.options)
            var list = try commands()
            let known = list.find(name)
            if let known, !known.isOfUser, options?["replace"].isTruthy != true {
                throw call.argumentError(
                    1, "'.\(name)' is a command of the prompt; replace it with { replace = true }")
            }
            var command = MetaCommand(
                name, try Self.text(call, options, "usage") ?? "[...]", summary,
                argument: try Self.argument(call, options?["complete"] ?? .nil),
                isPaged: options?["paged"].isTruthy == true,
                code: options?["save"].text, isUnsaved: options?["save"] == .boolean(false)
            ) { session, text in try session.call(function, text) }
            command.isOfUser = true
            list.add(command, to: try Self.text(call, options, "topic"))
            self.list = list
            return .none
        }
        add("complete") { session, call in
            let text = try call.string(1)
            let end = call.isNil(2) ? Int64(text.bytes.count) : try call.integer(2)
            guard 0...Int64(text.bytes.count) ~= end else {
                throw call.argumentError(2, "the cursor must be from 0 to the length of the text")
            }
            let before = String(decoding: text.bytes.prefix(Int(end)), as: UTF8.self)
            guard let found = session.completion(of: before) else {
                return call.answer(.table(call.state.makeTable()), .integer(end + 1))
            }
            let start = before.utf8.count - before.suffix(found.replacing).utf8.count + 1
            return call.answer(
                .table(call.state.makeTable(found.candidates.map(LuaValue.text))),
                .integer(Int64(start)))
        }
        add("store") { session, call in
            call.answer(session.store.map(session.context.storeModule.value(of:)) ?? .nil)
        }
        add("evaluate") { session, call in
            try call.answer(session.prepareQuery(call.text(1))())
        }
    }

    private static let options = [
        "usage", "complete", "topic", "paged", "save", "replace",
    ]

    private static func isName(_ text: String) -> Bool {
        text.first?.isLetter == true
            && text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "-" }
    }

    private static func text(
        _ call: borrowing LuaCall, _ options: LuaTable?, _ name: String
    ) throws -> String? {
        guard let value = options?[name], !value.isNil else { return nil }
        guard let text = value.text else {
            throw call.argumentError(
                4, "option '\(name)': expected a string, got a \(value.typeName)")
        }
        return text
    }

    /// Returns the kind of completion that the option `complete` describes.
    private static func argument(
        _ call: borrowing LuaCall, _ value: LuaValue
    ) throws -> MetaCommand.Argument {
        let kinds: [String: MetaCommand.Argument] = [
            "class": .className, "file": .file, "expression": .expression, "query": .query,
            "observer": .number,
        ]
        switch value {
        case .nil: return .none
        case .function(let function): return .function(function)
        case .table(let words): return .words(words.array.compactMap(\.text))
        default:
            guard let kind = value.text.flatMap({ kinds[$0] }) else {
                throw call.argumentError(
                    4,
                    "option 'complete': expected \(kinds.keys.sorted().joined(separator: ", "))"
                        + ", a list of words or a function")
            }
            return kind
        }
    }

    // MARK: - Output

    private func addOutput() {
        add("write") { session, call in
            var text = ""
            for value in call.rest(from: 1) { text += try call.state.describe(value).description }
            session.screen.finishLine()
            session.write(text)
            return .none
        }
        add("columns") { session, call in
            for line in try Self.layout(session, call) { session.write(line + "\n") }
            return .none
        }
        add("layout") { session, call in
            try call.answer(
                .table(call.state.makeTable(Self.layout(session, call).map(LuaValue.text))))
        }
        add("paint") { session, call in
            let name = try call.text(2)
            guard let role = Style.Role(rawValue: name) else {
                throw call.argumentError(
                    2,
                    "unknown style '\(name)'; use "
                        + Style.Role.allCases.map(\.rawValue).joined(separator: ", "))
            }
            return try call.answer(.text(session.style.paint(call.text(1), role)))
        }
        add("size") { session, call in
            let size = session.output.window() ?? session.window
            return call.answer(.integer(Int64(size.columns)), .integer(Int64(size.rows)))
        }
        add("ask") { session, call in
            let question = try call.text(1)
            let choices = call.isNil(2) ? [] : try call.table(2).array.compactMap(\.text)
            guard session.isRunning else {
                throw CommandError("only an entry or a command can ask")
            }
            let shown = choices.isEmpty ? "" : "(\(choices.joined(separator: "/"))) "
            let answer = try session.ask(question + " " + shown, choices: choices)
            return call.answer(answer.map(LuaValue.text) ?? .nil)
        }
    }

    /// Lays out the rows in argument 1 with the options in argument 2.
    private static func layout(
        _ session: Session, _ call: borrowing LuaCall
    ) throws -> [String] {
        let given = try call.table(1).array
        let options = try call.options(2, ["header", "numeric"])
        let hasHeader = options?["header"] != .boolean(false)
        let cells: [[LuaValue]] = try given.map { row in
            guard let row = row.table else {
                throw call.argumentError(
                    1, "expected a list of rows, got a row that is a \(row.typeName)")
            }
            return row.array
        }
        let count = cells.map(\.count).max() ?? 0
        // Numbers are aligned at the right.
        var numeric = Set(
            (0..<count).filter { column in
                let values = cells.dropFirst(hasHeader ? 1 : 0).filter { $0.count > column }
                return !values.isEmpty && values.allSatisfy { $0[column].number != nil }
            })
        for number in options?["numeric"].table?.array.compactMap(\.integer) ?? [] {
            numeric.insert(Int(clamping: number) - 1)
        }
        let rows = try cells.map { row in
            try row.map { try call.state.describe($0).description }
        }
        return session.lines(of: rows, numeric: numeric, header: hasHeader)
    }

    // MARK: - Panels

    private func addPanels() {
        add("panel") { session, call in
            let options = try call.table(1)
            guard let lines = options["lines"].function else {
                throw call.argumentError(1, "field 'lines': expected a function")
            }
            guard session.isRunning else {
                throw CommandError("only an entry or a command can open a panel")
            }
            let panel = LuaPanel(
                session, lines: lines, key: options["key"].function,
                closed: options["closed"].function)
            session.open(panel)
            return .none
        }
        add("refresh") { session, _ in
            (session.panel as? LuaPanel)?.refresh()
            return .none
        }
    }

    private func add(
        _ name: String, _ body: @escaping (Session, borrowing LuaCall) throws -> LuaAnswer
    ) {
        table[name] = .function(
            context.state.makeFunction(name) { [weak self] call in
                guard let session = try self?.session() else {
                    throw CommandError("the script has ended")
                }
                return try body(session, call)
            })
    }
}
