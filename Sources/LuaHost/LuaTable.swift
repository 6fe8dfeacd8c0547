import CLuaShims
import MemoryAccounts

/// A reference to a Lua table.
///
/// Equality is identity.
///
/// Reads and writes can call metamethods and throw their errors, except in the `raw` forms.
package struct LuaTable: Hashable, Sendable {
    let reference: LuaReference

    /// Returns the value of a key.
    package func get(_ key: LuaValue) throws(LuaError) -> LuaValue {
        let state = try reference.state()
        let L = state.stack
        state.push(reference, on: L)
        state.push(key, on: L)
        try state.check(shim_get(L), on: L)
        return state.pop(L)
    }

    /// Returns the value of a key, without metamethods.
    ///
    /// Returns `nil` if the state is closed.
    package func raw(_ key: LuaValue) -> LuaValue {
        guard let state = reference.home.state else { return .nil }
        let L = state.stack
        state.push(reference, on: L)
        state.push(key, on: L)
        shim_rawget(L, -2)
        let result = state.pop(L)
        shim_settop(L, shim_top(L) - 1)
        return result
    }

    /// Returns the value of a key, without metamethods, if the script has the memory for copies of a long string.
    package func raw(_ key: LuaValue, copies: Int) throws(MemoryLimitReached) -> LuaValue {
        guard let state = reference.home.state else { return .nil }
        let L = state.stack
        state.push(reference, on: L)
        state.push(key, on: L)
        shim_rawget(L, -2)
        defer { shim_settop(L, shim_top(L) - 2) }
        if Int(shim_type(L, -1)) == SHIM_TSTRING {
            var length = 0
            _ = shim_bytes(L, -1, &length)
            if length >= Self.longString { try state.checkMemory(adding: copies * length) }
        }
        return state.value(at: -1, on: L)
    }

    /// The length from which strings count in the memory of a call, in bytes.
    package static let longString = 64 << 10

    /// Sets the value of a key, without metamethods.
    ///
    /// A key that is `nil` or NaN is ignored.
    package func setRaw(_ key: LuaValue, _ value: LuaValue) {
        guard let state = reference.home.state else { return }
        let L = state.stack
        state.push(reference, on: L)
        state.push(key, on: L)
        state.push(value, on: L)
        _ = shim_rawset(L, -3)
        shim_settop(L, shim_top(L) - 1)
    }

    /// The field with this name, without metamethods.
    package subscript(name: String) -> LuaValue {
        get { raw(.text(name)) }
        nonmutating set { setRaw(.text(name), newValue) }
    }

    /// The element at a 1-based index, without metamethods.
    package subscript(index: Int) -> LuaValue {
        get { raw(.integer(Int64(index))) }
        nonmutating set { setRaw(.integer(Int64(index)), newValue) }
    }

    /// The length of the array part (`rawlen`).
    package var count: Int {
        guard let state = reference.home.state else { return 0 }
        let L = state.stack
        state.push(reference, on: L)
        let result = Int(shim_rawlen(L, -1))
        shim_settop(L, shim_top(L) - 1)
        return result
    }

    /// The elements with the indexes 1 … `count`.
    package var array: [LuaValue] {
        let count = count
        return count == 0 ? [] : (1...count).map { self[$0] }
    }

    /// The elements, if the table is an array of strings without other keys; nil otherwise.
    package var texts: [String]? { elements(\.text) }

    /// Converts the elements of an array; nil if the table has other keys, or `convert` returns nil for an element.
    package func elements<Element>(
        _ convert: (LuaValue) throws -> Element?
    ) rethrows -> [Element]? {
        guard isArray else { return nil }
        var elements: [Element] = []
        for value in array {
            guard let element = try convert(value) else { return nil }
            elements.append(element)
        }
        return elements
    }

    /// Whether every key is one of 1 … `count`, without metamethods; elements can be nil.
    ///
    /// Takes time proportional to the number of keys.
    package var isArray: Bool { keyOutsideArray == nil }

    /// The first key that is not one of 1 … `count`, in the order of `next`, without metamethods; nil for an array.
    package var keyOutsideArray: LuaValue? {
        guard let state = reference.home.state else { return nil }
        let L = state.stack
        state.push(reference, on: L)
        let table = shim_top(L)
        defer { shim_settop(L, table - 1) }
        let count = Int64(shim_rawlen(L, table))
        shim_push_nil(L)
        while shim_rawnext(L, table) {
            let key = state.value(at: -2, on: L)
            guard case .integer(let index) = key, index > 0, index <= count else { return key }
            shim_settop(L, table + 1)
        }
        return nil
    }

    /// All pairs in the order of `next`, without metamethods.
    package var pairs: [(key: LuaValue, value: LuaValue)] {
        guard let state = reference.home.state else { return [] }
        let L = state.stack
        state.push(reference, on: L)
        let table = shim_top(L)
        var result: [(key: LuaValue, value: LuaValue)] = []
        shim_push_nil(L)
        while shim_rawnext(L, table) {
            result.append((state.value(at: -2, on: L), state.value(at: -1, on: L)))
            shim_settop(L, table + 1)
        }
        shim_settop(L, table - 1)
        return result
    }

    /// Throws if the script does not have the memory for a copy of all entries, such as ``pairs``.
    ///
    /// Call it before a table of any size is copied.
    package func requireSpace() throws(MemoryLimitReached) {
        guard let state = reference.home.state, state.account != nil else { return }
        var entries = 0
        forEachKey { _ in entries += 1 }
        // An array that grows exists twice for a moment.
        try state.checkMemory(adding: entries * 4 * MemoryLayout<LuaValue>.stride)
    }

    /// All keys in the order of `next`, without metamethods.
    package var keys: [LuaValue] {
        var result: [LuaValue] = []
        forEachKey { result.append($0) }
        return result
    }

    /// Calls `body` with each key, in `next`'s order, without metamethods.
    ///
    /// Takes no memory for keys that `body` does not keep. `body` may not change the table.
    package func forEachKey(_ body: (LuaValue) -> Void) {
        guard let state = reference.home.state else { return }
        let L = state.stack
        state.push(reference, on: L)
        let table = shim_top(L)
        shim_push_nil(L)
        while shim_rawnext(L, table) {
            body(state.value(at: -2, on: L))
            shim_settop(L, table + 1)
        }
        shim_settop(L, table - 1)
    }

    /// Returns the text keys with a prefix in the order of `next`, without metamethods.
    ///
    /// Compares at most `scanning` keys and returns at most `limit` names, so that the time is bounded for tables of
    /// any size. Copies only the returned keys.
    package func names(
        startingWith prefix: String, ofFunctions: Bool = false, limit: Int = .max,
        scanning: Int = .max
    ) -> [String] {
        guard let state = reference.home.state else { return [] }
        var left = scanning
        let wanted = Array(prefix.utf8)
        let L = state.stack
        state.push(reference, on: L)
        let table = shim_top(L)
        var result: [String] = []
        shim_push_nil(L)
        while result.count < limit, left > 0, shim_rawnext(L, table) {
            left -= 1
            if shim_starts_with(L, -2, wanted, wanted.count),
                !ofFunctions || Int(shim_type(L, -1)) == SHIM_TFUNCTION,
                let name = state.string(at: -2, on: L).text
            {
                result.append(name)
            }
            shim_settop(L, table + 1)
        }
        shim_settop(L, table - 1)
        return result
    }

    /// The metatable; nil if there is none.
    package var metatable: LuaTable? {
        get {
            guard let state = reference.home.state else { return nil }
            let L = state.stack
            state.push(reference, on: L)
            defer { shim_settop(L, shim_top(L) - 1) }
            return shim_get_metatable(L, -1) ? state.pop(L).table : nil
        }
        nonmutating set {
            guard let state = reference.home.state else { return }
            let L = state.stack
            state.push(reference, on: L)
            state.push(newValue.map(LuaValue.table) ?? .nil, on: L)
            shim_set_metatable(L, -2)
            shim_settop(L, shim_top(L) - 1)
        }
    }

    /// Returns whether both refer to the same table.
    package static func == (a: LuaTable, b: LuaTable) -> Bool {
        a.reference.isSame(as: b.reference)
    }
    /// Hashes the identity of the table.
    package func hash(into hasher: inout Hasher) { hasher.combine(reference.address) }
}

extension LuaState {
    /// Creates a table with space for this number of elements and fields.
    package func makeTable(array: Int = 0, fields: Int = 0) -> LuaTable {
        let L = stack
        shim_push_table(
            L, Int32(clamping: min(array, 1 << 24)), Int32(clamping: min(fields, 1 << 24)))
        return LuaTable(reference: popReference(L))
    }

    /// Creates a table with an element for each value of a collection.
    ///
    /// Throws the errors of `transform`, and ``MemoryLimitReached``.
    package func makeTable<Values: Collection>(
        of values: Values, _ transform: (Values.Element) throws -> LuaValue
    ) throws -> LuaTable {
        // A table with space for all elements, each of 16 bytes, is allocated at once.
        try checkMemory(adding: values.count * 16)
        let table = makeTable(array: values.count)
        var index: Int64 = 0
        for value in values {
            index += 1
            if index % 16 == 0 { try checkMemory() }
            let element = try transform(value)
            let L = stack
            push(table.reference, on: L)
            push(element, on: L)
            shim_rawseti(L, -2, index)
            shim_settop(L, shim_top(L) - 1)
        }
        return table
    }

    /// Creates a table with these elements.
    package func makeTable(_ elements: [LuaValue]) -> LuaTable {
        let L = stack
        shim_push_table(L, Int32(clamping: elements.count), 0)
        for (index, element) in elements.enumerated() {
            push(element, on: L)
            shim_rawseti(L, -2, Int64(index + 1))
        }
        return LuaTable(reference: popReference(L))
    }
}

extension LuaReference {
    /// The address that Lua uses as the identity of the value.
    var address: UInt {
        guard let state = home.state else { return UInt(bitPattern: Int(slot)) }
        let L = state.stack
        state.push(self, on: L)
        let pointer = shim_pointer(L, -1)
        shim_settop(L, shim_top(L) - 1)
        return UInt(bitPattern: pointer)
    }

    func isSame(as other: LuaReference) -> Bool {
        self === other || (home === other.home && home.isOpen && address == other.address)
    }
}
