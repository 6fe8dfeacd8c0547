import ColumnStorage
import EventLoops
import Glibc
import ScriptHost
import Testing

@testable import ObjectStore

/// Commits without a notification from a store of this process, like the commits of other processes.
@Suite struct CommitWatchTests {
    private let folder: Folder
    private let loop: EventLoop
    private var path: String { folder.path + "/zoo.moonpool" }

    init() throws {
        folder = try Folder()
        loop = try EventLoop()
        loop.attach()
    }

    private func follow(pause: Duration = .zero) throws -> FollowedStore {
        try FollowedStore(StoreConfiguration(.file(path)), on: loop, pause: pause)
    }

    /// Commits to the store's file.
    ///
    /// No process is signaled, because no other process has the file open.
    private func commit(beside store: Store) throws {
        let writer = try Snapshot(store.view.snapshot.file)
        _ = try writer.beginWrite()
        try writer.commit()
    }

    private func moves(_ store: Store, within time: Duration = .seconds(10)) -> Bool {
        let before = store.version
        return loop.wait(for: time) { store.version > before }
    }

    @Test func `a watch receives the commit of a process killed before its signal`() throws {
        let followed = try follow()
        defer { followed.close() }
        let process = try spawnHolding(path + "-lock")
        try commit(beside: followed.store)
        #expect(!moves(followed.store, within: .milliseconds(5)))
        kill(process, SIGKILL)
        #expect(moves(followed.store))
        var status: Int32 = 0
        waitpid(process, &status, 0)
    }

    @Test func `a watch polls if the system cannot watch files`() throws {
        // Keeps the file open, so that its lock file is not created again.
        let other = try follow()
        defer { other.close() }
        unlink(path + "-lock")
        let followed = try follow()
        defer { followed.close() }
        for _ in 1...2 {
            try commit(beside: followed.store)
            #expect(moves(followed.store))
        }
    }

    @Test func `a watch with a pause receives the commits of the pause after it`() throws {
        let followed = try follow(pause: .milliseconds(50))
        defer { followed.close() }
        for _ in 1...3 {
            try commit(beside: followed.store)
            try signal()
            #expect(moves(followed.store))
            // A commit in the pause, without a signal that anybody receives.
            try commit(beside: followed.store)
            #expect(moves(followed.store))
        }
    }

    @Test(arguments: [Duration.zero, .milliseconds(50)])
    func `a watch does not keep the loop alive, and can be ended`(pause: Duration) throws {
        let followed = try follow(pause: pause)
        try commit(beside: followed.store)
        try signal()
        #expect(moves(followed.store))
        #expect(!loop.isAlive)
        followed.close()
        followed.close()
        // libuv releases closed handles in a turn.
        loop.runOnce()
        #expect(!loop.isAlive)
    }

    /// Reads a byte of the lock file, as a process that commits does.
    private func signal() throws {
        let file = open(path + "-lock", O_RDONLY)
        try #require(file >= 0)
        defer { close(file) }
        var byte: UInt8 = 0
        #expect(read(file, &byte, 1) == 1)
    }

    /// Starts a process that only keeps a file open.
    private func spawnHolding(_ file: String) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 9, file, O_RDWR, 0)
        var arguments = [strdup("sleep"), strdup("60"), nil]
        defer { arguments.forEach { free($0) } }
        var process = pid_t()
        let code = posix_spawn(&process, "/bin/sleep", &actions, nil, &arguments, environ)
        try #require(code == 0)
        return process
    }
}
