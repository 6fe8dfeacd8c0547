import Testing

@testable import ColumnStorage

/// The elements of a collection that edits have replaced.
@Suite struct CollectionHunksTests {
    @Test func `distant edits leave the elements between them unchanged`() {
        let edits = CollectionEdits([
            .set(at: 2), .insert(at: 900, count: 2), .move(from: 500, to: 10),
        ])
        let hunks = CollectionHunks(edits, of: 1000)?.hunks
        #expect(
            hunks == [
                .init(kept: 2, new: 1, old: 1), .init(kept: 7, new: 1, old: 0),
                .init(kept: 490, new: 0, old: 1), .init(kept: 399, new: 2, old: 0),
            ])
    }

    @Test func `unknown or inconsistent edits give no hunks`() {
        var forgotten = CollectionEdits()
        forgotten.forget()
        #expect(CollectionHunks(forgotten, of: 10) == nil)
        #expect(CollectionHunks(CollectionEdits([.set(at: 10)]), of: 10) == nil)
        #expect(CollectionHunks(CollectionEdits([.remove(at: 5, count: 6)]), of: 10) == nil)
        #expect(CollectionHunks(CollectionEdits(), of: 10)?.hunks == [])
    }
}
