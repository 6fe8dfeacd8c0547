import CLMDB

/// A table of an environment: a map from key bytes to value bytes, opened with the file.
package struct Table: Hashable, Sendable {
    package let dbi: UInt32

    /// The table that names all others.
    ///
    /// A commit that changes any table writes its page, so that a small node beside the names costs no page.
    package static let names = Table(dbi: 1)
}

/// How much a table holds.
package struct TableStatistics: Hashable, Sendable {
    /// The number of entries.
    package var entries: Int
    /// The number of pages of all kinds.
    package var pages: Int
    /// The height of the tree.
    package var depth: Int
}
