import EventLoops
import LineEditing
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
    unowned let context: ScriptContext
    private weak var running: Session?
    private weak var newest: Session?
    private var list: CommandList?
    private let table: LuaTable
    /// The module as the prompt's own files see it, which no script can change.
    private let own: LuaTable
    /// The commands of the prompt itself by name, until all are declared.
    private var declared: [String: MetaCommand] = [:]

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
        table = context.state.makeTable(fields: 20)
        own = context.state.makeTable(fields: 20)
        addOutput()
        addCommands()
        addPanels()
        makeOwn()
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
        for command in MetaCommand.written { declared[command.name] = command }
        let state = context.state
        state.runtime["prompt"] = .table(own)
        state.runtime["session"] = .table(sessionTable())
        let topics = try state.runtimeFile("prompt/commands").table?.array ?? []
        var list = CommandList()
        for topic in topics {
            let names = topic.table?.array.compactMap(\.text) ?? []
            for name in names.dropFirst() {
                guard let command = declared[name] else {
                    preconditionFailure("no file declares the command .\(name)")
                }
                list.add(command, to: names[0])
            }
        }
        self.list = list
        return list
    }

    /// Copies the module for the prompt's own files, whose commands are not those of a user.
    private func makeOwn() {
        for (key, value) in table.pairs { own.setRaw(key, value) }
        own["command"] = .function(
            context.state.makeFunction("command", of: "moonpool.prompt") { [weak self] call in
                let command = try Self.command(call)
                self?.declared[command.name] = command
                return .none
            })
    }

    private func addCommands() {
        add("command") { [unowned self] _, call in
            let name = try call.text(1)
            guard Self.isName(name) else {
                throw call.argumentError(
                    1, "expected a name of letters, digits, '_' and '-', got '\(name)'")
            }
            var command = try Self.command(call)
            command.isOfUser = true
            var list = try commands()
            if list.find(name)?.isOfUser == false,
                try call.options(4, Self.options)?["replace"].isTruthy != true
            {
                throw call.argumentError(
                    1, "'.\(name)' is a command of the prompt; replace it with { replace = true }")
            }
            list.add(command, to: command.topic)
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

    /// Returns the command that the arguments declare.
    private static func command(_ call: borrowing LuaCall) throws -> MetaCommand {
        let function = try call.function(3)
        let options = try call.options(4, options)
        var command = MetaCommand(
            try call.text(1), try text(call, options, "usage") ?? "[...]", try call.text(2),
            argument: try argument(call, options?["complete"] ?? .nil),
            isPaged: options?["paged"].isTruthy == true,
            code: options?["save"].text, isUnsaved: options?["save"] == .boolean(false)
        ) { session, text in try session.call(function, text) }
        command.topic = try text(call, options, "topic")
        return command
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
            if value.text == "schema" { return .schema }  // for the prompt's own command
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
        add("width") { _, call in
            call.answer(.integer(Int64(TerminalText.width(TerminalText.plain(try call.text(1))))))
        }
        add("truncate") { _, call in
            let width = try call.integer(2)
            return call.answer(
                .text(TerminalText.truncate(try call.text(1), to: max(0, Int(clamping: width)))))
        }
        add("wrap") { session, call in
            let indent = call.isNil(2) ? "" : try call.text(2)
            let lines = session.wrap.lines(try call.text(1), indent: indent)
            return call.answer(.table(call.state.makeTable(lines.map(LuaValue.text))))
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
            let panel = LuaPanel(session, lines: lines)
            panel.key = options["key"].function
            panel.closed = options["closed"].function
            if case .store(let handle)? = session.context.storeModule.inspect(options["follows"]) {
                panel.follows = handle.store
            }
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
        table[name] = .function(function(name, body))
    }

    func function(
        _ name: String, _ body: @escaping (Session, borrowing LuaCall) throws -> LuaAnswer
    ) -> LuaFunction {
        context.state.makeFunction(name, of: "moonpool.prompt") { [weak self] call in
            guard let session = try self?.session() else {
                throw CommandError("the script has ended")
            }
            return try body(session, call)
        }
    }
}
