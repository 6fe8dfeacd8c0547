import LuaHost
import Reference

/// Suggests corrections for misspelled names.
///
/// Reads tables without metamethods, like completion, and runs no script code.
struct NameHints {
    private let session: Session

    init(_ session: Session) { self.session = session }

    /// Returns a suggestion for an error such as `attempt to index a nil value (global 'stroe')`.
    func hint(for message: String) -> String? {
        for kind in ["global", "field", "method"] {
            guard let start = message.firstRange(of: "(\(kind) '"),
                let end = message[start.upperBound...].firstIndex(of: "'")
            else { continue }
            let name = String(message[start.upperBound..<end])
            guard message.contains("a nil value") else { return nil }
            let names =
                kind == "global" ? globals : members(before: name, isMethod: kind == "method")
            return nearestName(to: name, in: names.filter { $0 != name }).map(Self.question)
        }
        return nil
    }

    /// Returns a suggestion for an entry that is a name or a field such as `moonpool.opn` and whose value is nil.
    func hint(forNil entry: String) -> String? {
        let tokens = LuaLexer.tokens(of: EntryText.lua(entry))
        guard let name = tokens.last, name.kind == .name else { return nil }
        if tokens.count == 1 {
            let globals = globals
            if globals.contains(name.text) { return nil }
            return nearestName(to: name.text, in: globals).map(Self.question)
        }
        let chain = tokens.dropLast(2)
        guard tokens[tokens.count - 2].isSymbol("."),
            chain.allSatisfy({ $0.kind == .name || $0.isSymbol(".") }),
            let subject = ChainResolver(session).subject(of: Array(chain), requiresAccess: false)
        else { return nil }
        let names = subject.names(startingWith: "", isMethod: false, session)
        // An existing property can be nil.
        if names.contains(name.text) { return nil }
        return nearestName(to: name.text, in: names).map(Self.question)
    }

    private static func question(_ name: String) -> String { "did you mean '\(name)'?" }

    private var globals: [String] {
        session.context.state.globals.pairs.compactMap(\.key.text).filter(ValueText.isName)
            + session.evaluator.localNames
    }

    /// Returns the members of the value before `.name` or `:name` in the entry.
    private func members(before name: String, isMethod: Bool) -> [String] {
        let tokens = LuaLexer.tokens(of: session.newestEntry)
        let access = isMethod ? ":" : "."
        for index in tokens.indices.dropFirst(2)
        where tokens[index].text == name && tokens[index - 1].isSymbol(access) {
            let chain = Array(tokens[..<(index - 1)])
            if let subject = ChainResolver(session).subject(of: chain, requiresAccess: false) {
                return subject.names(startingWith: "", isMethod: isMethod, session)
            }
        }
        return []
    }
}
