import CLMDB

/// A table of an environment: a map from key bytes to value bytes, opened with the file.
package struct Table: Hashable, Sendable {
    package let dbi: UInt32

    /// The table with the names of all other tables.
    ///
    /// Every commit that changes a table writes its page, so a small node next to the names costs no additional page.
    package static let names = Table(dbi: 1)
}

/// The size of a table.
package struct TableStatistics: Hashable, Sendable {
    /// The number of entries.
    package var entries: Int
    /// The number of pages of all kinds.
    package var pages: Int
    /// The height of the tree.
    package var depth: Int
}
