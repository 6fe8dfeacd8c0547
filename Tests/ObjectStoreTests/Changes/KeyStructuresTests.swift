import ColumnStorage
import Testing

@testable import ObjectStore

/// The key structures behave like plain sorted arrays, whatever happens to them.
@Suite struct KeyStructuresTests {
    @Test(arguments: 1...20)
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

    @Test(arguments: 1...20)
    func `a sorted sequence agrees with a sorted array`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var weights: [Int64: Int] = [:]
        for raw in 0..<Int64(4000) { weights[raw] = .random(in: 0...50, using: &random) }
        // Codes tell only some of the keys apart.
        let order = CodedOrder(code: { UInt64(weights[$0.rawValue]! / 4) }) { first, second in
            (weights[first.rawValue]!, first.rawValue) < (
                weights[second.rawValue]!, second.rawValue
            )
        }
        var model = (0..<Int64(4000)).filter { _ in Bool.random(using: &random) }
            .map(ObjectKey.init(rawValue:)).sorted(by: order.precedes)
        var keys = SortedKeys(inOrder: model.map(order.coded))
        for _ in 0..<3000 {
            let key = ObjectKey(rawValue: .random(in: 0..<4000, using: &random))
            let position = model.firstIndex(of: key)
            #expect(keys.position(of: key, by: order) == position)
            if let position {
                model.remove(at: position)
                keys.remove(at: position)
            } else {
                model.insert(key, at: model.firstIndex { order.precedes(key, $0) } ?? model.count)
                keys.insert(key, by: order)
            }
        }
        #expect(keys.keys() == model)
        #expect(keys.count == model.count)
        for position in model.indices { #expect(keys.key(at: position) == model[position]) }
    }

    @Test func `a sequence that lost all its keys takes new ones`() {
        var keys = SortedKeys(inOrder: [CodedOrder.byKey.coded(ObjectKey(rawValue: 4))])
        keys.remove(at: 0)
        #expect(keys.count == 0)
        keys.insert(ObjectKey(rawValue: 9), by: .byKey)
        keys.insert(ObjectKey(rawValue: 2), by: .byKey)
        #expect(keys.keys().map(\.rawValue) == [2, 9])
    }
}
