import LuaHost
import Moonpool
import ObjectStore

// Results of runs as Codable values and as models. The combinations of protocols select the overload.

extension ScriptEngine {
    /// Runs a chunk of Lua and decodes its first result, a table, as a Codable value.
    ///
    /// The value is decoded in the caller's isolation and need not be Sendable. Throws the errors of ``run(_:named:)``,
    /// and `type_mismatch` with the path of the field.
    nonisolated(nonsending) public func run<D: Decodable>(
        _ source: String, named name: String = "script", as type: D.Type = D.self
    ) async throws -> D {
        let tree = try await perform { context in
            let results: [LuaValue] = try context.state.load(source, name: "=" + name).call([])
            return try context.tree(results.first ?? .nil)
        }
        do { return try ScriptTree.decode(type, from: tree) } catch {
            throw ScriptFailure(.typeMismatch, "the result: \(ScriptTree.describe(error))")
        }
    }

    /// Runs a chunk of Lua and converts its first result.
    public func run<V: ScriptValue & Decodable>(
        _ source: String, named name: String = "script", as type: V.Type = V.self
    ) async throws -> V {
        try await perform { context in
            let results: [LuaValue] = try context.state.load(source, name: "=" + name).call([])
            return try context.convert(results.first ?? .nil, to: type, "the result")
        }
    }

    /// Runs a chunk of Lua whose first result is an object, and returns its plain value.
    ///
    /// Throws the errors of ``run(_:named:)``, and `type_mismatch` for another result.
    public func run<M: Model>(
        _ source: String, named name: String = "script", as type: M.Type = M.self
    ) async throws -> M {
        try await detached(source, name, type)
    }

    /// Runs a chunk of Lua whose first result is an object, and returns its plain value.
    public func run<M: Model & Decodable>(
        _ source: String, named name: String = "script", as type: M.Type = M.self
    ) async throws -> M {
        try await detached(source, name, type)
    }

    /// Runs a chunk of Lua whose first result is results, a list, a set or a table of objects, and returns their plain
    /// values.
    ///
    /// ```swift
    /// let dogs = try await engine.run("return store:objects 'Dog'", as: [Dog].self)
    /// ```
    ///
    /// Throws the errors of ``run(_:named:)``, and `type_mismatch` for another result.
    public func run<M: Model>(
        _ source: String, named name: String = "script", as type: [M].Type = [M].self
    ) async throws -> [M] {
        try await detached(source, name, type)
    }

    /// Runs a chunk of Lua whose first result contains objects, and returns their plain values.
    public func run<M: Model & Decodable>(
        _ source: String, named name: String = "script", as type: [M].Type = [M].self
    ) async throws -> [M] {
        try await detached(source, name, type)
    }

    private func detached<M: Model>(
        _ source: String, _ name: String, _ type: [M].Type
    ) async throws -> [M] {
        try await perform { context in
            let results: [LuaValue] = try context.state.load(source, name: "=" + name).call([])
            return try context.convert(results.first ?? .nil, to: [Live<M>].self, "the result")
                .map { try $0.detached() }
        }
    }

    private func detached<M: Model>(
        _ source: String, _ name: String, _ type: M.Type
    ) async throws -> M {
        try await perform { context in
            let results: [LuaValue] = try context.state.load(source, name: "=" + name).call([])
            return try context.convert(results.first ?? .nil, to: Live<M>.self, "the result")
                .detached()
        }
    }

    /// Sets a global to a Codable value as a table.
    ///
    /// Takes effect before the next run. Throws `invalid_argument` for a name that is not a Lua name, `out_of_range`
    /// for an integer beyond Lua's 64 bits, and the errors of the value's own encoding.
    public func set(_ name: String, encoding value: some Encodable) throws {
        let name = try GlobalName(name)
        let tree = try ScriptTree.encode(value)
        stubRegistry.declare(variable: name.text, type: "table")
        script.post { context in
            context[name] = context.storeModule.luaValue(plain: tree)
        }
    }

    // MARK: - Modules

    /// Defines a module for `require`, from source text.
    ///
    /// If the module is already loaded, its table gets the new contents. If the new code does not compile or fails, the
    /// old module remains and the error is thrown.
    public func load(_ module: String, source: String) async throws {
        try await perform { try $0.defineModule(module, source: source) }
    }

    /// Loads a module again, from the source of ``load(_:source:)`` or from its file.
    ///
    /// The table of the module gets the new contents. If the new code does not compile or fails, the old module remains
    /// and the error is thrown.
    public func reload(_ module: String) async throws {
        try await perform { try $0.reloadModule(module) }
    }
}

extension ScriptContext {
    func tree(_ value: LuaValue) throws(ScriptFailure) -> Value {
        do throws(ScriptTypeMismatch) {
            return try ScriptTree.value(value, in: self)
        } catch {
            throw ScriptFailure(.typeMismatch, "the result: \(error.reason)")
        }
    }
}
