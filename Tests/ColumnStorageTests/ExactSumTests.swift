import TestThreads
import Testing

@testable import ColumnStorage

/// The vector code for leaves adds the same numbers as one addition after the other.
@Suite struct ExactSumTests {
    private static let kinds:
        [(name: String, number: @Sendable (inout SeededGenerator) -> Double)] = [
            ("positive", { .random(in: 1...1000, using: &$0) }),
            ("both signs", { .random(in: -1000...1000, using: &$0) }),
            ("quarters", { Double(Int.random(in: -8...8, using: &$0)) / 4 }),
            ("zeros", { Bool.random(using: &$0) ? 0 : -0.0 }),
            ("all exponents", { Double(bitPattern: .random(in: 0 ... .max, using: &$0)) }),
            ("rarely no number", { Int.random(in: 0..<900, using: &$0) == 0 ? .nan : 1 }),
            ("tiny", { .random(in: -1e-307...1e-307, using: &$0) }),
            ("huge", { .random(in: -8e307...8e307, using: &$0) }),
            (
                "canceling",
                { [1e300, -1e300, 0x1p53, -0x1p53, 0.1, 1e-300, 3].randomElement(using: &$0) ?? 0 }
            ),
            (
                "many exponents",
                {
                    scalbn(
                        Double.random(in: -1...1, using: &$0),
                        Int.random(in: -200...200, using: &$0))
                }
            ),
        ]

    private static func scalbn(_ number: Double, _ exponent: Int) -> Double {
        number * Double(sign: .plus, exponent: exponent, significand: 1)
    }

    @Test(arguments: kinds.indices)
    func `a leaf adds up exactly`(kind: Int) throws {
        let (double, float) = (ColumnID(0), ColumnID(1))
        let table = TableDefinition(
            id: TableID(1),
            columns: [
                ColumnDefinition(id: double, kind: .double, isOptional: true),
                ColumnDefinition(id: float, kind: .float),
            ])
        let folder = TemporaryFolder()
        let live = try Snapshot(
            ColumnFile.open(path: folder.file(), options: FileOptions(durability: .memory)))
        try live.configure([table])
        _ = try live.beginWrite()
        try live.write!.define(table)
        var random = SeededGenerator(seed: UInt64(kind) + 1)
        var numbers: [Double?] = []
        for _ in 0..<(10 * Cluster.rows) {
            let number = Self.kinds[kind].number(&random)
            let key = live.write!.insert(table.id)
            live.write!.set(table.id, float, key, float: Float(number))
            let isNull = numbers.count > 2000 && Int.random(in: 0..<4, using: &random) == 0
            numbers.append(isNull ? nil : number)
            if !isNull { live.write!.set(table.id, double, key, double: number) }
        }
        try live.commit(keepingLeft: true)
        let reader = try live.table(table.id)
        for cluster in 0..<10 {
            let rows = Cluster.all & ClusterBits.random(in: 0 ... .max, using: &random)
            var (expected, expectedFloats, count) = (ExactSum(), ExactSum(), 0)
            rows.forEachRow { row in
                guard let number = numbers[cluster * Cluster.rows + row] else { return }
                expected.add(number)
                count += 1
            }
            rows.forEachRow { row in
                let key = ObjectKey(Int64(cluster * Cluster.rows + row))
                if let number = try? reader.float(float, key) { expectedFloats.add(Double(number)) }
            }
            var (sum, floats) = (ExactSum(), ExactSum())
            #expect(try reader.addDoubles(double, cluster, among: rows, to: &sum) == count)
            #expect(sum.value.bits == expected.value.bits)
            _ = try reader.addDoubles(float, cluster, among: rows, to: &floats)
            #expect(floats.value.bits == expectedFloats.value.bits)
        }
    }
}

extension Double {
    /// The bits, which are the same for every NaN.
    fileprivate var bits: UInt64 { isNaN ? Double.nan.bitPattern : bitPattern }
}
