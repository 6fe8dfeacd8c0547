/// Sorts elements in place, unlike the sort of the standard library, which needs temporary memory of half their size.
///
/// Uses quicksort, and heapsort for parts that quicksort divides badly. The order of equal elements is not defined.
enum InPlaceSort {
    @inline(__always)
    static func sort<Element: BitwiseCopyable>(
        _ elements: UnsafeMutableBufferPointer<Element>, _ precedes: (Element, Element) -> Bool
    ) {
        guard let base = elements.baseAddress, !isSorted(elements, precedes) else { return }
        let depth = 2 * (Int.bitWidth - elements.count.leadingZeroBitCount)
        quicksort(base, count: elements.count, depth: depth, by: precedes)
    }

    @inline(__always)
    private static func isSorted<Element: BitwiseCopyable>(
        _ elements: UnsafeMutableBufferPointer<Element>, _ precedes: (Element, Element) -> Bool
    ) -> Bool {
        var index = 1
        while index < elements.count {
            if precedes(elements[index], elements[index &- 1]) { return false }
            index &+= 1
        }
        return true
    }

    private static func quicksort<Element: BitwiseCopyable>(
        _ start: UnsafeMutablePointer<Element>, count: Int, depth: Int,
        by precedes: (Element, Element) -> Bool
    ) {
        var (start, count, depth) = (start, count, depth)
        while count > 24 {
            guard depth > 0 else { return heapsort(start, count, precedes) }
            depth &-= 1
            let middle = partition(start, count, precedes)
            assert(middle > 0 && middle < count, "both parts have elements")
            // The recursion sorts only the smaller part, so that the stack stays small.
            if middle < count &- middle {
                quicksort(start, count: middle, depth: depth, by: precedes)
                start += middle
                count &-= middle
            } else {
                quicksort(start + middle, count: count &- middle, depth: depth, by: precedes)
                count = middle
            }
        }
        insertionSort(start, count, precedes)
    }

    /// Divides elements at a pivot: none of the first part follows it, and none of the second part precedes it; returns
    /// the size of the first part, which is neither 0 nor the count.
    @inline(__always)
    private static func partition<Element: BitwiseCopyable>(
        _ start: UnsafeMutablePointer<Element>, _ count: Int,
        _ precedes: (Element, Element) -> Bool
    ) -> Int {
        let middle = count / 2
        let last = count &- 1
        if precedes(start[middle], start[0]) { swap(start, middle, 0) }
        if precedes(start[last], start[0]) { swap(start, last, 0) }
        if precedes(start[last], start[middle]) { swap(start, last, middle) }
        let pivot = start[middle]
        var low = -1
        var high = count
        while true {
            repeat { low &+= 1 } while precedes(start[low], pivot)
            repeat { high &-= 1 } while precedes(pivot, start[high])
            if low >= high { return high &+ 1 }
            swap(start, low, high)
        }
    }

    @inline(__always)
    private static func swap<Element: BitwiseCopyable>(
        _ start: UnsafeMutablePointer<Element>, _ left: Int, _ right: Int
    ) {
        let element = start[left]
        start[left] = start[right]
        start[right] = element
    }

    @inline(__always)
    private static func insertionSort<Element: BitwiseCopyable>(
        _ start: UnsafeMutablePointer<Element>, _ count: Int,
        _ precedes: (Element, Element) -> Bool
    ) {
        var index = 1
        while index < count {
            let element = start[index]
            var position = index
            while position > 0, precedes(element, start[position &- 1]) {
                start[position] = start[position &- 1]
                position &-= 1
            }
            start[position] = element
            index &+= 1
        }
    }

    private static func heapsort<Element: BitwiseCopyable>(
        _ start: UnsafeMutablePointer<Element>, _ count: Int,
        _ precedes: (Element, Element) -> Bool
    ) {
        func sink(_ root: Int, _ end: Int) {
            var root = root
            while 2 * root + 1 < end {
                var child = 2 * root + 1
                if child + 1 < end, precedes(start[child], start[child + 1]) { child += 1 }
                guard precedes(start[root], start[child]) else { return }
                swap(start, root, child)
                root = child
            }
        }
        for root in stride(from: count / 2 - 1, through: 0, by: -1) { sink(root, count) }
        for end in stride(from: count - 1, to: 0, by: -1) {
            swap(start, 0, end)
            sink(0, end)
        }
    }
}

/// Sorts log records by entry.
///
/// Sorted records are left unchanged, few records are sorted by comparison, and many by a radix sort of the values,
/// which is several times faster for random values.
enum EntrySort {
    typealias Record = IndexChange<Int64>

    static func sort(_ records: UnsafeMutableBufferPointer<Record>) {
        if isSorted(records) { return }
        guard records.count > 4096 else {
            compareSort(records)
            return
        }
        var lowest = Int64.max
        var highest = Int64.min
        for record in records {
            lowest = Swift.min(lowest, record.entry.value)
            highest = Swift.max(highest, record.entry.value)
        }
        let span = UInt64(bitPattern: highest &- lowest)
        let scratch = UnsafeMutableBufferPointer<Record>.allocate(capacity: records.count)
        defer { scratch.deallocate() }
        // One pass over the top bits leaves small buckets, which fit into the cache and are sorted by comparison.
        let bits = Swift.min(
            16, Swift.max(1, records.count.bitWidth - (records.count / 32).leadingZeroBitCount))
        let shift = UInt64(Swift.max(0, 64 - span.leadingZeroBitCount - bits))
        var starts = [Int](repeating: 0, count: (1 << bits) + 1)
        for record in records {
            starts[Int(UInt64(bitPattern: record.entry.value &- lowest) >> shift) + 1] += 1
        }
        for index in 1..<starts.count { starts[index] += starts[index - 1] }
        var positions = starts
        positions.withUnsafeMutableBufferPointer { positions in
            for record in records {
                let bucket = Int(UInt64(bitPattern: record.entry.value &- lowest) >> shift)
                scratch[positions[bucket]] = record
                positions[bucket] &+= 1
            }
        }
        for bucket in 0..<starts.count - 1 where starts[bucket + 1] - starts[bucket] > 1 {
            let slice = UnsafeMutableBufferPointer(
                rebasing: scratch[starts[bucket]..<starts[bucket + 1]])
            if slice.count <= 24 {
                insertionSort(slice)
            } else if !isSorted(slice) {
                compareSort(slice)
            }
        }
        // because: more than 4096 records have an address.
        records.baseAddress!.update(from: scratch.baseAddress!, count: records.count)
    }

    private static func isSorted(_ records: UnsafeMutableBufferPointer<Record>) -> Bool {
        var index = 1
        while index < records.count {
            if records[index].entry < records[index &- 1].entry { return false }
            index &+= 1
        }
        return true
    }

    private static func compareSort(_ records: UnsafeMutableBufferPointer<Record>) {
        var records = records
        records.sort { $0.entry < $1.entry }
    }

    private static func insertionSort(_ records: UnsafeMutableBufferPointer<Record>) {
        var index = 1
        while index < records.count {
            let record = records[index]
            var position = index
            while position > 0, record.entry < records[position &- 1].entry {
                records[position] = records[position &- 1]
                position &-= 1
            }
            records[position] = record
            index &+= 1
        }
    }
}

/// An array of trivial values that its owner frees manually.
///
/// Its users append tens of millions of values a second; the checks of Swift's array for each value (uniqueness and
/// bounds) would take more time than the rest of the work.
struct GrowableBuffer<Element: BitwiseCopyable> {
    private(set) var base: UnsafeMutablePointer<Element>
    private(set) var capacity: Int
    private(set) var count = 0

    init(capacity: Int = 0) {
        base = capacity == 0 ? Self.nowhere : .allocate(capacity: capacity)
        self.capacity = capacity
    }

    /// The address of a buffer without memory, which is never read.
    private static var nowhere: UnsafeMutablePointer<Element> {
        UnsafeMutablePointer(bitPattern: MemoryLayout<Element>.alignment)!  // because: not 0
    }

    /// Frees the memory; the buffer must not be used afterward.
    func deallocate() {
        if capacity > 0 { base.deallocate() }
    }

    @inline(__always) var isEmpty: Bool { count == 0 }
    @inline(__always) var last: Element? { count == 0 ? nil : base[count &- 1] }
    @inline(__always) var elements: UnsafeMutableBufferPointer<Element> {
        UnsafeMutableBufferPointer(start: base, count: count)
    }

    @inline(__always)
    subscript(_ index: Int) -> Element {
        get {
            assert(index >= 0 && index < count, "the index is in the buffer")
            return base[index]
        }
        nonmutating set {
            assert(index >= 0 && index < count, "the index is in the buffer")
            base[index] = newValue
        }
    }

    @inline(__always)
    mutating func append(_ element: Element) {
        if count == capacity { grow(to: count &+ 1) }
        base[count] = element
        count &+= 1
    }

    mutating func append(contentsOf other: UnsafeBufferPointer<Element>) {
        guard let source = other.baseAddress, other.count > 0 else { return }
        if count + other.count > capacity { grow(to: count + other.count) }
        (base + count).update(from: source, count: other.count)
        count += other.count
    }

    mutating func insert(_ element: Element, at index: Int) {
        assert(index >= 0 && index <= count, "the index is in the buffer, or at its end")
        if count == capacity { grow(to: count &+ 1) }
        (base + index + 1).update(from: base + index, count: count - index)
        base[index] = element
        count &+= 1
    }

    mutating func remove(at index: Int) {
        assert(index >= 0 && index < count, "the index is in the buffer")
        count &-= 1
        (base + index).update(from: base + index + 1, count: count - index)
    }

    /// Reserves space for `additional` more elements and returns their address; `count` already includes them.
    mutating func extend(by additional: Int) -> UnsafeMutablePointer<Element> {
        if count + additional > capacity { grow(to: count + additional) }
        count += additional
        return base + (count - additional)
    }

    mutating func removeAll() {
        count = 0
        // Memory that one very large transaction needed is not kept permanently.
        if capacity * MemoryLayout<Element>.stride > 1 << 20 {
            deallocate()
            self = GrowableBuffer()
        }
    }

    mutating func truncate(to newCount: Int) {
        assert(newCount >= 0 && newCount <= count, "a buffer is only shortened")
        count = newCount
    }

    @inline(never)
    private mutating func grow(to needed: Int) {
        let larger = Swift.max(16, Swift.max(needed, capacity * 2))
        let fresh = UnsafeMutablePointer<Element>.allocate(capacity: larger)
        fresh.update(from: base, count: count)
        deallocate()
        base = fresh
        capacity = larger
    }
}
