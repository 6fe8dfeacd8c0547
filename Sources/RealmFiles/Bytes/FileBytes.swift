#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The bytes of a Realm file, which is mapped read-only; an encrypted file is decrypted page by page as it is read.
///
/// Never writes to a file and creates none. Confined to one thread.
final class FileBytes {
    /// The size of the decrypted file, in bytes.
    let count: Int
    /// The size of the file, in bytes.
    let fileSize: Int
    /// A number that changes when decrypted pages are released, which invalidates earlier views.
    private(set) var generation = 0

    /// The approximate maximum number of decrypted bytes in memory.
    var decryptedLimit = 64 << 20

    private let descriptor: Int32
    private let map: UnsafeMutableRawPointer?
    private let pages: EncryptedPages?

    /// Maps a file.
    ///
    /// Throws if the file cannot be read, or if the key is wrong.
    init(_ path: String, key: RealmKey?) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw RealmFileError(.unreadable, "cannot open '\(path)': \(Self.reason(errno))")
        }
        do {
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                throw RealmFileError(.unreadable, "'\(path)' is not a regular file")
            }
            let size = Int(status.st_size)
            var map: UnsafeMutableRawPointer?
            if size > 0 {
                map = mmap(nil, size, PROT_READ, MAP_PRIVATE, descriptor, 0)
                guard map != MAP_FAILED else {
                    throw RealmFileError(
                        .unreadable, "cannot map '\(path)': \(Self.reason(errno))")
                }
            }
            self.descriptor = descriptor
            self.map = map
            fileSize = size
            if let key, let map, !Self.isPlain(UnsafeRawPointer(map), size) {
                do {
                    pages = try EncryptedPages(UnsafeRawPointer(map), size, key)
                } catch {
                    munmap(map, size)
                    throw error
                }
            } else {
                pages = nil
            }
            count = pages?.count ?? size
        } catch {
            close(descriptor)
            throw error
        }
    }

    deinit {
        if let map { munmap(map, fileSize) }
        close(descriptor)
    }

    /// Whether the file is encrypted.
    var isEncrypted: Bool { pages != nil }

    /// Returns a range of bytes.
    ///
    /// Throws if the range is outside of the file, or if an encrypted page cannot be decrypted.
    func view(_ offset: Int, _ length: Int) throws -> ByteView {
        try RealmFileError.require(
            offset >= 0 && length >= 0 && length <= count && offset <= count - length,
            "\(length) bytes at \(RealmFileError.hex(offset)) are beyond the end of the file")
        if let pages { return try pages.view(offset, length) }
        guard let map else { throw RealmFileError.damaged("the file is empty") }
        return ByteView(UnsafeRawPointer(map) + offset, count: length)
    }

    /// Releases all decrypted pages if they exceed ``decryptedLimit``.
    ///
    /// This invalidates earlier views.
    func trim() {
        guard let pages, pages.residentBytes > decryptedLimit else { return }
        pages.releaseAll()
        generation += 1
    }

    /// Returns the current first bytes of the file, which another program may have changed.
    func currentHeader() -> [UInt8] {
        var header = [UInt8](repeating: 0, count: 24)
        if isEncrypted {
            // Every write to the first page also changes its entry.
            var entry = [UInt8](repeating: 0, count: 64)
            let read = pread(descriptor, &entry, entry.count, 0)
            return read == entry.count ? entry : []
        }
        let read = pread(descriptor, &header, header.count, 0)
        return read == header.count ? header : []
    }

    private static func isPlain(_ base: UnsafeRawPointer, _ size: Int) -> Bool {
        guard size >= 24 else { return false }
        return ByteView(base, count: size).load(16, as: UInt32.self) == FileHeader.mark
    }

    private static func reason(_ code: Int32) -> String {
        String(cString: strerror(code))
    }
}

/// A part of a mapped file.
///
/// The bounds were checked against the file when the view was created.
///
/// Valid while the ``FileBytes`` that returned it exists and has not released its decrypted pages. Reading outside of
/// the view stops the program, as with an array, so offsets from a file are checked first.
struct ByteView {
    private let base: UnsafeRawPointer
    /// The number of bytes.
    let count: Int

    init(_ base: UnsafeRawPointer, count: Int) {
        self.base = base
        self.count = count
    }

    /// The byte at an offset.
    @inline(__always)
    subscript(offset: Int) -> UInt8 {
        precondition(offset >= 0 && offset < count)
        return base.load(fromByteOffset: offset, as: UInt8.self)
    }

    /// Returns the little-endian integer at an offset of any alignment.
    @inline(__always)
    func load<Integer: FixedWidthInteger>(_ offset: Int, as type: Integer.Type) -> Integer {
        precondition(offset >= 0 && offset <= count - MemoryLayout<Integer>.size)
        return Integer(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: type))
    }

    /// Returns a part of the view.
    func slice(_ offset: Int, _ length: Int) -> ByteView {
        precondition(offset >= 0 && length >= 0 && offset <= count - length)
        return ByteView(base + offset, count: length)
    }

    /// A copy of the bytes.
    var array: [UInt8] { Array(UnsafeRawBufferPointer(start: base, count: count)) }

    /// The bytes as text, or nil if they are not UTF-8.
    var text: String? {
        let bytes = UnsafeRawBufferPointer(start: base, count: count)
        return String(validating: bytes, as: UTF8.self)
    }

    /// Calls `body` with the bytes.
    func withSpan<Result>(_ body: (RawSpan) throws -> Result) rethrows -> Result {
        try body(UnsafeRawBufferPointer(start: base, count: count).bytes)
    }

    /// Whether all bytes are zero.
    var isZero: Bool { UnsafeRawBufferPointer(start: base, count: count).allSatisfy { $0 == 0 } }

    /// Decodes packed integers of 0, 1, 2, 4, 8, 16, 32 or 64 bits into the beginning of an array, which grows if
    /// needed.
    ///
    /// Integers with fewer than 8 bits are unsigned; all others are signed.
    func decodeIntegers(width: Int, count: Int, into values: inout [Int64]) {
        precondition(count >= 0 && (count * width + 7) / 8 <= self.count)
        if values.count < count {
            values.append(contentsOf: repeatElement(0, count: count - values.count))
        }
        values.withUnsafeMutableBufferPointer { target in
            switch width {
            case 0: for index in 0..<count { target[index] = 0 }
            case 1, 2, 4:
                let mask: UInt8 = (1 << width) - 1
                let perByte = 8 / width
                var index = 0
                var offset = 0
                while index < count {
                    var byte = base.load(fromByteOffset: offset, as: UInt8.self)
                    let end = min(index + perByte, count)
                    while index < end {
                        target[index] = Int64(byte & mask)
                        byte >>= width
                        index += 1
                    }
                    offset += 1
                }
            case 8: widen(Int8.self, count, target)
            case 16: widen(Int16.self, count, target)
            case 32: widen(Int32.self, count, target)
            default: widen(Int64.self, count, target)
            }
        }
    }

    @inline(__always)
    private func widen<Integer: FixedWidthInteger>(
        _ type: Integer.Type, _ count: Int, _ target: UnsafeMutableBufferPointer<Int64>
    ) {
        for index in 0..<count {
            let offset = index &* MemoryLayout<Integer>.size
            let value = base.loadUnaligned(fromByteOffset: offset, as: type)
            target[index] = Int64(truncatingIfNeeded: Integer(littleEndian: value))
        }
    }
}

/// The plain values of several rows, for all columns in one block, so that reading a value is a load from memory.
///
/// Indexes are checked. The memory is allocated manually, which avoids Swift's exclusivity checks at each read.
final class PlainCells {
    private let numbers: UnsafeMutableBufferPointer<Int64>
    private let nulls: UnsafeMutableBufferPointer<Bool>
    private let pieces: UnsafeMutableBufferPointer<LeafValues.Piece>
    private let count: Int

    /// Allocates cells with the value 0.
    init(count: Int) {
        self.count = count
        numbers = .allocate(capacity: count)
        numbers.initialize(repeating: 0)
        nulls = .allocate(capacity: count)
        nulls.initialize(repeating: false)
        pieces = .allocate(capacity: count)
        pieces.initialize(repeating: LeafValues.Piece(start: 0, length: 0))
    }

    deinit {
        numbers.deallocate()
        nulls.deallocate()
        pieces.deallocate()
    }

    /// Returns the integer or the bit pattern in a cell.
    @inline(__always)
    func number(_ index: Int) -> Int64 {
        precondition(index >= 0 && index < count)
        return numbers.baseAddress.unsafelyUnwrapped[index]
    }

    /// Returns whether a cell is null.
    @inline(__always)
    func isNull(_ index: Int) -> Bool {
        precondition(index >= 0 && index < count)
        return nulls.baseAddress.unsafelyUnwrapped[index]
    }

    /// Returns the location of the bytes of a cell.
    @inline(__always)
    func piece(_ index: Int) -> LeafValues.Piece {
        precondition(index >= 0 && index < count)
        return pieces.baseAddress.unsafelyUnwrapped[index]
    }

    /// Sets cells, starting at an index; `nulls` is nil if no value is null.
    func set(_ start: Int, numbers values: ArraySlice<Int64>, nulls marks: ArraySlice<Bool>?) {
        precondition(start >= 0 && values.count <= count - start)
        for (offset, value) in values.enumerated() { numbers[start + offset] = value }
        guard let marks else {
            for offset in 0..<values.count { nulls[start + offset] = false }
            return
        }
        precondition(marks.count == values.count)
        for (offset, mark) in marks.enumerated() { nulls[start + offset] = mark }
    }

    /// Sets cells, starting at an index.
    func set(_ start: Int, pieces values: ArraySlice<LeafValues.Piece>) {
        precondition(start >= 0 && values.count <= count - start)
        for (offset, piece) in values.enumerated() {
            pieces[start + offset] = piece
            nulls[start + offset] = piece.length == LeafValues.Piece.null
        }
    }

    /// Sets cells to null.
    func setNull(_ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        for index in range {
            nulls[index] = true
            pieces[index].length = LeafValues.Piece.null
        }
    }
}
