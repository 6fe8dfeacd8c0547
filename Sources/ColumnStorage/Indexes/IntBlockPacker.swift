/// Divides sorted entries into blocks and packs them.
struct IntBlockPacker {
    /// The stored form of a block of some entries.
    struct Layout {
        var count = 0
        var valueForm: UInt8 = 0
        var keyForm: UInt8 = 0
        var smallestKey: Int64 = 0

        static func width(_ form: UInt8) -> Int { form == IntBlock.sequence ? 0 : Int(form) }

        var bytes: Int {
            IntBlock.headerBytes + IntBlock.slackBytes
                + count * (Self.width(valueForm) + Self.width(keyForm))
        }
    }

    /// Returns the layout of the most first `entries`, up to `limit`, that fit into one block.
    ///
    /// Equal entries are never divided between blocks, so a lookup of an entry finds all of them in one block. A block
    /// of only equal entries needs no space for them and may have any length.
    static func longestFit(_ entries: UnsafeBufferPointer<IntEntry>, limit: Int) -> Layout {
        var fit = measure(entries, through: Swift.min(entries.count, limit))
        guard fit.count < entries.count else { return fit }
        var cut = fit.count
        while cut > 0, entries[cut - 1] == entries[cut] { cut -= 1 }
        if cut == fit.count { return fit }
        if cut > 0 { return measure(entries, through: cut) }
        while fit.count < entries.count, entries[fit.count] == entries[0] { fit.count += 1 }
        return fit
    }

    private static func measure(
        _ entries: UnsafeBufferPointer<IntEntry>, through limit: Int
    ) -> Layout {
        let first = entries[0]
        var index = ascendingByOne(entries, through: limit)
        var smallest = first.key
        var largest = first.key &+ Int64(index - 1)
        var valuesAreSequence = true
        var keysAreSequence = true
        let form = index > 1 ? IntBlock.sequence : 0
        var best = Layout(count: index, valueForm: form, keyForm: form, smallestKey: smallest)
        while index < limit {
            let entry = entries[index]
            let distance = UInt64(bitPattern: entry.value &- first.value)
            if distance != UInt64(index) { valuesAreSequence = false }
            if entry.key &- first.key != Int64(index) { keysAreSequence = false }
            smallest = Swift.min(smallest, entry.key)
            largest = Swift.max(largest, entry.key)
            // Values ascend, so the last distance is the greatest.
            let valueWidth = valuesAreSequence ? 0 : bytesNeeded(distance)
            let keyWidth =
                keysAreSequence ? 0 : bytesNeeded(UInt64(bitPattern: largest &- smallest))
            let bytes =
                IntBlock.headerBytes &+ IntBlock.slackBytes
                &+ (index &+ 1) &* (valueWidth &+ keyWidth)
            if bytes > IntBlock.maximumBytes { break }
            index &+= 1
            best.count = index
            best.valueForm =
                valuesAreSequence ? IntBlock.sequence : UInt8(truncatingIfNeeded: valueWidth)
            best.keyForm =
                keysAreSequence ? IntBlock.sequence : UInt8(truncatingIfNeeded: keyWidth)
            best.smallestKey = smallest
        }
        return best
    }

    /// Returns the number of entries, from the first on, whose values and keys each increase by one.
    private static func ascendingByOne(
        _ entries: UnsafeBufferPointer<IntEntry>, through limit: Int
    ) -> Int {
        let first = entries[0]
        var index = 1
        while index < limit, entries[index].value &- first.value == Int64(index),
            entries[index].key &- first.key == Int64(index)
        {
            index &+= 1
        }
        return index
    }

    @inline(__always)
    private static func bytesNeeded(_ distance: UInt64) -> Int {
        (71 &- distance.leadingZeroBitCount) &>> 3
    }

    /// Writes the first `layout.count` entries to `target`, which has space for `layout.bytes`.
    static func pack(
        _ entries: UnsafeBufferPointer<IntEntry>, _ layout: Layout,
        into target: UnsafeMutableRawPointer
    ) {
        let first = entries[0].value
        target.storeBytes(of: UInt32(layout.count), as: UInt32.self)
        target.storeBytes(of: layout.valueForm, toByteOffset: 4, as: UInt8.self)
        target.storeBytes(of: layout.keyForm, toByteOffset: 5, as: UInt8.self)
        target.storeBytes(of: 0, toByteOffset: 6, as: UInt16.self)
        target.storeBytes(of: first, toByteOffset: 8, as: Int64.self)
        target.storeBytes(of: layout.smallestKey, toByteOffset: 16, as: Int64.self)
        var place = target + IntBlock.headerBytes
        // Every distance is stored as eight bytes; the next one, and finally the zeros, overwrite the excess bytes.
        let valueWidth = Layout.width(layout.valueForm)
        if valueWidth > 0 {
            for index in 0..<layout.count {
                place.storeBytes(of: entries[index].value &- first, as: Int64.self)
                place += valueWidth
            }
        }
        let keyWidth = Layout.width(layout.keyForm)
        if keyWidth > 0 {
            for index in 0..<layout.count {
                place.storeBytes(of: entries[index].key &- layout.smallestKey, as: Int64.self)
                place += keyWidth
            }
        }
        place.storeBytes(of: 0, as: UInt64.self)
    }
}
