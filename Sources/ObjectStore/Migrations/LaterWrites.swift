import ColumnStorage

/// The writes that a store received after a migration, applied to a copy of the file from before the migration.
///
/// A file identifies objects by keys and properties by columns. Migrations keep both, and no key or column is reused. A
/// later write therefore applies to the copy wherever the copy has the object and a property with the same column and
/// type. A value of another type is converted if the conversion is exact. All other values are listed in ``losses``.
package struct LaterWrites: Sendable {
    /// The reasons why a value or an object is not in the copy.
    package enum Reason: Hashable, Sendable {
        /// The schema before the migration has no such class or property.
        case noSuchProperty
        /// The value does not convert exactly to the earlier type, or the property requires a value.
        case notConvertible
        /// The object, or the object that the value links to, was created by the migration.
        case createdByMigration
        /// An object that was created later has no value for a required property of the earlier schema.
        case missingValue
        /// The copy rejects the object or the value with this message.
        case refused(String)
    }

    /// Values or objects that are not in the copy.
    package struct Loss: Hashable, Sendable {
        /// The qualified name of the loss: `Class.property`, or the name of a class.
        package let qualifiedName: String
        /// The reason for the loss.
        package let reason: Reason
        /// The number of lost values, or of lost objects of the class.
        package let count: Int
    }

    /// The number of commits since the migration.
    package let commits: Int
    /// The version of the copy before the writes were applied to it.
    package let baseVersion: UInt64
    /// The number of objects that were created in the copy.
    package fileprivate(set) var created = 0
    /// The number of objects of the copy that were changed.
    package fileprivate(set) var changed = 0
    /// The number of objects that were deleted from the copy.
    package fileprivate(set) var deleted = 0
    /// The values and objects that are not in the copy, by qualified name.
    package fileprivate(set) var losses: [Loss] = []

    fileprivate init(commits: Int, baseVersion: UInt64) {
        self.commits = commits
        self.baseVersion = baseVersion
    }
}

extension Store {
    /// Applies the writes since a version to a copy of the file from before that version, in one transaction.
    ///
    /// Returns nil, with the copy unchanged, if the history does not contain all of these writes. Takes time in
    /// proportion to their changes. Throws the errors of opening the copy and of writing to it.
    package func applyWrites(since version: UInt64, toCopyAt path: String) throws -> LaterWrites? {
        try check()
        guard let changes = try changes(since: version) else { return nil }
        let copy = try openNewest(path)
        defer { copy.close() }
        let writes = LaterWrites(
            commits: Int(view.version - version), baseVersion: copy.version)
        guard !changes.isEmpty else { return writes }
        let (present, before) = (try frozenView(), try copy.frozenView())
        defer {
            present.close()
            before.close()
        }
        var result = writes
        try copy.write {
            result = try LaterWriting(writes, present: present, before: before, copy: copy).apply(
                changes)
        }
        return result
    }

    /// Opens a copy of the file.
    ///
    /// A copy with a started migration is opened with the new schema, which the later writes have used.
    private func openNewest(_ path: String) throws -> Store {
        var configuration = StoreConfiguration(.file(path))
        configuration.conversions = self.configuration.conversions
        let copy = try Store(configuration, scheduler: scheduler)
        guard let transition = copy.fileSchema.transition else { return copy }
        copy.close()
        configuration.schemaVersion = transition.new.version
        return try Store(configuration, scheduler: scheduler)
    }

    /// Returns the changes since a version; nil if the version is unknown (0), or the history does not reach back to
    /// it.
    package func changes(since version: UInt64) throws -> ChangeSet? {
        guard version > 0, version <= view.version else { return nil }
        guard version < view.version else { return ChangeSet() }
        return try StoreError.wrapping(view.snapshot.changes(from: version, to: view.version))
    }

    /// Returns the number of existing objects in which a property was set since a version.
    ///
    /// `qualifiedName` is `Class.property`, or the name of a class, whose objects are counted.
    package func writtenCount(_ qualifiedName: String, in changes: ChangeSet) throws -> Int {
        let parts = qualifiedName.split(separator: ".", maxSplits: 1).map(String.init)
        guard let classSchema = parts.first.flatMap(view.schema.find),
            let changed = changes.tables[classSchema.table]
        else { return 0 }
        guard parts.count > 1 else { return changed.inserted.union(changed.modifiedRows).count }
        guard let property = classSchema.property(named: parts[1]) else { return 0 }
        let keys = changed.inserted.union(changed.modified[property.column] ?? KeySet())
        return try keys.filter { key in
            guard try view.isPresent(ObjectReference(table: classSchema.table, key: key)) else {
                return false
            }
            let value = try view.value(property, of: key, in: classSchema)
            return value != .null && !value.isEmptyCollection
        }.count
    }
}

/// Applies later writes in the open write transaction of the copy.
private final class LaterWriting {
    /// The current version of the store, which has the later writes.
    private let present: StoreView
    /// The copy before the writes were applied.
    private let before: StoreView
    private let copy: Store
    private let writer: ObjectWriter
    private var result: LaterWrites
    /// The object in the copy for each object that was created later.
    private var created: [ObjectReference: ObjectReference] = [:]
    /// Embedded objects whose values were written together with their owners.
    private var embedded: Set<ObjectReference> = []
    private var losses: [LossKey: Int] = [:]
    private var unknownObjects: Set<ObjectReference> = []

    private struct LossKey: Hashable {
        let qualifiedName: String
        let reason: LaterWrites.Reason
    }

    init(
        _ result: LaterWrites, present: StoreView, before: StoreView, copy: Store
    ) throws {
        self.result = result
        self.present = present
        self.before = before
        self.copy = copy
        writer = try copy.writer(changing: "the copy")
    }

    func apply(_ changes: ChangeSet) throws -> LaterWrites {
        var pairs: [(later: ClassSchema, earlier: ClassSchema, changes: TableChanges)] = []
        for (table, changed) in changes.tables {
            guard let later = present.schema.find(table: table) else { continue }
            guard let earlier = copy.view.schema.find(table: table),
                earlier.isEmbedded == later.isEmbedded
            else {
                if later.isEmbedded {
                    // New embedded objects are reported by the properties that contain them.
                    for (column, keys) in changed.modified {
                        guard let property = later.property(in: column) else { continue }
                        lose("\(later.name).\(property.name)", .noSuchProperty, keys.count)
                    }
                } else {
                    lose(
                        later.name, .noSuchProperty,
                        changed.inserted.count + changed.modifiedRows.count)
                }
                continue
            }
            pairs.append((later, earlier, changed))
        }
        for (_, earlier, changed) in pairs where !earlier.isEmbedded {
            for key in changed.deleted where try copy.view.table(earlier).isPresent(key) {
                try writer.delete(key, in: earlier)
                result.deleted += 1
            }
        }
        for (later, earlier, changed) in pairs where !earlier.isEmbedded {
            for key in changed.inserted { try create(key, later, earlier) }
        }
        for (later, earlier, changed) in pairs where !earlier.isEmbedded {
            for key in changed.inserted { try link(key, later, earlier) }
        }
        // Owners come first, so that a replaced embedded object already has its values.
        for isEmbedded in [false, true] {
            for (later, earlier, changed) in pairs where earlier.isEmbedded == isEmbedded {
                try modify(changed, later, earlier)
            }
        }
        for object in unknownObjects {
            guard let name = present.schema.find(table: object.table)?.name else { continue }
            lose(name, .createdByMigration, 1)
        }
        assert(result.created == created.count, "each later object is created once")
        result.losses = losses.map {
            LaterWrites.Loss(
                qualifiedName: $0.key.qualifiedName, reason: $0.key.reason, count: $0.value)
        }.sorted { ($0.qualifiedName, "\($0.reason)") < ($1.qualifiedName, "\($1.reason)") }
        return result
    }

    private func lose(_ qualifiedName: String, _ reason: LaterWrites.Reason, _ count: Int = 1) {
        guard count > 0 else { return }
        losses[LossKey(qualifiedName: qualifiedName, reason: reason), default: 0] += count
    }

    // MARK: Objects

    private func create(
        _ key: ObjectKey, _ later: ClassSchema, _ earlier: ClassSchema
    ) throws {
        var values: ValueMap = [:]
        for property in earlier.properties where !property.isBacklinks && !property.canHoldLinks {
            guard let source = source(of: property, later, earlier) else {
                guard property.isSingle, !property.isOptional, property.defaultValue == nil else {
                    continue
                }
                values[property.name] = property.type.zero
                lose("\(earlier.name).\(property.name)", .missingValue)
                continue
            }
            let value = try present.value(source, of: key, in: later)
            if let value = try translated(value, to: property, earlier) {
                values[property.name] = value
            } else if property.isSingle, !property.isOptional {
                values[property.name] = property.defaultValue ?? property.type.zero
            }
        }
        try recordNewProperties(later, earlier, [key])
        do {
            let new = try ObjectCreation(writer).create(earlier, .dictionary(values))
            created[ObjectReference(table: later.table, key: key)] = ObjectReference(
                table: earlier.table, key: new)
            result.created += 1
        } catch let error as StoreError
            where [.duplicateKey, .missingValue, .typeMismatch].contains(error.code)
        {
            lose(earlier.name, .refused(error.cause))
        }
    }

    private func link(_ key: ObjectKey, _ later: ClassSchema, _ earlier: ClassSchema) throws {
        guard let new = created[ObjectReference(table: later.table, key: key)] else { return }
        for property in earlier.properties where property.canHoldLinks && !property.isBacklinks {
            guard let source = source(of: property, later, earlier) else { continue }
            let value = try present.value(source, of: key, in: later)
            guard value != .null, !value.isEmptyCollection else { continue }
            try set(property, of: new.key, in: earlier, to: value)
        }
    }

    private func modify(
        _ changed: TableChanges, _ later: ClassSchema, _ earlier: ClassSchema
    ) throws {
        var rows = KeySet()
        try recordNewProperties(later, earlier, changed.modified)
        for (column, keys) in changed.modified {
            guard let source = later.property(in: column),
                let property = earlier.properties.first(where: {
                    self.source(of: $0, later, earlier)?.column == column
                })
            else { continue }
            for key in keys {
                let object = ObjectReference(table: later.table, key: key)
                guard try before.isPresent(object) else {
                    if !embedded.contains(object) { unknownObjects.insert(object) }
                    continue
                }
                // The embedded object no longer exists if its owner has received another one since.
                guard try copy.view.table(earlier).isPresent(key) else { continue }
                guard !property.isPrimary else {
                    lose("\(earlier.name).\(property.name)", .refused("it is the primary key"))
                    continue
                }
                let value = try present.value(source, of: key, in: later)
                try set(property, of: key, in: earlier, to: value)
                rows.insert(key)
            }
        }
        result.changed += rows.count
    }

    private func set(
        _ property: Property, of key: ObjectKey, in classSchema: ClassSchema, to value: Value
    ) throws {
        guard let value = try translated(value, to: property, classSchema) else { return }
        do {
            try writer.set(property, of: key, in: classSchema, to: value)
        } catch let error as StoreError
            where [.duplicateKey, .typeMismatch, .invalidObject].contains(error.code)
        {
            lose("\(classSchema.name).\(property.name)", .refused(error.cause))
        }
    }

    // MARK: Properties

    /// Returns the later property that has the values of a property of the earlier schema.
    private func source(
        of property: Property, _ later: ClassSchema, _ earlier: ClassSchema
    ) -> Property? {
        if let same = later.property(in: property.column) {
            let isSame =
                same.type == property.type && same.collection == property.collection
                && present.schema.target(of: same)?.table
                    == copy.view.schema.target(of: property)?.table
            return isSame ? same : nil
        }
        // A property whose type changed has its values in another column.
        guard let named = later.property(named: property.name), !named.isBacklinks,
            named.type != .object, property.type != .object,
            earlier.property(in: named.column) == nil
        else { return nil }
        return named
    }

    /// Counts values of properties that the earlier schema does not have.
    private func recordNewProperties(
        _ later: ClassSchema, _ earlier: ClassSchema, _ modified: SortedMap<ColumnID, KeySet>
    ) throws {
        for (column, keys) in modified {
            guard let property = later.property(in: column) else { continue }
            try recordNewProperty(property, of: later, notIn: earlier, in: keys)
        }
    }

    private func recordNewProperties(
        _ later: ClassSchema, _ earlier: ClassSchema, _ keys: KeySet
    ) throws {
        for property in later.properties where !property.isBacklinks {
            try recordNewProperty(property, of: later, notIn: earlier, in: keys)
        }
    }

    private func recordNewProperty(
        _ property: Property, of later: ClassSchema, notIn earlier: ClassSchema, in keys: KeySet
    ) throws {
        let isKnown = earlier.properties.contains {
            !$0.isBacklinks && source(of: $0, later, earlier)?.column == property.column
        }
        guard !isKnown else { return }
        let count = try keys.filter { key in
            guard try present.isPresent(ObjectReference(table: later.table, key: key)) else {
                return false
            }
            let value = try present.value(property, of: key, in: later)
            return value != .null && !value.isEmptyCollection
        }.count
        lose("\(later.name).\(property.name)", .noSuchProperty, count)
    }

    // MARK: Values

    /// Converts a value of the store for a property of the copy; returns nil and counts a loss if that is not possible.
    private func translated(
        _ value: Value, to property: Property, _ classSchema: ClassSchema
    ) throws -> Value? {
        let qualifiedName = "\(classSchema.name).\(property.name)"
        if property.canHoldLinks { return try translatedLinks(value, qualifiedName) }
        guard let converted = ExactConversion.convert(value, to: property),
            converted != .null || property.isOptional || !property.isSingle
        else {
            lose(qualifiedName, .notConvertible)
            return nil
        }
        return converted
    }

    private func translatedLinks(_ value: Value, _ qualifiedName: String) throws -> Value {
        switch value {
        case .object(let reference):
            guard let classSchema = present.schema.find(table: reference.table) else {
                return .null
            }
            if classSchema.isEmbedded {
                return try embeddedValues(reference, classSchema).map { .dictionary($0) } ?? .null
            }
            if let new = created[reference] { return .object(new) }
            if try before.isPresent(reference) {
                return try copy.view.isPresent(reference) ? value : .null
            }
            lose(qualifiedName, .createdByMigration)
            return .null
        case .list(let elements):
            return .list(
                try elements.compactMap { element in
                    let translated = try translatedLinks(element, qualifiedName)
                    // A link without a target in the copy is removed from the list.
                    return translated == .null && element != .null ? nil : translated
                })
        case .dictionary(let entries):
            return .dictionary(try entries.mapValues { try translatedLinks($0, qualifiedName) })
        default: return value
        }
    }

    /// Returns the values of an embedded object; properties that only the earlier schema has keep their values.
    private func embeddedValues(
        _ reference: ObjectReference, _ later: ClassSchema
    ) throws -> ValueMap? {
        guard let earlier = copy.view.schema.find(table: reference.table) else { return nil }
        embedded.insert(reference)
        try recordNewProperties(later, earlier, [reference.key])
        let isKnown = try before.isPresent(reference)
        var values: ValueMap = [:]
        for property in earlier.properties where !property.isBacklinks {
            if let source = source(of: property, later, earlier) {
                let value = try present.value(source, of: reference.key, in: later)
                if let value = try translated(value, to: property, earlier) {
                    values[property.name] = value
                    continue
                }
            }
            if isKnown {
                let known = try ObjectReading(.frozen(before)).values(
                    of: reference, where: { $0.column == property.column }
                ) { $0 }
                for (name, value) in known { values[name] = value }
            } else if property.isSingle, !property.isOptional, property.defaultValue == nil {
                values[property.name] = property.type.zero
                lose("\(earlier.name).\(property.name)", .missingValue)
            }
        }
        return values
    }
}
