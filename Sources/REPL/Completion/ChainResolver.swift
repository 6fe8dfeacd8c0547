import LuaHost
import ObjectStore
import Reference
import StoreBindings

/// The value before a dot or a colon, as far as it can be determined without running code.
enum Subject {
    case value(LuaValue)
    case known(KnownType)
    /// Projections with these names: a single row, or results of rows.
    case projected(names: [String], isRow: Bool)

    /// The class of the objects; nil if the value is neither an object nor a collection of objects.
    var classSchema: ClassSchema? {
        switch self {
        case .known(let type): type.element
        case .value, .projected: nil
        }
    }

    /// Returns the names that begin with the typed text; for large tables, only some of them.
    func names(startingWith typed: String, isMethod: Bool, _ session: Session) -> [String] {
        switch self {
        case .known(let known):
            let properties = known.type == HelpCatalog.object ? known.element?.properties : nil
            return (isMethod ? [] : properties?.map(\.name) ?? [])
                + known.type.names(isMethod: isMethod)
        case .projected(let names, let isRow):
            let type = isRow ? HelpCatalog.projection : HelpCatalog.projectedResults
            return (isMethod || !isRow ? [] : names) + type.names(isMethod: isMethod)
        case .value(.string):
            return session.context.state.globals["string"].table?.names(startingWith: typed) ?? []
        case .value(.table(let table)):
            return Self.names(in: table, startingWith: typed, isMethod: isMethod)
        case .value(let value):
            return session.context.storeModule.members(of: value)
                .filter { $0.isMethod == isMethod && !$0.name.hasPrefix("__") }.map(\.name)
        }
    }

    /// Returns the names in a table and in the tables along its `__index` chain.
    private static func names(in table: LuaTable, startingWith typed: String, isMethod: Bool)
        -> [String]
    {
        var names: [String] = []
        var next: LuaTable? = table
        for _ in 0..<8 {
            guard let table = next else { break }
            names += table.names(
                startingWith: typed, ofFunctions: isMethod, limit: Completer.gathered,
                scanning: Completer.scanned
            ).filter(ValueText.isName)
            next = table.metatable?["__index"].table
        }
        return names
    }
}

/// Resolves a chain such as `store:objects("Dog"):where("…")[1].owner` backwards to the value that it refers to.
struct ChainResolver {
    private let session: Session

    init(_ session: Session) { self.session = session }

    private enum Step {
        case field(String)
        case call(method: String, argument: String?)
        case index(LuaToken)
    }

    /// Returns the subject at the end of the tokens.
    ///
    /// With `requiresAccess`, the tokens must end in the `.` or `:` before a function's name.
    func subject(of tokens: [LuaToken], requiresAccess: Bool) -> Subject? {
        var tokens = tokens
        if requiresAccess {
            guard let access = tokens.popLast(), access.isSymbol(":") || access.isSymbol(".") else {
                return nil
            }
        }
        var steps: [Step] = []
        while true {
            guard let last = tokens.last else { return nil }
            var argument: String?
            var isCall = false
            switch last.kind {
            case .string:
                argument = String(last.text.dropFirst().dropLast())
                isCall = true
                tokens.removeLast()
            case .symbol where last.text == ")" || last.text == "}" || last.text == "]":
                let inside = Self.takeBrackets(&tokens)
                if last.text == "]" {
                    guard inside.count == 1 else { return nil }
                    steps.append(.index(inside[0]))
                    continue
                }
                if let first = inside.first, case .string = first.kind {
                    argument = String(first.text.dropFirst().dropLast())
                }
                isCall = true
            default: break
            }
            guard let name = tokens.popLast(), name.kind == .name else { return nil }
            let access = tokens.last
            guard access?.isSymbol(".") == true || access?.isSymbol(":") == true else {
                // The result of a function that is called by its bare name is unknown.
                return isCall ? nil : follow(steps.reversed(), from: name.text)
            }
            tokens.removeLast()
            steps.append(isCall ? .call(method: name.text, argument: argument) : .field(name.text))
        }
    }

    /// Removes a bracketed group from the end and returns its content.
    private static func takeBrackets(_ tokens: inout [LuaToken]) -> [LuaToken] {
        var depth = 0
        var inside: [LuaToken] = []
        while let token = tokens.popLast() {
            if token.kind == .symbol {
                if [")", "}", "]"].contains(token.text) { depth += 1 }
                if ["(", "{", "["].contains(token.text) { depth -= 1 }
            }
            if depth == 0 { break }
            inside.append(token)
        }
        return inside.reversed().dropLast()
    }

    private func follow(_ steps: [Step], from name: String) -> Subject? {
        let state = session.context.state
        var value = session.evaluator.local(name) ?? state.globals[name]
        if value == .nil, name == "_G" { value = .table(state.globals) }
        guard value != .nil else { return nil }
        var subject = classify(value)
        for step in steps {
            guard let next = self.step(step, from: subject) else { return nil }
            subject = next
        }
        return subject
    }

    private var schema: Schema? { session.store?.store.schema }

    private func classify(_ value: LuaValue) -> Subject {
        switch session.context.storeModule.inspect(value) {
        case .object(let object): known(HelpCatalog.object, object.classSchema)
        case .results(let results):
            (try? results.classSchema()).map { known(HelpCatalog.results, $0) } ?? .value(value)
        case .sections(let sections):
            (try? sections.results.classSchema()).map { known(HelpCatalog.sectionsType, $0) }
                ?? .value(value)
        case .list(let list): elements(of: list, HelpCatalog.list) ?? .value(value)
        case .set(let set): elements(of: set, HelpCatalog.set) ?? .value(value)
        case .map(let map): elements(of: map, HelpCatalog.map) ?? .value(value)
        case .store: known(HelpCatalog.store, nil)
        case .token: known(HelpCatalog.token, nil)
        case .values: known(HelpCatalog.valuesType, nil)
        case .projection(let projection): .projected(names: projection.names, isRow: true)
        case .projectedResults(let results): .projected(names: results.names, isRow: false)
        case .nested, .text, nil: .value(value)
        }
    }

    private func known(_ type: HelpType, _ element: ClassSchema?) -> Subject {
        .known(KnownType(type: type, schema: schema, element: element))
    }

    private func elements(of collection: some LiveCollection, _ type: HelpType) -> Subject? {
        guard collection.source.isOpen else { return nil }
        return known(type, collection.source.view.schema.target(of: collection.property))
    }

    private func step(_ step: Step, from subject: Subject) -> Subject? {
        switch (subject, step) {
        case (.value(.table(let table)), .field(let name)):
            let value = table[name]
            return value == .nil ? nil : classify(value)
        case (.value(.table(let table)), .index(let token)):
            let value: LuaValue =
                Int(token.text).map { table[$0] }
                ?? table[String(token.text.dropFirst().dropLast())]
            return value == .nil ? nil : classify(value)
        case (.value(.table(let table)), .call(let name, _)) where table == session.context.module:
            return result(of: KnownType(type: HelpCatalog.moonpool), name, nil)
        case (.value, _): return nil
        case (.projected(let names, isRow: false), .index),
            (.projected(let names, isRow: false), .call("first", _)),
            (.projected(let names, isRow: false), .call("last", _)):
            return .projected(names: names, isRow: true)
        case (.projected, .call(let name, _))
        where ["where", "sorted", "distinct", "limit", "freeze"].contains(name):
            return subject
        case (.projected, _): return nil
        case (.known(let type), .field(let name)):
            if type.type == HelpCatalog.object, let property = type.element?.property(named: name) {
                return type.value(of: property).map(Subject.known)
            }
            guard case .field(let annotation, _)? = type.entry(name)?.kind else { return nil }
            return type.meaning(of: annotation).map(Subject.known)
        case (.known(let type), .index): return type.elements.map(Subject.known)
        case (.known(let type), .call(let name, let argument)):
            return result(of: type, name, argument)
        }
    }

    /// Returns the result type of a call, according to the catalog of the API.
    private func result(of type: KnownType, _ name: String, _ argument: String?) -> Subject? {
        guard let signature = type.entry(name)?.signatures.first,
            let result = signature.results.first
        else { return nil }
        var named: ClassSchema?
        if signature.parameters.contains(where: { $0.type == "`T`" }) {
            guard let found = argument.flatMap({ schema?.find($0) }) else { return nil }
            named = found
        }
        var known = type.meaning(of: result, named: named)
        known?.schema = schema
        return known.map(Subject.known)
    }
}
