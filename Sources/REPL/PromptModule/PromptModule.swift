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
    typealias Body = (Session, borrowing LuaCall) throws -> LuaAnswer

    unowned let context: ScriptContext
    private weak var running: Session?
    private weak var newest: Session?
    private let table: LuaTable
    /// The module as the prompt's own files see it, which no script can change.
    private let own: LuaTable
    private var hasFiles = false

    /// Returns the module of a script.
    static func attached(to context: ScriptContext) -> PromptModule {
        let key = ObjectIdentifier(PromptModule.self)
        if let known = context.attachments[key] as? PromptModule { return known }
        let created = PromptModule(context)
        context.attachments[key] = created
        return created
    }

    private init(_ context: ScriptContext) {
        self.context = context
        table = context.state.makeTable(fields: 20)
        own = context.state.makeTable(fields: 20)
        addOutput()
        addCommands()
        addPanels()
        addToOwn()
    }

    /// Makes `moonpool.prompt`, `moonpool.complete` and `moonpool.evaluate` available; a script that `moonpool attach`
    /// has opened keeps its own values.
    func install(for session: Session) {
        newest = session
        var values = [("prompt", LuaValue.table(table))]
        for name in Self.ofModule { values.append((name, own[name])) }
        for (name, value) in values
        where context.configuration.isInteractive || context.module[name].isNil {
            context.module[name] = value
        }
    }

    /// Runs a function of a session; until it returns, the module acts on this session.
    func using<Result>(_ session: Session, _ body: () throws -> Result) rethrows -> Result {
        let outer = running
        running = session
        newest = session
        defer { running = outer }
        return try body()
    }

    /// The session that functions act on.
    private func session() throws -> Session {
        guard let session = running ?? newest else { throw CommandError("no prompt is open") }
        return session
    }

    // MARK: - Commands

    /// Returns what one of the prompt's own files returns; it runs when it is first used.
    func file(_ name: String) throws(LuaError) -> LuaTable {
        if !hasFiles {
            hasFiles = true
            context.state.runtime["prompt"] = .table(own)
            context.state.runtime["session"] = .table(sessionTable())
        }
        guard let table = try context.state.runtimeFile("prompt/\(name)").table else {
            preconditionFailure("the file \(name) returns no table")
        }
        return table
    }

    private func addCommands() {
        add("command") { [unowned self] _, call in
            let command = call.state.makeTable(fields: 8)
            command["name"] = .text(try call.text(1))
            command["summary"] = .text(try call.text(2))
            command["run"] = .function(try call.function(3))
            command["usage"] = .text("[...]")
            let options = try call.options(
                4, ["usage", "complete", "topic", "paged", "save", "replace"])
            for (key, value) in options?.pairs ?? [] {
                if key.text == "usage" || key.text == "topic", value.text == nil {
                    throw call.argumentError(
                        4,
                        "option '\(key.text ?? "")': expected a string, got a \(value.typeName)")
                }
                command.setRaw(key, value)
            }
            let replaces = options?["replace"].isTruthy == true
            let fault = try file("commands")["declare"].function?.call([
                .table(command), .boolean(replaces),
            ])
            if let fault, fault.count == 2, let index = fault[0].integer {
                throw call.argumentError(Int(index), fault[1].text ?? "")
            }
            return .none
        }
        add("store") { session, call in
            call.answer(session.store.map(session.context.storeModule.value(of:)) ?? .nil)
        }
    }

    /// The functions of the module `moonpool` that exist only at the prompt.
    private static let ofModule = ["complete", "evaluate"]

    private func addToOwn() {
        for (key, value) in table.pairs { own.setRaw(key, value) }
        own["complete"] = .function(
            function("complete", of: "moonpool") { session, call in
                let text = try call.string(1)
                let end = call.isNil(2) ? Int64(text.bytes.count) : try call.integer(2)
                guard 0...Int64(text.bytes.count) ~= end else {
                    throw call.argumentError(
                        2, "the cursor must be from 0 to the length of the text")
                }
                let before = String(decoding: text.bytes.prefix(Int(end)), as: UTF8.self)
                let found = session.completion(of: before)
                let replaced = before.suffix(found?.replacing ?? 0).utf8.count
                return call.answer(
                    session.module.list(found?.candidates ?? []),
                    .integer(end - Int64(replaced) + 1))
            })
        own["evaluate"] = .function(
            function("evaluate", of: "moonpool") { session, call in
                try call.answer(session.prepareQuery(call.text(1))())
            })
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
        add("format") { session, call in
            var printer = session.printer()
            printer.remedy = ""
            printer.limits = try InspectFunction.limits(call, within: printer.limits)
            return call.answer(.text(printer.print(call[1]).text))
        }
        add("columns") { session, call in
            for line in try Self.layout(session, call) { session.write(line + "\n") }
            return .none
        }
        add("layout") { session, call in
            try call.answer(session.module.list(Self.layout(session, call)))
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
            let hanging = call.isNil(3) ? indent : try call.text(3)
            let lines = session.wrap.lines(try call.text(1), indent: indent, hanging: hanging)
            return call.answer(session.module.list(lines))
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
            panel.changed = options["changed"].function
            if case .store(let handle)? = session.context.storeModule.inspect(options["follows"]) {
                panel.follows = [handle.store]
            } else if options["follows"].isTruthy {
                panel.follows = session.context.openStores
            }
            session.open(panel)
            return .none
        }
        add("refresh") { session, call in
            session.panel?.refresh(after: call.isNil(1) ? nil : .seconds(try call.number(1)))
            return .none
        }
    }

    private func add(_ name: String, _ body: @escaping Body) {
        table[name] = .function(function(name, body))
    }

    func function(
        _ name: String, of owner: String = "moonpool.prompt", _ body: @escaping Body
    ) -> LuaFunction {
        context.state.makeFunction(name, of: owner) { [weak self] call in
            guard let session = try self?.session() else {
                throw CommandError("the script has ended")
            }
            return try body(session, call)
        }
    }
}
