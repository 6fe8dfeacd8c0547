import Glibc
import Testing

@testable import LMDBStorage

/// Damaged pages of files that are too large to be verified as a whole when they are opened.
@Suite struct PageGuardTests {
    let path = "/tmp/moonpool-pages-\(getpid())-\(UInt64.random(in: 0 ... .max))"
    private static let tables = [TableName("numbers", .integers), TableName("names", .bytes)]

    private func open() throws -> EnvironmentLease {
        try EnvironmentRegistry.open(
            path: path, options: EnvironmentOptions(), tables: Self.tables)
    }

    private func remove() { for suffix in ["", "-lock", "-log"] { unlink(path + suffix) } }

    /// Short values with names as keys and long values with numbers as keys, in a file of about 40 MiB.
    ///
    /// Returns the first page that the write has added; pages before it may be free.
    @discardableResult  // because: not every test damages a page
    private func fill() throws -> Int {
        let lease = try open()
        let first = Platform.size(of: path) / 4096
        let tables = lease.environment.tables
        let write = try WriteTransaction(lease, durability: .memory)
        let long = [UInt8](repeating: 7, count: 20_000)
        for number in UInt64(0)..<1_700 {
            try long.withUnsafeBytes { try write.handle.put(tables[0], number, $0) }
            try Array("name \(number)".utf8).withUnsafeBytes { key in
                try write.handle.put(tables[1], key, key)
            }
        }
        try write.commit()
        return first
    }

    private func change(_ offset: Int, _ bytes: [UInt8]) {
        let file = Platform.openDescriptor(path, O_RDWR)
        defer { close(file) }
        _ = bytes.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, off_t(offset)) }
    }

    private func heads(from first: Int) -> [(number: UInt64, flags: UInt16)] {
        let file = Platform.openDescriptor(path, O_RDONLY)
        defer { close(file) }
        var found: [(UInt64, UInt16)] = []
        var head = [UInt8](repeating: 0, count: 16)
        for page in first..<Int(lseek(file, 0, SEEK_END)) / 4096 {
            _ = pread(file, &head, 16, off_t(page * 4096))
            let (number, flags) = head.withUnsafeBytes {
                (
                    $0.load(as: UInt64.self), $0.load(fromByteOffset: 10, as: UInt16.self)
                )
            }
            if number == UInt64(page), [1, 2, 4].contains(flags) { found.append((number, flags)) }
        }
        return found
    }

    /// Performs all operations on the tables and returns the errors.
    private func use() -> [StorageError.Code] {
        var errors: [StorageError.Code] = []
        func attempt(_ body: (EnvironmentLease) throws -> Void) {
            do { try body(try open()) } catch let error as StorageError {
                errors.append(error.code)
            } catch {}
        }
        for index in 0..<2 {
            attempt { lease in
                let read = try ReadTransaction(lease)
                let cursor = try read.handle.cursor(lease.environment.tables[index])
                while try cursor.next() != nil {}
            }
            attempt { lease in
                let write = try WriteTransaction(lease, durability: .memory)
                let table = lease.environment.tables[index]
                for number in stride(from: UInt64(0), to: 1_700, by: 3) {
                    try [1, 2, 3].withUnsafeBytes { bytes in
                        if index == 0 {
                            try write.handle.put(table, number, bytes)
                            try write.handle.delete(table, number + 1)
                        } else {
                            try Array("name \(number)".utf8).withUnsafeBytes {
                                try write.handle.put(table, $0, bytes)
                            }
                        }
                    }
                }
                try write.commit()
            }
            attempt { lease in
                let write = try WriteTransaction(lease, durability: .memory)
                try write.handle.drop(lease.environment.tables[index])
                try write.commit()
            }
        }
        return errors
    }

    @Test func `a valid large file is used without errors`() throws {
        defer { remove() }
        try fill()
        #expect(Platform.size(of: path) > PageVerifier.largestAtOpening)
        #expect(try !open().environment.pages.isComplete)
        #expect(use() == [])
        #expect(try PageVerifier.faults(path: path, atMost: 3) == [])
    }

    @Test(arguments: [1, 2, 4] as [UInt16])
    func `a damaged page header is an error for every operation`(
        flags: UInt16
    ) throws {
        defer { remove() }
        for offset in [0, 10, 12, 14] {
            remove()
            let pages = heads(from: try fill()).filter { $0.flags == flags }
            let page = try #require(pages.randomElement()).number
            change(Int(page) * 4096 + offset, [0x77, 0x10])
            let errors = use()
            #expect(errors.allSatisfy { $0 == .damaged }, "\(offset): \(errors)")
            #expect(!errors.isEmpty, "\(offset) of page \(page)")
        }
    }
}
