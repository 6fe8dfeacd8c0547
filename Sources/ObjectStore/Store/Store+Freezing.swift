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

    /// Returns a value frozen at the current version or, inside a write transaction, at the version before it.
    ///
    /// Throws the errors of ``freeze(_:for:)-(LiveObject,_)`` for the object to which the value belongs.
    package func freeze(
        _ value: ReferencedValue, for holder: VersionHolder = VersionHolder()
    ) throws -> ReferencedValue {
        if let owner = value.owner { return value.moved(to: try freeze(owner, for: holder).source) }
        return value.moved(to: .frozen(try frozenView(for: holder)))
    }

    /// Returns the live form of a value; nil if it does not exist in the store's version.
    ///
    /// Throws `closed`, `wrong_thread`.
    package func thaw(_ value: ReferencedValue) throws -> ReferencedValue? {
        try check()
        if let owner = value.owner, try thaw(owner) == nil { return nil }
        let live = value.moved(to: .store(self))
        return live.nested?.isValid == false ? nil : live
    }
}
