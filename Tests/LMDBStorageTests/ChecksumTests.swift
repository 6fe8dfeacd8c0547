import CXXHash
import Glibc
import SystemCalls
import TestThreads
import Testing

@testable import LMDBStorage

/// The checksums of values and of whole files.
@Suite struct ChecksumTests {
    private let folder: TemporaryFolder
    private var path: String { folder.file("store") }
    static let tables = [TableName("numbers", .integers), TableName("names", .bytes)]

    private func open(inMap: Bool = false) throws -> EnvironmentLease {
        try EnvironmentRegistry.open(
            path: path, options: EnvironmentOptions(writesThroughMap: inMap), tables: Self.tables)
    }

    init() throws { folder = try TemporaryFolder() }

    private func value(_ number: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: UInt64($0) &* 31 &+ number) }
    }

    /// Values of many lengths, with numbers and with names as keys.
    private func fill() throws {
        let lease = try open()
        let tables = lease.environment.tables
        let write = try WriteTransaction(lease, durability: .full)
        for number in UInt64(0)..<60 {
            let bytes = value(number, Int(number * number * 3))
            try bytes.withUnsafeBytes { bytes in
                try write.handle.put(tables[0], number, bytes)
                try Array("name \(number)".utf8).withUnsafeBytes {
                    try write.handle.put(tables[1], $0, bytes)
                }
            }
        }
        try write.commit()
    }

    private func change(_ offset: Int, to bytes: [UInt8]) {
        FileImage.overwrite(path, at: offset, with: bytes)
    }

    /// Changes a byte of one of the two values of number 40.
    private func fillWithDamagedValue() throws {
        try fill()
        let bytes = FileImage(path).bytes
        let wanted = value(40, 4800)
        var offset = 0
        while Array(bytes[offset..<offset + wanted.count]) != wanted { offset += 2 }
        change(offset + 100, to: [bytes[offset + 100] ^ 1])
    }

    @Test func `values of every length are read by keys of both kinds and by cursors`() throws {
        try fill()
        let lease = try open()
        let read = try ReadTransaction(lease)
        for number in UInt64(0)..<60 {
            let expected = value(number, Int(number * number * 3))
            let found = try read.handle.get(lease.environment.tables[0], number)
            #expect(found.map(Array.init) == expected)
            let named = try Array("name \(number)".utf8).withUnsafeBytes {
                try read.handle.get(lease.environment.tables[1], $0).map(Array.init)
            }
            #expect(named == expected)
        }
        let cursor = try read.handle.cursor(lease.environment.tables[0])
        var entry = try cursor.first()
        var count: UInt64 = 0
        while let found = entry {
            #expect(found.integerKey == count && found.value.count == Int(count * count * 3))
            count += 1
            entry = try cursor.next()
        }
        #expect(count == 60)
    }

    @Test func `the hash is the same with and without vector instructions`() {
        let bytes = value(9, 6000)
        bytes.withUnsafeBytes { bytes in
            for count in 0...bytes.count {
                let input = UnsafeRawBufferPointer(rebasing: bytes[..<count])
                #expect(ValueSeal.hash(input) == XXH3_64bits(input.baseAddress, count))
            }
        }
    }

    @Test(arguments: [false, true])
    func `replaced values are read by other transactions of the same process`(inMap: Bool) throws {
        let lease = try open(inMap: inMap)
        // Some file systems do not support writing through the map.
        let table = lease.environment.tables[0]
        var expected: [UInt64: [UInt8]] = [:]
        for round in UInt64(0)..<60 {
            let write = try WriteTransaction(lease, durability: .memory)
            for step in UInt64(0)..<10 {
                let key = (round &* 7 &+ step &* 5) % 40
                let bytes = value(round &+ step, Int((round &* 397 &+ step &* 711) % 5000) + 1)
                if step % 2 == 0 {
                    try bytes.withUnsafeBytes { try write.handle.put(table, key, $0) }
                } else {
                    try write.handle.reserve(table, key, count: bytes.count)
                        .copyBytes(from: bytes)
                }
                expected[key] = bytes
            }
            if round % 5 == 4 {
                for key in expected.keys where key % 3 == 0 {
                    try write.handle.delete(table, key)
                    expected[key] = nil
                }
            }
            try write.commit()
            let read = try ReadTransaction(lease)
            for (key, bytes) in expected {
                #expect(try read.handle.get(table, key).map(Array.init) == bytes)
            }
        }
        #expect(try PageVerifier.faults(path: path, atMost: 5).isEmpty)
    }

    @Test func `a value that is filled after it was reserved has its checksum when it is read`()
        throws
    {
        let lease = try open()
        let table = lease.environment.tables[0]
        for isLogged in [false, true] {
            lease.environment.log?.pace.threshold = isLogged ? 0 : 100
            let write = try WriteTransaction(lease, durability: .full)
            for number in UInt64(0)..<20 {
                let buffer = try write.handle.reserve(table, number, count: 100)
                // Reading a value while it is filled is allowed.
                #expect(try write.handle.get(table, number)?.count == 100)
                buffer.copyBytes(from: value(number, 100))
            }
            try write.commit()
            let read = try ReadTransaction(lease)
            for number in UInt64(0)..<20 {
                #expect(try read.handle.get(table, number).map(Array.init) == value(number, 100))
            }
        }
        #expect(try PageVerifier.faults(path: path, atMost: 5).isEmpty)
    }

    @Test func `reading a changed value is an error, and the others can be read`() throws {
        try fillWithDamagedValue()
        let lease = try open()
        let read = try ReadTransaction(lease)
        var damaged = 0
        for table in 0...1 {
            for number in UInt64(0)..<60 {
                do throws(StorageError) {
                    if table == 0 {
                        _ = try read.handle.get(lease.environment.tables[0], number)
                    } else {
                        let key = Array("name \(number)".utf8)
                        let error = key.withUnsafeBytes { key -> StorageError? in
                            do throws(StorageError) {
                                _ = try read.handle.get(lease.environment.tables[1], key)
                                return nil
                            } catch { return error }
                        }
                        if let error { throw error }
                    }
                } catch {
                    #expect(error.code == .damaged && number == 40)
                    damaged += 1
                }
            }
        }
        #expect(damaged == 1)
        #expect(try !PageVerifier.faults(path: path, atMost: 5).isEmpty)
    }

    @Test func `closing seals a file, and the seal detects changes of unused bytes`() throws {
        try fill()
        let file = Platform.openDescriptor(path, O_RDONLY)
        defer { close(file) }
        guard case .seal(let seal) = try FileSeal.read(file) else {
            Issue.record("the file has no seal")
            return
        }
        #expect(try seal.version == FileHeader.newest(file)?.0.version && seal.boot == 0)
        #expect(try PageVerifier.faults(path: path, atMost: 5).isEmpty)
        let before = FileImage(path).bytes
        // Free space of a leaf or branch, the rest of a header's page, and the seal itself.
        var gaps = [3000, 4096 + 3000, FileSeal.offset + 9, LogMarker.offset + 20]
        for page in 2..<before.count / 4096 {
            let image = before.withUnsafeBytes {
                PageImage(UnsafeRawBufferPointer(rebasing: $0[page * 4096..<(page + 1) * 4096]))
            }
            let lower = Int(image.load(12, UInt16.self))
            let isTree = image.flags == 1 || image.flags == 2
            if isTree, image.number == UInt64(page), lower + 8 < Int(image.load(14, UInt16.self)) {
                gaps.append(page * 4096 + lower + 4)
            }
        }
        var found = 0
        for gap in gaps {
            change(gap, to: [before[gap] ^ 0x40])
            if try !PageVerifier.faults(path: path, atMost: 5).isEmpty { found += 1 }
            change(gap, to: [before[gap]])
        }
        // Free pages keep their content.
        #expect(found >= 5 && gaps.count - found <= 4)
        #expect(try PageVerifier.faults(path: path, atMost: 5).isEmpty)
    }

    /// The fields of a header, and numbers that no header has.
    private static let absurdFields: [(name: String, offset: Int, bytes: [UInt8])] = [
        ("magic number", 16, [1, 2, 3, 4]),
        ("format", 20, [9, 0, 0, 0]),
        ("page size", 40, [0, 0, 0, 1]),
        ("page size", 40, [0, 0, 0, 0]),
        ("page size", 40, [0, 32, 0, 0]),
        ("depth of the free pages", 40 + 6, [0xFF, 0x7F]),
        ("root of the free pages", 40 + 40, [1, 2, 3, 4, 5, 6, 7, 8]),
        ("depth of the names", 88 + 6, [0xFF, 0xFF]),
        ("branch pages", 88 + 8, [1, 2, 3, 4, 5, 6, 7, 8]),
        ("entries", 88 + 32, [1, 2, 3, 4, 5, 6, 7, 8]),
        ("root of the names", 88 + 40, [1, 2, 3, 4, 5, 6, 7, 8]),
        ("last page", 136, [0, 0, 0, 0, 0, 1, 0, 0]),
        ("last page", 136, [1, 2, 3, 4, 5, 6, 7, 8]),
        ("version", 144, [1, 2, 3, 4, 5, 6, 7, 8]),
        ("version", 144, [UInt8](repeating: 255, count: 8)),
    ]

    @Test func `a header with an absurd number is damaged, for opening as for a check`() throws {
        try fill()
        let file = Platform.openDescriptor(path, O_RDONLY)
        let newest = try #require(try FileHeader.newest(file)).1
        close(file)
        for field in Self.absurdFields {
            let offset = newest * 4096 + field.offset
            let before = Array(FileImage(path).bytes[offset..<offset + field.bytes.count])
            change(offset, to: field.bytes)
            let opening = #expect(throws: StorageError.self) { _ = try open() }
            // A first header of another kind is that of another program.
            let codes: [StorageError.Code] =
                newest == 0 && offset < 24 ? [.notAStore, .newerFormat] : [.damaged]
            #expect(opening.map { codes.contains($0.code) } == true, "\(field): \(opening!)")
            do throws(StorageError) {
                #expect(try !PageVerifier.faults(path: path, atMost: 5).isEmpty)
            } catch {
                #expect(error.message == opening?.message)
            }
            change(offset, to: before)
        }
        _ = try open()
    }

    @Test
    func `a map size that no process can have does not prevent opening, and a check finds it`()
        throws
    {
        try fill()
        let before = FileImage(path).bytes
        for page in 0...1 {
            let offset = page * 4096 + 32
            change(offset, to: [0, 0, 0, 0, 0, 0, 0, 0x70])
            #expect(try !PageVerifier.faults(path: path, atMost: 5).isEmpty)
            let lease = try open()
            withExtendedLifetime(lease) {}
            change(offset, to: Array(before[offset..<offset + 8]))
        }
        change(4096 + 32, to: [0, 0, 0, 0, 0, 0, 0, 0x70])
        let versions = VersionLocation(table: Self.tables[0], name: "recent") { _ in nil }
        _ = try FileCompaction.compact(path: path, versions: versions)
        #expect(try PageVerifier.faults(path: path, atMost: 5) == [])
    }

    @Test func `a damaged value is not copied, and the error names it`() throws {
        try fillWithDamagedValue()
        let faults = try PageVerifier.faults(path: path, atMost: 5)
        #expect(faults.count == 1)
        let versions = VersionLocation(table: Self.tables[0], name: "recent") { _ in nil }
        let copy = path + "-backup"
        func requireNoCopy(_ body: () throws -> Void) {
            let error = #expect(throws: StorageError.self, performing: body)
            #expect(error?.code == .notCopied && error?.call == faults.first)
            #expect(error?.file == path)
            #expect(access(copy, F_OK) != 0)
            let names = ProcessServices.names(in: folder.path) ?? []
            #expect(!names.contains { $0.contains(".copy-") })
        }
        do {
            let lease = try open()
            requireNoCopy {
                try lease.environment.copyCompacted(to: copy, versions: versions)
            }
        }
        let before = FileImage(path).bytes
        requireNoCopy { _ = try FileCompaction.compact(path: path, versions: versions) }
        #expect(FileImage(path).bytes == before)
    }

    @Test func `closing seals a large file if much of it was written`() throws {
        func sealedVersion() -> UInt64? {
            let file = Platform.openDescriptor(path, O_RDONLY)
            defer { close(file) }
            guard case .seal(let seal) = try? FileSeal.read(file) else { return nil }
            return seal.version
        }
        func write(_ key: UInt64, _ size: Int, count: Int = 1) throws -> UInt64 {
            let lease = try open()
            let write = try WriteTransaction(lease, durability: .memory)
            let version = write.handle.version
            let bytes = [UInt8](repeating: 7, count: size)
            for step in 0..<count {
                let table = lease.environment.tables[0]
                try bytes.withUnsafeBytes {
                    try write.handle.put(table, key + UInt64(step), $0)
                }
            }
            try write.commit()
            return version
        }
        let large = try write(1, FileSeal.smallSize + 4 << 20)
        #expect(sealedVersion() == large)
        #expect(try write(2, 100) > large)
        #expect(sealedVersion() == large)
        // Many small values are counted, even if they do not make the file larger.
        #expect(try write(10, 1500, count: 4000) == sealedVersion())
        #expect(try write(10, 1500, count: 4000) == sealedVersion())
        #expect(try PageVerifier.faults(path: path, atMost: 5) == [])
    }

    @Test func `the headers of a file agree with LMDB's functions`() throws {
        let lease = try open()
        #expect(try LMDBFormat.isKnown(lease.environment.pointer))
        #expect(lease.environment.log != nil)
    }
}
