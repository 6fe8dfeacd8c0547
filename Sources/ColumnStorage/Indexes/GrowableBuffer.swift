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
        get { base[index] }
        nonmutating set { base[index] = newValue }
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
