import ObjectStore
import Replication
import Transfer

/// Messages of commits, which are read from the newest to the oldest.
///
/// Keeps the oldest commits that fit into a limit.
struct PreparedCommits {
    /// A commit.
    struct Commit {
        let version: UInt64
        let since: UInt64
        let parts: [[UInt8]]
        var size: Int { parts.reduce(0) { $0 + $1.count } }
    }

    private let limit: Int
    /// The messages of each commit; the newest commit comes first.
    private var commits: [Commit] = []
    private var size = 0

    /// Creates an empty collection with a limit in bytes.
    init(limit: Int) { self.limit = limit }

    /// Adds a commit that is older than all others.
    ///
    /// Drops the newest commits if all together exceed the limit; drops all of them if this commit alone exceeds it.
    mutating func add(
        _ commit: CommitReader.Commit, partSize: Int, _ catalog: [UInt8], known: Schema?
    ) throws {
        let limit = limit
        var parts: [[UInt8]] = []
        var partBytes = 0
        var lines = ReplicationLines(partSize: partSize) { part in
            partBytes += part.count
            guard partBytes <= limit else { throw TooLarge() }
            parts.append(part)
        }
        do {
            parts.append(
                try lines.commit(commit.change, since: commit.since, catalog: catalog, known: known)
            )
        } catch is TooLarge {
            commits = []
            size = 0
            return
        }
        let added = Commit(version: commit.version, since: commit.since, parts: parts)
        assert(
            commits.last.map { added.version <= $0.since } ?? true,
            "commits are added from the newest to the oldest")
        commits.append(added)
        size += added.size
        while size > limit {
            // Removing half of the commits at a time moves each commit only a few times.
            let dropped = max(1, commits.count / 2)
            size -= commits.prefix(dropped).reduce(0) { $0 + $1.size }
            commits.removeFirst(dropped)
        }
        assert(
            commits.isEmpty == (size == 0), "the size is that of the kept commits")
    }

    private struct TooLarge: Error {}

    /// Whether the collection is empty.
    var isEmpty: Bool { commits.isEmpty }

    /// Calls `body` with each commit, the oldest first.
    func forEachOldestFirst(_ body: (Commit, _ isLast: Bool) throws -> Void) rethrows {
        for index in commits.indices.reversed() { try body(commits[index], index == 0) }
    }
}
