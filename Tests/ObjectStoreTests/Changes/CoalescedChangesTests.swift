import ColumnStorage
import Testing

@testable import ObjectStore

/// Coalesced and silent changes of one sequence, reported as if the silent changes had occurred first.
@Suite struct CoalescedChangesTests {
    /// The reported changes convert the old sequence with the silent changes to the current sequence.
    @Test(arguments: 1...60)
    func `random commits have exact coalesced changes`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let count = Int.random(in: 0...12, using: &random)
        var next = Int64(count)
        var sequence = (0..<next).map { ObjectKey(rawValue: $0) }
        let old = sequence
        var composed = CoalescedChanges()
        var origins: [ObjectKey: Bool] = [:]  // whether the element was inserted silently
        var gone: [ObjectKey] = []
        var modified: Set<ObjectKey> = []
        var lost: [ObjectKey] = []
        for _ in 0..<Int.random(in: 1...8, using: &random) {
            let isSilent = Bool.random(using: &random)
            var changes = CollectionChangeSet()
            for (position, key) in sequence.enumerated()
            where Int.random(in: 0..<6, using: &random) == 0 {
                changes.deletions.append(position)
                changes.deletedKeys.append(key)
                if origins[key] == false { continue }
                if !isSilent { gone.append(key) } else if origins[key] == nil { lost.append(key) }
            }
            for position in changes.deletions.reversed() { sequence.remove(at: position) }
            var position = 0
            while position <= sequence.count {
                if Int.random(in: 0..<6, using: &random) == 0 {
                    let key = ObjectKey(rawValue: next)
                    next += 1
                    sequence.insert(key, at: position)
                    origins[key] = isSilent
                    changes.insertions.append(position)
                    changes.insertedKeys.append(key)
                } else if position < sequence.count, Int.random(in: 0..<6, using: &random) == 0 {
                    changes.modificationsNew.append(position)
                    changes.modifiedKeys.append(sequence[position])
                    if !isSilent { modified.insert(sequence[position]) }
                }
                position += 1
            }
            changes.modifications = changes.modificationsNew
            composed.add(
                changes, isSilent: isSilent,
                lost: changes.deletedKeys.map { .value(.int($0.rawValue), mapKey: "") })
        }

        let received = composed.reported().changes
        let present = Set(sequence)
        #expect(Set(received.deletedKeys) == Set(gone) && received.deletedKeys.count == gone.count)
        #expect(received.insertedKeys == sequence.filter { origins[$0] == false })
        #expect(received.insertions.map { sequence[$0] } == received.insertedKeys)
        let expected = modified.intersection(present).filter { origins[$0] != false }
        #expect(Set(received.modifiedKeys) == expected)
        #expect(received.modificationsNew.map { sequence[$0] } == received.modifiedKeys)
        #expect(
            composed.silentlyLost.compactMap {
                if case .value(.int(let key), _) = $0 { ObjectKey(rawValue: key) } else { nil }
            } == lost)

        // Computes the result of only the silent changes from the current sequence.
        var before = sequence
        for position in received.insertions.reversed() { before.remove(at: position) }
        for (position, key) in zip(received.deletions, received.deletedKeys) {
            before.insert(key, at: position)
        }
        #expect(received.modifications.map { before[$0] } == received.modifiedKeys)
        #expect(before.filter { origins[$0] == nil } == old.filter { !lost.contains($0) })
    }
}
