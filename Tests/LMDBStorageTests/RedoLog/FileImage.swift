import Glibc

@testable import LMDBStorage

/// The bytes of a file at one time.
struct FileImage {
    var bytes: [UInt8] = []

    init() {}

    init(_ path: String) {
        let descriptor = Glibc.open(path, O_RDONLY)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let size = Int(lseek(descriptor, 0, SEEK_END))
        bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = max(0, pread(descriptor, buffer.baseAddress, size, 0))
        }
    }

    func write(_ path: String) {
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_TRUNC, 0o644)
        defer { close(descriptor) }
        _ = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    }

    /// Each block of the device can have the content of any image, and the file can have any of their lengths.
    static func mixed(
        _ images: [FileImage], block: Int, _ random: inout some RandomNumberGenerator
    ) -> FileImage {
        guard var mixed = images.randomElement(using: &random) else { return FileImage() }
        // Complete and nearly complete images are as likely as random mixtures.
        let shares: [Double] = [0, 0.05, 0.5, 0.95]
        let share = shares[Int.random(in: 0..<4, using: &random)]
        for start in stride(from: 0, to: mixed.bytes.count, by: block)
        where Double.random(in: 0..<1, using: &random) < share {
            let other = images[Int.random(in: 0..<images.count, using: &random)].bytes
            let end = min(start + block, mixed.bytes.count, other.count)
            if start < end { mixed.bytes[start..<end] = other[start..<end] }
        }
        return mixed
    }
}

/// The flushed content of two files, and the content that may have reached the device in addition.
struct Device {
    private(set) var data: [FileImage] = [FileImage()]
    private(set) var log: [FileImage] = [FileImage()]
    private var time = 0
    private var flushedData = 0
    private var flushedLog = 0

    /// Returns a number that is greater than all previous ones.
    mutating func tick() -> Int {
        time += 1
        return time
    }

    /// Records the writes since the last call.
    mutating func look(_ path: String) {
        data.append(FileImage(path))
        log.append(FileImage(path + "-log"))
        if data.count > 24 { data.remove(at: 1 + Int.random(in: 0..<20)) }
        if log.count > 4 { log.remove(at: 1) }
    }

    /// Records that the device has the image of a time.
    mutating func flushData(_ image: FileImage, _ time: Int) {
        guard time > flushedData else { return }
        flushedData = time
        data = [image]
    }

    mutating func flushLog(_ image: FileImage, _ time: Int) {
        guard time > flushedLog else { return }
        flushedLog = time
        log = [image]
    }

    /// Writes a possible content after a power failure.
    func cut(_ path: String, _ random: inout some RandomNumberGenerator) {
        FileImage.mixed(data, block: 4096, &random).write(path)
        let log = FileImage.mixed(log, block: 512, &random)
        if !log.bytes.isEmpty { log.write(path + "-log") }
    }
}

extension FileImage {
    /// The bytes of one page of a file.
    static func page(_ number: some BinaryInteger, of path: String) -> [UInt8] {
        var page = [UInt8](repeating: 0, count: 4096)
        let descriptor = Glibc.open(path, O_RDONLY)
        defer { close(descriptor) }
        _ = pread(descriptor, &page, 4096, off_t(number) * 4096)
        return page
    }

    /// Changes some bytes of a file and keeps its size, so that no mapped page disappears.
    static func overwrite(_ path: String, at offset: Int = 0, with bytes: [UInt8]) {
        let descriptor = Glibc.open(path, O_WRONLY)
        defer { close(descriptor) }
        _ = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
    }
}

/// The keys of the first table of a file.
func keys(_ lease: EnvironmentLease) throws -> [UInt64] {
    let reader = try ReadTransaction(lease)
    let cursor = try reader.handle.cursor(lease.environment.tables[0])
    var keys: [UInt64] = []
    var entry = try cursor.first()
    while let found = entry {
        keys.append(found.integerKey)
        entry = try cursor.next()
    }
    return keys
}
