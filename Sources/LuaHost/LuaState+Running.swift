import CLuaShims

extension LuaState {
    /// The forms of a chunk that `load` accepts.
    package enum ChunkMode: String, Sendable {
        case text = "t"
        case binary = "b"
        case any = "bt"
    }

    /// Compiles a chunk.
    ///
    /// `name` is a chunk name of Lua: `@file.lua`, `=stdin`, or the source itself. Lua does not verify binary chunks,
    /// so accept only `.text` from untrusted sources.
    package func load(_ source: LuaString, name: String, mode: ChunkMode = .text) throws(LuaError)
        -> LuaFunction
    {
        let L = stack
        let status = source.bytes.withUnsafeBytes {
            shim_load(L, $0.baseAddress, $0.count, name, mode.rawValue)
        }
        try check(status, on: L)
        return LuaFunction(reference: popReference(L))
    }

    /// Compiles a chunk of text.
    package func load(_ source: String, name: String? = nil) throws(LuaError) -> LuaFunction {
        try load(LuaString(source), name: name ?? source)
    }

    /// Compiles and runs a chunk, and returns all its results.
    @discardableResult  // because many chunks run for their side effects
    package func run(_ source: String, name: String? = nil, arguments: [LuaValue] = [])
        throws(LuaError) -> [LuaValue]
    {
        try load(source, name: name).call(arguments)
    }

    /// Calls a function where each uncaught error is raised, before the stack unwinds.
    ///
    /// The function receives no arguments and can inspect the stack with the `debug` library. Its own errors are
    /// ignored. It replaces an earlier function.
    package func observeErrors(_ function: LuaFunction) {
        let L = stack
        push(.function(function), on: L)
        shim_set_error_observer(L)
    }

    /// A level of the call stack.
    package struct Frame: Sendable, Equatable {
        /// The name of the chunk, shortened as in messages.
        package var source: String
        /// The current line; -1 if unknown.
        package var line: Int
        /// The line of the function's definition.
        package var definedAt: Int
        /// The name by which the function was called; nil if unknown.
        package var name: String?
        /// Whether the function is written in Lua; false for C and Swift.
        package var isLua: Bool
    }

    /// Returns the call at this level of the running code; level 0 is the innermost.
    ///
    /// Returns nil beyond the last level.
    package func frame(level: Int) -> Frame? {
        var raw = shim_frame()
        guard shim_stack_frame(stack, Int32(clamping: level), &raw) else { return nil }
        let source = withUnsafeBytes(of: raw.source) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        let name = withUnsafeBytes(of: raw.name) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        return Frame(
            source: source, line: Int(raw.line), definedAt: Int(raw.defined),
            name: name.isEmpty ? nil : name, isLua: raw.is_lua)
    }

    /// Returns `#value`; can call metamethods.
    package func length(of value: LuaValue) throws(LuaError) -> Int64? {
        let L = stack
        push(value, on: L)
        try check(shim_length(L), on: L)
        return pop(L).integer
    }

    /// Returns `value[key]` for any value; can call metamethods.
    package func index(_ value: LuaValue, _ key: LuaValue) throws(LuaError) -> LuaValue {
        let L = stack
        push(value, on: L)
        push(key, on: L)
        try check(shim_get(L), on: L)
        return pop(L)
    }

    /// Calls ``onMainReturn`` once, when the outermost running Lua function returns.
    ///
    /// Until then, every return costs a little more. Returns false if the call cannot be watched: no Lua function runs,
    /// or the script has its own hook. A function that ends with a tail call is not reported.
    @discardableResult  // because a call that was not watched is checked at its end anyway
    package func watchMainReturn() -> Bool { shim_watch_main_return(stack) }

    /// Turns warnings on or off; they are initially off, as in `lua` without `-W`.
    package func setWarnings(_ on: Bool) { shim_warnings(stack, on) }
}
