import ColumnStorage

extension Store {
    /// Returns a view of the current version, which is readable while the view exists.
    ///
    /// Calls at the same version return the same view while it exists. A view is cheap to create, and keeps the
    /// version's pages in the file. Inside a write transaction, it shows the version before the write. ``pins()`` names
    /// the holder.
    ///
    /// Throws `closed`, `wrong_thread`.
    package func frozenView(for holder: VersionHolder = VersionHolder()) throws -> StoreView {
        try check()
        if let known = latestFrozen, known.version == view.version, !known.isClosed { return known }
        let snapshot = try StoreError.wrapping(view.snapshot.frozen())
        let pin = coordinator.pins.add(.frozen, holder, version: snapshot.version)
        let frozen = StoreView(
            schema: committedSchema, snapshot: snapshot, isFrozen: true, pin: pin)
        frozen.threads = view.threads
        latestFrozen = frozen
        return frozen
    }

    /// Returns the object frozen at the current version or, inside a write transaction, at the version before it.
    ///
    /// A frozen object is returned unchanged. Throws `invalid_object` for a deleted object, `already_in_write` for one
    /// that the open write has created, `closed`, `wrong_thread`.
    package func freeze(
        _ object: LiveObject, for holder: VersionHolder = VersionHolder()
    ) throws -> LiveObject {
        guard case .store = object.source else { return object }
        guard object.isValid else {
            try check()
            throw StoreError.deleted(object.classSchema.name)
        }
        let frozen = try frozenView(for: holder)
        guard try frozen.isPresent(object.reference) else {
            throw StoreError(
                .alreadyInWrite,
                "this '\(object.classSchema.name)' was created in the open write transaction; "
                    + "freeze it after the commit")
        }
        return LiveObject(.frozen(frozen), object.classSchema, object.key)
    }

    /// Returns the live form of an object of this store's file; nil if the object does not exist in the store's
    /// version.
    ///
    /// The store's version may be older or newer than that of the object. Throws `closed`, `wrong_thread`.
    package func thaw(_ object: LiveObject) throws -> LiveObject? {
        try check()
        guard try view.isPresent(object.reference) else { return nil }
        return LiveObject(.store(self), object.classSchema, object.key)
    }

    /// Returns the list or map inside a mixed value frozen at the current version.
    ///
    /// Inside a write transaction, it is frozen at the version before. Throws the errors of
    /// ``freeze(_:for:)-(LiveObject,_)``.
    package func freeze(
        _ nested: NestedCollection, for holder: VersionHolder = VersionHolder()
    ) throws -> NestedCollection {
        nested.moved(to: try freeze(nested.root.owner, for: holder).source)
    }

    /// Returns the live form of a list or map inside a mixed value; nil if it does not exist in the store's version.
    ///
    /// Throws `closed`, `wrong_thread`.
    package func thaw(_ nested: NestedCollection) throws -> NestedCollection? {
        guard let owner = try thaw(nested.root.owner) else { return nil }
        let live = nested.moved(to: owner.source)
        return live.isValid ? live : nil
    }

    /// Returns the values frozen at the current version or, inside a write transaction, at the version before it.
    ///
    /// Throws the errors of ``freeze(_:for:)-(LiveObject,_)``.
    package func freeze(
        _ values: CollectionValues, for holder: VersionHolder = VersionHolder()
    ) throws -> CollectionValues {
        values.moved(to: try freeze(values.owner, for: holder).source)
    }

    /// Returns the live form of values; nil if their owner does not exist in the store's version.
    ///
    /// Throws `closed`, `wrong_thread`.
    package func thaw(_ values: CollectionValues) throws -> CollectionValues? {
        try thaw(values.owner).map { values.moved(to: $0.source) }
    }
}
