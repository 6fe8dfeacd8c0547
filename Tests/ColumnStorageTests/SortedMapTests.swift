import TestThreads
import Testing

@testable import ColumnStorage

@Suite struct SortedMapTests {
    /// After the same random changes, both maps must give the same results for all operations.
    @Test(arguments: UInt64(0)..<20)
    func agreesWithADictionary(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var map: SortedMap<ColumnID, [Int]> = [:]
        var model: [ColumnID: [Int]] = [:]
        for step in 0..<300 {
            let key = ColumnID(Int.random(in: 0..<12, using: &generator))
            switch Int.random(in: 0..<6, using: &generator) {
            case 0:
                map[key] = [step]
                model[key] = [step]
            case 1:
                map[key] = nil
                model[key] = nil
            case 2: #expect(map.removeValue(forKey: key) == model.removeValue(forKey: key))
            case 3:
                map = map.filter { $0.value.count < 3 }
                model = model.filter { $0.value.count < 3 }
            default:
                map[key, default: []].append(step)
                model[key, default: []].append(step)
            }
            #expect(map[key] == model[key])
            #expect(map[key, default: [-1]] == model[key, default: [-1]])
            #expect(map.count == model.count && map.isEmpty == model.isEmpty)
            #expect(Array(map.keys) == model.keys.sorted())
            #expect(Array(map.values) == model.sorted { $0.key < $1.key }.map(\.value))
            #expect(map.first?.key == model.keys.min())
        }
    }

    @Test func doesNotDependOnTheOrderOfInsertion() {
        let ascending: SortedMap<Int, String> = [1: "a", 2: "b", 3: "c"]
        let mixed: SortedMap<Int, String> = [3: "c", 1: "a", 2: "b"]
        #expect(ascending == mixed)
        #expect(ascending.hashValue == mixed.hashValue)
        #expect(ascending != [1: "a", 2: "b"])
        #expect(ascending != [1: "a", 2: "b", 3: "d"])
        #expect(ascending != [1: "a", 2: "b", 4: "c"])
    }

    @Test func changesOneCopyOnly() {
        var first: SortedMap<Int, [Int]> = [1: [1]]
        let second = first
        first[1, default: []].append(2)
        first[2] = [3]
        #expect(first == [1: [1, 2], 2: [3]])
        #expect(second == [1: [1]])
        first.removeAll()
        #expect(first.isEmpty && first[1] == nil && second.count == 1)
    }

    /// A value is changed in place: appending to it repeatedly does not copy it each time.
    @Test func changesValuesInPlace() {
        var map: SortedMap<Int, [Int]> = [7: []]
        map[7, default: []].reserveCapacity(100)
        let before = map[7, default: []].withUnsafeMutableBufferPointer { $0.baseAddress }
        for number in 0..<100 { map[7, default: []].append(number) }
        let after = map[7, default: []].withUnsafeMutableBufferPointer { $0.baseAddress }
        #expect(before == after)
    }
}
