import Testing

@testable import ObjectStore

@Suite struct SectionSequenceTests {
    /// A simple model: one array, which is searched from its beginning.
    private struct Plain {
        var sections: [(key: Int64, count: Int)] = []
        let ascending: Bool

        private func index(_ key: Int64) -> Int {
            sections.firstIndex { ascending ? $0.key >= key : $0.key <= key } ?? sections.count
        }

        func index(of key: Int64) -> Int? { sections.firstIndex { $0.key == key } }

        mutating func add(_ key: Int64) {
            let index = index(key)
            if index < sections.count, sections[index].key == key {
                sections[index].count += 1
            } else {
                sections.insert((key, 1), at: index)
            }
        }

        mutating func remove(_ key: Int64) {
            guard let index = index(of: key) else { return }
            sections[index].count -= 1
            if sections[index].count == 0 { sections.remove(at: index) }
        }
    }

    private let stores: StorePair

    init() throws { stores = try StorePair([ClassSchema("Row", "value: int")]) }

    private func rules(ascending: Bool) throws -> SectionRules {
        try stores.store.objects("Row").grouped(by: "value", ascending: ascending).rules
    }

    private func expectSame(_ sequence: SectionSequence, _ plain: Plain, _ rules: SectionRules) {
        #expect(sequence.count == plain.sections.count)
        var row = 0
        for (index, section) in plain.sections.enumerated() {
            #expect(sequence.position(of: .int(section.key), by: rules) == index)
            for number in [0, section.count - 1] {
                let found = sequence.section(ofRow: row + number)
                #expect(found?.position == index && found?.key == .int(section.key))
                #expect(found?.row == number)
            }
            row += section.count
        }
        #expect(sequence.section(ofRow: row) == nil)
    }

    @Test(arguments: [true, false])
    func `thousands of sections behave like one array`(ascending: Bool) throws {
        let rules = try rules(ascending: ascending)
        var random = SplitMix(seed: 11)
        var plain = Plain(ascending: ascending)
        let some = (0..<1000).map { (key: Int64($0 * 3), count: 1 + $0 % 3) }
        plain.sections = ascending ? some : some.reversed()
        var sequence = SectionSequence(inOrder: plain.sections.map { (.int($0.key), $0.count) })
        expectSame(sequence, plain, rules)
        let (before, plainBefore) = (sequence, plain)
        // More insertions than removals, then more removals than insertions, then removal of all elements.
        for (turn, share) in [(0, 3), (1, 1), (2, 0)] {
            for _ in 0..<3000 {
                let key = Int64(random.next() % 3000)
                if random.next() % 4 < UInt64(share) {
                    plain.add(key)
                    sequence.add(.int(key), by: rules)
                } else {
                    plain.remove(key)
                    sequence.remove(.int(key), by: rules)
                }
            }
            expectSame(sequence, plain, rules)
            if turn == 2 {
                for (key, count) in plain.sections {
                    for _ in 0..<count { sequence.remove(.int(key), by: rules) }
                }
            }
        }
        #expect(sequence.count == 0 && sequence.section(ofRow: 0) == nil)
        #expect(sequence.position(of: .int(1), by: rules) == nil)
        sequence.remove(.int(1), by: rules)
        sequence.add(.int(1), by: rules)
        #expect(sequence.position(of: .int(1), by: rules) == 0)
        expectSame(before, plainBefore, rules)
    }
}
