import ColumnStorage
import Testing

@testable import ObjectStore

/// Change sets convert the old sequence to the new one with the minimum number of edits, regardless of the algorithm.
@Suite struct CollectionChangeSetTests {
    @Test(arguments: 1...300)
    func `touched positions and full comparison agree`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let scenario = Scenario(using: &random)
        let touched = scenario.touchedPositions.changes(oldCount: scenario.old.count) {
            scenario.new[$0]
        }
        let compared = SequenceDifference.changes(from: scenario.old, to: scenario.new) {
            scenario.modified.contains($0)
        }
        for changes in [touched, compared] {
            #expect(scenario.apply(changes) == scenario.new)
            #expect(changes.deletions == changes.deletions.sorted())
            #expect(changes.insertions == changes.insertions.sorted())
            let moved = Set(changes.deletedKeys).intersection(changes.insertedKeys)
            let expected = scenario.modified.intersection(scenario.new).subtracting(moved)
            #expect(Set(changes.modifiedKeys) == expected.intersection(scenario.old))
            #expect(changes.modifications.map { scenario.old[$0] } == changes.modifiedKeys)
            #expect(changes.modificationsNew.map { scenario.new[$0] } == changes.modifiedKeys)
        }
        #expect(touched.deletions.count == compared.deletions.count)
        #expect(touched.insertions.count == compared.insertions.count)
        #expect(touched.deletions.count == scenario.shortestDeletions)
    }

    @Test(arguments: 1...200)
    func `change sets support sequences with repeated keys`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        func sequence() -> [ObjectKey] {
            (0..<Int.random(in: 0...12, using: &random)).map { _ in
                ObjectKey(rawValue: .random(in: 0..<6, using: &random))
            }
        }
        let scenario = Scenario(old: sequence(), new: sequence(), modified: [])
        let changes = SequenceDifference.changes(from: scenario.old, to: scenario.new) { _ in false
        }
        #expect(scenario.apply(changes) == scenario.new)
    }

    @Test func `if either of two rows can be the moved one, the modified row counts as moved`() {
        let keys = [0, 1].map(ObjectKey.init(rawValue:))
        let changes = SequenceDifference.changes(from: keys, to: keys.reversed()) { $0 == keys[0] }
        #expect(changes.deletions == [0])
        #expect(changes.insertions == [1])
        #expect(changes.modifications == [])
    }
}

private struct Scenario {
    var old: [ObjectKey]
    var new: [ObjectKey]
    var modified: Set<ObjectKey>
    var touched: Set<ObjectKey> = []

    init(old: [ObjectKey], new: [ObjectKey], modified: Set<ObjectKey>) {
        self.old = old
        self.new = new
        self.modified = modified
    }

    /// Some rows get a new weight, some are removed, some are inserted; only these are touched.
    init(using random: inout SplitMix) {
        let count = Int.random(in: 0...40, using: &random)
        var weights = (0..<count + 20).map { _ in Int.random(in: 0...30, using: &random) }
        func sorted(_ keys: some Sequence<Int>) -> [ObjectKey] {
            keys.sorted { (weights[$0], $0) < (weights[$1], $1) }
                .map { ObjectKey(rawValue: Int64($0)) }
        }
        var members = Set((0..<count).filter { _ in Bool.random(using: &random) })
        old = sorted(members)
        modified = []
        for _ in 0..<Int.random(in: 0...10, using: &random) {
            let row = Int.random(in: 0..<weights.count, using: &random)
            let key = ObjectKey(rawValue: Int64(row))
            touched.insert(key)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: if members.remove(row) == nil { members.insert(row) }
            case 1: modified.insert(key)
            default:
                modified.insert(key)
                weights[row] = .random(in: 0...30, using: &random)
            }
        }
        new = sorted(members)
    }

    var touchedPositions: TouchedPositions {
        var positions = TouchedPositions()
        for key in touched {
            switch (old.firstIndex(of: key), new.firstIndex(of: key)) {
            case (let before?, let after?):
                positions.staying.append(
                    .init(key: key, old: before, new: after, isModified: modified.contains(key)))
            case (let before?, nil): positions.leaving.append((key, before))
            case (nil, let after?): positions.entering.append((key, after))
            case (nil, nil): break
            }
        }
        return positions
    }

    func apply(_ changes: CollectionChangeSet) -> [ObjectKey] {
        var keys = old
        for position in changes.deletions.reversed() { keys.remove(at: position) }
        for position in changes.insertions { keys.insert(new[position], at: position) }
        return keys
    }

    /// The number of old rows outside of a longest common subsequence.
    var shortestDeletions: Int {
        var lengths = [Int](repeating: 0, count: new.count + 1)
        for key in old {
            var diagonal = 0
            for (index, other) in new.enumerated() {
                let above = lengths[index + 1]
                lengths[index + 1] = key == other ? diagonal + 1 : max(above, lengths[index])
                diagonal = above
            }
        }
        return old.count - lengths[new.count]
    }
}
