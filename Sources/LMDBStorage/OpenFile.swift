import CLMDB
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// If the device does not write the header of a commit, LMDB refuses every further transaction of its environment, and
// leaves the older header with the content of the failed commit or, written through the map, with its version. The file
// is sound, because the newer header is. So the process opens the file a second time and continues:
//
// * The first environment is retired: its readers continue, no transaction begins in it, and it is closed only after the
//   newer one, with the last lease. Closing it earlier would free the reader slots of the whole process, and the locks of
//   the process on the lock file.
// * While the file is opened a second time, a lock on LMDB's first byte of the lock file that belongs to a descriptor
//   (LockRegion) keeps LMDB, here and in other processes, from initializing the lock file. LMDB's own lock belongs to
//   the process, and would allow it.
// * Before the first transaction of the new environment, the older header gets its bytes of before the commit again.
//   They are written with the write lock, and only if no other commit has followed.
// * Pages have the same content in both maps. Addresses in the first one stay valid until the file is closed.

/// A file that this process has open: its present environment, which refers to the retired ones.
final class OpenFile: Sendable {
    // The environment is retained. A retired one is retained by the next one, so a loaded address stays valid.
    private let present: Atomic<UInt>

    /// How often the file was opened again.
    private let replacements = Atomic<Int>(0)

    /// The number of environments that a file may have at the same time: each needs address space for the whole map.
    private static let replacementLimit = 32

    init(_ environment: Environment) {
        present = Atomic(Self.retain(environment))
    }

    deinit { Self.reference(present.load(ordering: .relaxed)).release() }

    private static func retain(_ environment: Environment) -> UInt {
        UInt(bitPattern: Unmanaged.passRetained(environment).toOpaque())
    }

    @inline(__always)
    private static func reference(_ address: UInt) -> Unmanaged<Environment> {
        // because: the address is that of an object.
        Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: address)!)
    }

    /// The environment for new transactions.
    @inline(__always)
    var environment: Environment {
        Self.reference(present.load(ordering: .acquiring)).takeUnretainedValue()
    }

    /// Opens the file again if `failed` is still its environment; the caller holds the registry's lock.
    ///
    /// Throws `needsReopening` if the file can only be used after all its handles were closed.
    func replace(_ failed: Environment) throws(StorageError) {
        guard failed === environment else { return }
        let count = replacements.add(1, ordering: .relaxed).newValue
        guard failed.canBeRetired, count <= Self.replacementLimit else {
            throw StorageError(.needsReopening, call: "mdb_txn_begin", file: failed.name)
        }
        let next: Environment
        do throws(StorageError) {
            next = try Environment(after: failed)
        } catch {
            if error.code == .replaced { throw error }
            throw StorageError(.needsReopening, call: error.call, file: failed.name)
        }
        let old = present.exchange(Self.retain(next), ordering: .acquiringAndReleasing)
        Self.reference(old).release()
    }
}

extension EnvironmentLease {
    /// Opens the file again after LMDB has ended the use of an environment.
    ///
    /// Throws `needsReopening` if the file can only be used after all its handles were closed, and `replaced`.
    func replace(_ failed: Environment) throws(StorageError) {
        let result = EnvironmentRegistry.entries.withLock { _ -> Result<Void, StorageError> in
            do throws(StorageError) { return .success(try file.replace(failed)) } catch {
                return .failure(error)
            }
        }
        try result.get()
    }
}

/// The bytes of the header that a commit overwrites.
///
/// Only the thread that holds LMDB's write lock may use it, or one that retires the environment.
final class OverwrittenHeader: @unchecked Sendable {
    // Unchecked because: LMDB's write lock guards the bytes.
    private let bytes: UnsafeMutableRawPointer
    /// The version of the commit; 0 if no bytes are known.
    private var version: UInt64 = 0

    init() { bytes = .allocate(byteCount: FileHeader.metaSize, alignment: 8) }

    deinit { bytes.deallocate() }

    /// Keeps the header that the commit of a version will overwrite.
    @inline(__always)
    func keep(_ headers: MappedHeaders?, before version: UInt64) {
        guard let headers else { return }
        headers.copy(version & 1, to: bytes)
        self.version = version
    }

    /// Writes the header back, in an environment without open transactions, and waits until it is on the device.
    ///
    /// Throws the device's error: it is then not known which header the file has.
    func restore(_ environment: OpaquePointer, _ path: String) throws(StorageError) {
        var begun: OpaquePointer?
        try check(mdb_txn_begin(environment, nil, 0, &begun), "mdb_txn_begin", path)
        defer { mdb_txn_abort(begun) }
        guard version != 0, FileVersion.of(begun) == version else { return }
        var descriptor: mdb_filehandle_t = -1
        var statistics = MDB_stat()
        mdb_env_get_fd(environment, &descriptor)
        mdb_env_stat(environment, &statistics)
        let offset = Int(version & 1) * Int(statistics.ms_psize) + FileHeader.pageHeaderSize
        guard
            pwrite(descriptor, bytes, FileHeader.metaSize, off_t(offset)) == FileHeader.metaSize,
            Platform.flush(descriptor)
        else { throw StorageError(rawCode: errno, call: "pwrite", file: path) }
        version = 0
    }
}
