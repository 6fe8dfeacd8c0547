import Glibc
import TestThreads
import Testing

@testable import LMDBStorage

/// Pages from LMDB, and pages with inconsistent entries.
@Suite struct PageImageTests {
    private let folder: TemporaryFolder
    private var path: String { folder.file("store") }
    private static let tables = [TableName("names", .bytes)]

    init() throws { folder = try TemporaryFolder() }

    private func open() throws -> EnvironmentLease {
        try EnvironmentRegistry.open(path: path, options: EnvironmentOptions(), tables: Self.tables)
    }

    private func change(_ count: Int, using random: inout SeededGenerator) throws {
        let lease = try open()
        let table = lease.environment.tables[0]
        let write = try WriteTransaction(lease, durability: .memory)
        for _ in 0..<count {
            let key = Array("key \(Int.random(in: 0..<400, using: &random))".utf8)
            let length = Int.random(in: 0..<900, using: &random)
            let value = [UInt8](repeating: 1, count: length)
            try key.withUnsafeBytes { key in
                if length % 3 == 0 {
                    try write.handle.delete(table, key)
                } else {
                    try value.withUnsafeBytes { try write.handle.put(table, key, $0) }
                }
            }
        }
        try write.commit()
    }

    /// The pages of a file by number, of the given kind.
    private func pages(_ flags: UInt16) -> [(number: Int, bytes: [UInt8])] {
        let content = FileImage(path).bytes
        return (2..<content.count / 4096).map { number in
            (number: number, bytes: Array(content[number * 4096..<(number + 1) * 4096]))
        }.filter { page in
            page.bytes.withUnsafeBytes {
                let image = PageImage($0)
                return image.number == UInt64(page.number) && image.flags == flags
                    && image.hasBounds
            }
        }
    }

    @Test func `the entries of every page that LMDB writes fill the page`() throws {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<30 { try change(60, using: &random) }
        for flags in [PageImage.Flags.branch, PageImage.Flags.leaf] {
            let found = pages(flags)
            #expect(!found.isEmpty)
            for page in found {
                page.bytes.withUnsafeBytes { bytes in
                    let image = PageImage(bytes)
                    #expect(
                        image.isPacked(isLeaf: flags == PageImage.Flags.leaf), "page \(page.number)"
                    )
                }
            }
        }
        #expect(try PageVerifier.faults(path: path, atMost: 3) == [])
    }

    enum Damage: CaseIterable { case size, offset, order }

    @Test(arguments: Damage.allCases)
    func `an entry with a wrong size, offset or order is damage`(damage: Damage) throws {
        var random = SeededGenerator(seed: 4)
        for _ in 0..<10 { try change(80, using: &random) }
        // Now every page is in use.
        let versions = VersionLocation(table: TableName("none", .integers), name: "none") { _ in nil
        }
        _ = try FileCompaction.compact(path: path, versions: versions)
        let base = FileImage(path)
        let names = pages(PageImage.Flags.leaf).filter { page in
            page.bytes.withUnsafeBytes { PageImage($0).nodeCount > 2 }
        }
        base.write(path)
        let page = try #require(names.last)
        let file = Platform.openDescriptor(path, O_RDWR)
        // The offsets of the first two entries.
        let list = off_t(page.number * 4096 + PageImage.headerSize)
        var offsets: [UInt16] = [0, 0]
        _ = pread(file, &offsets, 4, list)
        switch damage {
        case .size:
            var length: UInt16 = 0
            let offset = off_t(page.number * 4096 + Int(offsets[0]))
            _ = pread(file, &length, 2, offset)
            length = length > 4 ? length - 4 : length + 4
            _ = pwrite(file, &length, 2, offset)
        case .offset:
            offsets[1] = offsets[0]
            _ = pwrite(file, &offsets, 4, list)
        case .order:
            offsets.swapAt(0, 1)
            _ = pwrite(file, &offsets, 4, list)
        }
        close(file)
        #expect(try !PageVerifier.faults(path: path, atMost: 3).isEmpty)
        do {
            _ = try open()
            Issue.record("page \(page.number) is damaged")
        } catch let error as StorageError { #expect(error.code == .damaged) }
    }

    @Test func `pages that are overwritten during a walk end no process`() throws {
        var random = SeededGenerator(seed: 11)
        for _ in 0..<30 { try change(60, using: &random) }
        let file = Platform.openDescriptor(path, O_RDWR)
        defer { close(file) }
        let size = Int(lseek(file, 0, SEEK_END))
        let map = try #require(mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0))
        defer { munmap(map, size) }
        let before = [UInt8](UnsafeRawBufferPointer(start: map, count: size))
        let (meta, index) = try #require(try FileHeader.newest(file))
        let isOver = Flag()
        let address = UInt(bitPattern: map)
        let writer = RunningThread {
            guard let map = UnsafeMutableRawPointer(bitPattern: address) else { return }
            var random = SeededGenerator(seed: 12)
            while !isOver.isSet {
                // The flags and bounds of a page, or the offset or the sizes of a node.
                let page = Int.random(in: 2..<size / 4096, using: &random) * 4096
                let offset =
                    page + 2 * Int.random(in: 5..<(Bool.random() ? 9 : 2048), using: &random)
                map.storeBytes(
                    of: .random(in: 0...UInt16.max, using: &random), toByteOffset: offset,
                    as: UInt16.self)
                before.withUnsafeBytes {
                    let old = $0.loadUnaligned(fromByteOffset: offset, as: UInt16.self)
                    map.storeBytes(of: old, toByteOffset: offset, as: UInt16.self)
                }
            }
        }
        func isSound() throws -> Bool {
            var walk = try PageWalk(file, meta, PageWalk.Options())
            walk.run(header: index)
            return walk.isSound
        }
        for _ in 0..<500 { _ = try isSound() }
        isOver.set()
        writer.wait()
        #expect(try isSound())
    }
}
