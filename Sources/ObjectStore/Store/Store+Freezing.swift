import ColumnStorage

extension Store {
    /// The present version, which can be read for as long as somebody holds it.
    ///
    /// Cheap; keeps the version's pages in the file.
    ///
    /// Throws `already_in_write` inside a write transaction, `closed`, `wrong_thread`.
    public func frozenView() throws -> StoreView {
        try check()
        guard !isInWrite else {
            throw StoreError(
                .alreadyInWrite,
                "a version cannot be frozen inside a write transaction; commit it first")
        }
        let snapshot = try StoreError.wrapping { () throws(StorageError) in
            try view.snapshot.frozen()
        }
        return StoreView(schema: view.schema, snapshot: snapshot, isFrozen: true)
    }
}
