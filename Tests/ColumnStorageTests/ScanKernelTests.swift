import TestThreads
import Testing

@testable import ColumnStorage
@testable import LMDBStorage

/// Compares scans of complete clusters with reading the same rows one by one.
@Suite struct ScanKernelTests {
    private let folder = TemporaryFolder()
    private let targets = TableDefinition(id: TableID(2), columns: [])

    /// Shifts that create leaves of every integer width: constant, 1, 8, 16, 32 and 64 bits.
    private static let spans: [Int64] = [0, 1, 200, 60_000, 4_000_000_000, .max]
    /// The kinds of generated texts; each kind is stored differently.
    private enum Texts: Int, CaseIterable {
        case letters, few, empty, some, long
    }

    private let ints = spans.indices.map { ColumnID($0) }
    private let texts = Texts.allCases.map { ColumnID(spans.count + $0.rawValue) }
    private let link = ColumnID(spans.count + Texts.allCases.count)
    private let double = ColumnID(spans.count + Texts.allCases.count + 1)
    private let table = TableID(1)

    private var definition: TableDefinition {
        TableDefinition(
            id: table,
            columns: ints.map { ColumnDefinition(id: $0, kind: .int, isOptional: true) }
                + texts.map { ColumnDefinition(id: $0, kind: .string, isOptional: true) }
                + [
                    ColumnDefinition(id: link, kind: .link, target: targets.id),
                    ColumnDefinition(id: double, kind: .double, isOptional: true),
                ])
    }

    private func text(_ kind: Texts, _ random: inout SeededGenerator) -> [UInt8] {
        func letters(_ count: ClosedRange<Int>, _ choice: ClosedRange<UInt8>) -> [UInt8] {
            (0..<Int.random(in: count, using: &random)).map { _ in
                UInt8.random(in: choice, using: &random)
            }
        }
        switch kind {
        case .letters: return letters(0...12, 0...255)
        case .few: return letters(0...3, 97...98)
        case .empty: return []
        // Nearly all texts are empty, so that the whole leaf is shorter than a word.
        case .some:
            return Int.random(in: 0..<200, using: &random) == 0 ? letters(1...2, 97...98) : []
        case .long:
            return Int.random(in: 0..<50, using: &random) == 0
                ? letters(2000...2001, 97...98) : letters(0...20, 97...98)
        }
    }

    private func fill(
        _ write: WriteSession, rows: Int, nulls: Bool, _ random: inout SeededGenerator
    ) throws {
        let linked = (0..<1200).map { _ in write.insert(targets.id) }
        for _ in 0..<rows {
            let key = write.insert(table)
            for (column, span) in zip(ints, Self.spans) {
                let value = Int64.random(in: 0...span, using: &random)
                let isNull = nulls && Int.random(in: 0..<5, using: &random) == 0
                if isNull {
                    write.setNull(table, column, key)
                } else {
                    let isNegative = span == .max && Bool.random(using: &random)
                    write.set(table, column, key, int: isNegative ? ~value : value &- 7)
                }
            }
            for (column, kind) in zip(texts, Texts.allCases) {
                if nulls && Int.random(in: 0..<5, using: &random) == 0 { continue }
                write.set(table, column, key, bytes: text(kind, &random))
            }
            if Int.random(in: 0..<5, using: &random) > 0 {
                write.set(table, link, key, link: linked.randomElement(using: &random))
            }
            write.set(table, double, key, double: Double.random(in: -5...5, using: &random))
        }
        for key in 0..<Int64(rows) where Int.random(in: 0..<9, using: &random) == 0 {
            try write.delete(table, ObjectKey(key))
        }
    }

    /// A selection of the rows of a cluster: all, about half, few or none.
    private func some(_ present: ClusterBits, _ random: inout SeededGenerator) -> ClusterBits {
        switch Int.random(in: 0..<5, using: &random) {
        case 0: return .zero
        case 1: return present & ClusterBits.random(in: 0 ... .max, using: &random)
        case 2:
            var few = ClusterBits.zero
            for _ in 0..<30 { few.insert(Int.random(in: 0..<Cluster.rows, using: &random)) }
            return present & few
        default: return present
        }
    }

    private func expect(
        _ found: ClusterBits, _ among: ClusterBits, _ cluster: Int,
        _ what: @autoclosure () -> String,
        _ holds: (ObjectKey) throws -> Bool
    ) throws {
        var wanted = ClusterBits.zero
        try among.forEachRow { row in
            if try holds(ObjectKey(rawValue: Int64(cluster * Cluster.rows + row))) {
                wanted.insert(row)
            }
        }
        #expect(found == wanted, "\(what())")
    }

    private func checkInts(
        _ reader: TableReader, _ cluster: Int, _ random: inout SeededGenerator
    ) throws {
        for column in ints {
            let among = try some(reader.presence(cluster), &random)
            let base = Int64(cluster * Cluster.rows)
            let near = try reader.int(
                column, ObjectKey(base + Int64.random(in: 0..<496, using: &random)))
            let bounds = [near ?? 0, (near ?? 0) &+ 1, .min, .max].shuffled(using: &random)
            let (low, high) = (min(bounds[0], bounds[1]), max(bounds[0], bounds[1]))
            let what = "column \(column.rawValue), \(low) to \(high)"
            try expect(
                reader.matches(column, cluster, .intBetween(low, high), among: among), among,
                cluster, what
            ) { key in try reader.int(column, key).map { low <= $0 && $0 <= high } ?? false }
            try expect(
                reader.matches(column, cluster, .int(.notEqual, low), among: among), among,
                cluster, what
            ) { try reader.int(column, $0) != low }
            try expect(
                reader.matches(column, cluster, .isNull, among: among), among, cluster, what
            ) { try reader.int(column, $0) == nil }
            var sum: Int128 = 0
            try among.forEachRow {
                sum += try Int128(reader.int(column, ObjectKey(base + Int64($0))) ?? 0)
            }
            #expect(try reader.sumInt(column, cluster, among: among).sum == sum, "\(what)")
        }
    }

    private func checkTexts(
        _ reader: TableReader, _ cluster: Int, _ random: inout SeededGenerator
    ) throws {
        for column in texts {
            func bytes(_ key: ObjectKey) throws -> [UInt8]? {
                try reader.withBytes(column, key) { $0.withUnsafeBytes { [UInt8]($0) } }
            }
            let among = try some(reader.presence(cluster), &random)
            let row = Int64(cluster * Cluster.rows) + Int64.random(in: 0..<496, using: &random)
            var wanted = try bytes(ObjectKey(row)) ?? [97]
            if Bool.random(using: &random) {
                wanted = Array(wanted.prefix(Int.random(in: 0...13, using: &random)))
            }
            let what = "column \(column.rawValue), \(wanted.prefix(20))"
            try expect(
                reader.matches(column, cluster, .bytesPrefix(wanted), among: among), among,
                cluster, what
            ) { try bytes($0)?.starts(with: wanted) ?? false }
            try expect(
                reader.matches(column, cluster, .bytesEqual(wanted), among: among), among,
                cluster, what
            ) { try bytes($0) == wanted }
            try expect(
                reader.matches(column, cluster, .bytesNotEqual(wanted), among: among), among,
                cluster, what
            ) { try bytes($0) != wanted }
            try expect(
                reader.matches(column, cluster, .bytesIn(BytesSet([wanted, [98]])), among: among),
                among, cluster, what
            ) { try bytes($0) == wanted || bytes($0) == [98] }
        }
    }

    private func checkLinks(
        _ reader: TableReader, _ linked: TableReader, _ cluster: Int,
        _ random: inout SeededGenerator
    ) throws {
        // Links can lead to rows outside of the clusters of the set.
        var chosen = RowSet(clusterCount: Int.random(in: 0...linked.clusterCount, using: &random))
        for _ in 0..<400 { chosen.insert(ObjectKey(Int64.random(in: 0..<1200, using: &random))) }
        let among = try some(reader.presence(cluster), &random)
        try expect(
            reader.matches(link, cluster, linkedTo: TargetBits(chosen), among: among), among,
            cluster, "links"
        ) { key in try reader.link(link, key).map(chosen.contains) ?? false }
    }

    private func checkDoubles(
        _ reader: TableReader, _ cluster: Int, _ random: inout SeededGenerator
    ) throws {
        let among = try some(reader.presence(cluster), &random)
        let bound = Double.random(in: -6...6, using: &random)
        try expect(
            reader.matches(double, cluster, .double(.less, bound), among: among), among, cluster,
            "below \(bound)"
        ) { try reader.double(double, $0).map { $0 < bound } ?? false }
        var (sum, expected, count) = (ExactSum(), ExactSum(), 0)
        try among.forEachRow { row in
            let key = ObjectKey(Int64(cluster * Cluster.rows + row))
            guard let number = try reader.double(double, key) else { return }
            expected.add(number)
            count += 1
        }
        #expect(try reader.addDoubles(double, cluster, among: among, to: &sum) == count)
        #expect(sum.value == expected.value)
    }

    private func check(_ snapshot: Snapshot, _ random: inout SeededGenerator) throws {
        let reader = try snapshot.table(table)
        for cluster in 0...reader.clusterCount {
            for _ in 0..<2 {
                try checkInts(reader, cluster, &random)
                try checkTexts(reader, cluster, &random)
                try checkLinks(reader, snapshot.table(targets.id), cluster, &random)
                try checkDoubles(reader, cluster, &random)
            }
        }
    }

    @Test(arguments: 1...6)
    func `every kernel finds the same rows as reading row by row`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let snapshot = try Snapshot(
            try ColumnFile.open(path: folder.file(), options: FileOptions(durability: .memory)))
        try snapshot.configure([definition, targets])
        _ = try snapshot.beginWrite()
        let write = try #require(snapshot.write)
        try write.define(targets)
        try write.define(definition)
        // One complete cluster and a partial one; with one seed, only a few rows.
        let rows = seed == 1 ? 3 : 500 + Int.random(in: 0..<480, using: &random)
        try fill(write, rows: rows, nulls: seed % 2 == 0, &random)
        try check(snapshot, &random)
        try snapshot.commit(keepingLeft: true)
        try check(snapshot, &random)
    }

    @Test func `a prefix is found where the leaf's text ends`() throws {
        let snapshot = try Snapshot(
            try ColumnFile.open(path: folder.file(), options: FileOptions(durability: .memory)))
        try snapshot.configure([definition, targets])
        _ = try snapshot.beginWrite()
        let write = try #require(snapshot.write)
        try write.define(targets)
        try write.define(definition)
        let column = texts[0]
        for row in 0..<Cluster.rows {
            let key = write.insert(table)
            // The texts are different, so that they do not become a dictionary.
            let text = row < 490 ? "a\(row)" : row == 490 ? "ab" : ""
            write.set(table, column, key, string: text)
        }
        try snapshot.commit(keepingLeft: true)
        let reader = try snapshot.table(table)
        func count(_ prefix: String) throws -> Int {
            try reader.matches(
                column, 0, .bytesPrefix(Array(prefix.utf8)), among: reader.presence(0)
            ).rowCount
        }
        #expect(try count("ab") == 1)
        #expect(try count("abc") == 0)
        #expect(try count("a") == 491)
        #expect(try count("") == Cluster.rows)
        #expect(try count("a48") == 11)
    }
}
