/// The plain values of several rows, for all columns in one block, so that reading a value is a load from memory.
///
/// Indexes are checked. The memory is allocated manually, which avoids Swift's exclusivity checks at each read.
final class PlainCells {
    private let numbers: UnsafeMutableBufferPointer<Int64>
    private let nulls: UnsafeMutableBufferPointer<Bool>
    private let pieces: UnsafeMutableBufferPointer<LeafValues.Piece>
    private let count: Int

    /// Allocates cells with the value 0.
    init(count: Int) {
        self.count = count
        numbers = .allocate(capacity: count)
        numbers.initialize(repeating: 0)
        nulls = .allocate(capacity: count)
        nulls.initialize(repeating: false)
        pieces = .allocate(capacity: count)
        pieces.initialize(repeating: LeafValues.Piece(start: 0, length: 0))
    }

    deinit {
        numbers.deallocate()
        nulls.deallocate()
        pieces.deallocate()
    }

    /// Returns the integer or the bit pattern in a cell.
    @inline(__always)
    func number(_ index: Int) -> Int64 {
        precondition(index >= 0 && index < count)
        return numbers.baseAddress.unsafelyUnwrapped[index]
    }

    /// Returns whether a cell is null.
    @inline(__always)
    func isNull(_ index: Int) -> Bool {
        precondition(index >= 0 && index < count)
        return nulls.baseAddress.unsafelyUnwrapped[index]
    }

    /// Returns the location of the bytes of a cell.
    @inline(__always)
    func piece(_ index: Int) -> LeafValues.Piece {
        precondition(index >= 0 && index < count)
        return pieces.baseAddress.unsafelyUnwrapped[index]
    }

    /// Sets cells, starting at an index; `nulls` is nil if no value is null.
    func set(_ start: Int, numbers values: ArraySlice<Int64>, nulls marks: ArraySlice<Bool>?) {
        precondition(start >= 0 && values.count <= count - start)
        for (offset, value) in values.enumerated() { numbers[start + offset] = value }
        guard let marks else {
            for offset in 0..<values.count { nulls[start + offset] = false }
            return
        }
        precondition(marks.count == values.count)
        for (offset, mark) in marks.enumerated() { nulls[start + offset] = mark }
    }

    /// Sets cells, starting at an index.
    func set(_ start: Int, pieces values: ArraySlice<LeafValues.Piece>) {
        precondition(start >= 0 && values.count <= count - start)
        for (offset, piece) in values.enumerated() {
            pieces[start + offset] = piece
            nulls[start + offset] = piece.length == LeafValues.Piece.null
        }
    }

    /// Sets cells to null.
    func setNull(_ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        for index in range {
            nulls[index] = true
            pieces[index].length = LeafValues.Piece.null
        }
    }
}
