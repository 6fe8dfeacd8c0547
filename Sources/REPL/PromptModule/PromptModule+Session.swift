import EventLoops
import LineEditing
import LuaHost
import ObjectStore
import Reference
import Replication
import ScriptHost
import StoreBindings
import SystemCalls

/// What only the prompt's own files can use, as the table `session`.
extension PromptModule {
    func sessionTable() -> LuaTable {
        let functions = SessionFunctions(module: self, table: context.state.makeTable(fields: 80))
        addState(functions)
        addRunning(functions)
        addShowing(functions)
        addStores(functions)
        addHelp(functions)
        addCompletion(functions)
        return functions.table
    }

    /// The session and its options.
    private func addState(_ add: SessionFunctions) {
        let start = ContinuousClock.now
        add("clock") { _, _ in .number((ContinuousClock.now - start) / .seconds(1)) }
        add("memory") { [context] _, _ in
            let memory = context.state.memory
            return .table(
                context.state.makeTable([
                    .integer(Int64(memory.used)), .integer(Int64(memory.peak)),
                ]))
        }
        add("has_result") { session, _ in .boolean(!session.lastValues.isEmpty) }
        add("newest_entry") { session, _ in .text(session.newestEntry) }
        add("timing") { session, call in
            if !call.isNil(1) { session.isTiming = try call.boolean(1) }
            return .boolean(session.isTiming)
        }
        // Sets the output mode if there is one with the name; returns the mode or nil.
        add("mode") { session, call in
            if !call.isNil(1) {
                guard let mode = OutputMode(rawValue: try call.text(1)) else { return .nil }
                session.mode = mode
            }
            return .text(session.mode.rawValue)
        }
        add.action("quit") { session, _ in session.end() }
        add.action("redirect") { session, call in
            try session.screen.redirect(
                to: call.isNil(1) ? nil : call.text(1), isOnce: call.boolean(2))
        }
        // Ends the recording; returns whether there was one.
        add("end_transcript") { session, _ in .boolean(try session.endTranscript()) }
        add.action("begin_transcript") { session, call in
            try session.beginTranscript(call.text(1))
        }
        // Opens the last entry in the editor after the command.
        add.action("edit") { session, _ in
            guard session.output.hasPrograms else {
                throw CommandError("this terminal cannot run an editor")
            }
            session.textToEdit = session.newestEntry + "\n"
        }
    }

    /// What runs code, and the record of the entries.
    private func addRunning(_ add: SessionFunctions) {
        let state = context.state
        // Shows and runs an entry as if the user had typed it.
        add.action("run_entry") { session, call in
            let entry = try call.text(1)
            session.screen.writeToScreen(session.style.paint("> \(entry)", .dim) + "\n")
            session.evaluate(entry)
        }
        // Opens the studio on the session; true opens no browser.
        add.action("studio") { session, call in
            guard let studio = session.studio else {
                throw CommandError(
                    "only the prompt at its own terminal opens the studio; run: moonpool studio "
                        + "\(ProcessServices.identifier)")
            }
            try studio.open(opensBrowser: !call[1].isTruthy)
        }
        // A table that a file keeps for the session: the files themselves are shared by all sessions of the script.
        add("state") { session, call in
            let name = try call.text(1)
            let table = session.fileStates[name] ?? state.makeTable(fields: 8)
            session.fileStates[name] = table
            return .table(table)
        }
        // Calls a function with a name after each entry; nil ends the calls.
        add.action("after_entry") { session, call in
            session.afterEntry[try call.text(1)] = call.isNil(2) ? nil : try call.function(2)
        }
        // Runs a file after the command; returns its path.
        add("load") { session, call in
            let path = try call.text(1)
            let full = FileNames.expanded(path)
            let text = try SourceText.read(full, named: path)
            session.afterCommand = { session.load(text, named: full, shownAs: path) }
            return .text(full)
        }
        // Runs a function after the command or the delay that is running, in a run of its own, which Ctrl-C can stop.
        // Then passes to a second function whether it succeeded.
        add.action("later") { session, call in
            session.laterRuns.append((try call.function(1), try call.function(2)))
            if session.isRunning { session.afterCommand = session.runLater }
        }
        // Runs a function after a time; returns a function that cancels this.
        add("delay") { session, call in
            let (delay, function) = (Duration.seconds(try call.number(1)), try call.function(2))
            let timer = session.context.loop.timer(after: delay, keepsAlive: false) {
                [weak session] in
                guard let session else { return }
                session.module.using(session) {
                    _ = try? function.call([])
                    session.runLater()
                }
            }
            return .function(
                state.makeFunction("cancel") { _ in
                    timer.cancel()
                    return .none
                })
        }
        // Calls a function when files of a folder change; returns a function that ends this.
        add("watch") { session, call in
            let (folder, notice) = (try call.text(1), try call.function(2))
            let watch = try? FileWatch(path: folder, on: session.context.loop) { [weak session] in
                guard let session else { return }
                session.module.using(session) { _ = try? notice.call([]) }
            }
            return .function(
                state.makeFunction("cancel") { _ in
                    watch?.cancel()
                    return .none
                })
        }
        add("timers") { session, _ in
            let timers = session.context.activeTimers.map { timer in
                let cancel = state.makeFunction("cancel") { _ in
                    timer.cancel()
                    return .none
                }
                return state.record([
                    "id": .count(ObjectIdentifier(timer).hashValue),
                    "location": .text(timer.location), "cancel": .function(cancel),
                ])
            }
            return state.list(timers)
        }
        add("is_running") { session, _ in .boolean(session.isRunning) }
        // A text that changes with a file; nil for a missing file.
        add("stamp") { _, call in .optional(ProcessServices.stamp(of: try call.text(1))) }
        add("read") { _, call in
            let path = try call.text(1)
            return .text(try SourceText.read(path, named: path))
        }
        add("call") { _, call in try call.function(1).call(call.rest(from: 2)).first ?? .nil }
        add.action("run_file") { session, call in
            let (text, path) = (try call.text(1), try call.text(2))
            _ = try session.evaluator.evaluate(text, named: path) { try $0() }
        }
        add.action("write_error") { session, call in session.fail(try call.text(1)) }
        // Redraws lines in place until Ctrl-C, after the command.
        add.action("live") { session, call in
            let (interval, lines) = (Duration.seconds(try call.number(1)), try call.function(2))
            session.afterCommand = {
                try session.showLive(every: interval) {
                    try lines.call([]).first?.table?.array.compactMap(\.text) ?? []
                }
            }
        }
        // Compiles an expression, or also a query, into a function.
        add("prepare") { session, call in
            let text = try call.text(1)
            let evaluate =
                try call.boolean(2)
                ? session.prepareQuery(text) : session.evaluator.prepare("= " + text)
            return .function(
                state.makeFunction("evaluate") { call in try call.answer(evaluate()) })
        }
        // Runs a function whenever what it reads changes. Returns a function that ends it, and one that returns whether it
        // is active.
        add("effect") { session, call in
            let (body, report) = (try call.function(1), try call.function(2))
            let effect = try Effect(
                in: session.context.storeModule.readScope,
                report: { [weak session] error in
                    guard let session else { return }
                    session.module.using(session) { _ = try? report.call([.text("\(error)")]) }
                }
            ) { [weak session] in
                guard let session else { return }
                _ = try session.module.using(session) { try body.call([]) }
            }
            let dispose = state.makeFunction("dispose") { _ in
                effect.dispose()
                return .none
            }
            let isActive = state.makeFunction("is_active") { call in
                call.answer(.boolean(!effect.isDisposed))
            }
            return .table(state.makeTable([.function(dispose), .function(isActive)]))
        }
        add.action("record") { session, call in
            session.steps.append(
                SessionStep(
                    try call.text(1), try call.text(2),
                    detail: call.isNil(3) ? nil : try call.text(3)))
        }
        add("recorded") { session, _ in
            let steps = session.steps.map { step in
                state.record([
                    "kind": .text(step.kind), "text": .text(step.text),
                    "detail": .optional(step.detail),
                    "first": step.results.map { .count($0.lowerBound) } ?? .nil,
                    "last": step.results.map { .count($0.upperBound) } ?? .nil,
                ])
            }
            return state.list(steps)
        }
        // Splits statements that end in an expression before it; returns nil for other code.
        add("split_entry") { [unowned self] _, call in
            let parts = EntryCompiler().splittingLastExpression(of: try call.text(1))
            return parts.map { list([$0.statements, $0.expression]) } ?? .nil
        }
        add.action("write_file") { _, call in
            let path = try call.text(1)
            let full = FileNames.expanded(path)
            if let message = ProcessServices.write(try call.text(2), to: full) {
                throw CommandError("cannot write '\(path)': \(message)")
            }
        }
        add("write_migration") { [unowned self] session, call in
            let since = call.isNil(3) ? nil : UInt64(clamping: try call.integer(3))
            return try context.storeModule.sessionMigrator?(
                session.requireLiveStore(), since, call.text(1),
                FileNames.expanded(try call.text(2))
            ).table?["lines"] ?? .nil
        }
    }

    /// What writes to the screen.
    private func addShowing(_ add: SessionFunctions) {
        add.action("begin_page") { session, _ in session.screen.beginPage() }
        add.action("write_last") { session, _ in
            guard !session.lastValues.isEmpty else {
                throw CommandError("there is no result; run an expression first")
            }
            session.print(session.lastValues, isGenerous: true)
            session.screen.endOnce()
        }
        // Writes a text to the screen, even if results go to a file, without the label of an observer.
        add.action("write_to_screen") { session, call in
            let text = try call.text(1)
            session.observers.unlabelled {
                session.screen.finishLine()
                session.screen.writeToScreen(text)
            }
        }
        // Shows a step of the tutorial: its title, its text and the entry to type.
        add.action("write_step") { session, call in
            let columns = min(session.window.columns - 1, 90)
            let wrap = TextWrap(columns: columns, width: TerminalText.width)
            let code = wrap.lines(ofCode: try call.text(3), indent: "    ", hanging: "      ")
            let lines =
                [session.style.paint(try call.text(1), .strong)] + wrap.lines(try call.text(2))
                + code.map { session.style.paint($0, .string) }
            session.screen.writeToScreen("\n" + lines.map { $0 + "\n" }.joined())
        }
        // The properties of a class, or of the class of an object, with the texts of their attributes.
        add("class_rows") { session, call in
            let found =
                if case .object(let object)? = session.context.storeModule.inspect(call[1]) {
                    object.classSchema
                } else {
                    try session.requireStore().store.schema.require(call.text(1))
                }
            let schema = session.store?.store.schema
            let rows = found.properties.map { property in
                let name = property.name
                let target = property.isBacklinks ? nil : schema?.target(of: property)
                return session.context.state.record([
                    "name": .text(name),
                    "key": .text(ValueText.isName(name) ? name : "[\"\(name)\"]"),
                    "type": .text(PropertySyntax.text(of: property)),
                    "default": .optional(property.defaultValue?.summary),
                    "stored": .optional(property.storedName == name ? nil : property.storedName),
                    "rules": .optional(property.rules.isEmpty ? nil : property.rules.summary),
                    "code": .text(LuaSchemaText.rules(of: property)),
                    "target": .optional(target?.name),
                ])
            }
            let result = call.state.makeTable(rows)
            result["name"] = .text(found.name)
            result["embedded"] = .boolean(found.isEmbedded)
            return .table(result)
        }
        // The schema, or a class, as a document such as a diagram.
        add("schema_document") { session, call in
            let schema = try session.requireStore().store.schema
            guard let format = SchemaFormat(rawValue: try call.text(1)) else { return .nil }
            let document =
                call.isNil(2)
                ? SchemaDocument(schema)
                : try SchemaDocument(schema, className: try call.text(2))
            return .text(document.text(as: format))
        }
        // Returns the first rows of Results: cells, keys, the number of all rows, and a function that renders rows with
        // the style of each cell; nil for other values.
        add("grid") { [unowned self] session, call in
            let (module, state) = (context.storeModule, context.state)
            let (rows, columns) = (Int(try call.integer(2)), Int(try call.integer(3)))
            let limits = PrintLimits(items: rows, rows: rows, columns: max(20, columns - 1))
            guard case .results(let results)? = module.inspect(call[1]),
                case .grid(let grid)? = StoreValues(module: module).describe(
                    call[1], limits: limits)
            else { return .nil }
            let keys = try results.limited(to: grid.rows.count).keys()
            let render = function("render") { [unowned self] session, call in
                var shown = grid
                let styles = Self.cells(try call.table(2))
                shown.rows = Self.cells(try call.table(1))
                shown.count = Int(try call.integer(3))
                shown.paint = { row, column, text in
                    session.style.paint(text, Style.Role(rawValue: styles[row][column]) ?? .plain)
                }
                let width = Int(try call.integer(4))
                return call.answer(list(shown.render(width: width, style: session.style)))
            }
            return state.record([
                "rows": self.rows(grid.rows),
                "keys": state.list(keys.map { .integer($0.rawValue) }),
                "count": .count(grid.count), "render": .function(render),
            ])
        }
        // The source lines around a location.
        add("excerpt") { session, call in .optional(session.errorText.excerpt(try call.text(1))) }
        // The frames of the last error, innermost first.
        add("frames") { session, call in
            try session.errorFrames?.call([]).first ?? .table(call.state.makeTable())
        }
    }

    private static func cells(_ rows: LuaTable) -> [[String]] {
        rows.array.map { $0.table?.array.map { $0.text ?? "" } ?? [] }
    }

    /// Plans, versions and replication.
    private func addStores(_ add: SessionFunctions) {
        add("store_name") { session, _ in .text(try session.requireStore().name) }
        // The plan of a query, or of the objects of a collection; nil for other values.
        add("explain") { session, call in
            let results: Results? =
                switch session.context.storeModule.inspect(call[1]) {
                case .results(let results): results
                case .collection(let collection): try Results(collection)
                default: nil
                }
            return .optional(try results?.explain())
        }
        // The title of an observer that has ended.
        add("ended_observer") { session, call in
            .optional(session.seenObservers[try call.text(1)])
        }
        add.action("visit") { session, call in
            try session.visit(UInt64(clamping: call.integer(1)))
        }
        add("visited_version") { session, _ in
            session.visited.map { .integer(Int64(clamping: $0.version)) } ?? .nil
        }
        add.action("return_to_present") { session, _ in try session.returnToPresent() }
        // What `store:versions()` returns for one version; nil if it is not recorded.
        add("version") { session, call in
            guard let handle = session.store,
                let summary = try handle.store.summary(of: UInt64(clamping: call.integer(1)))
            else { return .nil }
            return .table(handle.table(of: summary))
        }
        add("replication") { [unowned self] session, _ in
            guard let report = try ReplicationReport.read(session.requireStore().store) else {
                return .nil
            }
            return rows(report.rows.map { [$0.name, $0.value] })
        }
    }

    /// Pages of help.
    private func addHelp(_ add: SessionFunctions) {
        add("file_lines") { [unowned self] _, call in list(RuntimeFile.lines(try call.text(1))) }
        // Returns terms and descriptions in two columns, the terms in a style.
        add("definitions") { [unowned self] session, call in
            let rows = Self.cells(try call.table(1)).map { (term: $0[0], text: $0[1]) }
            let role = Style.Role(rawValue: try call.text(2)) ?? .plain
            let indent = call.isNil(3) ? "" : try call.text(3)
            return list(
                session.wrap.definitions(rows, indent: indent) { session.style.paint($0, role) })
        }
        // The names and summaries of all types or errors of the API.
        add("catalog") { [unowned self] _, call in
            try call.text(1) == "api"
                ? rows(HelpCatalog.types.map { [$0.name, $0.summary] })
                : rows(HelpCatalog.errors.map { [$0.name, $0.summary] })
        }
        // The page of a name, or only of a type; nil if it is unknown.
        add("help_page") { session, call in
            let name = try call.text(1)
            guard call.isNil(2) else {
                return .optional(HelpCatalog.type(named: name).map(session.helpText.page))
            }
            return .optional(session.helpText.page(on: name))
        }
        add("help_names") { [unowned self] _, _ in list(HelpText.names) }
        // The most similar name of a list, or also of the API.
        add("nearest") { _, call in
            let (name, others) = (try call.text(1), try call.table(2).array.compactMap(\.text))
            return .optional(
                call.isNil(3)
                    ? nearestName(to: name, in: others)
                    : HelpText.nearest(to: name, besides: others))
        }
        // The name of a function of the API; nil for others.
        add("api_name") { session, call in
            .optional(session.context.storeModule.name(of: try call.function(1)))
        }
        add("type_name") { _, call in .text(call.typeName(1)) }
        // The text of an entry or a file by its name in messages.
        add("source") { session, call in .optional(session.errorText.source(try call.text(1))) }
    }

    func list(_ texts: some Collection<String>) -> LuaValue { context.state.texts(texts) }

    private func rows(_ rows: [[String]]) -> LuaValue { context.state.list(rows.map(list)) }
}

/// Adds functions to the table `session`.
struct SessionFunctions {
    let module: PromptModule
    let table: LuaTable

    /// Adds a function that returns a value.
    func callAsFunction(
        _ name: String, _ body: @escaping (Session, borrowing LuaCall) throws -> LuaValue
    ) {
        table[name] = .function(
            module.function(name) { session, call in call.answer(try body(session, call)) })
    }

    /// Adds a function without results.
    func action(_ name: String, _ body: @escaping (Session, borrowing LuaCall) throws -> Void) {
        table[name] = .function(
            module.function(name) { session, call in
                try body(session, call)
                return .none
            })
    }
}
