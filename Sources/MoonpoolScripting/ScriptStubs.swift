import ObjectStore
import Reference
import Synchronization

// The declarations of a host, as annotations for language servers.

extension ScriptEngine {
    /// Returns annotations for LuaLS: the Lua API, the classes of the open stores, and the declarations that were
    /// registered with the engine.
    ///
    /// Save the text as a file in the workspace of the language server. Editors then complete and check the functions,
    /// classes, stores and globals of the program, with their types.
    ///
    /// ```swift
    /// let stubs = try await engine.stubs()
    /// ```
    ///
    /// Throws `closed` after the end of the engine.
    public func stubs() async throws -> String {
        let globals = stubRegistry.text
        return try await perform { context in
            var classes: [String: ClassSchema] = [:]
            for store in context.openStores {
                for known in store.schema.classes where classes[known.name] == nil {
                    classes[known.name] = known
                }
            }
            return LuaLSAnnotations.api(
                of: classes.values.sorted { $0.name < $1.name }, and: globals)
        }
    }
}

/// The annotations of a host's declarations, by global name.
final class StubRegistry: Sendable {
    private let declarations = Mutex<[String: String]>([:])

    /// The annotations, with the tables of the names.
    var text: String {
        let declarations = declarations.withLock { $0 }
        var tables: Set<String> = []
        for name in declarations.keys {
            let steps = name.split(separator: ".")
            for count in 1..<max(1, steps.count) {
                tables.insert(steps.prefix(count).joined(separator: "."))
            }
        }
        let created = tables.subtracting(declarations.keys).sorted().map { "\($0) = {}\n" }
        return (created + declarations.sorted { $0.key < $1.key }.map(\.value))
            .joined(separator: "\n")
    }

    /// Declares a global; a later declaration of the name replaces it.
    func declare(_ declaration: String, as name: String) {
        declarations.withLock { $0[name] = declaration }
    }

    func declare(_ function: FunctionStub) {
        declare(function.declaration(as: function.name), as: function.name)
    }

    func declare(variable name: String, type: String) {
        declare("---@type \(type)\n\(name) = nil\n", as: name)
    }
}

/// The annotations of types, computed lazily, because the declaration of a class can contain the class itself.
typealias Annotations = @Sendable () -> [String]

/// Returns the annotations of types.
func annotations<each Argument: ScriptConvertible>(
    of types: repeat (each Argument).Type
) -> Annotations {
    {
        var annotations: [String] = []
        repeat annotations.append((each Argument).scriptAnnotation)
        return annotations
    }
}

/// A function with the types of its parameters and its result.
struct FunctionStub: Sendable {
    let name: String
    private let names: [String]
    private let types: Annotations
    private let results: Annotations

    init(
        _ signature: FunctionSignature, types: @escaping Annotations, results: @escaping Annotations
    ) {
        name = signature.name
        names = signature.parameters
        self.types = types
        self.results = results
    }

    private var parameters: [(name: String, type: String)] {
        types().enumerated().map { index, type in
            (index < names.count ? names[index] : "arg\(index + 1)", type)
        }
    }

    init<each Argument: ScriptConvertible>(
        _ signature: FunctionSignature, _ types: repeat (each Argument).Type
    ) {
        self.init(signature, types: annotations(of: repeat each types), results: { [] })
    }

    /// Returns `function add(a, b) end` with annotations.
    func declaration(as name: String) -> String {
        var lines = parameters.map { "---@param \($0.name) \($0.type)" }
        lines += results().map { "---@return \($0)" }
        let names = parameters.map(\.name).joined(separator: ", ")
        lines.append("function \(name)(\(names)) end\n")
        return lines.joined(separator: "\n")
    }

    /// Returns `fun(a: integer): string`, optionally with a receiver or another result.
    func type(of receiver: String? = nil, returning other: String? = nil) -> String {
        var list = parameters.map { "\($0.name): \($0.type)" }
        if let receiver { list.insert("self: \(receiver)", at: 0) }
        let tail = (other ?? results().first).map { ": \($0)" } ?? ""
        return "fun(\(list.joined(separator: ", ")))\(tail)"
    }
}

/// A member of an object, or of the table of its class.
enum MemberStub: Sendable {
    case constructor(FunctionStub)
    case function(FunctionStub)
    case method(FunctionStub)
    case property(String, Annotations)
}

/// A class with its members.
struct ClassStub: Sendable {
    private let name: String
    private let members: [MemberStub]

    init(_ name: String, members: [MemberStub]) {
        self.name = name
        self.members = members
    }

    private var fields: [String] {
        members.compactMap { member in
            switch member {
            case .method(let method): "---@field \(method.name) \(method.type(of: name))"
            case .property(let name, let types): "---@field \(name) \(types().first ?? "any")"
            case .constructor, .function: nil
            }
        }
    }

    /// The class, and the global that creates objects.
    var declaration: String {
        var lines = ["---@class \(name)"] + fields
        // The table of the class has a separate type, because it does not have the fields of objects.
        lines += ["", "---@class \(name).Class"]
        for case .constructor(let constructor) in members {
            let type = constructor.type(returning: name)
            lines += ["---@field new \(type)", "---@overload \(type)"]
        }
        return (lines + ["\(name) = {}\n"]).joined(separator: "\n")
    }

    /// The members that a host adds to a class of a store, and the functions of the class.
    var `extension`: String {
        var text = (["---@class \(name): moonpool.Object"] + fields + [""])
            .joined(separator: "\n")
        let functions = members.compactMap { member in
            if case .function(let function) = member { function } else { nil }
        }
        guard !functions.isEmpty else { return text }
        // The empty line separates the table from the class of its objects.
        text += "\n\(name) = {}\n\n"
        return text
            + functions.map { $0.declaration(as: "\(name).\($0.name)") }.joined(separator: "\n")
    }
}
