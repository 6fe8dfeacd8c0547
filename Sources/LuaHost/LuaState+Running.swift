import CLuaShims

extension LuaState {
    /// Which forms of a chunk `load` accepts.
    package enum ChunkMode: String, Sendable {
        case text = "t"
        case binary = "b"
        case any = "bt"
    }

    /// Compiles a chunk.
    ///
    /// `name` as Lua has it: `@file.lua`, `=stdin`, or the source itself. A loaded binary chunk is
    /// trusted by Lua: take `.text` for sources that may be hostile.
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

    /// Compiles and runs a chunk; all its results.
    @discardableResult  // because chunks are run for what they do
    package func run(_ source: String, name: String? = nil, arguments: [LuaValue] = [])
        throws(LuaError) -> [LuaValue]
    {
        try load(source, name: name).call(arguments)
    }

    /// The traceback of the code that is running, from this level on; empty outside of a call.
    package func traceback(message: String? = nil, level: Int = 0) -> String {
        let L = stack
        shim_traceback(L, L, message, Int32(clamping: level))
        return pop(L).string?.description ?? ""
    }

    /// Calls a function where an uncaught error is raised, before the stack unwinds.
    ///
    /// The function gets no arguments and can look at the stack with the `debug` library. Errors of its own are dropped.
    /// It replaces an earlier function.
    package func observeErrors(_ function: LuaFunction) {
        let L = stack
        push(.function(function), on: L)
        shim_set_error_observer(L)
    }

    /// One level of the call stack.
    package struct Frame: Sendable, Equatable {
        /// The chunk, shortened as in messages.
        package var source: String
        /// The line that runs, -1 if unknown.
        package var line: Int
        /// Where the function begins.
        package var definedAt: Int
        /// The name it was called by, if there is one.
        package var name: String?
        /// False for functions written in C or Swift.
        package var isLua: Bool
    }

    /// The call at this level of the running code: 0 is the innermost.
    ///
    /// Nil beyond the last.
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

    /// `#value`; metamethods run.
    package func length(of value: LuaValue) throws(LuaError) -> Int64? {
        let L = stack
        push(value, on: L)
        try check(shim_length(L), on: L)
        return pop(L).integer
    }

    /// `value[key]` of any value; metamethods run.
    package func index(_ value: LuaValue, _ key: LuaValue) throws(LuaError) -> LuaValue {
        let L = stack
        push(value, on: L)
        push(key, on: L)
        try check(shim_get(L), on: L)
        return pop(L)
    }

    /// Lets ``onMainReturn`` be called once, when the outermost Lua function that is running returns.
    ///
    /// Until then every return costs a little; nothing is slowed before. Returns false if it cannot watch: no Lua
    /// function runs, or the script has a hook of its own. A function that ends with a tail call is not reported.
    @discardableResult  // because a call that was not watched is checked at its end anyway
    package func watchMainReturn() -> Bool { shim_watch_main_return(stack) }

    /// Switches warnings on or off; they are off at first, as in `lua` without `-W`.
    package func setWarnings(_ on: Bool) { shim_warnings(stack, on) }
}
