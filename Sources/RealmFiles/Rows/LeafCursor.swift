/// Iterates over the leaves of a B+tree that contains a column of a table of formats 2 to 9.
final class LeafCursor {
    let values: LeafValues
    /// The index in ``values`` of the next row.
    private(set) var offset = 0
    private let leaves: [Int64]
    private var next = 0

    init(_ root: Int64, _ form: ElementForm, _ reader: NodeReader) throws {
        values = LeafValues(form, reader, [:])
        leaves = try reader.leaves(root)
    }

    /// Returns the number of rows left in the current leaf, which is decoded if necessary; 0 at the end.
    func remaining() throws -> Int {
        while offset >= values.count, next < leaves.count {
            let reader = values.reader
            next += 1
            offset = 0
            try values.decode(
                try reader.node(leaves[next - 1]), atMost: NodeReader.maximumLeafCount)
        }
        return values.count - offset
    }

    /// Skips a number of rows.
    func advance(_ count: Int) { offset += count }
}
