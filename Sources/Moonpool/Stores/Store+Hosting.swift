import ColumnStorage
import ObjectStore

// The functions that a script engine needs to pass live values between scripts and Swift.
extension Store {
    /// Creates the typed store of an engine's store that scripts have opened.
    ///
    /// It belongs to the engine's thread. The error of a failed assignment is recorded for ``throwFailure()`` instead
    /// of ending the program.
    package convenience init(hosted engine: ObjectStore.Store) {
        self.init(ModelContext(.store(engine), scheduling: nil, isHosted: true))
    }

    /// Returns an object as a live object.
    ///
    /// Throws `unknown_class`, `invalid_schema` for a model that cannot be stored, `type_mismatch` if the class differs
    /// from the model.
    package func hosted<M: ObjectModel>(_ object: LiveObject) throws -> Live<M> {
        Live(try checkedTable(M.self), object.key)
    }

    /// Returns a frozen copy of an object, for any thread.
    ///
    /// Throws the errors of ``hosted(_:)``, and `invalid_object` for a deleted object, `already_in_write` if the open
    /// write has created it.
    package func hostedFrozen<M: Model>(_ object: LiveObject) throws -> Frozen<M> {
        let table = try checkedTable(M.self)
        guard case .frozen(let view) = object.source else {
            return try Live<M>(table, object.key).freeze()
        }
        return Frozen(try FrozenVersion.of(view, leftBy: context), object.key)
    }

    /// Returns results as typed results.
    ///
    /// Throws the errors of ``hosted(_:)``.
    package func hosted<M: Model>(_ results: ObjectStore.Results) throws -> Results<M> {
        Results(try checkedTable(M.self), results)
    }

    /// Returns a list as a typed list.
    ///
    /// Throws `type_mismatch` for elements of another type.
    package func hosted<E: StoredValue>(_ list: ObjectStore.LiveList) throws -> LiveList<E> {
        try check(list.property, holds: E.storedType.collected(in: .list))
        return LiveList(list, context)
    }

    /// Returns a set as a typed set.
    ///
    /// Throws `type_mismatch` for elements of another type.
    package func hosted<E: StoredValue>(_ set: ObjectStore.LiveSet) throws -> LiveSet<E> {
        try check(set.property, holds: E.storedType.collected(in: .set))
        return LiveSet(set, context)
    }

    /// Returns a map as a typed map.
    ///
    /// Throws `type_mismatch` for values of another type.
    package func hosted<E: StoredValue>(_ map: ObjectStore.LiveMap) throws -> LiveMap<E> {
        try check(map.property, holds: E.storedType.collected(in: .map))
        return LiveMap(map, context)
    }

    private func check(_ found: Property, holds type: StoredType) throws {
        let expected = Property(
            found.name, type.type, isOptional: type.isOptional, collection: type.collection,
            target: type.target?.className)
        guard found.typeName != expected.typeName else { return }
        throw StoreError(
            .typeMismatch, "'\(found.name)' is \(found.typeName), not \(expected.typeName)")
    }

    /// Returns the table of a model after comparing the model with the class of the store.
    private func checkedTable<M: ObjectModel>(_ type: M.Type) throws -> ModelTable {
        let table = try table(type)
        guard !table.isVerified else { return table }
        for expected in try table.description.classSchema().properties {
            let found = table.classSchema.property(named: expected.name)
            guard found?.typeName != expected.typeName else { continue }
            throw StoreError(
                .typeMismatch,
                "the class '\(M.className)' of this store differs from the model: '\(expected.name)' is "
                    + "\(found?.typeName ?? "missing"), not \(expected.typeName)")
        }
        table.isVerified = true
        return table
    }

    /// Runs `body` in the open write, or in a new write.
    package func writeJoining<R>(_ body: (Transaction) throws -> R) throws -> R {
        guard engine.isInWrite else { return try writeNow(body) }
        let transaction = Transaction(self)
        defer { transaction.end() }
        let result = try body(transaction)
        try throwFailure()
        return result
    }

    /// Throws the first error of an assignment since the last call.
    package func throwFailure() throws {
        defer { context.forgetFailure() }
        try context.checkFailure()
    }
}

extension Live {
    /// The engine's object.
    package var engineObject: LiveObject { modelTable.liveObject(objectKey) }
}

extension Frozen {
    /// Returns the object in a view that a store of the same file can read; nil for a store of another file.
    ///
    /// Throws `unknown_class`, `closed`.
    package func hosted(by engine: ObjectStore.Store) throws -> LiveObject? {
        guard frozenVersion.belongs(to: engine) else { return nil }
        return try frozenVersion.read { context in
            let view = try engine.sharedView(of: context.source.view)
            return ObjectSource.frozen(view).object(
                try view.schema.require(M.className), objectKey)
        }
    }
}

extension Results {
    /// The engine's results.
    package var engineForHosts: ObjectStore.Results { engineResults }
}

extension LiveList {
    /// The engine's list.
    package var engineForHosts: ObjectStore.LiveList { get throws { try content.stored.engine } }
}

extension LiveSet {
    /// The engine's set.
    package var engineForHosts: ObjectStore.LiveSet { get throws { try content.stored.engine } }
}

extension LiveMap {
    /// The engine's map.
    package var engineForHosts: ObjectStore.LiveMap { get throws { try content.stored.engine } }
}

extension ObjectID {
    /// The identifier of an engine's object.
    package init(of object: LiveObject) {
        self.init(object.key, in: object.source.view.fileNumber)
    }
}
