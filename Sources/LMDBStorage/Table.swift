import CLMDB

/// A table of an environment: a map from key bytes to value bytes, opened with the file.
public struct Table: Hashable, Sendable {
    package let dbi: UInt32
}

/// How much a table holds.
public struct TableStatistics: Hashable, Sendable {
    /// The number of entries.
    public var entries: Int
    /// The number of pages of all kinds.
    public var pages: Int
    /// The height of the tree.
    public var depth: Int
}
