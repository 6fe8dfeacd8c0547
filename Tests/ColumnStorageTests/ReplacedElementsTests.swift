import Testing

@testable import ColumnStorage

/// The old elements of a collection, read from the history.
@Suite struct ReplacedElementsTests {
    /// Writes bytes and reads them as the old elements of a collection with `count` elements.
    private func read(
        count: Int, isMap: Bool = false, hasHunks: Bool = true,
        _ write: (inout ByteWriter) -> Void
    ) throws -> [ReplacedElements] {
        var writer = ByteWriter()
        write(&writer)
        return try writer.bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes, of: "old values")
            let hunks = try ReplacedElements.read(
                count: count, isMap: isMap, hasHunks: hasHunks, &reader)
            guard reader.remaining == 0 else { throw reader.damaged }
            return hunks
        }
    }

    private func numbers(_ numbers: UInt64..., in writer: inout ByteWriter) {
        for number in numbers { writer.number(number) }
    }

    private func elements(_ values: [Int64], in writer: inout ByteWriter) {
        writer.number(UInt64(values.count))
        for value in values {
            writer.byte(1)
            writer.signed(value)
        }
    }

    @Test func `hunks are read with their positions among the current elements`() throws {
        let hunks = try read(count: 10) { writer in
            numbers(3, 2, 1, in: &writer)
            elements([7, 8], in: &writer)
            numbers(4, 0, in: &writer)
            elements([9], in: &writer)
        }
        #expect(hunks.map(\.new) == [2..<3, 7..<7])
        #expect(hunks.map(\.elements) == [[.int(7), .int(8)], [.int(9)]])
        #expect(try read(count: 10) { numbers(1, in: &$0) }.isEmpty)
    }

    @Test func `a collection without recorded edits is replaced as a whole`() throws {
        let hunks = try read(count: 4, isMap: true) { writer in
            numbers(0, in: &writer)
            elements([5], in: &writer)
            writer.number(3)
            for byte in Array("key".utf8) { writer.byte(byte) }
        }
        #expect(hunks.map(\.new) == [0..<4] && hunks.first?.elements == [.int(5)])
        #expect(hunks.first?.names == [Array("key".utf8)])
    }

    @Test func `older files have one hunk, between the unchanged ends`() throws {
        let hunks = try read(count: 10, hasHunks: false) { writer in
            numbers(2, 5, in: &writer)
            elements([1, 2], in: &writer)
        }
        #expect(hunks.map(\.new) == [2..<5] && hunks.first?.elements == [.int(1), .int(2)])
        #expect(throws: DamagedEncoding.self) {
            try read(count: 10, hasHunks: false) { numbers(6, 5, 0, in: &$0) }
        }
    }

    @Test(arguments: [
        [9], [2, 11, 0, 0], [2, 4, 7, 0], [3, 5, 5, 0, 0, 1, 0], [2, 1, 1, 3], [2, 1],
    ])
    func `hunks that do not fit the collection are refused`(damaged: [UInt64]) {
        #expect(throws: DamagedEncoding.self) {
            try read(count: 10) { writer in for number in damaged { writer.number(number) } }
        }
    }
}
