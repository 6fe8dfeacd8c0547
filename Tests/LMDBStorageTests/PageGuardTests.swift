import Glibc
import TestThreads
import Testing

@testable import LMDBStorage

/// Damaged pages of files that are too large to be verified as a whole when they are opened.
@Suite struct PageGuardTests {
    private let folder: TemporaryFolder
    private var path: String { folder.file("store") }
    private static let tables = [TableName("numbers", .integers), TableName("names", .bytes)]

    init() throws { folder = try TemporaryFolder() }

    private func open() throws -> EnvironmentLease {
        try EnvironmentRegistry.open(path: path, options: EnvironmentOptions(), tables: Self.tables)
    }

    private func remove() { for suffix in ["", "-lock", "-log"] { unlink(path + suffix) } }

    /// Short values with names as keys and long values with numbers as keys, in a file of about 40 MiB or less.
    ///
    /// Returns the first page that the write has added; pages before it may be free.
    @discardableResult  // because: not every test damages a page
    private func fill(_ count: UInt64 = 1_700) throws -> Int {
        let lease = try open()
        let first = Platform.size(of: path) / 4096
        let tables = lease.environment.tables
        let write = try WriteTransaction(lease, durability: .memory)
        let long = [UInt8](repeating: 7, count: 20_000)
        for number in 0..<count {
            try long.withUnsafeBytes { try write.handle.put(tables[0], number, $0) }
            try Array("name \(number)".utf8).withUnsafeBytes { key in
                try write.handle.put(tables[1], key, key)
            }
        }
        try write.commit()
        return first
    }

    private func change(_ offset: Int, _ bytes: [UInt8]) {
        FileImage.overwrite(path, at: offset, with: bytes)
    }

    private func heads(from first: Int) -> [(number: UInt64, flags: UInt16)] {
        let file = Platform.openDescriptor(path, O_RDONLY)
        defer { close(file) }
        var found: [(UInt64, UInt16)] = []
        var head = [UInt8](repeating: 0, count: 16)
        for page in first..<Int(lseek(file, 0, SEEK_END)) / 4096 {
            _ = pread(file, &head, 16, off_t(page * 4096))
            let (number, flags) = head.withUnsafeBytes {
                ($0.load(as: UInt64.self), $0.load(fromByteOffset: 10, as: UInt16.self))
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
                let cursor = try write.handle.cursor(lease.environment.tables[index])
                while try cursor.first() != nil { try cursor.delete() }
                try write.commit()
            }
        }
        return errors
    }

    @Test func `a file of medium size is verified when it is changed, not when it is read`() throws
    {
        try fill(300)
        #expect(Platform.size(of: path) < PageVerifier.largestAtChange)
        do {
            let lease = try open()
            let (pages, tables) = (lease.environment.pages, lease.environment.tables)
            let read = try ReadTransaction(lease)
            #expect(try read.handle.get(tables[0], 7)?.count == 20_000)
            #expect(!pages.isComplete)
            let write = try WriteTransaction(lease, durability: .memory)
            try [1, 2, 3].withUnsafeBytes { try write.handle.put(tables[0], 7, $0) }
            #expect(pages.isComplete)
            try write.commit()
        }
        #expect(use() == [])
        remove()
        try fill(300)
        // The page header of a value that the next write does not touch.
        let damaged = try #require(heads(from: 2).last { $0.flags == 4 })
        change(Int(damaged.number) * 4096 + 10, [0x77, 0x10])
        let lease = try open()
        let tables = lease.environment.tables
        let read = try ReadTransaction(lease)
        let found = try Array("name 9".utf8).withUnsafeBytes {
            try read.handle.get(tables[1], $0)?.count
        }
        #expect(found == 6)
        let write = try WriteTransaction(lease, durability: .memory)
        #expect(throws: StorageError.self) {
            try [1, 2, 3].withUnsafeBytes { try write.handle.put(tables[0], 9, $0) }
        }
    }

    @Test func `a valid large file is used without errors`() throws {
        try fill()
        #expect(Platform.size(of: path) > PageVerifier.largestAtChange)
        #expect(try !open().environment.pages.isComplete)
        #expect(use() == [])
        #expect(try PageVerifier.faults(path: path, atMost: 3) == [])
    }

    @Test(arguments: [1, 2, 4] as [UInt16])
    func `a damaged page header is an error for every operation`(flags: UInt16) throws {
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

    // MARK: Searches

    private static let count = UInt64(90_000)

    /// Writes 400 bytes for each even number, and returns the pages with nodes.
    private func fillNumbers() throws -> [UInt64] {
        let lease = try open()
        let first = Platform.size(of: path) / 4096
        let write = try WriteTransaction(lease, durability: .memory)
        for number in 0..<Self.count {
            try value(2 * number).withUnsafeBytes {
                try write.handle.put(lease.environment.tables[0], 2 * number, $0, append: true)
            }
        }
        try write.commit()
        return heads(from: first).filter { $0.flags != 4 }.map(\.number)
    }

    private func value(_ number: UInt64) -> [UInt8] {
        [UInt8](repeating: UInt8(truncatingIfNeeded: number / 2), count: 400)
    }

    /// Returns the content at a key, and the keys before and after it, by a search.
    private func search(_ number: UInt64, _ lease: EnvironmentLease) throws -> [UInt64?] {
        let read = try ReadTransaction(lease)
        let table = lease.environment.tables[0]
        let cursor = try read.handle.cursor(table)
        let found = try cursor.setRange(number)
        let next = found?.integerKey
        if let found { #expect(found.value.elementsEqual(value(found.integerKey))) }
        let before = try cursor.before(found)?.integerKey
        let present = try read.handle.get(table, number).map { bytes in
            #expect(bytes.elementsEqual(value(number)))
            return number
        }
        return [before, present, next]
    }

    private func expected(_ number: UInt64) -> [UInt64?] {
        let end = 2 * Self.count
        let before = number == 0 ? nil : min((number - 1) / 2 * 2, end - 2)
        let next = (number + 1) / 2 * 2
        return [before, number % 2 == 0 && number < end ? number : nil, next < end ? next : nil]
    }

    @Test func `entries are removed in order, and the others remain`() throws {
        _ = try fillNumbers()
        let lease = try open()
        #expect(!lease.environment.pages.isComplete)
        let table = lease.environment.tables[0]
        let write = try WriteTransaction(lease, durability: .memory)
        do {
            let cursor = try write.handle.cursor(table)
            // A step that verifies its way comes before the removals.
            var entry = try cursor.first()
            entry = try cursor.next()
            for number in UInt64(1)...500 {
                #expect(entry?.integerKey == 2 * number)
                try cursor.delete()
                if number % 3 == 0 { #expect(try cursor.current()?.integerKey == 2 * number + 2) }
                entry = number % 3 == 0 ? try cursor.current() : try cursor.next()
            }
        }
        try write.commit()
        let read = try ReadTransaction(lease)
        let cursor = try read.handle.cursor(table)
        #expect(try cursor.first()?.integerKey == 0)
        #expect(try cursor.next()?.integerKey == 1002)
        #expect(try cursor.next()?.integerKey == 1004)
    }

    @Test func `a search verifies the pages on its way, and reading in order soon verifies all`()
        throws
    {
        let pages = try fillNumbers()
        let number = Int(pages[pages.count / 2])
        let page = FileImage.page(number, of: path)
        let key = try #require(keys(of: page).last)
        change(number * 4096 + 12, [0xFF, 0xFF])
        let lease = try open()
        #expect(!lease.environment.pages.isComplete)
        #expect(try search(100, lease) == expected(100))
        #expect(throws: StorageError.self) { _ = try search(key, lease) }
        #expect(try search(2 * Self.count, lease) == expected(2 * Self.count))
        let read = try ReadTransaction(lease)
        let cursor = try read.handle.cursor(lease.environment.tables[0])
        #expect(try cursor.first()?.integerKey == 0)
        #expect(try cursor.next()?.integerKey == 2)
        #expect(throws: StorageError.self) { while try cursor.next() != nil {} }
        #expect(try search(100, lease) == expected(100))
    }

    /// Without the name of a table, a file cannot be distinguished from one of another program.
    private func isDamage(_ error: StorageError) -> Bool {
        error.code == .damaged || error.code == .notAStore
    }

    @Test func `searches in damaged pages are right or an error`() throws {
        let pages = try fillNumbers()
        var errors = 0
        for round in 0..<60 {
            // The last pages that a write creates are the branches above its leaves.
            let number = round % 2 == 0 ? pages.suffix(60).randomElement()! : pages.randomElement()!
            let page = FileImage.page(number, of: path)
            // A byte of the page's head, of its list of nodes, or of the head of a node.
            let upper = Int(page[14]) | Int(page[15]) << 8
            let offset = [Int.random(in: 0..<40), upper + Int.random(in: 0..<16)].randomElement()!
            change(
                Int(number) * 4096 + offset, [page[min(offset, 4095)] ^ UInt8.random(in: 1...255)])
            do {
                let lease = try open()
                for _ in 0..<40 {
                    let key = UInt64.random(in: 0...2 * Self.count)
                    do {
                        #expect(
                            try search(key, lease) == expected(key), "page \(number), \(offset)")
                    } catch let error as StorageError {
                        #expect(error.code == .damaged)
                        errors += 1
                    }
                }
                let minimum = keys(of: page).first ?? 0
                do { #expect(try search(minimum, lease) == expected(minimum)) } catch let error
                    as StorageError
                {
                    #expect(error.code == .damaged)
                    errors += 1
                }
            } catch let error as StorageError {
                #expect(isDamage(error))
            }
            change(Int(number) * 4096, page)
        }
        #expect(errors > 20)
        #expect(try PageVerifier.faults(path: path, atMost: 3) == [])
    }

    @Test func `a verified page in the place of another one is an error`() throws {
        let pages = try fillNumbers()
        func read(_ number: UInt64) -> [UInt8] { FileImage.page(number, of: path) }
        let parents = pages.map { (number: $0, children: children(of: read($0))) }
            .filter { $0.children.count > 8 && read($0.children[0])[10] == PageImage.Flags.leaf }
        var random = SeededGenerator(seed: 1)
        var errors = 0
        for round in 0..<80 {
            // because: there are leaves.
            let parent = parents.randomElement(using: &random)!
            let place = Int.random(in: 3..<parent.children.count - 3, using: &random)
            let before = parent.children[place]
            // A near leaf, one below any branch, or the branch itself.
            let other = [
                parent.children[place + [-2, -1, 1, 2].randomElement(using: &random)!],
                parents.randomElement(using: &random)!.children.randomElement(using: &random)!,
                parent.number,
            ][round % 3]
            let (right, wrong) = (read(before), read(other))
            let branch = read(parent.number)
            if Bool.random(using: &random) {
                let offset = Int(branch[16 + 2 * place]) | Int(branch[17 + 2 * place]) << 8
                change(Int(parent.number) * 4096 + offset, Array(read(other)[0..<4]))
            } else {
                change(Int(before) * 4096 + 8, Array(wrong[8...]))
            }
            // The other page, its neighbors and those of the place are verified first.
            let near = [-2, -1, 1, 2].map { read(parent.children[place + $0]) }
            let searched = [wrong] + near.shuffled(using: &random) + [right]
            let lease = try open()
            for key in searched.compactMap({ keys(of: $0).randomElement(using: &random) }) {
                do {
                    #expect(try search(key, lease) == expected(key), "round \(round)")
                } catch let error as StorageError {
                    #expect(error.code == .damaged)
                    errors += 1
                }
            }
            change(Int(parent.number) * 4096, branch)
            change(Int(before) * 4096, right)
        }
        #expect(errors > 80)
        #expect(try PageVerifier.faults(path: path, atMost: 3) == [])
    }

    /// The pages to which the nodes of a branch page lead.
    private func children(of page: [UInt8]) -> [UInt64] {
        page.withUnsafeBytes { bytes in
            let image = PageImage(bytes)
            guard image.flags == PageImage.Flags.branch else { return [] }
            return (0..<image.nodeCount).compactMap { image.node($0, isLeaf: false)?.child }
        }
    }

    @Test(arguments: [false, true])
    func `storing in damaged pages is right or an error`(areLeaves: Bool) throws {
        let pages = try fillNumbers()
        var errors = 0
        var commits = 0
        for round in 0..<RandomSeeds.count(24, of: 50) {
            let number = round % 2 == 0 ? pages.suffix(60).randomElement()! : pages.randomElement()!
            let page = FileImage.page(number, of: path)
            if areLeaves, page[10] != PageImage.Flags.leaf { continue }
            var damaged = page
            let upper = Int(page[14]) | Int(page[15]) << 8
            let offset = min(
                [Int.random(in: 0..<40), upper + Int.random(in: 0..<16)].randomElement()!, 4095)
            damaged[offset] ^= UInt8.random(in: 1...255)
            change(Int(number) * 4096, damaged)
            // New and present keys, on the page or anywhere.
            let key =
                round % 3 == 0
                ? (keys(of: page).randomElement() ?? 0) : .random(in: 0...2 * Self.count)
            do {
                let lease = try open()
                let write = try WriteTransaction(lease, durability: .memory)
                for next in key..<key + 3 {
                    try value(next).withUnsafeBytes {
                        try write.handle.put(lease.environment.tables[0], next, $0)
                    }
                }
                try write.commit()
                commits += 1
                let read = try ReadTransaction(lease)
                for next in key..<key + 3 {
                    let found = try read.handle.get(lease.environment.tables[0], next)
                    #expect(found?.elementsEqual(value(next)) == true)
                }
            } catch let error as StorageError {
                #expect(isDamage(error))
                errors += 1
            }
            // Otherwise the write has used a free page.
            if FileImage.page(number, of: path) == damaged { change(Int(number) * 4096, page) }
        }
        #expect((areLeaves || errors > 0) && commits > 5, "\(errors), \(commits)")
        // A write can copy a branch page whose other pointers are wrong, which searches detect.
        guard areLeaves else { return }
        // Checksums find the bytes without a meaning for LMDB, which a write copies with their page.
        let faults = try PageVerifier.faults(path: path, atMost: 1000)
        #expect(faults.allSatisfy { $0.hasSuffix("has changed since it was written") }, "\(faults)")
    }

    /// The keys of the nodes of a page.
    private func keys(of page: [UInt8]) -> [UInt64] {
        page.withUnsafeBytes { bytes in
            let image = PageImage(bytes)
            let isLeaf = image.flags == PageImage.Flags.leaf
            return (0..<image.nodeCount).compactMap { index in
                guard let key = image.node(index, isLeaf: isLeaf)?.key, key.count == 8 else {
                    return nil
                }
                return key.loadUnaligned(as: UInt64.self)
            }
        }
    }
}
