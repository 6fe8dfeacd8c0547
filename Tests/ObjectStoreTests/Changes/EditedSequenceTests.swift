import ColumnStorage
import Testing

@testable import ObjectStore

/// Edits by position, and their effect on a sequence.
@Suite struct EditedSequenceTests {
    @Test(arguments: 1...200)
    func `edits give the same sequence as applying them one by one`(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let count = Int.random(in: 0...12, using: &random)
        var next = count
        var elements = Array(0..<count)
        var replaced: Set<Int> = []
        var recorded: [CollectionEdits.Edit] = []
        for _ in 0..<Int.random(in: 0...10, using: &random) {
            let length = elements.count
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                let more = Int.random(in: 1...3, using: &random)
                let at = Int.random(in: 0...length, using: &random)
                elements.insert(contentsOf: next..<(next + more), at: at)
                next += more
                recorded.append(.insert(at: at, count: more))
            case 2 where length > 0:
                let at = Int.random(in: 0..<length, using: &random)
                let less = Int.random(in: 1...(length - at), using: &random)
                elements.removeSubrange(at..<(at + less))
                recorded.append(.remove(at: at, count: less))
            case 3 where length > 0:
                let at = Int.random(in: 0..<length, using: &random)
                replaced.insert(elements[at])
                recorded.append(.set(at: at))
            case 4 where length > 0:
                let from = Int.random(in: 0..<length, using: &random)
                let to = Int.random(in: 0..<length, using: &random)
                elements.insert(elements.remove(at: from), at: to)
                recorded.append(.move(from: from, to: to))
            default: break
            }
        }
        // Joining neighbors must not change their effect.
        let sequence = try #require(EditedSequence(count: count, CollectionEdits(recorded)))
        #expect(sequence.count == elements.count)
        let changes = sequence.changes()
        var applied = Array(0..<count)
        for position in changes.deletions.reversed() { applied.remove(at: position) }
        for position in changes.insertions { applied.insert(elements[position], at: position) }
        #expect(applied == elements)
        #expect(changes.modifications.map { $0 } == changes.modifications.sorted())
        let kept = Set(0..<count).subtracting(changes.deletions)
        #expect(Set(changes.modifications) == replaced.intersection(kept))
        #expect(changes.modificationsNew.map { elements[$0] } == changes.modifications)
        let back = KeptPositions(sequence.kept())
        for position in elements.indices {
            let old = back.old(ofNew: position)
            #expect(old == (changes.insertions.contains(position) ? nil : elements[position]))
        }
    }

    @Test func `invalid edits are refused`() {
        let wrong: [CollectionEdits.Edit] = [
            .insert(at: 4, count: 1), .insert(at: -1, count: 1), .insert(at: 0, count: 0),
            .insert(at: 0, count: .max), .remove(at: 2, count: 2), .remove(at: -1, count: 1),
            .remove(at: 1, count: -1), .set(at: 3), .set(at: -1), .move(from: 3, to: 0),
            .move(from: 0, to: 3), .move(from: -1, to: 0),
        ]
        for edit in wrong {
            #expect(EditedSequence(count: 3, CollectionEdits([edit])) == nil, "\(edit)")
        }
        var forgotten = CollectionEdits()
        forgotten.forget()
        #expect(EditedSequence(count: 3, forgotten) == nil)
    }
}
