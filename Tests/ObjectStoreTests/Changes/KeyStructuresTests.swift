import ColumnStorage
import TestThreads
import Testing

@testable import ObjectStore

/// The key structures behave like sorted arrays in all operations.
@Suite struct KeyStructuresTests {
    @Test(arguments: RandomSeeds.sample(4, of: 1...20))
    func `a bitmap agrees with a sorted array`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let range = Int64.random(in: 1...20_000, using: &random)
        var model = Set<Int64>()
        for _ in 0..<Int.random(in: 0...3000, using: &random) {
            model.insert(.random(in: 0..<range, using: &random))
        }
        var bitmap = KeyBitmap(ascending: model.sorted().map(ObjectKey.init(rawValue:)))
        for _ in 0..<2000 {
            let raw = Int64.random(in: 0..<range + 3000, using: &random)
            let key = ObjectKey(rawValue: raw)
            if Bool.random(using: &random) {
                #expect(bitmap.insert(key) == model.insert(raw).inserted)
            } else {
                #expect(bitmap.remove(key) == (model.remove(raw) != nil))
            }
        }
        let sorted = model.sorted()
        #expect(bitmap.count == sorted.count)
        #expect(bitmap.keys().map(\.rawValue) == sorted)
        for (position, raw) in sorted.enumerated() {
            #expect(bitmap.rank(ObjectKey(rawValue: raw)) == position)
            #expect(bitmap.key(at: position).rawValue == raw)
        }
        for raw in stride(from: Int64(0), to: range + 5000, by: 37) {
            #expect(bitmap.contains(ObjectKey(rawValue: raw)) == model.contains(raw))
            #expect(bitmap.rank(ObjectKey(rawValue: raw)) == sorted.count { $0 < raw })
        }
    }

    @Test(arguments: RandomSeeds.sample(4, of: 1...20))
    func `a sorted sequence agrees with a sorted array`(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        var weights: [Int64: Int] = [:]
        for raw in 0..<Int64(4000) { weights[raw] = .random(in: 0...50, using: &random) }
        // Codes distinguish only some of the keys.
        let order = CodedOrder(code: { UInt64(weights[$0.rawValue]! / 4) }) { first, second in
            (weights[first.rawValue]!, first.rawValue) < (
                weights[second.rawValue]!, second.rawValue
            )
        }
        var model = try (0..<Int64(4000)).filter { _ in Bool.random(using: &random) }
            .map(ObjectKey.init(rawValue:)).sorted(by: order.precedes)
        var keys = try SortedKeys(inOrder: model.map(order.coded))
        for _ in 0..<3000 {
            let key = ObjectKey(rawValue: .random(in: 0..<4000, using: &random))
            let position = model.firstIndex(of: key)
            #expect(try keys.position(of: key, by: order) == position)
            if let position {
                model.remove(at: position)
                keys.remove(at: position)
            } else {
                try model.insert(
                    key, at: model.firstIndex { try order.precedes(key, $0) } ?? model.count)
                try keys.insert(key, by: order)
            }
        }
        #expect(keys.keys() == model)
        #expect(keys.count == model.count)
        for position in model.indices { #expect(keys.key(at: position) == model[position]) }
    }

    @Test func `keys can be added to a sequence that has lost all keys`() throws {
        var keys = try SortedKeys(inOrder: [CodedOrder.byKey.coded(ObjectKey(rawValue: 4))])
        keys.remove(at: 0)
        #expect(keys.count == 0)
        try keys.insert(ObjectKey(rawValue: 9), by: .byKey)
        try keys.insert(ObjectKey(rawValue: 2), by: .byKey)
        #expect(keys.keys().map(\.rawValue) == [2, 9])
    }

    @Test(arguments: 1...6)
    func `listed keys agree with an array`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
        // Either few different keys, so that most occur several times, or many different keys.
        let range = seed % 2 == 0 ? 500 : 50_000
        func key() -> ObjectKey { ObjectKey(rawValue: Int64(pick(range))) }
        var model = (0..<pick(6_000)).map { _ in key() }
        var listed = ListedKeys(model)
        func expectSame() {
            #expect(listed.keys() == model && listed.count == model.count)
            for number in [1, 7, 256, 400] {
                let wanted = KeySet(unordered: (0..<number).map { _ in key() })
                let found = listed.occurrences(of: wanted)
                let plain = model.indices.filter { wanted.contains(model[$0]) }
                #expect(found.map(\.position) == plain)
                #expect(found.map(\.key) == plain.map { model[$0] })
            }
        }
        expectSame()
        // More insertions than removals, then more removals than insertions; often at one position.
        for share in [80, 45, 10] {
            for _ in 0..<4_000 {
                let isHere = pick(3) > 0
                if pick(100) < share {
                    let position = isHere ? model.count / 2 : pick(model.count + 1)
                    let key = key()
                    model.insert(key, at: position)
                    listed.insert(key, at: position)
                } else if model.isEmpty {
                    continue
                } else if pick(4) == 0 {
                    let (position, key) = (isHere ? model.count / 2 : pick(model.count), key())
                    model[position] = key
                    listed[position] = key
                    #expect(listed[position] == key)
                } else {
                    let position = isHere ? model.count / 2 : pick(model.count)
                    model.remove(at: position)
                    listed.remove(at: position)
                }
            }
            expectSame()
        }
        while !model.isEmpty {
            model.removeLast()
            listed.remove(at: model.count)
        }
        expectSame()
        listed.insert(ObjectKey(rawValue: 3), at: 0)
        #expect(listed.keys() == [ObjectKey(rawValue: 3)])
    }
}
