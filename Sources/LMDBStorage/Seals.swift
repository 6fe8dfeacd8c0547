import CLMDB
import CXXHash
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The checksum at the end of every value in the tables of a file.
///
/// The checksum covers the table's name, the key and the value, so a value under the wrong key counts as damaged. The
/// algorithm is XXH3 of libxxhash, which takes 80 ns for a value of 4,000 bytes with AVX2 and 220 ns without, and 10 ns
/// for one of 100 bytes: less than a CRC-32C with the processor's instruction. Only 32 of its 64 bits are kept, so about
/// one change in four billion is not detected.
package enum ValueSeal {
    package static let size = 4

    /// Returns the seed of a table in the checksums of its values.
    package static func seed(_ table: String) -> UInt64 {
        var name = table
        return name.withUTF8 { hash(UnsafeRawBufferPointer($0)) } | 1
    }

    /// Returns the hash of a key.
    ///
    /// The hash of a key of eight bytes is its number, independent of the table's order.
    @inline(__always)
    package static func hash(key: UnsafeRawBufferPointer) -> UInt64 {
        key.count == 8 ? key.loadUnaligned(as: UInt64.self) : hash(key)
    }

    @inline(__always)
    static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        shim_xxh3(bytes.baseAddress, bytes.count)
    }

    /// Returns a hash of 128 bits.
    package static func hash128(
        _ bytes: UnsafeRawBufferPointer, seed: UInt64
    ) -> (high: UInt64, low: UInt64) {
        let hash = XXH3_128bits_withSeed(bytes.baseAddress, bytes.count, seed)
        return (hash.high64, hash.low64)
    }

    @inline(__always)
    static func sum(_ value: UnsafeRawBufferPointer, _ key: UInt64, _ seed: UInt64) -> UInt32 {
        let sum = hash(value) ^ ((key &+ seed) &* 0x9E37_79B9_7F4A_7C15)
        return UInt32(truncatingIfNeeded: sum ^ sum &>> 32)
    }

    /// Returns whether a value is followed by its checksum.
    static func isRight(_ stored: UnsafeRawBufferPointer, _ key: UInt64, _ seed: UInt64) -> Bool {
        guard stored.count >= size else { return false }
        let count = stored.count - size
        return sum(UnsafeRawBufferPointer(rebasing: stored[..<count]), key, seed)
            == stored.loadUnaligned(fromByteOffset: count, as: UInt32.self)
    }

    /// Writes the checksum after a value, and returns it.
    @inline(__always)
    @discardableResult  // because: files are also written without a cache of verified values
    package static func write(
        to target: UnsafeMutableRawBufferPointer, _ key: UInt64, _ seed: UInt64
    ) -> UInt32 {
        let count = target.count - size
        let sum = sum(UnsafeRawBufferPointer(rebasing: target[..<count]), key, seed)
        target.storeBytes(of: sum, toByteOffset: count, as: UInt32.self)
        return sum
    }
}

/// The checksums of an open file's values: writes them, and verifies each once.
///
/// If values are written in place, in the map, those that this process has written count as verified.
///
/// Any thread may use it, except the functions for the open write.
final class ValueSeals: @unchecked Sendable {
    // Unchecked because: the seeds are constant, and the verified values are atomic. The write lock guards the other
    // properties.
    private let seeds: UnsafeMutablePointer<UInt64>
    private let tableCount: Int
    /// The verified values: a hash of address, length, key and checksum, which differs for other content.
    ///
    /// A value that fills a page has the entry of its page, in the first half. Each 64 bytes of another page have an
    /// entry in the second half. Neighboring values have neighboring entries, so that reading many of them needs little
    /// of the processor's cache.
    private let known: UnsafeMutablePointer<Atomic<UInt64>>
    private static let half = 1 << 17
    private static let size = 2 * half * MemoryLayout<Atomic<UInt64>>.stride
    /// The length from which a value has its own pages, at LMDB's usual page size.
    private static let longLength = 2048
    /// Whether values have the same address when they are written and when they are read.
    private let isInPlace: Bool

    /// The value that the caller writes before the next change; nil for none.
    @exclusivity(unchecked) private var lent:
        (target: UnsafeMutableRawBufferPointer, key: UInt64, table: UInt32)?
    /// The address of that value; 0 for none.
    private let lentAddress = Atomic<UInt>(0)

    /// Creates the checksums; `tables` are the names of the tables, the first of which has LMDB's number 2.
    init(tables: [String], isInPlace: Bool) {
        self.isInPlace = isInPlace
        let names = ["", "names"] + tables
        tableCount = names.count
        seeds = .allocate(capacity: names.count)
        for (index, name) in names.enumerated() {
            (seeds + index).initialize(to: ValueSeal.seed(name))
        }
        // Zero bytes are valid atomic zeros, and untouched pages take no space. calloc would clear used memory.
        let memory = mmap(
            nil, Self.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let memory, memory != MAP_FAILED else {
            preconditionFailure("out of memory for the checksums of values")
        }
        known = memory.bindMemory(to: Atomic<UInt64>.self, capacity: 2 * Self.half)
    }

    deinit {
        seeds.deallocate()
        munmap(known, Self.size)
    }

    @inline(__always)
    func seed(_ table: UInt32) -> UInt64 { seeds[Int(min(table, UInt32(tableCount - 1)))] }

    // MARK: Reading

    /// Returns the value without its checksum; nil if it is damaged.
    @inline(__always)
    func value(
        of stored: UnsafeRawBufferPointer, _ key: UInt64, _ table: UInt32
    ) -> UnsafeRawBufferPointer? {
        guard stored.count >= ValueSeal.size, let base = stored.baseAddress else { return nil }
        let count = stored.count &- ValueSeal.size
        let value = UnsafeRawBufferPointer(start: base, count: count)
        let sum = stored.loadUnaligned(fromByteOffset: count, as: UInt32.self)
        let tag = Self.tag(base, count, key, sum)
        let entry = Self.entry(of: base, count)
        if known[entry].load(ordering: .relaxed) == tag { return value }
        guard verify(stored, key, table) else { return nil }
        known[entry].store(tag, ordering: .relaxed)
        return value
    }

    @inline(never)
    private func verify(_ stored: UnsafeRawBufferPointer, _ key: UInt64, _ table: UInt32) -> Bool {
        ValueSeal.isRight(stored, key, seed(table))
            // A value that is still being written has no checksum yet.
            || UInt(bitPattern: stored.baseAddress) == lentAddress.load(ordering: .relaxed)
    }

    /// Returns the hash of a verified value.
    @inline(__always)
    private static func tag(
        _ base: UnsafeRawPointer, _ count: Int, _ key: UInt64, _ sum: UInt32
    ) -> UInt64 {
        let sum = UInt64(sum)
        return (UInt64(UInt(bitPattern: base)) ^ UInt64(truncatingIfNeeded: count) &<< 48)
            &* 0x9E37_79B9_7F4A_7C15 ^ (key &+ sum &<< 32 | sum) &* 0xD6E8_FEB8_6659_FD93
    }

    /// Returns the index of a value's entry among the verified values.
    @inline(__always)
    private static func entry(of base: UnsafeRawPointer, _ count: Int) -> Int {
        let address = UInt(bitPattern: base)
        let mask = UInt(half &- 1)
        return count >= longLength
            ? Int(address &>> 12 & mask) : half &+ Int(address &>> 6 & mask)
    }

    // MARK: Writing

    /// Whether a caller is writing a value that has no checksum yet.
    @inline(__always)
    var isLent: Bool { lentAddress.load(ordering: .relaxed) != 0 }

    /// Records a value that the caller writes before the next change; its checksum follows in the last bytes of
    /// `target`.
    func lend(_ target: UnsafeMutableRawBufferPointer, _ key: UInt64, _ table: UInt32) {
        assert(!isLent, "lent memory is filled before the next change")
        lent = (target, key, table)
        lentAddress.store(UInt(bitPattern: target.baseAddress), ordering: .relaxed)
    }

    /// Writes the checksum of the value that the caller has written.
    func finishLent() {
        if let lent { write(to: lent.target, lent.key, lent.table) }
        forget()
    }

    /// Writes the checksum after a value in the last bytes of `target`.
    @inline(__always)
    func write(to target: UnsafeMutableRawBufferPointer, _ key: UInt64, _ table: UInt32) {
        let sum = ValueSeal.write(to: target, key, seed(table))
        guard isInPlace, let base = UnsafeRawBufferPointer(target).baseAddress else { return }
        let count = target.count &- ValueSeal.size
        known[Self.entry(of: base, count)].store(
            Self.tag(base, count, key, sum), ordering: .relaxed)
    }

    /// Drops the recorded value at the end of the write.
    func forget() {
        lent = nil
        lentAddress.store(0, ordering: .relaxed)
    }
}

/// A checksum of all pages that a version uses, written when a file is closed or copied.
///
/// The seal is on the first page, after LMDB's header, where LMDB never writes. The checksums of the values detect
/// damaged values when they are read. The seal also covers LMDB's data around the values: page headers, branch keys,
/// lists of free pages, and unused bytes. The seal is not valid after another version was committed.
struct FileSeal: Equatable {
    /// The version of the checksum.
    var version: UInt64
    /// The checksum of the pages after the headers.
    var pages: UInt64
    /// The checksum of the two pages with LMDB's headers.
    var headers: UInt64
    /// The identity of the machine's boot; 0 if the file was flushed.
    var boot: UInt64

    init(version: UInt64, pages: UInt64, headers: UInt64, boot: UInt64) {
        self.version = version
        self.pages = pages
        self.headers = headers
        self.boot = boot
    }

    private static let magic: UInt64 = 0x4C4F_4F50_5345_414C
    static let offset = 384
    static let size = 48

    private static let summedSize = size - 8

    /// Writes the seal into an open file.
    ///
    /// Returns false if the system call fails.
    func write(_ descriptor: Int32) -> Bool {
        var writer = ByteWriter(capacity: Self.size)
        for word in [Self.magic, version, pages, headers, boot] { writer.word(word) }
        writer.word(writer.bytes.withUnsafeBytes { ValueSeal.hash($0) })
        return pwrite(descriptor, writer.bytes, Self.size, off_t(Self.offset)) == Self.size
    }

    /// Removes the seal of an open file.
    ///
    /// Returns false if the system call fails.
    static func remove(_ descriptor: Int32) -> Bool {
        pwrite(descriptor, [UInt8](repeating: 0, count: size), size, off_t(offset)) == size
    }

    /// The seal on a file's first page, if there is one.
    enum Found: Equatable {
        case none
        case seal(FileSeal)
        /// Bytes that are not a valid seal.
        case damaged
    }

    /// Reads the seal of an open file.
    static func read(_ descriptor: Int32) throws(StorageError) -> Found {
        guard let bytes = try Platform.read(descriptor, size, at: offset) else { return .none }
        if bytes.allSatisfy({ $0 == 0 }) { return .none }
        let seal = try? bytes.withUnsafeBytes { try FileSeal(decoding: $0) }
        return seal.map(Found.seal) ?? .damaged
    }

    private init(decoding bytes: UnsafeRawBufferPointer) throws(DamagedEncoding) {
        var reader = ByteReader(bytes, of: "a seal")
        try reader.expect(Self.magic)
        version = try reader.word()
        pages = try reader.word()
        headers = try reader.word()
        boot = try reader.word()
        let summed = UnsafeRawBufferPointer(rebasing: bytes[..<Self.summedSize])
        try reader.expect(ValueSeal.hash(summed))
    }

    /// Returns the checksum of the pages with LMDB's headers, without the log's marker and the seal.
    static func headers(_ descriptor: Int32, pageSize: Int) throws(StorageError) -> UInt64? {
        // A damaged header may have any size of pages.
        guard pageSize >= offset + size,
            var bytes = try Platform.read(descriptor, 2 * pageSize, at: 0)
        else { return nil }
        for hole in [LogMarker.offset..<LogMarker.offset + LogMarker.size, offset..<offset + size] {
            for index in hole { bytes[index] = 0 }
        }
        return bytes.withUnsafeBytes { ValueSeal.hash($0) }
    }

    /// Computes the seal of an open file that no process writes in the meantime.
    ///
    /// Returns nil if the pages of the file are damaged or, with `verifiesValues`, a value does not match its checksum.
    static func compute(
        _ descriptor: Int32, isFlushed: Bool, verifiesValues: Bool = false
    ) throws(StorageError) -> FileSeal? {
        guard let (meta, index) = try FileHeader.newest(descriptor),
            let headers = try headers(descriptor, pageSize: meta.pageSize)
        else { return nil }
        var walk = try PageWalk(
            descriptor, meta, PageWalk.Options(verifiesValues: verifiesValues, isSummed: true))
        walk.run(header: index)
        guard walk.isSound else { return nil }
        return FileSeal(
            version: meta.version, pages: walk.sum, headers: headers,
            boot: isFlushed ? 0 : BootIdentity.present.low | 1)
    }

    /// Returns the checksum of a page, or of all pages of a long value, which begins with page `number`.
    static func sum(_ bytes: UnsafeRawBufferPointer, _ number: UInt64) -> UInt64 {
        let mixed = (ValueSeal.hash(bytes) ^ number) &* 0x9E37_79B9_7F4A_7C15
        return mixed ^ mixed &>> 29
    }

    /// Returns the errors that the seal of an open file shows; `pages` is the checksum of the pages of a version.
    ///
    /// Also verifies that the first page has a valid marker of the log, or zeros.
    static func faults(
        _ descriptor: Int32, version: UInt64, pages: UInt64
    ) throws(StorageError) -> [String] {
        var faults: [String] = []
        let marker = try Platform.read(descriptor, LogMarker.size, at: LogMarker.offset)
        if marker?.contains(where: { $0 != 0 }) == true, try LogMarker.read(descriptor).id == 0 {
            faults.append("the marker of the log is damaged")
        }
        switch try read(descriptor) {
        case .none: break
        case .damaged: faults.append("the checksum of the file is damaged")
        case .seal(let seal) where seal.version > version:
            // A file that was not flushed may have lost versions when the machine stopped.
            if seal.boot == 0 || seal.boot == BootIdentity.present.low | 1 {
                faults.append("the header of version \(seal.version) is damaged")
            }
        case .seal(let seal) where seal.version == version:
            if pages != seal.pages {
                faults.append("the unused part of a page has changed since it was written")
            }
            let pageSize = try FileHeader.meta(descriptor, at: 0)?.pageSize ?? 0
            if try headers(descriptor, pageSize: pageSize) != seal.headers {
                faults.append("a header has changed since it was written")
            }
        case .seal: break
        }
        return faults
    }

    /// The size of files that are sealed whenever they are closed, which takes about ten milliseconds.
    static let smallSize = 64 << 20
    /// The factor by which a larger file may exceed the written pages.
    private static let maxFactor = 16

    /// Returns whether a process that closes a file has written so much to it that sealing it takes little additional
    /// time.
    ///
    /// Sealing a gigabyte in memory takes under half a second, which is a quarter of the time of writing a sixteenth of it.
    static func isWorthwhile(_ descriptor: Int32, size: Int, written: Int) -> Bool {
        size <= smallSize
            || written >= size / maxFactor
                && Platform.absentBytes(descriptor, size, atMost: written) <= written
    }
}
