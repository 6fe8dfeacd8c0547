import LuaHost

/// The locals of earlier entries.
///
/// Each is a real variable: an upvalue of a closure that keeps it alive.
///
/// Uses the `debug` functions as they were at the start of the session. Thread: the thread of its Lua state.
final class LocalScope {
    private let state: LuaState
    private let kept: LuaTable
    private let keep: LuaFunction
    private let bind: LuaFunction
    private let assign: LuaFunction

    // Library functions are locals here because a script can replace the globals.
    private static let source = """
        local join, name_of = debug.upvaluejoin, debug.getupvalue
        local select, sub = select, string.sub
        local kept = {}
        local function position(f, name)
          for index = 1, 255 do
            local found = name_of(f, index)
            if not found then return nil end
            if found == name then return index end
          end
        end
        local function keep(f, ...)
          for number = 1, select("#", ...) do
            local name = select(number, ...)
            local constant = sub(name, 1, 1) == "="
            if constant then name = sub(name, 2) end
            local index = position(f, name)
            if index then
              kept[name] = { f, index, constant }
            else
              -- The compiler folds the constant, so no closure has the variable.
              local value = select(number, f())
              kept[name] = { function() return value end, 1, constant }
            end
          end
        end
        local function bind(f)
          for index = 1, 255 do
            local name = name_of(f, index)
            if not name then return f end
            local variable = kept[name]
            if variable then join(f, index, variable[1], variable[2]) end
          end
          return f
        end
        return kept, keep, bind, debug.setupvalue
        """

    /// Creates an empty scope.
    ///
    /// Returns nil if the state has no `debug` library.
    init?(_ state: LuaState) {
        self.state = state
        guard let parts = try? state.run(Self.source, name: "=moonpool"), parts.count == 4,
            let kept = parts[0].table, let keep = parts[1].function, let bind = parts[2].function,
            let assign = parts[3].function
        else { return nil }
        self.kept = kept
        self.keep = keep
        self.bind = bind
        self.assign = assign
    }

    /// All locals, in no particular order.
    var locals: [EntryRewriter.Local] {
        kept.pairs.compactMap { name, variable in
            guard let name = name.text, let variable = variable.table else { return nil }
            return EntryRewriter.Local(name: name, isConstant: variable[3].isTruthy)
        }
    }

    /// Returns the current value of a local.
    ///
    /// Runs no script code.
    func value(of name: String) -> LuaValue? {
        guard let variable = kept[name].table, let holder = variable[1].function,
            let index = variable[2].integer
        else { return nil }
        let upvalues = holder.upvalues
        return upvalues.indices.contains(Int(index) - 1) ? upvalues[Int(index) - 1].value : nil
    }

    /// Assigns a value to a local; does nothing for unknown names and constants.
    func set(_ name: String, _ value: LuaValue) {
        guard let variable = kept[name].table, !variable[3].isTruthy,
            let holder = variable[1].function
        else { return }
        // The error is ignored: the call fails only for a local that the compiler made a constant.
        _ = try? assign.call([.function(holder), variable[2], value])
    }

    /// Compiles an entry into a function that shares the variables of earlier entries, and returns it with its
    /// arguments.
    ///
    /// Returns nil if the entry names too many variables at once. Throws compiler errors, such as an assignment to a
    /// constant.
    func function(for entry: String, name: String) throws(LuaError) -> (
        function: LuaFunction, arguments: [LuaValue]
    )? {
        let rewriter = EntryRewriter(entry)
        let locals = locals
        guard let keeping = rewriter.chunk(earlier: locals) else { return nil }
        let outer: LuaFunction
        do {
            outer = try state.load(keeping, name: name)
        } catch {
            // Some entries compile only without the added calls, for example a label at the end of the chunk.
            guard let sharing = rewriter.chunk(earlier: locals, keeping: false) else { return nil }
            outer = try state.load(sharing, name: name)
        }
        let inner: LuaValue = try outer.call()
        try bind.call([inner])
        guard let function = inner.function else { return nil }
        return (function, [.function(keep)])
    }
}
