import ColumnStorage
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The time and the author of a commit.
package struct CommitRecord: Sendable, Hashable {
    /// The time of the commit; for a commit of another process, the time when this process noticed the commit.
    package let time: Timestamp
    /// The name of the script that committed; empty for another process.
    package let script: String
    /// The id of the process that committed; 0 for another process.
    package let process: Int32
}

/// The latest commits of a file as this process saw them.
///
/// The log is used for versions whose entry in the file has no author.
final class CommitLog: Sendable {
    private struct State {
        var records: [UInt64: CommitRecord] = [:]
        var newest: UInt64 = 0
    }

    private static let limit: UInt64 = 16_384
    private let state = Mutex(State())

    /// Records a version, unless a script of this process is known to have committed it.
    func record(_ version: UInt64, _ record: CommitRecord) {
        state.withLock { state in
            if let known = state.records[version], !known.script.isEmpty || record.script.isEmpty {
                return
            }
            state.records[version] = record
            state.newest = max(state.newest, version)
            if version > Self.limit { state.records[version - Self.limit] = nil }
        }
    }

    /// Records that this process has noticed the versions after `seen`, up to the given one.
    func notice(upTo version: UInt64, after seen: UInt64) {
        // Of a long series, only the latest 64 versions are recorded.
        let first = max(seen + 1, version > 64 ? version - 64 : 1)
        guard first <= version else { return }
        let record = CommitRecord(time: .now, script: "", process: 0)
        for version in first...version { self.record(version, record) }
    }

    func find(_ version: UInt64) -> CommitRecord? { state.withLock { $0.records[version] } }
}

extension Store {
    /// Returns the time and the script of a commit, from the file or from the records of this process.
    package func commit(of version: UInt64) -> CommitRecord? {
        // because: a version that cannot be read has no author to show.
        if let entry = try? VersionHistory(snapshot: view.snapshot).entry(version),
            let author = entry.author
        {
            return CommitRecord(
                time: Timestamp(microseconds: author.time), script: author.script,
                process: author.process)
        }
        return coordinator.commits.find(version)
    }

    /// Records the script in the history, before the open transaction commits.
    func recordAuthor() {
        guard logsCommits else { return }
        view.snapshot.write?.author = VersionAuthor(
            time: Timestamp.now.microseconds, process: Self.processIdentifier,
            script: configuration.holder.script)
    }

    /// Whether commits are recorded with the names of their scripts.
    private var logsCommits: Bool { !configuration.holder.script.isEmpty }

    /// Records the commit that this store has just made, and the commits of other stores just before it.
    func recordCommit(after before: UInt64) {
        guard logsCommits else { return }
        if version > before + 1 {
            coordinator.commits.notice(upTo: version - 1, after: before)
        }
        coordinator.commits.record(
            version,
            CommitRecord(
                time: .now, script: configuration.holder.script, process: Self.processIdentifier))
    }

    /// Records commits of other stores that this store has just noticed.
    func recordOtherCommits(after before: UInt64) {
        guard logsCommits, version > before else { return }
        coordinator.commits.notice(upTo: version, after: before)
    }

    private static let processIdentifier = getpid()
}
