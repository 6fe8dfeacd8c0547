import Glibc
import Testing

@testable import LMDBStorage

@Suite struct UndoLogTests {
    /// Random changes of both kinds of tables beside a model; each mark is rolled back to at the end.
    @Test(arguments: [Durability.full, .memory])
    func `rolling back to a mark restores all entries`(durability: Durability) throws {
        let path = "/tmp/moonpool-undo-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        defer { for suffix in ["", "-lock", "-log"] { unlink(path + suffix) } }
        let names = [TableName("numbers", .integers), TableName("names", .bytes)]
        func open() throws -> EnvironmentLease {
            try EnvironmentRegistry.open(path: path, options: EnvironmentOptions(), tables: names)
        }
        var lease: EnvironmentLease? = try open()
        var model: [[UInt64: [UInt8]]] = [[:], [:]]
        do {
            let write = try WriteTransaction(try #require(lease), durability: durability)
            let tables = write.environment.tables
            for _ in 0..<300 { try change(write.handle, tables, &model) }
            var marks: [(mark: Int, model: [[UInt64: [UInt8]]])] = []
            for _ in 0..<6 {
                marks.append((write.handle.mark(), model))
                for _ in 0..<200 { try change(write.handle, tables, &model) }
                if marks.count % 2 == 0, let last = marks.last {
                    try write.handle.rollBack(to: last.mark)
                    model = last.model
                    #expect(try content(write.handle, tables) == model)
                }
            }
            for (mark, before) in marks[2...].reversed() {
                try write.handle.rollBack(to: mark)
                #expect(try content(write.handle, tables) == before)
            }
            model = marks[2].model
            write.handle.endMarks()
            for _ in 0..<50 { try change(write.handle, tables, &model) }
            try write.commit()
        }
        for isReopened in [false, true] {
            if isReopened {
                lease = nil
                lease = try open()
            }
            let read = try ReadTransaction(try #require(lease))
            #expect(try content(read.handle, read.environment.tables) == model)
        }
    }

    private func key(_ number: UInt64) -> [UInt8] { Array("key \(number)".utf8) }

    private func change(
        _ handle: TransactionHandle, _ tables: [Table], _ model: inout [[UInt64: [UInt8]]]
    ) throws {
        let number = UInt64.random(in: 0..<200)
        let value = [UInt8](
            repeating: .random(in: 0...255), count: [3, 100, 900, 9000].randomElement()!)
        let table = Int.random(in: 0..<2)
        switch (Int.random(in: 0..<6), table) {
        case (0...2, 0): try value.withUnsafeBytes { try handle.put(tables[0], number, $0) }
        case (0...3, 1):
            try key(number).withUnsafeBytes { key in
                try value.withUnsafeBytes { try handle.put(tables[1], key, $0) }
            }
        case (3, 0):
            try handle.reserve(tables[0], number, count: value.count).copyBytes(from: value)
        case (4, 0):
            try handle.delete(tables[0], number)
            model[0][number] = nil
            return
        case (4, _):
            _ = try key(number).withUnsafeBytes { try handle.delete(tables[1], $0) }
            model[1][number] = nil
            return
        default:
            let cursor = try handle.cursor(tables[0])
            guard let found = try cursor.setRange(number) else { return }
            let gone = found.integerKey
            try cursor.delete()
            model[0][gone] = nil
            return
        }
        model[table][number] = value
    }

    private func content(
        _ handle: TransactionHandle, _ tables: [Table]
    ) throws -> [[UInt64: [UInt8]]] {
        var result: [[UInt64: [UInt8]]] = [[:], [:]]
        for number in UInt64(0)..<200 {
            result[0][number] = try handle.get(tables[0], number).map { [UInt8]($0) }
            result[1][number] = try key(number).withUnsafeBytes { key in
                try handle.get(tables[1], key).map { [UInt8]($0) }
            }
        }
        return result
    }
}
