import TestThreads
import Testing

@testable import ColumnStorage

@Suite struct BytesTestTests {
    /// Returns whether a value contains a part, by comparing at every offset.
    private func contains(_ part: [UInt8], in value: [UInt8]) -> Bool {
        part.isEmpty
            || value.indices.contains { value[$0...].prefix(part.count).elementsEqual(part) }
    }

    @Test func `a text search finds long parts of texts, also with many partial matches`() {
        var random = SeededGenerator(seed: 7)
        var found = 0
        for _ in 0..<400 {
            // Long runs of two letters, so that many partial matches occur.
            var value: [UInt8] = []
            while value.count < 600 {
                let run = Int.random(in: 1...80, using: &random)
                value += [UInt8](repeating: Bool.random(using: &random) ? 97 : 98, count: run)
            }
            let start = Int.random(in: 0..<300, using: &random)
            var part = Array(value[start..<start + Int.random(in: 1...200, using: &random)])
            if Bool.random(using: &random) { part[part.count - 1] ^= 3 }
            if Bool.random(using: &random) { part.insert(99, at: part.count / 2) }
            let isThere = value.withUnsafeBytes { value in
                part.withUnsafeBytes { BytesTest.contains(value, $0) }
            }
            #expect(isThere == contains(part, in: value))
            if isThere { found += 1 }
        }
        #expect(found > 50 && found < 350)
    }

    @Test func `a text search takes linear time for adversarial texts`() {
        let value = [UInt8](repeating: 97, count: 2_000_000)
        let part = [UInt8](repeating: 97, count: 1_000_000) + [98]
        // Comparing at every offset would take 10¹² steps.
        let isThere = value.withUnsafeBytes { value in
            part.withUnsafeBytes { BytesTest.contains(value, $0) }
        }
        #expect(!isThere)
    }
}
