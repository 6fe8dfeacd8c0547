import LineEditing
import LuaHost
import ObjectStore
import Reference
import StoreBindings

/// What only the prompt's own commands can use, as the table `session` of their files.
extension PromptModule {
    func sessionTable() -> LuaTable {
        let table = context.state.makeTable(fields: 8)
        func add(
            _ name: String, _ body: @escaping (Session, borrowing LuaCall) throws -> LuaAnswer
        ) {
            table[name] = .function(function(name, body))
        }
        add("store_name") { session, call in
            call.answer(.text(try session.requireStore().name))
        }
        add("write_schema") { session, call in
            try session.writeSchema(call.text(1).split(separator: " ").map(String.init))
            return .none
        }
        add("memory") { session, call in
            let memory = session.context.state.memory
            let result = call.state.makeTable(fields: 2)
            result["used"] = .integer(Int64(memory.used))
            result["peak"] = .integer(Int64(memory.peak))
            return call.answer(.table(result))
        }
        // The plan of a query, or of the objects of a collection; nil for other values.
        add("explain") { session, call in
            let results: Results? =
                switch session.context.storeModule.inspect(call[1]) {
                case .results(let results): results
                case .list(let list): try Results(list)
                case .set(let set): try Results(set)
                case .map(let map): try Results(map)
                default: nil
                }
            guard let results else { return .none }
            return call.answer(.text(try results.explain()))
        }
        // The title of an observer that has ended.
        add("ended_observer") { session, call in
            call.answer(session.seenObservers[try call.text(1)].map(LuaValue.text) ?? .nil)
        }
        add("visit") { session, call in
            try session.visit(UInt64(clamping: call.integer(1)))
            return .none
        }
        add("visited_version") { session, call in
            call.answer(
                session.visitedVersion.map { .integer(Int64(clamping: $0)) } ?? LuaValue.nil)
        }
        add("return_to_present") { session, _ in
            try session.returnToPresent()
            return .none
        }
        add("has_result") { session, call in call.answer(.boolean(!session.lastValues.isEmpty)) }
        // Shows and runs an entry as if the user had typed it.
        add("run_entry") { session, call in
            let entry = try call.text(1)
            session.screen.writeToScreen(session.style.paint("> \(entry)", .dim) + "\n")
            session.evaluate(entry)
            return .none
        }
        // Calls a function after each entry; nil ends the calls.
        add("after_entry") { session, call in
            session.afterEntry = call.isNil(1) ? nil : try call.function(1)
            return .none
        }
        add("write_to_screen") { session, call in
            session.screen.writeToScreen(try call.text(1))
            return .none
        }
        // Shows a step of the tutorial: its title, its text and the entry to type.
        add("write_step") { session, call in
            let wrap = TextWrap(
                columns: min(session.window.columns - 1, 90), width: TerminalText.width)
            let lines =
                [session.style.paint(try call.text(1), .strong)]
                + wrap.lines(try call.text(2))
                + wrap.lines(ofCode: try call.text(3), indent: "    ", hanging: "      ").map {
                    session.style.paint($0, .string)
                }
            session.screen.writeToScreen("\n" + lines.map { $0 + "\n" }.joined())
            return .none
        }
        // Redraws lines in place until Ctrl-C, after the command.
        add("live") { session, call in
            session.liveView = (.seconds(try call.number(1)), try call.function(2))
            return .none
        }
        let start = ContinuousClock.now
        add("clock") { _, call in
            call.answer(.number((ContinuousClock.now - start) / .seconds(1)))
        }
        return table
    }
}
