/// The plain values of all columns of some rows side by side, so that reading one is a load from memory.
///
/// Indexes are checked. The memory has no owner that Swift would have to check for conflicting accesses at every read.
final class PlainCells {
    private let numbers: UnsafeMutableBufferPointer<Int64>
    private let nulls: UnsafeMutableBufferPointer<Bool>
    private let pieces: UnsafeMutableBufferPointer<LeafValues.Piece>
    private let count: Int

    /// Allocates cells that hold 0.
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

    /// The integer or the bit pattern in a cell.
    @inline(__always)
    func number(_ index: Int) -> Int64 {
        precondition(index >= 0 && index < count)
        return numbers.baseAddress.unsafelyUnwrapped[index]
    }

    /// Whether a cell is null.
    @inline(__always)
    func isNull(_ index: Int) -> Bool {
        precondition(index >= 0 && index < count)
        return nulls.baseAddress.unsafelyUnwrapped[index]
    }

    /// Where the bytes of a cell are.
    @inline(__always)
    func piece(_ index: Int) -> LeafValues.Piece {
        precondition(index >= 0 && index < count)
        return pieces.baseAddress.unsafelyUnwrapped[index]
    }

    /// Sets cells from an index on; `nulls` is nil if no value is null.
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

    /// Sets cells from an index on.
    func set(_ start: Int, pieces values: ArraySlice<LeafValues.Piece>) {
        precondition(start >= 0 && values.count <= count - start)
        for (offset, piece) in values.enumerated() {
            pieces[start + offset] = piece
            nulls[start + offset] = piece.length == LeafValues.Piece.null
        }
    }

    /// Makes cells null.
    func setNull(_ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        for index in range {
            nulls[index] = true
            pieces[index].length = LeafValues.Piece.null
        }
    }
}
