/// Looks up the index of a row's member in a list of names.
///
/// Most rows have their members in the same order, so the lookup first tries the name that followed in the last row.
/// Confined to one thread.
package final class MemberNames {
    // Pointers avoid checks and reference counting, which would cost more than the comparisons.
    private let names: UnsafeMutableBufferPointer<UnsafeBufferPointer<UInt8>>
    private let order: UnsafeMutableBufferPointer<Int>
    private let lastRow: UnsafeMutableBufferPointer<UInt64>
    private let state: UnsafeMutablePointer<State>
    private let positions: [String: Int]

    private struct State {
        var member = 0
        var row: UInt64 = 0
        var repeated: Int?
    }

    /// Creates the lookup for names in the order of their indexes; nil for an index without a name.
    package init(_ texts: [String?]) {
        names = .allocate(capacity: texts.count)
        // A row can have members that are not in the list, such as its class.
        order = .allocate(capacity: texts.count + 4)
        order.initialize(repeating: -1)
        lastRow = .allocate(capacity: texts.count)
        lastRow.initialize(repeating: 0)
        state = .allocate(capacity: 1)
        state.initialize(to: State())
        var positions: [String: Int] = [:]
        for (position, text) in texts.enumerated() {
            if let text { positions[text] = position }
            let utf8 = Array((text ?? "").utf8)
            let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: utf8.count)
            _ = bytes.initialize(from: utf8)
            names.initializeElement(at: position, to: UnsafeBufferPointer(bytes))
        }
        self.positions = positions
    }

    deinit {
        for name in names { name.deallocate() }
        names.deallocate()
        order.deallocate()
        lastRow.deallocate()
        state.deallocate()
    }

    /// Begins a row.
    package func startRow() {
        state.pointee.member = 0
        state.pointee.row &+= 1
        state.pointee.repeated = nil
    }

    /// The index of a name that occurs twice in the row; nil if there is none.
    package var repeated: Int? { state.pointee.repeated }

    /// Returns the index of the name at an index of a tape; nil if the list does not contain the name.
    ///
    /// Look up members in the order of the row. An empty name is never found.
    package func position(_ tape: JSONTape, _ index: Int) -> Int? {
        let token = tape.buffer.pointee[index]
        guard token.length > 0 else { return nil }
        let position = state.pointee.member
        state.pointee.member = position &+ 1
        if position < order.count, order[position] >= 0,
            tape.buffer.pointee.equals(token, names[order[position]])
        {
            return note(order[position])
        }
        guard let found = positions[tape.text(index)] else { return nil }
        if position < order.count { order[position] = found }
        return note(found)
    }

    @inline(__always)
    private func note(_ position: Int) -> Int {
        let row = state.pointee.row
        if lastRow[position] == row { state.pointee.repeated = position }
        lastRow[position] = row
        return position
    }
}
