import EventLoops
import LineEditing
import LuaHost
import ObjectStore
import Reference
import StoreBindings
import SystemCalls

// What `prompt/completion.lua` reads: tokens, the types of values without running code, and the catalog of the API.

extension Session {
    /// The maximum number of candidates.
    static let maxCandidates = 500

    /// Returns the completions at the end of a typed text, or nil if there are none.
    ///
    /// Runs no Lua code of the user except the completion function of a command that the user has added. Reads no
    /// objects and begins no transaction: the cost depends on the schema and the named tables, never on the number of
    /// objects.
    package func completion(of text: String) -> Completion? {
        guard let found = callingCompletion("complete", [.text(text)])?.table,
            let typed = found[1].text
        else { return nil }
        let isFiltered = found["is_filtered"].isTruthy
        // A name with control characters cannot be shown in the line.
        let names = Set(found[2].table?.array.compactMap(\.text) ?? []).filter {
            (isFiltered || $0.hasPrefix(typed)) && ControlCharacters.escaped($0) == $0
        }
        guard !names.isEmpty else { return nil }
        let shown = Array(names.sorted().prefix(Self.maxCandidates))
        var details: [String: String] = [:]
        if let describe = found["details"].function {
            for name in shown { details[name] = (try? describe.call([.text(name)]))?.first?.text }
        }
        return Completion(
            replacing: typed.count, candidates: shown, suffix: found["suffix"].text ?? "",
            details: details)
    }

    /// Returns `3 of 10 Dog` for a text that ends in a query on a class, if counting is quick; nil otherwise.
    ///
    /// Runs no code of the script.
    func matchHint(for text: String) -> String? {
        callingCompletion("matches", [.text(text)])?.text
    }

    /// Returns a suggestion for a misspelled name in the message of an error.
    func hint(for message: String) -> String? {
        guard message.contains("a nil value (") else { return nil }
        return callingCompletion("hint", [.text(message), .text(newestEntry)])?.text
    }

    /// Returns a suggestion for an entry that is a name or a field and whose value is nil.
    func hint(forNil entry: String) -> String? {
        callingCompletion("hint_for_nil", [.text(entry)])?.text
    }

    /// Calls a function of `prompt/completion`.
    ///
    /// An error, such as a lack of memory, has the effect of no result.
    private func callingCompletion(_ name: String, _ arguments: [LuaValue]) -> LuaValue? {
        module.using(self) {
            try? module.file("completion")[name].function?.call(arguments).first
        }
    }
}

extension PromptModule {
    /// What the completion reads: tokens, the types of values, the catalog of the API.
    func addCompletion(_ add: SessionFunctions) {
        let state = context.state
        add.table["keywords"] = list(LuaToken.keywords.sorted())
        let types = state.makeTable()
        for type in PropertyType.allCases where type != .object { types[type.rawValue] = true }
        add.table["property_types"] = .table(types)
        add("tokens") { _, call in
            let tokens = LuaLexer.allTokens(of: try call.text(1)).map { token in
                var (kind, isClosed) = ("\(token.kind)", true)
                switch token.kind {
                case .string(let closed): (kind, isClosed) = ("string", closed)
                case .comment(let closed): (kind, isClosed) = ("comment", closed)
                default: break
                }
                return state.record([
                    "kind": .text(kind), "closed": .boolean(isClosed), "text": .text(token.text),
                    "first": .count(token.range.lowerBound + 1),
                    "last": .count(token.range.upperBound),
                ])
            }
            return state.list(tokens)
        }
        add("is_command") { _, call in .boolean(EntryText.isCommand(try call.text(1))) }
        add("classify") { [unowned self] _, call in classify(call[1]) }
        // Returns the subject that a step leads to from a value of a type and class.
        add("follow") { [unowned self] session, call in
            let schema = session.store?.store.schema
            let element = call.isNil(2) ? nil : schema?.find(try call.text(2))
            guard let type = HelpCatalog.type(named: try call.text(1)) else { return .nil }
            return subject(
                Self.follow(
                    try call.table(3), from: KnownType(type: type, schema: schema, element: element)
                ))
        }
        add("type_names") { [unowned self] _, call in
            let type = HelpCatalog.type(named: try call.text(1))
            return list(type?.names(isMethod: try call.boolean(2)) ?? [])
        }
        // The names in a table, and in the tables along its `__index` chain, that begin with a text.
        add("names") { [unowned self] _, call in
            let (typed, isMethod) = (try call.text(2), try call.boolean(3))
            var names: [String] = []
            var next: LuaTable? = call[1].table
            for _ in 0..<8 {
                guard let table = next else { break }
                names += table.names(
                    startingWith: typed, ofFunctions: isMethod, limit: 2_000, scanning: 100_000
                ).filter(ValueText.isName)
                next = table.metatable?["__index"].table
            }
            return list(names)
        }
        add("members") { [unowned self] _, call in
            let isMethod = try call.boolean(2)
            let members = context.storeModule.members(of: call[1])
            return list(
                members.filter { $0.isMethod == isMethod && !$0.name.hasPrefix("__") }.map(\.name))
        }
        // The value of a variable of the session.
        add("variable") { session, call in
            let name = try call.text(1)
            let value = session.evaluator.local(name) ?? state.globals[name]
            return value == .nil && name == "_G" ? .table(state.globals) : value
        }
        add("local_names") { [unowned self] session, _ in list(session.evaluator.localNames) }
        // The table of globals, or one of them; read it only without metamethods.
        add("globals") { _, call in
            call.isNil(1) ? .table(state.globals) : state.globals[try call.text(1)]
        }
        add("is_module") { session, call in .boolean(call[1].table == session.context.module) }
        add("loaded") { _, _ in .table(state.loadedModules ?? state.makeTable()) }
        // The last part of a path, and the names of files that begin with it.
        add("files") { [unowned self] _, call in
            let (typed, names) = FileNames.completions(of: try call.text(1))
            return .table(state.makeTable([.text(typed), list(names)]))
        }
        // The names of the options that a function takes.
        add("options") { [unowned self] _, call in
            let parameters = HelpCatalog.find(try call.text(1)).flatMap(\.signatures)
                .flatMap(\.parameters)
            return list(parameters.flatMap { HelpCatalog.options(in: $0.type).map(\.name) })
        }
        // What the completion function of a command returns for an argument; shows its error.
        add("candidates") { session, call in
            let (function, argument) = (try call.function(1), call[2])
            do {
                return try session.context.entry { () throws in
                    try function.call([argument]).first ?? .nil
                }
            } catch {
                session.fail(error)
                return .nil
            }
        }
        // The names that begin with a text and can follow the beginning of a path, with their types.
        add("continuations") { session, call in
            let names = state.makeTable()
            let typed = try call.text(3)
            guard let schema = session.store?.store.schema,
                let element = schema.find(try call.text(1))
            else { return .table(names) }
            for (name, type) in PredicateCheck.continuations(
                of: try call.text(2), class: element, schema: schema,
                where: { $0.hasPrefix(typed) })
            {
                names[name] = .text(type ?? "")
            }
            return .table(names)
        }
        // A name as it is written in a predicate.
        add("written") { _, call in
            .text(QueryText.written(try call.text(1), isFirst: try call.boolean(2)))
        }
    }

    private func subject(_ known: KnownType?) -> LuaValue {
        guard let known else { return .nil }
        return context.state.record([
            "type": .text(known.type.name), "class": .optional(known.element?.name),
        ])
    }

    /// Returns the type of a value and the class of its objects, or the names of a projection, as a table; nil for other
    /// values.
    private func classify(_ value: LuaValue) -> LuaValue {
        func known(_ type: HelpType, _ element: ClassSchema? = nil) -> LuaValue {
            subject(KnownType(type: type, element: element))
        }
        func elements(of collection: some LiveCollection, _ type: HelpType) -> LuaValue {
            guard collection.source.isOpen else { return .nil }
            return known(type, collection.source.view.schema.target(of: collection.property))
        }
        func projection(_ names: [String], isRow: Bool) -> LuaValue {
            context.state.record(["names": list(names), "is_row": .boolean(isRow)])
        }
        switch context.storeModule.inspect(value) {
        case .object(let object): return known(HelpCatalog.object, object.classSchema)
        case .results(let results):
            return (try? results.classSchema()).map { known(HelpCatalog.results, $0) } ?? .nil
        case .sections(let sections):
            return (try? sections.results.classSchema()).map {
                known(HelpCatalog.sectionsType, $0)
            } ?? .nil
        case .collection(let collection):
            return switch collection.property.collection {
            case .set: elements(of: collection, HelpCatalog.set)
            case .map: elements(of: collection, HelpCatalog.map)
            default: elements(of: collection, HelpCatalog.list)
            }
        case .store: return known(HelpCatalog.store)
        case .token: return known(HelpCatalog.token)
        case .values: return known(HelpCatalog.valuesType)
        case .projection(let row): return projection(row.names, isRow: true)
        case .projectedResults(let results): return projection(results.names, isRow: false)
        case .nested, .text, nil: return .nil
        }
    }

    /// Returns the type of a field, an element or the result of a method, according to the schema and the catalog.
    private static func follow(_ step: LuaTable, from type: KnownType) -> KnownType? {
        if let name = step["field"].text {
            if type.type == HelpCatalog.object, let property = type.element?.property(named: name) {
                return type.value(of: property)
            }
            guard case .field(let annotation, _)? = type.entry(name)?.kind else { return nil }
            return type.meaning(of: annotation)
        }
        guard let name = step["call"].text else { return type.elements }
        guard let signature = type.entry(name)?.signatures.first,
            let result = signature.results.first
        else { return nil }
        var named: ClassSchema?
        if signature.parameters.contains(where: { $0.type == "`T`" }) {
            named = step["argument"].text.flatMap { type.schema?.find($0) }
            if named == nil { return nil }
        }
        return type.meaning(of: result, named: named)
    }
}
