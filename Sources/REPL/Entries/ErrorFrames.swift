import LuaHost

/// The Lua frames of the newest error, with their variables, for `.locals`, `.up` and `.down`.
///
/// Keeps the values until the next error. Thread: the thread of its Lua state.
final class ErrorFrames {
    /// A variable of a frame.
    struct Variable {
        var name: String
        var value: LuaValue
    }

    /// A call of a Lua function that had not returned when the error was raised.
    struct Frame {
        /// The chunk and the line: `zoo.lua:12`.
        var location: String
        /// The name by which the function was called; nil for a main chunk and for unknown names.
        var name: String?
        var locals: [Variable]
        var upvalues: [Variable]
    }

    private let frames: LuaFunction
    private var selected = 0

    // Library functions are locals here because a script can replace the globals.
    private static let source = """
        local getinfo, getlocal, getupvalue, sub = debug.getinfo, debug.getlocal, debug.getupvalue, string.sub
        local frames = {}
        local function variables(next)
          local found, n = {}, 0
          for index = 1, 200 do
            local name, value = next(index)
            if not name then break end
            if sub(name, 1, 1) ~= "(" and sub(name, 1, 2) ~= "__" and name ~= "_ENV" then
              n = n + 1
              found[n] = { name, value }
            end
          end
          found.n = n
          return found
        end
        local function collect()
          local list, n = {}, 0
          for level = 2, 400 do
            local info = getinfo(level, "Slnf")
            if not info or n == 100 then break end
            if info.what ~= "C" and info.short_src ~= "moonpool" and sub(info.short_src, 1, 10) ~= "[moonpool " then
              n = n + 1
              list[n] = {
                source = info.short_src, line = info.currentline, name = info.name,
                locals = variables(function(index)
                  local name, value = getlocal(level + 2, index)
                  return name, value
                end),
                upvalues = variables(function(index) return getupvalue(info.func, index) end),
              }
            end
          end
          if n > 0 then frames = list end
        end
        return collect, function() return frames end
        """

    /// Starts to record the frames of errors.
    ///
    /// Returns nil if the state has no `debug` library.
    init?(_ state: LuaState) {
        guard let parts = try? state.run(Self.source, name: "=moonpool"), parts.count == 2,
            let collect = parts[0].function, let frames = parts[1].function
        else { return nil }
        self.frames = frames
        state.observeErrors(collect)
    }

    /// Selects the innermost frame again.
    func reset() { selected = 0 }

    /// The frames, innermost first.
    var all: [Frame] {
        // Errors do not occur here: the function only returns a table.
        let list = (try? frames.call([]))?.first?.table?.array ?? []
        return list.compactMap(\.table).map { frame in
            Frame(
                location: "\(frame["source"].text ?? "?"):\(frame["line"].integer ?? 0)",
                name: frame["name"].text, locals: Self.variables(frame["locals"]),
                upvalues: Self.variables(frame["upvalues"]))
        }
    }

    private static func variables(_ value: LuaValue) -> [Variable] {
        guard let list = value.table, let count = list["n"].integer else { return [] }
        return (0..<Int(count)).compactMap { index in
            guard let pair = list[index + 1].table, let name = pair[1].text else { return nil }
            return Variable(name: name, value: pair[2])
        }
    }

    /// The selected frame and its number, counted from 1; nil if there was no error.
    var current: (number: Int, count: Int, frame: Frame)? {
        let all = all
        guard !all.isEmpty else { return nil }
        selected = min(selected, all.count - 1)
        return (selected + 1, all.count, all[selected])
    }

    /// Moves the selection outward, or inward for a negative distance.
    ///
    /// Returns false if there is no such frame.
    func move(by distance: Int) -> Bool {
        let next = selected + distance
        guard all.indices.contains(next) else { return false }
        selected = next
        return true
    }
}
