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
