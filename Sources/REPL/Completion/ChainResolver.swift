import LuaHost
import ObjectStore
import Reference
import StoreBindings

/// What stands before a dot or a colon, as far as it is known without running anything.
enum Subject {
    case value(LuaValue)
    case object(ClassSchema)
    case results(ClassSchema)

    /// The class of the objects, where it is an object or a collection.
    var classSchema: ClassSchema? {
        switch self {
        case .object(let found), .results(let found): found
        case .value: nil
        }
    }

    /// What may follow.
    func names(isMethod: Bool, _ session: Session) -> [String] {
        switch self {
        case .object(let found):
            let names = Catalogue.object.names(isMethod: isMethod)
            return isMethod ? names : found.properties.map(\.name) + names
        case .results: return Catalogue.results.names(isMethod: isMethod)
        case .value(.string):
            return session.context.state.globals["string"].table?.pairs.compactMap(\.key.text) ?? []
        case .value(.table(let table)): return Self.names(in: table, isMethod: isMethod)
        case .value(let value):
            return session.context.storeModule.members(of: value)
                .filter { $0.isMethod == isMethod && !$0.name.hasPrefix("__") }.map(\.name)
        }
    }

    /// The names in a table and in the tables that its `__index` leads to.
    private static func names(in table: LuaTable, isMethod: Bool) -> [String] {
        var names: [String] = []
        var next: LuaTable? = table
        for _ in 0..<8 {
            guard let table = next else { break }
            for (key, value) in table.pairs {
                guard let name = key.text, ValueText.isName(name) else { continue }
                if isMethod, value.function == nil { continue }
                names.append(name)
            }
            next = table.metatable?["__index"].table
        }
        return names
    }
}

/// Reads a chain such as `store:objects("Dog"):where("…")[1].owner` backwards and says what it leads to.
struct ChainResolver {
    private let session: Session

    init(_ session: Session) { self.session = session }

    private enum Step {
        case field(String)
        case call(method: String, argument: String?)
        case index(LuaToken)
    }

    /// What the tokens end in.
    ///
    /// With `requiresAccess` they end in the `.` or `:` before a function's name.
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
                // A function called by its bare name: nobody knows what it returns.
                return isCall ? nil : follow(steps.reversed(), from: name.text)
            }
            tokens.removeLast()
            steps.append(isCall ? .call(method: name.text, argument: argument) : .field(name.text))
        }
    }

    /// Takes a bracketed group off the end and returns what was inside.
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

    private func classify(_ value: LuaValue) -> Subject {
        switch session.context.storeModule.inspect(value) {
        case .object(let object): .object(object.classSchema)
        case .results(let results):
            (try? results.classSchema()).map(Subject.results) ?? .value(value)
        case .list(let list): elements(of: list) ?? .value(value)
        case .set(let set): elements(of: set) ?? .value(value)
        case .map(let map): elements(of: map) ?? .value(value)
        case .nested, .values, .store, .token, .text, nil: .value(value)
        }
    }

    private func elements(of collection: some LiveCollection) -> Subject? {
        guard collection.source.isOpen else { return nil }
        return collection.source.view.schema.target(of: collection.property).map(Subject.results)
    }

    private func step(_ step: Step, from subject: Subject) -> Subject? {
        let schema = session.store?.store.schema
        switch (subject, step) {
        case (.value(.table(let table)), .field(let name)):
            let value = table[name]
            return value == .nil ? nil : classify(value)
        case (.value(.table(let table)), .index(let token)):
            let value: LuaValue =
                Int(token.text).map { table[$0] }
                ?? table[String(token.text.dropFirst().dropLast())]
            return value == .nil ? nil : classify(value)
        case (.value(let value), .call(let method, let argument)):
            guard case .store? = session.context.storeModule.inspect(value),
                let found = argument.flatMap({ schema?.find($0) })
            else { return nil }
            if method == "objects" { return .results(found) }
            return ["object", "create"].contains(method) ? .object(found) : nil
        case (.object(let found), .field(let name)):
            guard let schema, let property = found.property(named: name),
                let target = Completer.target(of: property, in: schema)
            else { return nil }
            return property.isSingle ? .object(target) : .results(target)
        case (.results(let found), .index): return .object(found)
        case (.results(let found), .call(let method, _)):
            if ["first", "last"].contains(method) { return .object(found) }
            return ["where", "sorted", "distinct", "limit", "freeze", "thaw"].contains(method)
                ? .results(found) : nil
        default: return nil
        }
    }
}
