import LuaHost

/// Runs entries and keeps their top-level locals.
///
/// Numbers the entries, so that messages can name them: `entry 12:1: …`. Thread: the script's thread.
final class Evaluator {
    private let state: LuaState
    private let scope: LocalScope?
    private lazy var compiler = EntryCompiler()
    private var number = 0
    private var sources: [Int: String] = [:]

    /// The number of entries whose text is kept for excerpts.
    private static let kept = 500

    init(_ state: LuaState) {
        self.state = state
        scope = LocalScope(state)
    }

    /// The names of the session's locals.
    var localNames: [String] { scope?.locals.map(\.name).sorted() ?? [] }

    /// Returns the value of a local of the session.
    func local(_ name: String) -> LuaValue? { scope?.value(of: name) }

    /// Assigns a value to a local of the session.
    func setLocal(_ name: String, _ value: LuaValue) { scope?.set(name, value) }

    /// Returns the text of an entry by its name in messages.
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

    /// Runs an entry and returns all its results.
    ///
    /// `enter` wraps the run. The entries of a file are named after the file in messages.
    func evaluate(
        _ entry: String, named file: String? = nil,
        enter: (() throws -> [LuaValue]) throws -> [LuaValue]
    ) throws -> [LuaValue] {
        try enter(prepare(entry, named: file))
    }

    /// Compiles an entry into a function that can be called repeatedly.
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
        let whole: String
        let plain: LuaFunction
        do {
            plain = try state.load("return " + text, name: name)
            whole = "return " + text
        } catch {
            if EntryText.isExpressionOnly(entry) { throw error }
            do {
                plain = try state.load(text, name: name)
                whole = text
            } catch {
                guard let parts = compiler.splittingLastExpression(of: text) else { throw error }
                whole = parts.statements + " return " + parts.expression
                plain = try state.load(whole, name: name)
            }
        }
        if let scope, let created = try scope.function(for: whole, name: name) {
            return { () throws in try created.function.call(created.arguments) }
        }
        return { () throws in try plain.call([]) }
    }
}
