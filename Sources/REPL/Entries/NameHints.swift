import LuaHost
import Reference

/// Guesses what a name that leads to nothing was meant to be.
///
/// Looks into tables raw, as completion does; runs no code of a script.
struct NameHints {
    private let session: Session

    init(_ session: Session) { self.session = session }

    /// For an error such as `attempt to index a nil value (global 'stroe')`.
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

    /// For an entry that is nothing but a name, when that is nil.
    func hint(forNil entry: String) -> String? {
        let tokens = LuaLexer.tokens(of: EntryText.lua(entry))
        guard tokens.count == 1, let name = tokens.first, name.kind == .name,
            !globals.contains(name.text)
        else { return nil }
        return nearestName(to: name.text, in: globals).map(Self.question)
    }

    private static func question(_ name: String) -> String { "did you mean '\(name)'?" }

    private var globals: [String] {
        session.context.state.globals.pairs.compactMap(\.key.text).filter(ValueText.isName)
            + session.evaluator.localNames
    }

    /// What stands in the entry before `.name` or `:name` has members; theirs are meant.
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
