import TestThreads
import Testing

@testable import ColumnStorage

/// The elements of a collection that edits have replaced.
@Suite struct CollectionHunksTests {
    /// Numbers of the old elements in their order, -1 for new ones.
    private static func applied(_ edits: [CollectionEdits.Edit], to count: Int) -> [Int] {
        var elements = Array(0..<count)
        for edit in edits {
            switch edit {
            case .insert(let at, let count):
                elements.insert(contentsOf: [Int](repeating: -1, count: count), at: at)
            case .remove(let at, let count): elements.removeSubrange(at..<at + count)
            case .set(let at): elements[at] = -1
            case .move(let from, let to): elements.insert(elements.remove(at: from), at: to)
            }
        }
        return elements
    }

    /// The old elements, computed from the present ones and the hunks.
    private static func restored(_ hunks: CollectionHunks, _ present: [Int]) -> [Int]? {
        var (old, rest) = ([Int](), present[...])
        for hunk in hunks.hunks {
            guard hunk.kept + hunk.new <= rest.count else { return nil }
            old += rest.prefix(hunk.kept)
            rest = rest.dropFirst(hunk.kept + hunk.new)
            old += old.count..<old.count + hunk.old
        }
        return old + rest
    }

    @Test(arguments: 1...40)
    func `replacing new elements by old ones gives the old collection`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<40 {
            let count = Int.random(in: 0...60, using: &random)
            var edits: [CollectionEdits.Edit] = []
            var size = count
            for _ in 0..<Int.random(in: 0...9, using: &random) {
                func randomIndex(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
                let more = Int.random(in: 1...3, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    edits.append(.insert(at: randomIndex(size + 1), count: more))
                    size += more
                case 1 where size >= more:
                    edits.append(.remove(at: randomIndex(size - more + 1), count: more))
                    size -= more
                case 2 where size > 0: edits.append(.set(at: randomIndex(size)))
                case 3 where size > 0:
                    edits.append(.move(from: randomIndex(size), to: randomIndex(size)))
                default: break
                }
            }
            let hunks = try #require(CollectionHunks(CollectionEdits(edits), of: count))
            let present = Self.applied(edits, to: count)
            #expect(Self.restored(hunks, present) == Array(0..<count), "\(edits) of \(count)")
        }
    }

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
