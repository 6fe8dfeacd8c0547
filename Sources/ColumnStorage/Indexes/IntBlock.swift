/// A stored block of an integer index: entries in ascending order, packed.
///
///     0  u32  number of entries
///     4  u8   form of the values, 5 u8 form of the keys, 6 u16 zero
///     8  i64  first value, 16 i64 smallest key
///     24 ...  values as distances from the first value, then keys as distances from the smallest,
///             then 8 bytes of zeros
///
/// A form is the number of bytes of a distance, 0 to 8, or `sequence`: entry `i` is then the base plus `i`, and no
/// distances are stored. Blocks of ascending primary keys take 32 bytes for hundreds of entries. Because of the zeros,
/// a distance of any width can be read as eight bytes and masked.
struct IntBlock: IndexBlock {
    static let headerBytes = 24
    static let slackBytes = 8
    /// The maximum size of a block: two such blocks with their keys fill an LMDB page; larger ones would take a page
    /// each.
    static let maximumBytes = 2004
    /// The maximum number of entries, which limits rewriting a block for one more entry to about a microsecond.
    static let maximumEntries = 480
    static let sequence: UInt8 = 255

    let start: UnsafeRawPointer
    let count: Int
    let firstValue: Int64
    private let smallestKey: Int64
    private let valueWidth: Int
    private let keyWidth: Int
    private let valueMask: UInt64
    private let keyMask: UInt64
    private let valueStep: UInt64
    private let keyStep: UInt64
    private let keys: UnsafeRawPointer

    @inline(__always)
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress,
            bytes.count >= Self.headerBytes + Self.slackBytes
        else { return nil }
        let valueForm = base.load(fromByteOffset: 4, as: UInt8.self)
        let keyForm = base.load(fromByteOffset: 5, as: UInt8.self)
        start = base
        count = Int(base.loadUnaligned(as: UInt32.self))
        firstValue = base.loadUnaligned(fromByteOffset: 8, as: Int64.self)
        smallestKey = base.loadUnaligned(fromByteOffset: 16, as: Int64.self)
        valueWidth = valueForm == Self.sequence ? 0 : Int(valueForm)
        keyWidth = keyForm == Self.sequence ? 0 : Int(keyForm)
        valueStep = valueForm == Self.sequence ? 1 : 0
        keyStep = keyForm == Self.sequence ? 1 : 0
        guard count > 0, valueWidth <= 8, keyWidth <= 8,
            bytes.count
                == Self.headerBytes + Self.slackBytes + count &* (valueWidth &+ keyWidth)
        else { return nil }
        valueMask = Self.mask(valueWidth)
        keyMask = Self.mask(keyWidth)
        keys = base + (Self.headerBytes &+ count &* valueWidth)
    }

    @inline(__always)
    static func mask(_ width: Int) -> UInt64 {
        width == 0 ? 0 : UInt64.max &>> UInt64(64 &- width &* 8)
    }

    @inline(__always)
    private func distance(_ index: Int) -> UInt64 {
        let stored = (start + (Self.headerBytes &+ index &* valueWidth))
            .loadUnaligned(as: UInt64.self)
        return (stored & valueMask) &+ UInt64(truncatingIfNeeded: index) &* valueStep
    }

    @inline(__always)
    func value(_ index: Int) -> Int64 {
        firstValue &+ Int64(bitPattern: distance(index))
    }

    @inline(__always)
    func key(_ index: Int) -> Int64 {
        let stored = (keys + index &* keyWidth).loadUnaligned(as: UInt64.self) & keyMask
        return smallestKey
            &+ Int64(bitPattern: stored &+ UInt64(truncatingIfNeeded: index) &* keyStep)
    }

    @inline(__always)
    func entry(_ index: Int) -> IntEntry {
        IntEntry(value: value(index), key: key(index))
    }

    @inline(__always)
    func value(_ index: Int, _ scratch: inout GrowableBuffer<UInt8>) -> Int64 { value(index) }

    @inline(__always)
    func compare(_ index: Int, _ value: Int64) -> Int { self.value(index).compare(value) }

    @inline(__always)
    func lowerBound(_ target: Int64) -> Int {
        if target <= firstValue { return 0 }
        let wanted = UInt64(bitPattern: target &- firstValue)
        if valueStep == 1 { return wanted < UInt64(count) ? Int(wanted) : count }
        var low = 0
        var length = count
        while length > 1 {
            let half = length &>> 1
            // Selected without a branch, because the result of a random lookup cannot be predicted.
            low = distance(low &+ half &- 1) < wanted ? low &+ half : low
            length &-= half
        }
        return distance(low) < wanted ? low &+ 1 : low
    }

    @inline(__always)
    func endOfEqual(from start: Int) -> Int {
        if valueStep == 1 { return start &+ 1 }
        let wanted = distance(start)
        var end = start &+ 1
        while end < count, distance(end) == wanted { end &+= 1 }
        return end
    }

    /// Returns the first entry that is at least `target`, or `count`.
    private func lowerBound(of target: IntEntry) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low &+ high) &>> 1
            if entry(middle) < target { low = middle &+ 1 } else { high = middle }
        }
        return low
    }

    func unpack(into target: inout GrowableBuffer<IntEntry>, _ arena: inout BytesArena) -> Bool {
        let entries = target.extend(by: count)
        var index = 0
        while index < count {
            entries[index] = entry(index)
            index &+= 1
        }
        // Packing does not depend on the order of the entries.
        return true
    }

    func pack(with entry: IntEntry, into target: inout GrowableBuffer<UInt8>) -> Bool {
        let distance = UInt64(bitPattern: entry.value &- firstValue)
        let keyDistance = UInt64(bitPattern: entry.key &- smallestKey)
        let size = Self.headerBytes + Self.slackBytes + (count + 1) * (valueWidth + keyWidth)
        guard count < Self.maximumEntries, size <= Self.maximumBytes, entry.value >= firstValue,
            entry.key >= smallestKey, valueStep == 1 || distance <= valueMask,
            keyStep == 1 || keyDistance <= keyMask
        else { return false }
        let position = lowerBound(of: entry)
        // An entry before the first one would change the base of all distances.
        guard position > 0 else { return false }
        if valueStep == 1, position != count || distance != UInt64(count) { return false }
        if keyStep == 1, position != count || keyDistance != UInt64(count) { return false }
        target.truncate(to: 0)
        var next = UnsafeMutableRawPointer(target.extend(by: size))
        next.copyMemory(from: start, byteCount: Self.headerBytes)
        next.storeBytes(of: UInt32(count + 1), as: UInt32.self)
        next += Self.headerBytes
        var source = start + Self.headerBytes
        for (width, distance) in [(valueWidth, distance), (keyWidth, keyDistance)] where width > 0 {
            // The new value is stored as eight bytes; the following data overwrites the excess bytes.
            next.copyMemory(from: source, byteCount: position * width)
            (next + position * width).storeBytes(of: distance, as: UInt64.self)
            (next + (position + 1) * width).copyMemory(
                from: source + position * width, byteCount: (count - position) * width)
            next += (count + 1) * width
            source += count * width
        }
        next.storeBytes(of: 0, as: UInt64.self)
        return true
    }
}

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
        assert(
            next - UnsafeMutableRawPointer(target.base) == target.count - slackBytes,
            "the block has the size of its layout")
        next.storeBytes(of: 0, as: UInt64.self)
    }

    static func isSmall(_ entries: UnsafeBufferPointer<IntEntry>) -> Bool {
        entries.count < maximumEntries / 10
    }
}
