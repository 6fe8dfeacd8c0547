import LMDBStorage

@testable import ColumnStorage

/// An LMDB file in a new folder, which is removed at the end.
final class TemporaryEnvironment {
    private let files = TemporaryFolder()
    var folder: String { files.path }
    private(set) var lease: EnvironmentLease!

    init() throws { try open() }

    private func open() throws {
        lease = try EnvironmentRegistry.open(
            path: folder + "/file", options: EnvironmentOptions(mapSize: 1 << 30),
            tables: [
                TableName("blocks", .bytes), TableName("lists", .bytes),
                TableName("history", .integers), TableName("added", .bytes),
                TableName("removed", .bytes),
            ])
    }

    /// Closes the file and opens it again.
    func reopen() throws {
        lease = nil
        try open()
    }

    var blocks: Table { lease.environment.tables[0] }
    var lists: Table { lease.environment.tables[1] }
    var history: Table { lease.environment.tables[2] }

    /// Returns the tables of indexes, which have runs from a number of pages on.
    func indexTables(minPages: Int = .max, hasRuns: Bool = false) -> IndexTables {
        let pages = [0, 3, 4].map { IndexPages(lease.environment.tables[$0]) }
        return IndexTables(minPages: minPages, hasRuns: hasRuns) { pages[$0.rawValue] }
    }

    func beginWrite() throws -> WriteTransaction {
        try WriteTransaction(lease, durability: .memory)
    }

    func beginRead() throws -> ReadTransaction { try ReadTransaction(lease) }

    // The file must be closed before its folder is removed.
    deinit { lease = nil }
}

extension IndexTables {
    /// Invalidates the addresses of blocks of all levels.
    func invalidate() { for level in IndexLevel.allCases { pages(level).invalidate() } }
}
