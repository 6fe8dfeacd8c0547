import LuaHost
import ScriptHost
import Synchronization

/// The name of a global, with the tables that contain it: `add`, `app.config.get`.
struct GlobalName: Sendable {
    let tables: [String]
    let name: String

    init(_ text: String) throws(LuaArgumentError) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.allSatisfy(Self.isName), let name = parts.last else {
            throw LuaArgumentError("expected a Lua name such as 'add' or 'app.add', got '\(text)'")
        }
        tables = parts.dropLast()
        self.name = name
    }

    /// The whole name: `app.add`.
    var text: String { (tables + [name]).joined(separator: ".") }

    private static let reserved: Set = [
        "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if",
        "in", "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
    ]

    static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, !(48...57).contains(first) else { return false }
        return !reserved.contains(text)
            && text.utf8.allSatisfy {
                (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0)
                    || $0 == 95
            }
    }
}

/// The name and the parameters of a function: `add(a, b)`.
///
/// With only a name, the parameters have no names.
struct FunctionSignature: Sendable {
    let name: String
    let parameters: [String]

    init(name: String, parameters: [String]) {
        self.name = name
        self.parameters = parameters
    }

    init(_ text: String) throws(LuaArgumentError) {
        guard let open = text.firstIndex(of: "(") else {
            name = text
            parameters = []
            return
        }
        guard text.hasSuffix(")") else {
            throw LuaArgumentError("expected a signature such as 'add(a, b)', got '\(text)'")
        }
        name = String(text[..<open])
        let inside = text[text.index(after: open)...].dropLast()
        parameters = inside.split(separator: ",").map { part in
            String(part.drop { $0 == " " }.prefix { $0 != " " })
        }
        guard parameters.allSatisfy(GlobalName.isName) else {
            throw LuaArgumentError("expected a signature such as 'add(a, b)', got '\(text)'")
        }
    }
}

extension FunctionSignature {
    /// Creates the signature of a declaration in Swift.
    ///
    /// An invalid signature is an error of the program; the name is then the text before the parenthesis.
    init(lenient text: String) {
        do throws(LuaArgumentError) {
            self = try FunctionSignature(text)
        } catch {
            assertionFailure(error.scriptMessage)
            name = String(text.prefix { $0 != "(" })
            parameters = []
        }
    }
}

extension ScriptContext {
    /// A global by its name.
    ///
    /// Setting it creates the tables that contain it.
    subscript(name: GlobalName) -> LuaValue {
        get {
            var table = state.globals
            for step in name.tables {
                guard let next = table[step].table else { return .nil }
                table = next
            }
            return table[name.name]
        }
        set {
            var table = state.globals
            for step in name.tables {
                if let next = table[step].table {
                    table = next
                } else {
                    let next = state.makeTable()
                    table[step] = .table(next)
                    table = next
                }
            }
            table[name.name] = newValue
        }
    }

    /// Calls a global function with converted arguments.
    func call(_ name: String, _ arguments: [any ScriptValue]) throws -> [LuaValue] {
        guard let function = self[try GlobalName(name)].function else {
            throw ScriptFailure(.typeMismatch, "there is no function '\(name)'")
        }
        return try function.call(arguments.map { try $0.toLua(in: self) })
    }

    /// Compiles a file of the host.
    func load(file path: String) throws -> LuaFunction {
        try Self.chunk(path, name: "@" + path, state)
    }
}

/// The resources that a script engine has used until the end of its last run.
///
/// ```swift
/// try await engine.run(rules)
/// if engine.usage.time > .seconds(1) { report(engine.usage) }
/// ```
public struct ScriptUsage: Sendable, Equatable {
    /// The number of runs that have ended.
    public internal(set) var runs = 0
    /// The duration of the last run, including its waits.
    public internal(set) var time = Duration.zero
    /// The number of instructions of the last run, rounded to thousands; nil without
    /// ``/ScriptHost/ScriptLimits/instructions``, because counting makes code slower.
    public internal(set) var instructions: Int64?
    /// The memory of the script in bytes: the memory that its limit counts, or without a limit, its Lua values.
    public internal(set) var memory = 0
    /// The number of open stores.
    public internal(set) var stores = 0
    /// The number of observers.
    public internal(set) var observers = 0
}

/// Counts the resources of an engine's runs.
final class UsageCounter: Sendable {
    private let state = Mutex(ScriptUsage())

    var usage: ScriptUsage { state.withLock { $0 } }

    /// Records the end of a run, on the engine's thread.
    func record(_ time: Duration, _ context: ScriptContext) {
        let instructions =
            context.configuration.limits.instructions == nil ? nil : context.state.instructions
        let memory = context.memoryInUse
        let stores = context.openStores.count
        let observers = context.storeModule.activeTokens.count
        state.withLock { usage in
            usage.runs += 1
            usage.time = time
            usage.instructions = instructions
            usage.memory = memory
            usage.stores = stores
            usage.observers = observers
        }
    }
}
