extension IntBlock {
    /// The stored form of a block of some entries.
    struct Layout: IndexBlockLayout {
        var count = 0
        var valueForm: UInt8 = 0
        var keyForm: UInt8 = 0
        var smallestKey: Int64 = 0

        static func width(_ form: UInt8) -> Int { form == sequence ? 0 : Int(form) }

        var bytes: Int {
            headerBytes + slackBytes
                + count * (Self.width(valueForm) + Self.width(keyForm))
        }
    }

    static func fit(_ entries: UnsafeBufferPointer<IntEntry>, limit: Int) -> Layout {
        let first = entries[0]
        var index = ascendingByOne(entries, through: limit)
        var smallest = first.key
        var largest = first.key &+ Int64(index - 1)
        var valuesAreSequence = true
        var keysAreSequence = true
        let form = index > 1 ? sequence : 0
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
                headerBytes &+ slackBytes
                &+ (index &+ 1) &* (valueWidth &+ keyWidth)
            if bytes > maximumBytes { break }
            index &+= 1
            best.count = index
            best.valueForm =
                valuesAreSequence ? sequence : UInt8(truncatingIfNeeded: valueWidth)
            best.keyForm =
                keysAreSequence ? sequence : UInt8(truncatingIfNeeded: keyWidth)
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

    static func pack(
        _ entries: UnsafeBufferPointer<IntEntry>, _ layout: Layout,
        into target: inout GrowableBuffer<UInt8>
    ) {
        let first = entries[0].value
        target.truncate(to: 0)
        var next = UnsafeMutableRawPointer(target.extend(by: layout.bytes))
        next.storeBytes(of: UInt32(layout.count), as: UInt32.self)
        next.storeBytes(of: layout.valueForm, toByteOffset: 4, as: UInt8.self)
        next.storeBytes(of: layout.keyForm, toByteOffset: 5, as: UInt8.self)
        next.storeBytes(of: 0, toByteOffset: 6, as: UInt16.self)
        next.storeBytes(of: first, toByteOffset: 8, as: Int64.self)
        next.storeBytes(of: layout.smallestKey, toByteOffset: 16, as: Int64.self)
        next += headerBytes
        // Every distance is stored as eight bytes; the next one, and finally the zeros, overwrite the excess bytes.
        let valueWidth = Layout.width(layout.valueForm)
        if valueWidth > 0 {
            for index in 0..<layout.count {
                next.storeBytes(of: entries[index].value &- first, as: Int64.self)
                next += valueWidth
            }
        }
        let keyWidth = Layout.width(layout.keyForm)
        if keyWidth > 0 {
            for index in 0..<layout.count {
                next.storeBytes(of: entries[index].key &- layout.smallestKey, as: Int64.self)
                next += keyWidth
            }
        }
        next.storeBytes(of: 0, as: UInt64.self)
    }

    static func isSmall(_ entries: UnsafeBufferPointer<IntEntry>) -> Bool {
        entries.count < maximumEntries / 10
    }
}
