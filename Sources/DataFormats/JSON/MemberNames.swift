/// Finds which of some names the member of a row has.
///
/// Rows mostly have their members in the same order: what stood at this place of the row before is tried first, and
/// usually is the answer. Confined to one thread.
package final class MemberNames {
    // Behind pointers: a look-up would otherwise cost more in checks and counting than in comparing.
    private let names: UnsafeMutableBufferPointer<UnsafeBufferPointer<UInt8>>
    private let order: UnsafeMutableBufferPointer<Int>
    private let member: UnsafeMutablePointer<Int>

    /// The names in the order of their positions; nil where a position has none that a member could bear.
    package init(_ texts: [String?]) {
        names = .allocate(capacity: texts.count)
        // A row may have some members besides that none of the names are for, such as its class.
        order = .allocate(capacity: texts.count + 4)
        order.initialize(repeating: -1)
        member = .allocate(capacity: 1)
        member.initialize(to: 0)
        for (position, text) in texts.enumerated() {
            let utf8 = Array((text ?? "").utf8)
            let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: utf8.count)
            _ = bytes.initialize(from: utf8)
            names.initializeElement(at: position, to: UnsafeBufferPointer(bytes))
        }
    }

    deinit {
        for name in names { name.deallocate() }
        names.deallocate()
        order.deallocate()
        member.deallocate()
    }

    /// Begins a row.
    package func startRow() { member.pointee = 0 }

    /// The position of the name that is at an index of a tape; nil if it is none of them.
    ///
    /// Members are asked for in the order of the row. An empty name is none.
    package func position(_ tape: JSONTape, _ index: Int) -> Int? {
        let token = tape.buffer.pointee[index]
        guard token.length > 0 else { return nil }
        let place = member.pointee
        member.pointee = place &+ 1
        if place < order.count, order[place] >= 0,
            tape.buffer.pointee.equals(token, names[order[place]])
        {
            return order[place]
        }
        guard let found = names.firstIndex(where: { tape.buffer.pointee.equals(token, $0) }) else {
            return nil
        }
        if place < order.count { order[place] = found }
        return found
    }
}
