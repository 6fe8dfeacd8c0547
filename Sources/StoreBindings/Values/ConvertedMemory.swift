import LuaHost
import ObjectStore

/// The memory of the values of a table that are converted for a store.
///
/// During the conversion, the values exist several times: as values of Lua, of the store and of a column. No account
/// counts these copies. Therefore, their memory is requested from the account before the conversion. The memory of a
/// text is requested when its length is known.
struct ConvertedMemory {
    private let state: LuaState
    private var bytes: Int
    private var asked: Int

    private static let step = 256 << 10

    /// Requests the memory of a number of elements.
    ///
    /// Throws `MemoryLimitReached`.
    init(_ state: LuaState, elements count: Int) throws {
        self.state = state
        bytes = count * 112
        asked = bytes
        if bytes >= Self.step { try state.checkMemory(adding: bytes) }
    }

    /// Requests the memory of the entries of a table whose keys are not positions.
    init(_ state: LuaState, entriesOf table: LuaTable) throws {
        guard state.account != nil else {
            try self.init(state, elements: 0)
            return
        }
        var count = 0
        table.forEachKey { _ in count += 1 }
        try self.init(state, elements: count * 4)
    }

    /// Counts the text of a value.
    mutating func add(_ value: Value) throws {
        let count: Int
        switch value {
        case .string(let text): count = text.utf8.count
        case .data(let data): count = data.count
        default: return
        }
        bytes += 144 + 3 * count
        guard bytes - asked >= Self.step else { return }
        asked = bytes
        try state.checkMemory(adding: bytes)
    }
}
