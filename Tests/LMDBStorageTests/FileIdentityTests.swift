import CLMDB
import Glibc
import SystemCalls
import TestThreads
import Testing

@testable import LMDBStorage

/// A file, not a path, identifies a store.
@Suite struct FileIdentityTests {
    private let files: TemporaryFolder
    private var folder: String { files.path }
    private var path: String { folder + "/real/store" }
    static let tables = [TableName("a", .integers), TableName("history", .integers)]
    static let versions = VersionLocation(table: tables[1], name: "none") { _ in nil }

    init() throws {
        files = try TemporaryFolder()
        try files.make("real")
        try files.make("home")
    }

    private func open(_ path: String, readOnly: Bool = false) throws -> EnvironmentLease {
        try EnvironmentRegistry.open(
            path: path, options: EnvironmentOptions(readOnly: readOnly), tables: Self.tables)
    }

    private func put(_ lease: EnvironmentLease, _ key: UInt64) throws {
        let write = try WriteTransaction(lease, durability: .full)
        try [UInt8](repeating: 7, count: 40).withUnsafeBytes {
            try write.handle.put(lease.environment.tables[0], key, $0)
        }
        try write.commit()
    }

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    private func write(_ bytes: [UInt8], to path: String) {
        let descriptor = Platform.openDescriptor(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        _ = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
    }

    private func code(_ body: () throws -> Void) -> StorageError.Code? {
        do { try body() } catch { return (error as? StorageError)?.code }
        return nil
    }

    // MARK: Links

    @Test func `a file and a symbolic link to it are one environment with one lock file`() throws {
        let real = try open(path)
        symlink("../real/store", folder + "/home/link")
        let linked = try open(folder + "/home/link")
        #expect(linked.environment === real.environment)
        #expect(ProcessServices.names(in: folder + "/home")?.sorted() == ["link"])
        #expect(linked.environment.commitSignalPath.hasSuffix("/real/store-lock"))
    }

    @Test func `a new file is created at the target of a dangling link`() throws {
        symlink("../real/store", folder + "/home/link")
        symlink("link", folder + "/home/second")
        try put(try open(folder + "/home/second"), 1)
        #expect(access(path, F_OK) == 0)
        #expect(try FileLocation(folder + "/home/second").path.hasSuffix("/real/store"))
    }

    @Test func `circular links are an error`() throws {
        symlink("two", folder + "/home/one")
        symlink("one", folder + "/home/two")
        do {
            _ = try open(folder + "/home/one")
            Issue.record("it cannot be opened")
        } catch let error as StorageError {
            #expect(error.rawCode == ELOOP && error.file == folder + "/home/one")
        }
    }

    @Test
    func `a file with two hard links is refused under both names, and errors show the name given`()
        throws
    {
        do { _ = try open(path) }
        link(path, folder + "/home/other")
        for name in [path, folder + "/home/other"] {
            for readOnly in [false, true] {
                do {
                    _ = try open(name, readOnly: readOnly)
                    Issue.record("it has two names")
                } catch let error as StorageError {
                    #expect(error.code == .severalNames && error.file == name)
                }
            }
        }
        #expect(
            code { _ = try FileCompaction.compact(path: path, versions: Self.versions) }
                == .severalNames)
        unlink(folder + "/home/other")
        _ = try open(path)
    }

    @Test(arguments: ["-lock", "-log"])
    func `a link with the name of the lock file or the log is refused and its target stays`(
        suffix: String
    ) throws {
        do { try put(try open(path), 1) }
        let victim = folder + "/home/victim"
        write([1, 2, 3], to: victim)
        for isHard in [false, true] {
            unlink(path + suffix)
            if isHard { link(victim, path + suffix) } else { symlink(victim, path + suffix) }
            #expect(code { _ = try open(path) } == .foreignCompanion)
            if suffix == "-lock" {
                #expect(
                    code { _ = try FileCompaction.compact(path: path, versions: Self.versions) }
                        == .foreignCompanion)
            } else {
                #expect(code { _ = try LogFile(of: path, isMade: true) } == .foreignCompanion)
            }
            #expect(Platform.size(of: victim) == 3)
        }
    }

    @Test(.enabled(if: geteuid() == 0), arguments: ["-lock", "-log"])
    func `a lock file or log of a user who may not write the store is refused`(suffix: String)
        throws
    {
        let (owner, stranger, group): (uid_t, uid_t, gid_t) = (65_534, 1, 60)
        do { try put(try open(path), 1) }
        chown(path, owner, group)
        for (mode, isRefused) in [(mode_t(0o640), true), (0o660, false), (0o666, false)] {
            chmod(path, mode)
            for file in [path + "-lock", path + "-log"] { unlink(file) }
            write([], to: path + suffix)
            chown(path + suffix, stranger, group)
            chmod(path + suffix, 0o666)
            let thrown = code { try put(try open(path), 2) }
            #expect(thrown == (isRefused ? .foreignCompanion : nil), "\(mode)")
            #expect(!isRefused || Platform.size(of: path + suffix) == 0)
        }
    }

    @Test func `lock file and log follow the mode of the store at each opening`() throws {
        for expected: mode_t in [0o600, 0o660, 0o666, 0o644, 0o640, 0o440] {
            do { try put(try open(path), 1) }
            chmod(path, expected)
            if expected & 0o200 == 0 {
                _ = try open(path)
            } else {
                // The log begins with a write.
                try put(try open(path), 2)
            }
            #expect(mode(path) == expected)
            #expect(mode(path + "-lock") == expected | 0o200)
            chmod(path, 0o644)
        }
    }

    // MARK: Changes of the name

    @Test(arguments: [true, false])
    func `a file that is renamed after many writes is detected at the next write`(
        throughMap: Bool
    ) throws {
        let lease = try EnvironmentRegistry.open(
            path: path, options: EnvironmentOptions(writesThroughMap: throughMap),
            tables: Self.tables)
        // Waits until the path is no longer looked up for each write.
        let end = MonotonicClock.nanoseconds + 150_000_000
        var key: UInt64 = 0
        while MonotonicClock.nanoseconds < end {
            key += 1
            try put(lease, key % 50)
        }
        rename(path, path + "2")
        for _ in 0..<2 { #expect(code { try put(lease, 2) } == .replaced) }
        rename(path + "2", path)
        try put(lease, 2)
        link(path, path + "2")
        unlink(path)
        #expect(code { try put(lease, 2) } == .replaced)
        write([1], to: path)
        #expect(code { try put(lease, 3) } == .replaced)
        // This process still has the file open under its new name.
        #expect(code { _ = try open(path + "2") } == .inUse)
    }

    @Test func `a watch reports changes of content and names, but not those through a map`() throws
    {
        let descriptor = Platform.openDescriptor(path, O_RDWR | O_CREAT)
        defer { close(descriptor) }
        ftruncate(descriptor, 4096)
        let map = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
        defer { munmap(map, 4096) }
        let first = try #require(ChangeWatch(of: descriptor))
        var second = ChangeWatch(of: descriptor)
        let (other, third) = (path + "3", path + "2")
        #expect(!first.takeChange() && second?.takeChange() == false)
        let changes: [() -> Void] = [
            { pwrite(descriptor, "x", 1, 0) }, { ftruncate(descriptor, 8192) },
            { rename(path, other) }, { link(other, path) }, { unlink(other) },
            { write([1], to: third) }, { rename(third, path) },
        ]
        for (index, change) in changes.enumerated() {
            change()
            for watch in [first, second] {
                #expect(watch?.takeChange() == (index != 5), "\(index)")
                #expect(watch?.takeChange() == false)
            }
            map?.storeBytes(of: 7, toByteOffset: 9, as: UInt8.self)
            #expect(!first.takeChange())
            if index == 3 { second = ChangeWatch(of: descriptor) }
        }
    }

    @Test func `a write after the lock file was overwritten is refused`() throws {
        let lease = try open(path)
        for key in UInt64(0)..<9 { try put(lease, key) }
        let size = Platform.size(of: path + "-lock")
        FileImage.overwrite(path + "-lock", with: [UInt8](repeating: 0, count: size))
        #expect(code { try put(lease, 10) } == .replaced)
        #expect(lease.environment.latestVersion() > 0)
    }

    // MARK: Names of other files

    @Test(arguments: ["-lock", "-log"])
    func `a new file cannot have the name of the lock file or the log of a store`(suffix: String)
        throws
    {
        let lease = try open(path)
        try put(lease, 1)
        if suffix == "-log" { #expect(code { _ = try open(path + suffix) } == .reservedName) }
        let copy = { (isReplacing: Bool) in
            try lease.environment.copyCompacted(
                to: path + suffix, versions: Self.versions, isReplacing: isReplacing)
        }
        #expect(code { try copy(false) } == .reservedName)
        #expect(code { try copy(true) } == .reservedName)
        #expect(code { try ReservedName.requireNoStore(path + suffix) } == .reservedName)
        #expect(code { try ReservedName.requireNoStore(path) } == .exists)
        try ReservedName.requireNoStore(path + "2" + suffix)
    }

    @Test(arguments: ["-lock", "-log"])
    func `a store with the name of another store's lock file or log is not overwritten`(
        suffix: String
    ) throws {
        do { try put(try open(path), 1) }
        do { try put(try open(folder + "/real/other"), 1) }
        unlink(path + suffix)
        rename(folder + "/real/other", path + suffix)
        let content = FileImage(path + suffix).bytes
        #expect(code { _ = try open(path) } == .foreignCompanion)
        #expect(FileImage(path + suffix).bytes == content)
    }

    @Test func `a copy replaces neither its original, nor a folder, a pipe or a device`() throws {
        let lease = try open(path)
        try put(lease, 1)
        mkfifo(folder + "/home/pipe", 0o600)
        symlink("../real/store", folder + "/home/link")
        for name in [path, folder + "/home", folder + "/home/pipe", folder + "/home/link"] {
            var before = stat()
            var after = stat()
            try #require(stat(name, &before) == 0)
            for isReplacing in [false, true] {
                #expect(
                    code {
                        try lease.environment.copyCompacted(
                            to: name, versions: Self.versions, isReplacing: isReplacing)
                    } == .exists)
            }
            #expect(stat(name, &after) == 0 && after.st_ino == before.st_ino)
        }
        try put(lease, 2)
    }

    @Test func `compacting a link keeps the link, and the owner and mode of its target`() throws {
        do { for key in 0..<20 { try put(try open(path), UInt64(key)) } }
        chmod(path, 0o640)
        chown(path, 65_534, 65_534)
        symlink("../real/store", folder + "/home/link")
        _ = try FileCompaction.compact(path: folder + "/home/link", versions: Self.versions)
        var status = stat()
        #expect(lstat(folder + "/home/link", &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
        #expect(stat(path, &status) == 0 && status.st_mode & 0o7777 == 0o640)
        if geteuid() == 0 { #expect(status.st_uid == 65_534 && status.st_gid == 65_534) }
        let lease = try open(path)
        let read = try ReadTransaction(lease)
        #expect(try read.handle.get(lease.environment.tables[0], 19)?.count == 40)
    }

    @Test func `a copy has the mode of its original, and a replaced file keeps its own`() throws {
        let lease = try open(path)
        try put(lease, 1)
        chmod(path, 0o660)
        let copy = folder + "/home/copy"
        try lease.environment.copyCompacted(to: copy, versions: Self.versions)
        #expect(mode(copy) == 0o660)
        chmod(copy, 0o600)
        symlink("copy", folder + "/home/link")
        try lease.environment.copyCompacted(
            to: folder + "/home/link", versions: Self.versions, isReplacing: true)
        #expect(mode(copy) == 0o600)
        #expect(ProcessServices.names(in: folder + "/home")?.sorted() == ["copy", "link"])
    }

    // MARK: Creation

    @Test func `a new file gets its name when it is complete, with the mode of the umask`() throws {
        let before = umask(0o007)
        defer { umask(before) }
        let lease = try open(path)
        #expect(mode(path) == 0o660 && mode(path + "-lock") == 0o660)
        #expect(lease.environment.latestVersion() == 2)
        #expect(ProcessServices.names(in: folder + "/real")?.sorted() == ["store", "store-lock"])
    }

    @Test func `an empty file opens as a new file and keeps its mode`() throws {
        write([], to: path)
        chmod(path, 0o640)
        #expect(code { _ = try open(path, readOnly: true) } == .empty)
        try put(try open(path), 1)
        #expect(mode(path) == 0o640)
        #expect(try PageVerifier.faults(path: path, atMost: 5).isEmpty)
    }

    @Test(arguments: [1, 4096, 8192, 20_480]) func `zeros are not a new file`(size: Int) throws {
        let zeros = [UInt8](repeating: 0, count: size)
        write(zeros, to: path)
        for readOnly in [false, true] {
            #expect(code { _ = try open(path, readOnly: readOnly) } == .notAStore)
        }
        #expect(code { _ = try PageVerifier.faults(path: path, atMost: 5) } == .notAStore)
        #expect(Platform.size(of: path) == size)
    }

    @Test func `drafts of processes that were killed are removed, and others stay`() throws {
        let abandoned = path + ".copy-" + TemporaryName.random()
        write([1], to: abandoned)
        write([1], to: path + ".copy-notes")
        let present = try DraftCopy(beside: path, mode: 0o600)
        _ = try open(path)
        #expect(access(abandoned, F_OK) != 0)
        #expect(access(path + ".copy-notes", F_OK) == 0)
        #expect(access(present.path, F_OK) == 0)
    }

    @Test func `a file without a name contains data and leaves no temporary files`() throws {
        let options = EnvironmentOptions(mapSize: 1 << 28, writesThroughMap: true)
        let lease = try EnvironmentRegistry.open(
            AnonymousFile(), named: "nothing", options: options, tables: Self.tables)
        try put(lease, 1)
        let held = try ReadTransaction(lease)
        for key in 2..<50 { try put(lease, UInt64(key)) }
        #expect(try held.handle.get(lease.environment.tables[0], 2) == nil)
        #expect(access(lease.environment.path, F_OK) != 0)
        let copy = try AnonymousFile()
        try lease.environment.copyCompacted(to: copy, versions: Self.versions)
        let second = try EnvironmentRegistry.open(
            copy, named: "copy", options: options, tables: Self.tables)
        let read = try ReadTransaction(second)
        #expect(try read.handle.get(second.environment.tables[0], 49)?.count == 40)
    }

    @Test func `a copy of a file without a name has the mode of a new file`() throws {
        let lease = try EnvironmentRegistry.open(
            AnonymousFile(), named: "nothing", options: EnvironmentOptions(mapSize: 1 << 28),
            tables: Self.tables)
        let (copy, plain) = (folder + "/home/copy", folder + "/home/plain")
        try lease.environment.copyCompacted(to: copy, versions: Self.versions)
        close(Platform.openDescriptor(plain, O_WRONLY | O_CREAT, 0o666))
        #expect(mode(copy) == mode(plain))
    }

    @Test func `a byte-wise copy during a write is a valid version`() throws {
        let lease = try open(path)
        for key in 0..<50 { try put(lease, UInt64(key)) }
        let data = Platform.openDescriptor(path, O_RDONLY | O_CLOEXEC)
        defer { close(data) }
        let copy = try AnonymousFile()
        try FileSnapshot.copyNewest(of: data, path: path, to: copy.descriptor)
        let second = try EnvironmentRegistry.open(
            copy, named: "copy", options: EnvironmentOptions(readOnly: true), tables: Self.tables)
        let read = try ReadTransaction(second)
        #expect(read.version == lease.environment.latestVersion())
        #expect(try read.handle.get(second.environment.tables[0], 49)?.count == 40)
    }
}
