/// A handle of rows that can be observed: results, a list, set or map, or the plain values of a collection.
package protocol ObservableRows {
    /// The store, or the frozen view, from which the rows are read.
    var source: ObjectSource { get }
    /// Returns the collection that an observer follows.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    func observed() throws -> ObservedCollection
}

extension ObservableRows {
    /// Calls a handler with the rows at the next delivery, and again whenever they change.
    ///
    /// `keyPaths` name the properties whose changes count as modifications; without any, these are the properties of
    /// the row and of all objects within three links. Plain values have no properties, so key paths are not allowed for
    /// them. Rows that enter and leave are always reported. Setting an element of a collection to an equal value counts
    /// as a modification. `pace` delays calls, but never the first one.
    ///
    /// The token keeps the observation alive; the handle need not be kept. Throws `invalid_object` if the owner was
    /// deleted, `invalid_query` for an unknown key path, `frozen` for a frozen version, and the errors of
    /// ``Store/observe(name:_:)``.
    package func observe(
        keyPaths: [String] = [], name: String = "", pace: ObserverPace? = nil,
        _ handler: @escaping (CollectionChange) throws -> Void
    ) throws -> NotificationToken {
        let store = try source.observableStore()
        try store.check()
        return try store.observe(
            observed(), keyPaths: keyPaths, name: name, pace: pace, handler)
    }
}

extension Results: ObservableRows {
    package func observed() -> ObservedCollection { .objects(query) }
}

extension LiveCollection {
    package func observed() throws -> ObservedCollection {
        guard isValid else { throw StoreError.deleted(classSchema.name) }
        let target = source.view.schema.target(of: property)?.table
        if target != nil, property.collection != .map { return .objects(try Results(self).query) }
        return .elements(owner: header.object.reference, property, target: target)
    }
}

extension CollectionValues: ObservableRows {
    /// Returns the values that an observer follows.
    ///
    /// An element whose value is replaced remains a row, and counts as modified if its position among the others stays
    /// the same. A commit takes time in proportion to the touched elements, times the logarithm of the number of
    /// elements.
    package func observed() throws -> ObservedCollection {
        switch origin {
        case .property(let list):
            guard list.isValid else { throw StoreError.deleted(list.classSchema.name) }
            return .values(owner: owner.reference, list.property, steps)
        case .nested(let nested):
            _ = try nested.count()
            return .nested(nested.address, property, steps)
        }
    }
}

extension NestedCollection: ObservableRows {
    /// Returns the elements of the collection.
    ///
    /// The collection remains observed when enclosing lists change. When another value replaces the collection, the
    /// handler is called a last time, with all elements as deletions and an invalid collection.
    package func observed() throws -> ObservedCollection { try CollectionValues(self).observed() }
}

extension LiveObject {
    /// Calls a handler when the object changes, and once when it is deleted.
    ///
    /// Throws the errors of `Store.observe`, and `frozen` for a frozen object.
    public func observe(
        keyPaths: [String] = [], name: String = "", pace: ObserverPace? = nil,
        _ handler: @escaping (ObjectChange) throws -> Void
    ) throws -> NotificationToken {
        try source.observableStore().observe(
            reference, keyPaths: keyPaths, name: name, pace: pace, handler)
    }
}

extension ObjectSource {
    /// Returns the live store.
    ///
    /// Throws `frozen` for a frozen version.
    func observableStore() throws -> Store {
        guard case .store(let store) = self else {
            throw StoreError(
                .frozen, "a frozen version never changes, so it cannot be observed")
        }
        return store
    }
}
