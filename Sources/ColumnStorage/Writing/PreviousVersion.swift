import LMDBStorage

/// The version before an open write, for reading the values that the write has replaced.
///
/// A snapshot's workspace keeps it, so the readers need not be created for every commit; between commits it pins no
/// version.
final class PreviousVersion {
    private let source: SnapshotSource
    @exclusivity(unchecked) private var tables: SortedMap<TableID, TableReader> = SortedMap()

    init(_ file: ColumnFile, _ reader: ReadTransaction) {
        source = SnapshotSource(file, reader)
    }

    /// Begins reading this version, until ``end()``.
    func begin(_ reader: ReadTransaction) { source.move(to: reader) }

    /// Releases the version.
    func end() { source.close() }

    /// Returns the table in its state before the write touched it.
    func table(_ overlay: TableOverlay) throws(StorageError) -> TableReader {
        assert(source.reader != nil, "the previous version is read between begin and end")
        let definition = overlay.reader.definition
        guard let known = tables[overlay.id] else {
            source.define(definition)
            let created = TableReader(overlay.id, source)
            try created.open()
            tables[overlay.id] = created
            return created
        }
        if known.definition != definition {
            source.define(definition)
            try known.configure(definition)
        }
        known.state.pointee.advanceEpoch()
        try known.setBounds(overlay.headBefore)
        for (key, address) in overlay.origins where key.cluster < known.clusterCount {
            known.enter(key.slot, key.cluster, address)
        }
        return known
    }
}
