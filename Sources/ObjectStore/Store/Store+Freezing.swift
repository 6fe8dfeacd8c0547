import ColumnStorage

extension Store {
    /// The present version, readable as long as the view exists.
    ///
    /// Returns the same view while the version is the same and the view exists. Cheap; keeps the version's pages in the
    /// file. Inside a write transaction it is the version before the write. ``pins()`` names the holder.
    ///
    /// Throws `closed`, `wrong_thread`.
    package func frozenView(for holder: VersionHolder = VersionHolder()) throws -> StoreView {
        try check()
        if let known = latestFrozen, known.version == view.version, !known.isClosed { return known }
        let snapshot = try StoreError.wrapping { () throws(StorageError) in
            try view.snapshot.frozen()
        }
        let pin = coordinator.pins.add(.frozen, holder, version: snapshot.version)
        let frozen = StoreView(
            schema: committedSchema, snapshot: snapshot, isFrozen: true, pin: pin)
        latestFrozen = frozen
        return frozen
    }

    /// The object at the present version, permanently; inside a write transaction the version before it.
    ///
    /// A frozen object is its own frozen form. Throws `invalid_object` for a deleted object,
    /// `already_in_write` for one that the open write has made, `closed`, `wrong_thread`.
    package func freeze(
        _ object: LiveObject, for holder: VersionHolder = VersionHolder()
    ) throws -> LiveObject {
        guard case .store = object.source else { return object }
        guard object.isValid else {
            try check()
            throw StoreError.deleted(object.classSchema.name)
        }
        let frozen = try frozenView(for: holder)
        guard frozen.isPresent(object.reference) else {
            throw StoreError(
                .alreadyInWrite,
                "this '\(object.classSchema.name)' was created in the open write and can be frozen "
                    + "when that is committed")
        }
        return LiveObject(.frozen(frozen), object.classSchema, object.key)
    }

    /// The live form of an object of this store's file: in the version that the store shows, which
    /// may be older or newer; nil if the object does not exist there.
    ///
    /// Throws `closed`, `wrong_thread`.
    package func thaw(_ object: LiveObject) throws -> LiveObject? {
        try check()
        guard view.isPresent(object.reference) else { return nil }
        return LiveObject(.store(self), object.classSchema, object.key)
    }

    /// The list at the present version, permanently; inside a write transaction the version before it.
    ///
    /// Throws as ``freeze(_:for:)-(LiveObject,_)``.
    package func freeze(
        _ list: LiveList, for holder: VersionHolder = VersionHolder()
    ) throws -> LiveList {
        let owner = try freeze(
            LiveObject(list.source, list.classSchema, list.owner), for: holder)
        return LiveList(owner.source, list.classSchema, list.property, list.owner)
    }

    /// The live form of a list; nil if the object that owns it does not exist in the store's version.
    ///
    /// Throws `closed`, `wrong_thread`.
    package func thaw(_ list: LiveList) throws -> LiveList? {
        try thaw(LiveObject(list.source, list.classSchema, list.owner)).map {
            LiveList($0.source, list.classSchema, list.property, list.owner)
        }
    }

    /// The list or map inside a mixed value as it is now, permanently; inside a write transaction as it was before.
    ///
    /// Throws as ``freeze(_:for:)-(LiveObject,_)``.
    package func freeze(
        _ nested: NestedCollection, for holder: VersionHolder = VersionHolder()
    ) throws -> NestedCollection {
        nested.moved(to: try freeze(nested.root.owner, for: holder).source)
    }

    /// The live form of a list or map inside a mixed value; nil if it does not exist in the store's version.
    ///
    /// Throws `closed`, `wrong_thread`.
    package func thaw(_ nested: NestedCollection) throws -> NestedCollection? {
        guard let owner = try thaw(nested.root.owner) else { return nil }
        let live = nested.moved(to: owner.source)
        return live.isValid ? live : nil
    }

    /// The values as they are now, permanently; inside a write transaction as they were before.
    ///
    /// Throws as ``freeze(_:for:)-(LiveObject,_)``.
    package func freeze(
        _ values: CollectionValues, for holder: VersionHolder = VersionHolder()
    ) throws -> CollectionValues {
        values.moved(to: try freeze(values.owner, for: holder).source)
    }

    /// The live form of values; nil if the object that owns them does not exist in the store's version.
    ///
    /// Throws `closed`, `wrong_thread`.
    package func thaw(_ values: CollectionValues) throws -> CollectionValues? {
        try thaw(values.owner).map { values.moved(to: $0.source) }
    }
}
