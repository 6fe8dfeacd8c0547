import LineEditing
import LuaHost
import ObjectStore
import Reference
import StoreBindings

extension Session {
    /// Writes help on a name of the API, a dot command or a class of the store.
    func writeHelp(on text: String) throws {
        let name = String(text.drop { $0 == "." || $0 == ":" })
        if writeHelp(onTopic: name) { return }
        if let command = commands.find(name),
            text.hasPrefix(".") || helpText.page(on: name) == nil
        {
            return writeHelp(on: command)
        }
        let schema = store?.store.schema
        let library = libraryPage(on: name)
        // `string.format` is not a member of the API that is also called format.
        let isLibrary = LuaLibrary.find(name).contains { $0.name == name && $0.library != "basic" }
        let pages = [isLibrary ? nil : helpText.page(on: name), library].compactMap(\.self)
        if !pages.isEmpty {
            write(pages.joined(separator: "\n"))
            if let command = commands.find(name) {
                write("\n")
                writeHelp(on: command)
            }
            return
        }
        if let found = schema?.find(name) { return writeSchema(found) }
        let near = HelpText.nearest(
            to: name,
            besides: commands.all.map(\.name) + helpTopics + LuaLibrary.names
                + (schema?.classes.map(\.name) ?? []))
        throw CommandError(
            "no help on '\(name)'" + (near.map { "; did you mean '\($0)'?" } ?? ""))
    }

    func writeShortcuts() {
        var lines = wrap.definitions([
            ("Enter", "Run the entry, or continue it on a new line if it is unfinished."),
            ("Alt-Enter", "Begin a new line in the entry."),
            ("Tab", "Complete the word, or list the candidates."),
            (
                "Up, Down",
                "Move between the lines of an entry, then between the entries that begin with the typed text."
            ),
            ("Page Up, Page Down", "Move between the entries of the history."),
            ("Right, Ctrl-F", "Accept the gray suggestion at the end of the line, or move right."),
            ("Ctrl-R, Ctrl-S", "Search the history backward or forward."),
            ("Home, Ctrl-A", "Move to the start of the line."),
            ("End, Ctrl-E", "Move to the end of the line."),
            ("Ctrl-Left, Ctrl-Right", "Move by a word."),
            ("Ctrl-W", "Delete the word before the cursor."),
            ("Ctrl-K, Ctrl-Y", "Cut the rest of the line; insert the text that was cut."),
            ("Ctrl-_", "Undo the last change of the entry."),
            ("Ctrl-L", "Clear the screen."),
            ("Ctrl-C", "Clear the entry, or interrupt the running code."),
            ("Ctrl-D", "End the session, on an empty line."),
            ("Ctrl-Z", "Suspend moonpool; fg continues it."),
            ("q", "Leave .watch and .history."),
        ]) { style.paint($0, .key) }
        lines.append("")
        lines += wrap.lines(
            """
            The file ~/.editrc can bind other keys (see man editrc); bind -v selects the keys of vi.
            """)
        write(lines.map { $0 + "\n" }.joined())
    }

    private func writeHelp(on command: MetaCommand) {
        let lines =
            wrap.lines(".\(command.name) \(command.usage)", hanging: "    ")
            + wrap.lines(command.summary, indent: "    ")
        write(lines.map { $0 + "\n" }.joined())
    }

    /// Wraps text at the width of the window.
    var wrap: TextWrap { TextWrap(columns: window.columns - 1, width: TerminalText.width) }

    /// The help printer, with the colors and the width of the session.
    var helpText: HelpText {
        HelpText(columns: window.columns - 1) { [style] text, role in
            switch role {
            case .title: style.paint(text, .strong)
            case .signature: style.paint(text, .type)
            case .example: style.paint(text, .dim)
            }
        }
    }

    /// Installs the global function `help`, which takes a name, a function or a value.
    ///
    /// A script that `moonpool attach` has opened keeps its own global `help`.
    func installHelp() {
        guard context.configuration.isInteractive || context.state.globals["help"].isNil else {
            return
        }
        installedHelp = .function(
            context.state.makeFunction("help", of: "prompt") { [weak self] call in
                try self?.help(call)
                return .none
            })
        context.state.globals["help"] = installedHelp
    }

    private func help(_ call: borrowing LuaCall) throws {
        switch call[1] {
        case .nil where call.count == 0: writeHelp()
        case .nil: writeHelp(about: "nil", hint: nilHint)
        case .string: try writeHelp(on: call.text(1))
        case .function(let function):
            let library = LuaLibrary.name(of: call[1], in: context.state.globals)
            guard let name = context.storeModule.name(of: function) ?? library else {
                guard let origin = declaration(of: function) else {
                    return writeHelp(about: "a built-in function")
                }
                guard let comment = origin.comment else { return writeHelp(about: origin.text) }
                let lines =
                    wrap.lines(origin.text)
                    + comment.flatMap { line in
                        let text = "    " + line
                        return TerminalText.width(text) < window.columns
                            ? [text] : wrap.lines(line, indent: "    ")
                    }
                return write(lines.map { $0 + "\n" }.joined())
            }
            try writeHelp(on: name)
        case let value:
            if case .object(let object)? = context.storeModule.inspect(value) {
                writeSchema(object.classSchema)
                write("\n" + helpText.page(on: HelpCatalog.object))
                return
            }
            if let name = LuaLibrary.name(of: value, in: context.state.globals) {
                return try writeHelp(on: name)
            }
            let type = call.typeName(1)
            guard let page = HelpCatalog.type(named: type).map(helpText.page) else {
                return writeHelp(about: "a \(type)")
            }
            write(page)
        }
    }

    /// Returns `function (a, b), from entry 1:1` and the comment above the function, or nil for functions that are not
    /// written in Lua.
    private func declaration(of function: LuaFunction) -> (text: String, comment: [String]?)? {
        guard let info = try? functionInfo?.call([.function(function), "Su"]).first?.table,
            info["what"].text != "C", let source = info["short_src"].text,
            let line = info["linedefined"].integer
        else { return nil }
        var parameters = (1...max(1, info["nparams"].integer ?? 0)).compactMap { number in
            try? parameterName?.call([.function(function), .integer(number)]).first?.text
        }
        if info["isvararg"].isTruthy { parameters.append("...") }
        return (
            "function (\(parameters.joined(separator: ", "))), from \(source):\(line)",
            errorText.source(source).flatMap { Self.comment(above: Int(line), in: $0) }
        )
    }

    /// Returns the text of the comment lines directly above a line; nil if there are none.
    static func comment(above line: Int, in source: String) -> [String]? {
        let lines = source.split(separator: "\n", omittingEmptySubsequences: false)
        guard line > 1, line <= lines.count else { return nil }
        let comment = lines[..<(line - 1)].reversed().prefix { $0.trimmed.hasPrefix("--") }
            .reversed().map { String($0.trimmed.drop { $0 == "-" }).trimmed }
        return comment.isEmpty ? nil : comment
    }

    /// A suggestion for the misspelled name in `help(dgos)`.
    private var nilHint: String? {
        guard let start = newestEntry.firstIndex(of: "("),
            let end = newestEntry.lastIndex(of: ")"), start < end
        else { return nil }
        return NameHints(self).hint(
            forNil: String(newestEntry[newestEntry.index(after: start)..<end]))
    }

    /// Writes a description of a value without a help entry, and how to get help.
    private func writeHelp(about value: String, hint: String? = nil) {
        let hint =
            hint
            ?? "pass a name such as \"where\", a function such as store.write, or a value such as store"
        write(wrap.lines("\(value); \(hint)").map { $0 + "\n" }.joined())
    }
}
