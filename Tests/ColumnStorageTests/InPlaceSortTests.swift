import TestThreads
import Testing

@testable import ColumnStorage

/// Sorting in place gives the same result as the standard library, also for inputs with bad pivots.
@Suite struct InPlaceSortTests {
    private static func sorted(_ numbers: [UInt32]) -> [UInt32] {
        var numbers = numbers
        numbers.withUnsafeMutableBufferPointer { InPlaceSort.sort($0) { $0 < $1 } }
        return numbers
    }

    @Test(arguments: [0, 1, 2, 3, 23, 24, 25, 26, 100, 1_000, 20_000])
    func `elements in any order are sorted, with any number of equal ones`(count: Int) {
        var random = SeededGenerator(seed: UInt64(count))
        for kinds in [1, 2, 3, 50, 1 << 30] as [UInt32] {
            let numbers = (0..<count).map { _ in UInt32.random(in: 0..<kinds, using: &random) }
            let expected = numbers.sorted()
            #expect(Self.sorted(numbers) == expected)
            #expect(Self.sorted(expected) == expected)
            #expect(Self.sorted(expected.reversed()) == expected)
            // Ascending, descending, and with a few elements out of order.
            #expect(Self.sorted(expected + expected.reversed()) == (expected + expected).sorted())
            var nearly = expected
            for _ in 0..<min(3, count) {
                nearly.swapAt(
                    Int.random(in: 0..<count, using: &random),
                    Int.random(in: 0..<count, using: &random))
            }
            #expect(Self.sorted(nearly) == expected)
        }
    }

    @Test func `an adversarial order does not take quadratic time`() {
        // The comparison chooses its results so that each pivot is as small as possible (McIlroy's adversary).
        let count = 20_000
        var values = [Int](repeating: count, count: count)
        var next = 0
        var candidate = 0
        var comparisons = 0
        var elements = Array(0..<count)
        elements.withUnsafeMutableBufferPointer { buffer in
            InPlaceSort.sort(buffer) { left, right in
                comparisons += 1
                if values[left] == count, values[right] == count {
                    if left == candidate { values[left] = next } else { values[right] = next }
                    next += 1
                }
                if values[left] == count {
                    candidate = left
                } else if values[right] == count {
                    candidate = right
                }
                return values[left] < values[right]
            }
        }
        #expect(elements.map { values[$0] } == values.sorted())
        #expect(comparisons < 100 * count)
    }
}
