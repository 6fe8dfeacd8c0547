import LMDBStorage

// Links of many rows at once: where a condition on the linked rows was answered before, as a set.
extension TableReader {
    /// The rows among `among` whose link leads to one of `targets`; null leads nowhere.
    ///
    /// `among` must be rows that exist. Cost: a load and a bit test for each of them.
    package func matches(
        _ column: ColumnID, _ cluster: Int, linkedTo targets: TargetBits, among: ClusterBits
    ) -> ClusterBits {
        guard !among.isEmpty, let (leaf, kind) = self.column(column, cluster), kind == .link else {
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

    /// The rows of this table whose link or list in `column` holds one of `targets`.
    ///
    /// Cost: look-ups for a few targets, one pass through the index of the column for many.
    package func sources(of targets: RowSet, through column: ColumnID) -> RowSet {
        var found = RowSet(clusterCount: clusterCount)
        guard let index = intIndex(column) else { return found }
        let wanted = targets.count
        if wanted == 0 { return found }
        if wanted < count / 16 {
            targets.forEach { target in
                for source in sources(of: target, through: column) { found.insert(source) }
            }
            return found
        }
        _ = read { (transaction) throws(StorageError) in
            try index.forEach(in: transaction) { target, source in
                if targets.contains(ObjectKey(rawValue: target)) { found.insert(source) }
                return true
            }
        }
        return found
    }

    /// The rows of a table of `clusterCount` clusters to which the link or list in `column` of one
    /// of `sources`, rows of this table, leads.
    ///
    /// Cost: one pass through the index of the column.
    package func targets(
        of sources: RowSet, through column: ColumnID, clusterCount: Int
    ) -> RowSet {
        var found = RowSet(clusterCount: clusterCount)
        guard let index = intIndex(column) else { return found }
        _ = read { (transaction) throws(StorageError) in
            try index.forEach(in: transaction) { target, source in
                if sources.contains(source) { found.insert(ObjectKey(rawValue: target)) }
                return true
            }
        }
        return found
    }

    /// The value under a key of a row's map; nil without such a key, for a dead row and for another
    /// kind of column.
    ///
    /// An unreadable value is recorded in the snapshot's `damage` and counts as missing.
    package func mapValue(_ column: ColumnID, _ key: ObjectKey, _ name: [UInt8]) -> ListElement? {
        guard let map = map(column, key) else { return nil }
        do throws(StorageError) {
            return try map.value(name)
        } catch {
            source.note(error)
            return nil
        }
    }

    /// One element of a row's list; nil past its end, for a dead row and for another kind of
    /// column.
    ///
    /// An unreadable value is recorded in the snapshot's `damage` and counts as missing.
    package func listElement(
        _ column: ColumnID, _ key: ObjectKey, at position: Int
    ) -> ListElement? {
        guard position >= 0, let list = list(column, key) else { return nil }
        do throws(StorageError) {
            return try list.element(at: position)
        } catch {
            source.note(error)
            return nil
        }
    }
}
