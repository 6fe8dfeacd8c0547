import LuaHost
import ObjectStore
import Reference
import StoreBindings

extension Session {
    /// Help on a name of the API, a dot command or a class of the store.
    func writeHelp(on text: String) throws {
        let name = String(text.drop { $0 == "." || $0 == ":" })
        if let command = MetaCommand.find(name),
            text.hasPrefix(".") || helpText.page(on: name) == nil
        {
            return write(".\(command.name) \(command.usage)\n    \(command.summary)\n")
        }
        let schema = store?.store.schema
        if let page = helpText.page(on: name) {
            write(page)
            if let command = MetaCommand.find(name) {
                write("\n.\(command.name) \(command.usage)\n    \(command.summary)\n")
            }
            return
        }
        if let found = schema?.find(name) { return writeSchema(found) }
        let near = HelpText.nearest(
            to: name,
            besides: MetaCommand.all.map(\.name) + (schema?.classes.map(\.name) ?? []))
        throw CommandError(
            "nothing is known of '\(name)'" + (near.map { "; did you mean '\($0)'?" } ?? ""))
    }

    /// Help in the colours of the session.
    var helpText: HelpText {
        HelpText { [style] text, role in
            switch role {
            case .title: style.paint(text, .strong)
            case .signature: style.paint(text, .type)
            case .example: style.paint(text, .dim)
            }
        }
    }

    /// Gives entries the function `help`: of a name, of a function of the API, or of a value of it.
    ///
    /// A script that is looked into keeps what it calls `help` itself.
    func installHelp() {
        guard context.configuration.isInteractive || context.state.globals["help"].isNil else {
            return
        }
        let help = LuaValue.function(
            context.state.makeFunction("help") { [weak self] call in
                try self?.help(call)
                return .none
            })
        context.state.globals["help"] = help
        installedHelp = help
    }

    private func help(_ call: borrowing LuaCall) throws {
        switch call[1] {
        case .nil: writeHelp()
        case .string: try writeHelp(on: call.text(1))
        case .function(let function):
            guard let name = context.storeModule.name(of: function) else {
                let origin = declaration(of: function) ?? "a function of Lua or of a script"
                return write("\(origin); \(Self.helpHint)\n")
            }
            try writeHelp(on: name)
        case let value:
            if case .object(let object)? = context.storeModule.inspect(value) {
                writeSchema(object.classSchema)
                write("\n" + helpText.page(on: Catalogue.object))
                return
            }
            let type = call.typeName(1)
            guard let page = Catalogue.type(named: type).map(helpText.page) else {
                return write("a \(type); \(Self.helpHint)\n")
            }
            write(page)
        }
    }

    /// `function (a, b), from entry 1:1`; nil for functions that are not written in Lua.
    private func declaration(of function: LuaFunction) -> String? {
        guard let info = try? functionInfo?.call([.function(function), "Su"]).first?.table,
            info["what"].text != "C", let source = info["short_src"].text,
            let line = info["linedefined"].integer
        else { return nil }
        var parameters = (1...max(1, info["nparams"].integer ?? 0)).compactMap { number in
            try? parameterName?.call([.function(function), .integer(number)]).first?.text
        }
        if info["isvararg"].isTruthy { parameters.append("...") }
        return "function (\(parameters.joined(separator: ", "))), from \(source):\(line)"
    }

    private static let helpHint =
        "help takes a name such as \"where\", a function such as store.write, or a value such as store"
}
