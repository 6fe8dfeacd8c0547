import LuaHost

/// Runs entries: expressions give their values, statements leave their locals.
///
/// On the script's thread. Numbers the entries, so that messages name the one they mean: `entry 12:1: …`.
final class Evaluator {
    private let state: LuaState
    private let scope: LocalScope?
    private var number = 0
    private var sources: [Int: String] = [:]

    /// How many entries' texts are kept for excerpts.
    private static let kept = 500

    init(_ state: LuaState) {
        self.state = state
        scope = LocalScope(state)
    }

    /// The names of the session's locals.
    var localNames: [String] { scope?.locals.map(\.name).sorted() ?? [] }

    /// The value of one of the session's locals.
    func local(_ name: String) -> LuaValue? { scope?.value(of: name) }

    /// Gives one of the session's locals another value.
    func setLocal(_ name: String, _ value: LuaValue) { scope?.set(name, value) }

    /// The text of an entry by the name it has in messages.
    func source(named name: some StringProtocol) -> String? {
        guard name.hasPrefix(Self.prefix), let number = Int(name.dropFirst(Self.prefix.count))
        else {
            return nil
        }
        return sources[number]
    }

    static let prefix = "entry "

    /// The name of the newest entry in messages.
    var newestName: String { "\(Self.prefix)\(number)" }

    /// The number of the next entry in messages.
    var nextNumber: Int {
        get { number + 1 }
        set { number = newValue - 1 }
    }

    /// Runs an entry; all its results.
    ///
    /// `enter` surrounds the run. A file gives its own name for messages.
    func evaluate(
        _ entry: String, named file: String? = nil,
        enter: (() throws -> [LuaValue]) throws -> [LuaValue]
    ) throws -> [LuaValue] {
        try enter(prepare(entry, named: file))
    }

    /// Compiles an entry into what runs it, which may be called again and again.
    func prepare(_ entry: String, named file: String? = nil) throws -> () throws -> [LuaValue] {
        let text = EntryText.lua(entry)
        let name: String
        if let file {
            name = "@" + file
        } else {
            number += 1
            sources[number] = text
            sources[number - Self.kept] = nil
            name = "=\(Self.prefix)\(number)"
        }
        let isExpression: Bool
        let plain: LuaFunction
        do {
            plain = try state.load("return " + text, name: name)
            isExpression = true
        } catch {
            if EntryText.isExpressionOnly(entry) { throw error }
            plain = try state.load(text, name: name)
            isExpression = false
        }
        let whole = isExpression ? "return " + text : text
        if let scope, let made = try scope.function(for: whole, name: name) {
            return { () throws in try made.function.call(made.arguments) }
        }
        return { () throws in try plain.call([]) }
    }
}
