import LMDBStorage

// Links inside mixed values, with an index from targets to the rows that contain the links.
extension WriteSession {
    /// Moves the entries of a row in the index of a mixed column from its current links to the links in other bytes.
    ///
    /// Call it before the row is changed.
    func reindexMixed(
        _ overlay: TableOverlay, _ column: ColumnID, _ key: ObjectKey,
        to new: UnsafeRawBufferPointer?, isNew: Bool
    ) {
        guard let index = overlay.reader.intIndex(column) else { return }
        let (cluster, row) = position(of: key)
        let hadValue = !isNew && overlay.hadValue(column.rawValue + 1, cluster, row)
        let old = reading(or: nil) { () throws(StorageError) in
            hadValue ? try overlay.reader.borrowedBytes(column, key) : nil
        }
        let oldCodes = old.map(MixedLinks.codes) ?? []
        let newCodes = new.map(MixedLinks.codes) ?? []
        if oldCodes == newCodes { return }
        do throws(StorageError) {
            for code in oldCodes { try index.remove(code, key, in: transaction.handle) }
            for code in newCodes { try index.insert(code, key, in: transaction.handle) }
        } catch { fail(error) }
    }

    /// Returns the mixed columns of all tables; each may have a link to any row.
    func mixedColumns() -> [(table: TableID, column: ColumnDefinition)] {
        if let knownMixedColumns { return knownMixedColumns }
        var found: [(table: TableID, column: ColumnDefinition)] = []
        for definition in snapshot.source.definitions.values {
            for column in definition.columns where column.isMixed && !column.isDropped {
                found.append((definition.id, column))
            }
        }
        knownMixedColumns = found
        return found
    }

    /// Sets every link to a row in mixed values to nil.
    func unlinkMixed(_ table: TableID, _ key: ObjectKey) throws(StorageError) {
        let code = MixedLinks.code(table, key)
        for (source, column) in mixedColumns() {
            let reader = overlay(source).reader
            var last: ObjectKey?
            for owner in try reader.holders(of: key, in: table, through: column.id)
            where owner != last {
                last = owner
                if column.kind == .list {
                    try list(source, column.id, owner).cutLinks(code)
                    continue
                }
                guard let bytes = try reader.borrowedBytes(column.id, owner) else { continue }
                if let left = MixedLinks.cutting(code, in: [UInt8](bytes)) {
                    set(source, column.id, owner, bytes: left)
                } else {
                    setNull(source, column.id, owner)
                }
            }
        }
    }
}

extension TableReader {
    /// Returns the rows whose mixed values in `column` have a link to a row of `table`, ascending; a row occurs once
    /// for each link.
    package func holders(
        of target: ObjectKey, in table: TableID, through column: ColumnID
    ) throws(StorageError) -> [ObjectKey] {
        guard let index = intIndex(column) else { return [] }
        let code = MixedLinks.code(table, target)
        return try read { (transaction) throws(StorageError) in
            try index.keys(equalTo: code, in: transaction)
        } ?? []
    }

    /// Returns the rows of `table` to which the mixed values of a row link, in the order of the links.
    package func mixedTargets(
        _ row: ObjectKey, in table: TableID, through column: ColumnID
    ) throws(StorageError) -> [ObjectKey] {
        var codes: [Int64] = []
        if kind(of: column) == .list {
            for case .bytes(let bytes) in try listElements(column, row) {
                codes += bytes.withUnsafeBytes { MixedLinks.codes(in: $0) }
            }
        } else if let bytes = try borrowedBytes(column, row) {
            codes = MixedLinks.codes(in: bytes)
        }
        return codes.compactMap { MixedLinks.key(of: $0, in: table) }
    }
}
