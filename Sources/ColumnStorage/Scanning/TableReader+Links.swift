import LMDBStorage

// Links of many rows at once, for conditions on linked rows that were evaluated in advance.
extension TableReader {
    /// Returns those rows of `among` whose link is to one of `targets`; null links do not match.
    ///
    /// `among` must contain only existing rows. Takes a load and a bit test for each of them.
    package func matches(
        _ column: ColumnID, _ cluster: Int, linkedTo targets: TargetBits, among: ClusterBits
    ) throws(StorageError) -> ClusterBits {
        guard !among.isEmpty, let (leaf, kind) = try self.column(column, cluster), kind == .link
        else {
            return .zero
        }
        return targets.words.withUnsafeBufferPointer { words in
            switch leaf.encoding {
            case LeafEncoding.bits8: LinkKernels.rows(of: leaf, UInt8.self, words, among)
            case LeafEncoding.bits16: LinkKernels.rows(of: leaf, UInt16.self, words, among)
            case LeafEncoding.bits32: LinkKernels.rows(of: leaf, UInt32.self, words, among)
            case LeafEncoding.bits64: LinkKernels.rows(of: leaf, UInt64.self, words, among)
            default: LinkKernels.anyRows(of: leaf, words, among)
            }
        }
    }

    /// Returns the rows of this table whose link or list in `column` contains one of `targets`.
    ///
    /// Takes lookups for a few targets, and one pass through the index of the column for many.
    package func sources(of targets: RowSet, through column: ColumnID) throws(StorageError)
        -> RowSet
    {
        var found = RowSet(clusterCount: clusterCount)
        guard let index = intIndex(column) else { return found }
        let wanted = targets.count
        if wanted == 0 { return found }
        if wanted < count / 16 {
            try targets.forEach { target throws(StorageError) in
                for source in try sources(of: target, through: column) { found.insert(source) }
            }
            return found
        }
        _ = try read { (transaction) throws(StorageError) in
            try index.forEach(in: transaction) { target, source in
                if targets.contains(ObjectKey(rawValue: target)) { found.insert(source) }
                return true
            }
        }
        return found
    }

    /// Returns the rows of another table to which some rows of this table link.
    ///
    /// `sources` are the rows of this table, `column` is their link or list, and `clusterCount` is the number of
    /// clusters of the other table. Takes one pass through the index of the column.
    package func targets(
        of sources: RowSet, through column: ColumnID, clusterCount: Int
    ) throws(StorageError) -> RowSet {
        var found = RowSet(clusterCount: clusterCount)
        guard let index = intIndex(column) else { return found }
        _ = try read { (transaction) throws(StorageError) in
            try index.forEach(in: transaction) { target, source in
                if sources.contains(source) { found.insert(ObjectKey(rawValue: target)) }
                return true
            }
        }
        return found
    }

    /// Returns the value of a key in a row's map; nil for a missing key, a missing row and another kind of column.
    package func mapValue(_ column: ColumnID, _ key: ObjectKey, _ name: [UInt8])
        throws(StorageError) -> ListElement?
    {
        try map(column, key)?.value(name)
    }

    /// Returns one element of a row's list; nil past the end, for a missing row and for another kind of column.
    package func listElement(
        _ column: ColumnID, _ key: ObjectKey, at position: Int
    ) throws(StorageError) -> ListElement? {
        try list(column, key)?.element(at: position)
    }
}
