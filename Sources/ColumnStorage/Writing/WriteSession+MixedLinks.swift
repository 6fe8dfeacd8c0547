import LMDBStorage

// Links inside mixed values: an index from targets to holders, as for links.
extension WriteSession {
    /// Moves the entries of a row in the index of a mixed column from the links it holds to those of other bytes.
    ///
    /// Call it before the row is changed.
    func reindexMixed(
        _ overlay: TableOverlay, _ column: ColumnID, _ key: ObjectKey,
        to new: UnsafeRawBufferPointer?, isNew: Bool
    ) {
        guard let index = overlay.reader.intIndex(column) else { return }
        let (cluster, row) = place(key)
        let hadValue = !isNew && overlay.hadValue(column.rawValue + 1, cluster, row)
        let old = hadValue ? overlay.reader.borrowedBytes(column, key) : nil
        let oldCodes = old.map(MixedLinks.codes) ?? []
        let newCodes = new.map(MixedLinks.codes) ?? []
        if oldCodes == newCodes { return }
        do throws(StorageError) {
            for code in oldCodes { try index.remove(code, key, in: transaction.handle) }
            for code in newCodes { try index.insert(code, key, in: transaction.handle) }
        } catch { fail(error) }
    }

    /// The mixed columns of all tables: any of them may hold a link to any row.
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

    /// Makes every link to a row in mixed values nil.
    func unlinkMixed(_ table: TableID, _ key: ObjectKey) throws(StorageError) {
        let code = MixedLinks.code(table, key)
        for (source, column) in mixedColumns() {
            let reader = overlay(source).reader
            var last: ObjectKey?
            for owner in reader.holders(of: key, in: table, through: column.id) where owner != last
            {
                last = owner
                if column.kind == .list {
                    try list(source, column.id, owner).cutLinks(code)
                    continue
                }
                guard let bytes = reader.borrowedBytes(column.id, owner) else { continue }
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
    /// The rows whose mixed values in `column` hold a link to a row of `table`, ascending; a row that holds several is
    /// named as often.
    package func holders(
        of target: ObjectKey, in table: TableID, through column: ColumnID
    ) -> [ObjectKey] {
        guard let index = intIndex(column) else { return [] }
        let code = MixedLinks.code(table, target)
        return read { (transaction) throws(StorageError) in
            try index.keys(equalTo: code, in: transaction)
        } ?? []
    }

    /// The rows of `table` that the mixed values of a row lead to, in the order of the links.
    package func mixedTargets(
        _ row: ObjectKey, in table: TableID, through column: ColumnID
    ) -> [ObjectKey] {
        var codes: [Int64] = []
        if kind(of: column) == .list {
            for case .bytes(let bytes) in listElements(column, row) {
                codes += bytes.withUnsafeBytes { MixedLinks.codes(in: $0) }
            }
        } else if let bytes = borrowedBytes(column, row) {
            codes = MixedLinks.codes(in: bytes)
        }
        return codes.compactMap { MixedLinks.key(of: $0, in: table) }
    }
}
