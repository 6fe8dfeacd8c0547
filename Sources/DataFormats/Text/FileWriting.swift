import Synchronization
import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Writes a file completely or not at all, or writes to standard output.
///
/// A file whose name ends in `.gz` or `.zst` is compressed.
///
/// Writes to a temporary file in the same folder, which `finish` renames. If the writer is released earlier, an
/// existing file is unchanged. Confined to one thread.
package final class FileWriter {
    private let descriptor: Int32
    private let path: String
    private let draft: DraftFile?
    private let compressor: (any Compressor)?
    private let cipher: ChunkCipher?
    /// The bytes of the next encrypted chunk.
    private var chunk: [UInt8] = []
    private var buffer: [UInt8] = []
    /// The number of bytes passed to the writer.
    package private(set) var count = 0

    /// Opens a file for writing; `-` is standard output.
    ///
    /// A new file gets the mode of the file `original`, or the mode that the umask permits. With a key, the file is
    /// encrypted, and `.enc` after its name does not change whether it is compressed. Throws a `FormatError` with the file and the system's message.
    package init(
        _ path: String, like original: String? = nil, key: CopyKey? = nil, compresses: Bool = true
    ) throws {
        self.path = path
        cipher = try key.map { try ChunkCipher($0) }
        compressor =
            compresses
            ? try Compression.compressor(key == nil ? path : EncryptedFiles.plainName(path)) : nil
        guard path != "-" else {
            descriptor = 1
            draft = nil
            if let cipher { try cipher.header.withUnsafeBytes { try send($0) } }
            return
        }
        var status = stat()
        // A pipe, a terminal or a device is written directly.
        if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            draft = nil
            descriptor = open(path, O_WRONLY | O_CLOEXEC)
        } else {
            let draft = DraftFile(of: path)
            self.draft = draft
            descriptor = draft.create(like: original)
        }
        guard descriptor >= 0 else { throw FormatError("cannot write \(path): \(systemMessage())") }
        if let cipher { try cipher.header.withUnsafeBytes { try send($0) } }
    }

    deinit { if descriptor > 1 { close(descriptor) } }

    /// Writes bytes.
    package func write(_ bytes: [UInt8]) throws {
        count += bytes.count
        guard bytes.count < Self.bufferSize else {
            try flush()
            return try bytes.withUnsafeBytes { try compress($0) }
        }
        buffer += bytes
        if buffer.count >= Self.bufferSize { try flush() }
    }

    private static let bufferSize = 256 << 10

    /// Writes text.
    package func write(_ text: String) throws { try write(Array(text.utf8)) }

    /// Writes the remaining bytes and renames the file to its final path.
    package func finish() throws {
        try flush()
        try compressor?.compress(
            UnsafeRawBufferPointer(start: nil, count: 0), isEnd: true, write: store)
        try cipher?.seal(chunk, isLast: true).withUnsafeBytes { try send($0) }
        guard let draft else { return }
        guard fsync(descriptor) == 0, draft.publish() else { throw failure() }
    }

    private func flush() throws {
        try buffer.withUnsafeBytes { try compress($0) }
        buffer.removeAll(keepingCapacity: true)
    }

    private func compress(_ bytes: UnsafeRawBufferPointer) throws {
        guard let compressor else { return try store(bytes) }
        try compressor.compress(bytes, isEnd: false, write: store)
    }

    private func store(_ bytes: UnsafeRawBufferPointer) throws {
        guard let cipher else { return try send(bytes) }
        chunk += bytes
        // The last chunk is not empty, unless the file is.
        while chunk.count > ChunkCipher.chunkSize {
            let sealed = try cipher.seal(chunk.prefix(ChunkCipher.chunkSize), isLast: false)
            chunk.removeFirst(ChunkCipher.chunkSize)
            try sealed.withUnsafeBytes { try send($0) }
        }
    }

    private func send(_ bytes: UnsafeRawBufferPointer) throws {
        guard Descriptor.write(descriptor, bytes) == 0 else { throw failure() }
    }

    private func failure() -> FormatError {
        FormatError("cannot write \(path): \(systemMessage())")
    }
}

/// A temporary file in the same folder as the file that it will replace.
///
/// The existing file stays until the draft is published; a draft that is dropped earlier is removed. The name of a
/// draft is random and new, so that no other program can prepare a file or a link with this name. The process that
/// writes a draft holds a system lock on it, which ends with the process. The next draft of the same file removes the
/// drafts of killed processes.
final class DraftFile {
    /// The path of the draft, once it is created.
    private(set) var path = ""
    private let destination: String
    private var isPublished = false
    /// The descriptor that holds the lock; negative before the draft is created.
    private var lock: Int32 = -1

    private static let letters = Array("abcdefghijklmnopqrstuvwxyz234567")
    private static let nameLength = 16
    private static let ending = ".part"

    /// Prepares a draft beside the file that `destination` leads to, with all symbolic links resolved.
    init(of destination: String) {
        self.destination = Self.resolve(destination)
    }

    /// Creates the draft under a random name.
    ///
    /// Returns a descriptor, or a negative value with `errno` set after a failure. The draft gets the mode of the file
    /// that it will replace, otherwise of the file `original`, otherwise the mode that the umask permits.
    func create(like original: String? = nil) -> Int32 {
        removeAbandoned()
        var descriptor: Int32
        let mode: mode_t = original == nil ? 0o666 : 0o600
        repeat { descriptor = createLocked(mode) } while descriptor < 0 && errno == EEXIST
        guard descriptor >= 0 else { return descriptor }
        if let original { FileAccess(at: original)?.applyToCompanion(descriptor) }
        var present = stat()
        if stat(destination, &present) == 0, present.st_mode & S_IFMT == S_IFREG {
            // Only the superuser can change the owner of a file.
            _ = fchown(descriptor, present.st_uid, present.st_gid)
            _ = fchmod(descriptor, present.st_mode & 0o7777)
        }
        return descriptor
    }

    private func createLocked(_ mode: mode_t) -> Int32 {
        let name = String(
            (0..<Self.nameLength).map { _ in Self.letters[Int.random(in: Self.letters.indices)] })
        path = "\(destination).\(name)\(Self.ending)"
        // Registered first, so that the file is removed whenever the process is interrupted.
        UnfinishedFiles.add([path])
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        if descriptor >= 0 {
            // Another descriptor of the open file keeps the lock until the draft is dropped.
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
                lock = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
            }
            // Another process may have treated the new file as abandoned.
            var status = stat()
            if fstat(descriptor, &status) == 0, status.st_nlink > 0 { return descriptor }
            close(descriptor)
            if lock >= 0 { close(lock) }
            lock = -1
            errno = EEXIST
        }
        let code = errno
        UnfinishedFiles.forget([path])
        errno = code
        return -1
    }

    /// Removes the drafts of the same file that no process writes, as far as this process has the permission.
    private func removeAbandoned() {
        let slash = destination.lastIndex(of: "/")
        let folder = slash.map { String(destination[...$0]) } ?? "./"
        let beginning = destination[
            (slash.map(destination.index(after:)) ?? destination.startIndex)...]
        for name in ProcessServices.names(in: folder) ?? [] {
            guard name.hasPrefix("\(beginning)."), name.hasSuffix(Self.ending),
                name.utf8.count == beginning.utf8.count + 1 + Self.nameLength
                    + Self.ending.utf8.count,
                name.dropFirst(beginning.count + 1).prefix(Self.nameLength)
                    .allSatisfy(Self.letters.contains)
            else { continue }
            let file = open(folder + name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
            guard file >= 0 else { continue }
            if flock(file, LOCK_EX | LOCK_NB) == 0 { unlink(folder + name) }
            close(file)
        }
    }

    private static func resolve(_ path: String) -> String {
        var next = path
        for _ in 0..<40 {
            if let resolved = realpath(next, nil) {
                defer { free(resolved) }
                return String(cString: resolved)
            }
            let target = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4097) { buffer in
                let count = readlink(next, buffer.baseAddress!, 4096)
                guard count > 0 else { return String?.none }
                buffer[count] = 0
                return String(cString: buffer.baseAddress!)
            }
            guard let target else { return next }
            let folder = next.lastIndex(of: "/").map { next[...$0] } ?? ""
            next = target.hasPrefix("/") ? target : folder + target
        }
        return path
    }

    deinit {
        UnfinishedFiles.forget([path])
        if !isPublished, !path.isEmpty { unlink(path) }
        if lock >= 0 { close(lock) }
    }

    /// Renames the draft to its final path.
    ///
    /// Flush the content to the device first. Returns false and sets `errno` after a failure.
    func publish() -> Bool {
        guard rename(path, destination) == 0 else { return false }
        isPublished = true
        return true
    }
}

/// The files that this process has not finished writing.
package enum UnfinishedFiles {
    /// Deletes the files that this process has started and not finished, before an early end.
    ///
    /// Usable on any thread. No file may be written afterward.
    package static func remove() {
        paths.withLock { paths in for path in paths { unlink(path) } }
    }

    /// Registers files that ``remove()`` deletes, until they are unregistered.
    package static func add(_ files: [String]) { paths.withLock { $0.formUnion(files) } }

    /// Removes files from the list of files to delete.
    package static func forget(_ files: [String]) { paths.withLock { $0.subtract(files) } }

    private static let paths = Mutex<Set<String>>([])
}

/// A file to which lines are appended while other programs may read it.
///
/// When `write` returns, the file contains the lines. Confined to one thread.
package final class LineLog {
    private var descriptor: Int32
    private let path: String

    /// Opens a file and removes its content, which must be an earlier log whose lines begin with `mark`.
    ///
    /// Throws a `FormatError` with the file and the system's message, or if the file has other content, or if another
    /// log of this or another process writes to it.
    package init(_ path: String, replacing mark: String) throws {
        self.path = path
        guard try Self.isEmpty(path, orBeginsWith: Array(mark.utf8)) else {
            throw FormatError(
                "cannot write \(path): the file exists and has other content; remove it, or choose another name"
            )
        }
        descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw FormatError("cannot write \(path): \(systemMessage())") }
        do {
            try begin()
        } catch {
            close()
            throw error
        }
    }

    /// Locks the file for this log and empties it.
    private func begin() throws {
        var status = stat()
        // Devices and pipes permit any number of writers.
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            guard errno == EWOULDBLOCK else { return }
            throw FormatError(
                "cannot write \(path): another recording writes to this file; stop it first, or choose another name"
            )
        }
        guard ftruncate(descriptor, 0) == 0 else {
            throw FormatError("cannot write \(path): \(systemMessage())")
        }
    }

    deinit { close() }

    /// Returns whether a file is empty or begins with the mark.
    ///
    /// A file that is not a regular file counts as empty.
    private static func isEmpty(_ path: String, orBeginsWith mark: [UInt8]) throws -> Bool {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0
        else { return true }
        // A reader would interpret the name `-` as standard input.
        return try FileReader(path == "-" ? "./-" : path).read().starts(with: mark)
    }

    /// Appends complete lines.
    ///
    /// Throws a `FormatError`.
    package func write(_ lines: [UInt8]) throws {
        guard Descriptor.write(descriptor, lines) == 0 else {
            throw FormatError("cannot write \(path): \(systemMessage())")
        }
    }

    /// Closes the file.
    ///
    /// Idempotent.
    package func close() {
        guard descriptor >= 0 else { return }
        Descriptor.close(descriptor)
        descriptor = -1
    }
}
