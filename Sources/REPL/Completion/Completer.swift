import EventLoops
import LineEditing
import LuaHost
import ObjectStore
import Reference
import StoreBindings

/// Finds the completions at the cursor.
///
/// Reads tables without metamethods, and schemas; runs no code of a script and reads no object.
///
/// Thread: the script's thread.
struct Completer {
    let session: Session

    /// The maximum number of candidates.
    static let limit = 500
    /// The maximum number of names collected from one table.
    static let gathered = 2_000
    /// The maximum number of keys scanned in one table.
    static let scanned = 100_000

    /// Returns the candidates for the text before the cursor.
    func complete(_ before: String) -> Completion? {
        if EntryText.isCommand(before) || before == "." { return command(before) }
        let tokens = LuaLexer.allTokens(of: before)
        if let last = tokens.last {
            switch last.kind {
            case .comment(let isClosed) where !isClosed: return nil
            case .string(let isClosed) where !isClosed:
                return string(last.text, after: Array(tokens.dropLast()))
            default: break
            }
        }
        return name(tokens, end: before.utf8.count)
    }

    private func make(
        _ typed: String, _ candidates: [String], suffix: String = "", isFiltered: Bool = false,
        details: (String) -> String? = { _ in nil }
    ) -> Completion? {
        // A name with control characters cannot be shown in the line.
        let found = Set(
            candidates.filter {
                (isFiltered || $0.hasPrefix(typed)) && ControlCharacters.escaped($0) == $0
            }
        ).sorted()
        guard !found.isEmpty else { return nil }
        let shown = Array(found.prefix(Self.limit))
        let pairs = shown.compactMap { name in details(name).map { (name, $0) } }
        return Completion(
            replacing: typed.count, candidates: shown, suffix: suffix,
            details: Dictionary(pairs, uniquingKeysWith: { first, _ in first }))
    }

    // MARK: - Commands

    private func command(_ before: String) -> Completion? {
        let text = before.drop { $0.isWhitespace }
        let commands = session.commands
        guard let blank = text.firstIndex(where: \.isWhitespace) else {
            return make(String(text), commands.all.map { ".\($0.name)" }, suffix: " ")
        }
        let name = text[..<blank].dropFirst()
        let argument = String(text[blank...].drop { $0.isWhitespace })
        switch commands.find(String(name))?.argument {
        case .className: return make(argument, classNames, details: objectCount)
        case .onOff: return make(argument, ["on", "off"])
        case .file: return file(argument)
        case .expression: return complete(argument)
        case .query: return query(argument)
        case .help:
            return make(
                argument,
                commands.all.map(\.name) + HelpText.names + classNames + LuaLibrary.names
                    + session.helpTopics)
        case .words(let words): return make(Self.lastArgument(of: argument), words)
        case .schema:
            return make(
                Self.lastArgument(of: argument),
                classNames + ["--tree", "--lua", "--mermaid", "--dot"])
        case .function(let function):
            return make(
                Self.lastArgument(of: argument), session.candidates(of: function, for: argument))
        case .module: return make(argument, session.modules.names + ["on", "off"])
        case .number: return make(argument, observerNames)
        case .some(.none), nil: return nil
        }
    }

    /// Returns completions of a query: `Dog`, `Dog where age > 3`, or an expression.
    private func query(_ text: String) -> Completion? {
        guard let blank = text.firstIndex(where: \.isWhitespace) else {
            return make(text, classNames, details: objectCount) ?? complete(text)
        }
        guard let classSchema = schema?.find(String(text[..<blank])) else { return complete(text) }
        let rest = text[text.index(after: blank)...]
        if !rest.contains(where: \.isWhitespace),
            let introduction = make(String(rest), ["where"], suffix: " ")
        {
            return introduction
        }
        let condition = rest.drop { !$0.isWhitespace }.drop { $0.isWhitespace }
        return predicate(String(condition), classSchema)
    }

    private static func lastArgument(of text: String) -> String {
        text.split(separator: " ", omittingEmptySubsequences: false).last.map(String.init) ?? ""
    }

    private func file(_ path: String) -> Completion? {
        let (typed, names) = FileNames.completions(of: path)
        return make(typed, names)
    }

    private var observerNames: [String] {
        session.context.storeModule.activeTokens.map { $0.name.isEmpty ? "\($0.number)" : $0.name }
    }

    private var schema: Schema? { session.store?.store.schema }
    private var classNames: [String] { schema?.classes.map(\.name) ?? [] }

    /// Returns `3 objects` for the name of a class; the number is part of the snapshot.
    private func objectCount(_ name: String) -> String? {
        guard let store = session.store?.store, let found = store.schema.find(name),
            let count = try? store.view.count(of: found)
        else { return nil }
        return ValueText.count(count, "object")
    }

    // MARK: - Strings

    /// Returns completions inside a string: class names or file names if the call expects them, otherwise key paths.
    private func string(_ text: String, after tokens: [LuaToken]) -> Completion? {
        let content = Self.content(of: text)
        let call = CallContext(tokens)
        switch call?.isFirstArgument == true ? call?.function : nil {
        case "objects", "object", "create", "schema", "delete_all", "new":
            return make(content, classNames, details: objectCount)
        case "open", "dofile", "loadfile": return file(content)
        case "require":
            return make(
                content,
                session.context.state.loadedModules?.names(startingWith: content) ?? [])
        default: break
        }
        if let types = SchemaTypes(content, call: call, tokens: tokens, schema: schema) {
            return make(types.typed, types.candidates)
        }
        // The receiver of `dogs:where "…"` determines the class of the properties.
        let subject = call.flatMap {
            ChainResolver(session).subject(of: $0.receiver, requiresAccess: true)
        }
        if call?.function == "where", call?.isFirstArgument == true,
            let classSchema = subject?.classSchema
        {
            return predicate(content, classSchema)
        }
        return path(Self.lastWord(of: content), in: subject?.classSchema)
    }

    /// Returns the completions in a predicate: a key path, an operator for its type, or a conjunction.
    private func predicate(_ text: String, _ classSchema: ClassSchema) -> Completion? {
        switch PredicateContext(text, classSchema, schema) {
        case .literal: return nil
        case .path: return path(Self.lastWord(of: text), in: classSchema, isPredicate: true)
        case .words(let typed, let words): return make(typed, words, suffix: " ")
        }
    }

    /// Returns the completions of a key path such as `owner.na`.
    ///
    /// Without a class, the candidates are the properties of all classes, and the classes.
    ///
    /// In a predicate, names that would have another meaning are in backquotes.
    private func path(
        _ word: String, in start: ClassSchema?, isPredicate: Bool = false
    ) -> Completion? {
        var parts = word.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let typed = parts.removeLast()
        guard let schema else { return nil }
        guard var current = start else {
            let names = schema.classes.flatMap { $0.properties.map(\.name) }
            return make(typed, parts.isEmpty ? names + classNames : names)
        }
        for part in parts {
            guard let property = current.property(named: part.filter { $0 != "`" }),
                let next = Self.target(of: property, in: schema)
            else { return nil }
            current = next
        }
        let names = current.properties.map(\.name)
        let isQuoted = typed.hasPrefix("`")
        func written(_ name: String) -> String {
            if isQuoted { return "`\(name)`" }
            return isPredicate ? QueryText.written(name, isFirst: parts.isEmpty) : name
        }
        // A word of the predicate language is offered in backquotes, unless other names begin with what was typed.
        let isOnlyWords = names.allSatisfy { !$0.hasPrefix(typed) || written($0) != $0 }
        let candidates = names.filter { $0.hasPrefix(isQuoted ? typed.dropFirst() : typed[...]) }
            .map(written).filter { $0.hasPrefix(typed) || isOnlyWords }
        return make(typed, candidates, isFiltered: true) { name in
            current.property(named: name.filter { $0 != "`" })?.typeName
        }
    }

    static func target(of property: Property, in schema: Schema) -> ClassSchema? {
        if let origin = property.origin { return schema.find(origin.className) }
        return schema.target(of: property)
    }

    /// Returns the text of an unfinished string, without its opening quote.
    static func content(of text: String) -> String {
        guard text.first == "[" else { return String(text.dropFirst()) }
        return String(text.dropFirst().drop { $0 == "=" }.dropFirst())
    }

    /// Returns the dotted name at the end of a text.
    private static func lastWord(of text: String) -> String {
        let bytes = text.utf8.reversed().prefix {
            LuaLexer.isNameByte($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "`")
        }
        return String(decoding: bytes.reversed(), as: UTF8.self)
    }

    // MARK: - Names

    private func name(_ tokens: [LuaToken], end: Int) -> Completion? {
        var chain = tokens
        var typed = ""
        if let last = chain.last, last.kind == .name || last.kind == .keyword,
            last.range.upperBound == end
        {
            typed = last.text
            chain.removeLast()
        }
        if let access = chain.last, access.isSymbol(".") || access.isSymbol(":") {
            chain.removeLast()
            guard let subject = ChainResolver(session).subject(of: chain, requiresAccess: false)
            else {
                return nil
            }
            return make(
                typed,
                subject.names(
                    startingWith: typed, isMethod: access.text == ":", session)
            ) { access.text == "." ? subject.classSchema?.property(named: $0)?.typeName : nil }
        }
        if let table = TableContext(chain, session),
            let found = make(typed, table.names, suffix: " = ")
        {
            return found
        }
        if let options = OptionContext(chain),
            let found = make(typed, options.names, suffix: " = ")
        {
            return found
        }
        guard !typed.isEmpty else { return nil }
        let globals = session.context.state.globals.names(
            startingWith: typed, limit: Self.gathered, scanning: Self.scanned
        ).filter(ValueText.isName)
        return make(typed, globals + session.evaluator.localNames + LuaToken.keywords)
    }
}
