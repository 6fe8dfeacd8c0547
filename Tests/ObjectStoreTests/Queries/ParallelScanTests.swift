import ColumnStorage
import MemoryAccounts
import SystemCalls
import Testing

@testable import ObjectStore

/// Compares queries that several threads evaluate with those of one thread, on the same file.
@Suite struct ParallelScanTests {
    private static let classes = [
        ClassSchema(
            "Row",
            "id: int primary, small: int, number: int?, real: double, single: float?, "
                + "flag: bool, text: string?, money: decimal, other: Row")
    ]
    private let one: Store
    private let several: Store

    init() throws {
        var configuration = StoreConfiguration(
            .memory("parallel-\(UInt64.random(in: 0 ... .max))"), schema: Self.classes, threads: 1)
        let one = try Store(configuration, scheduler: ManualScheduler())
        self.one = one
        configuration.scanThreads = ScanThreads(count: 4, minRows: 100, clusters: 2)
        try one.write {
            var random = SplitMix(seed: 50)
            for id in 0..<Int64(9_000) {
                let real = Double.random(in: -1...1, using: &random)
                try one.create(
                    "Row",
                    .dictionary([
                        "id": .int(id), "small": .int(.random(in: 0..<7, using: &random)),
                        "number": id % 5 == 0
                            ? .null : .int(.random(in: -1000...1000, using: &random) << 30),
                        "real": .double(
                            real * Double(sign: .plus, exponent: Int(id % 120) - 60, significand: 1)
                        ),
                        "single": id % 11 == 0 ? .null : .float(Float(real)),
                        "flag": .bool(Bool.random(using: &random)),
                        "text": id % 3 == 0
                            ? .null : .string("t\(Int.random(in: 0..<40, using: &random))"),
                        "money": .decimal(DecimalValue(id)),
                    ]))
            }
            let rows = try one.objects("Row")
            for index in stride(from: 0, to: 9_000, by: 2) {
                let other = try rows.object(at: 8_999 - index).reference
                try rows.object(at: index).set("other", .object(other))
            }
        }
        several = try Store(configuration, scheduler: ManualScheduler())
    }

    private func compare(_ read: (Results) throws -> some Equatable) throws {
        for condition in [
            "TRUEPREDICATE", "small > 3", "number > 0 and text like 't1*'", "other.small == 2",
            "not (flag or single < 0)", "number == nil", "small in {1, 5} or real > 100",
        ] {
            let expected = try read(one.objects("Row").filtered(condition))
            #expect(try read(several.objects("Row").filtered(condition)) == expected)
        }
    }

    @Test func `Counts, keys and aggregates do not depend on the number of threads`() throws {
        try compare { try $0.count() }
        try compare { try $0.keys().array }
        for path in ["small", "number", "real", "single", "money", "other.real"] {
            try compare { try $0.sum(path) }
            try compare { try $0.minimum(path) }
            try compare { try $0.maximum(path) }
            try compare { try $0.average(path) }
        }
    }

    @Test func `Sorts with and without a limit do not depend on the number of threads`() throws {
        for order in [
            ["id"], ["small"], ["number"], ["real"], ["text"], ["small", "real"],
            ["text", "number"],
        ] {
            for ascending in [true, false] {
                let keys = order.map { ($0, ascending: ascending) }
                try compare { try $0.sorted(keys).keys().array }
                try compare { try $0.sorted(keys).limited(to: 30).keys().array }
            }
        }
    }

    @Test func `Groups do not depend on the number of threads`() throws {
        for path in ["small", "number", "flag", "text", "real", "other.small"] {
            try compare { results in
                let groups = try results.grouped(by: path)
                return try (0..<groups.count()).map { position in
                    let (key, objects) = try groups.section(at: position)
                    return "\(key) \(try objects.count())"
                }
            }
        }
    }

    @Test func `A scan includes the changes of the open write, and later the committed version`()
        throws
    {
        let rows = try several.objects("Row").filtered("small == 100")
        #expect(try rows.count() == 0)
        try several.write {
            let all = try several.objects("Row")
            for index in 0..<3_000 { try all.object(at: index).set("small", .int(100)) }
            #expect(try rows.count() == 3000)
        }
        #expect(try rows.count() == 3000)
        try one.write { for _ in 0..<10 { try one.delete(one.objects("Row").object(at: 0)) } }
        #expect(try rows.count() == 3000)
        try several.refresh()
        #expect(try rows.count() == 2990)
        // The snapshots of the other threads no longer pin an old version.
        #expect(Set(try several.view.snapshot.file.heldVersions().own) == [several.version])
    }

    @Test func `A scan of several threads stops when it is interrupted`() throws {
        let error = storeError(.interrupted) {
            _ = try Interruption.$current.withValue(Interruption { true }) {
                try StoreError.evaluating {
                    let rows = try several.view.table(#require(several.schema.find("Row")))
                    return try several.view.scan(rows) { _ in
                        { _ in while true { try Interruption.current?.step(1 << 20) } }
                    }
                }
            }
        }
        #expect(error != nil)
    }

    @Test func `All threads of a scan have the memory limit of the calling thread`() throws {
        let account = MemoryAccount(limit: 1)
        #expect(!account.grants(1 << 20))
        let seen = try MemoryAccount.$current.withValue(account) {
            try several.view.scan(several.view.table(several.schema.find("Row")!)) { _ in
                { _ in MemoryAccount.current === account }
            }
        }
        #expect(seen.count == 10 && seen.allSatisfy { $0 })
    }

    @Test func `An error of any part ends the computation and is thrown`() throws {
        struct Fault: Error, Equatable { var part: Int }
        for failing in [0, 7, 19] {
            let function: (Int) throws -> Int = { part in
                if part == failing { throw Fault(part: part) }
                return part
            }
            #expect(throws: Fault(part: failing)) {
                _ = try ParallelWork(count: 20, [function, function, function])
                    .results(stop: StopFlag()) {}
            }
        }
        let function: (Int) throws -> Int = { $0 * $0 }
        for _ in 0..<200 {
            let work = ParallelWork(count: 20, [function, function, function])
            #expect(try work.results(stop: StopFlag()) {} == (0..<20).map { $0 * $0 })
        }
    }

    @Test func `the number of threads follows the set of processors and the limits of all groups`()
    {
        #expect(
            ProcessorCount.inSet(status: "Name:\tx\nCpus_allowed:\t3,0000f001\nMems:\t1\n") == 7)
        #expect(ProcessorCount.inSet(status: "Name:\tx\n") == nil)
        let groups = "1:name=systemd:/x\n0::/a/b\n"
        func quota(_ files: [String: String]) -> Int? {
            ProcessorCount.quota(groups: groups) { files[$0] }
        }
        let root = "/sys/fs/cgroup"
        #expect(quota([:]) == nil)
        #expect(quota([root + "/a/b/cpu.max": "max 100000\n"]) == nil)
        #expect(quota([root + "/a/b/cpu.max": "250000 100000\n"]) == 3)
        #expect(
            quota([root + "/a/b/cpu.max": "400000 100000\n", root + "/a/cpu.max": "50000 100000\n"])
                == 1)
        #expect(quota([root + "/cpu.max": "200000 100000\n"]) == 2)
        #expect(ProcessorCount.quota(groups: nil) { _ in nil } == nil)
        #expect(
            ProcessorCount.quota(groups: "0::/\n") { $0 == root + "/cpu.max" ? "1 1" : nil } == 1)
    }
}
