import LuaHost

/// The locals that entries have left, as real variables: each is an upvalue of a closure that keeps it alive.
///
/// On the thread of its state. Uses Lua's `debug` functions as they were when the session began.
final class LocalScope {
    private let state: LuaState
    private let kept: LuaTable
    private let keep: LuaFunction
    private let bind: LuaFunction
    private let assign: LuaFunction

    // Functions of the libraries are locals here because a script may replace them.
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
              -- The compiler knows the constant's value, so no closure has the variable.
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

    /// A scope without locals.
    ///
    /// Nil where the state has no `debug` library.
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

    /// The locals there are, in no particular order.
    var locals: [EntryRewriter.Local] {
        kept.pairs.compactMap { name, variable in
            guard let name = name.text, let variable = variable.table else { return nil }
            return EntryRewriter.Local(name: name, isConstant: variable[3].isTruthy)
        }
    }

    /// The value that a local has now; runs no code of a script.
    func value(of name: String) -> LuaValue? {
        guard let variable = kept[name].table, let holder = variable[1].function,
            let index = variable[2].integer
        else { return nil }
        let upvalues = holder.upvalues
        return upvalues.indices.contains(Int(index) - 1) ? upvalues[Int(index) - 1].value : nil
    }

    /// Gives a local another value; does nothing for a name that is none, or a constant.
    func set(_ name: String, _ value: LuaValue) {
        guard let variable = kept[name].table, !variable[3].isTruthy,
            let holder = variable[1].function
        else { return }
        // because: what fails here is a local that the compiler made a constant.
        _ = try? assign.call([.function(holder), variable[2], value])
    }

    /// An entry as a function that shares the variables of earlier ones, and what it is called with.
    ///
    /// Nil when it names too many of them at once. Throws what the compiler says, such as of an assignment to a constant.
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
            // A label that the end of the chunk has to follow, for one, gets along without the hand-over only.
            guard let sharing = rewriter.chunk(earlier: locals, keeping: false) else { return nil }
            outer = try state.load(sharing, name: name)
        }
        let inner: LuaValue = try outer.call()
        try bind.call([inner])
        guard let function = inner.function else { return nil }
        return (function, [.function(keep)])
    }
}
