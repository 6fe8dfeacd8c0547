import ColumnStorage

/// The values that a schema change sets in existing objects without a migration function.
///
/// A new property with a default gets the default if it is required or if the migration is declared without functions. A
/// property that becomes required gets its default, if it has one, in objects without a value. A property with another
/// type gets its old value if the value converts exactly. The other values are recorded, and the migration has to set
/// them.
final class CarriedValues {
    private unowned let migration: SchemaMigration
    /// The objects whose value does not convert, by class and property of the new schema.
    private var open: [(conversion: Conversion, keys: KeySet, example: Value)] = []
    /// The columns whose values are set.
    private var done: Set<Target> = []

    private struct Target: Hashable {
        let table: TableID
        let column: ColumnID
    }

    private struct Conversion {
        let oldClass: ClassSchema
        let newClass: ClassSchema
        let old: Property
        let new: Property
    }

    init(_ migration: SchemaMigration) { self.migration = migration }

    /// Sets the values in all existing objects, except those of an earlier call.
    ///
    /// Called again after a class or property was renamed, which makes other properties correspond to each other.
    func carry(from old: StoreView) throws {
        for classSchema in migration.schemas.new.classes {
            guard let stored = old.schema.find(table: classSchema.table),
                try old.table(stored).count > 0
            else { continue }
            try carry(stored, classSchema, old)
        }
    }

    /// Sets new required properties whose defaults are functions in all existing objects.
    func fillComputedDefaults(from old: StoreView) throws {
        for case .propertyAdded(let name, let added) in migration.differences
        where added.isSingle && !added.isOptional {
            guard let classSchema = migration.schemas.new.find(name),
                let property = classSchema.property(named: added.name),
                let stored = old.schema.find(table: classSchema.table),
                let function = migration.store.functionDefaults[classSchema.table, property.column]
            else { continue }
            let writer = try migration.store.writer(changing: "'\(name)'")
            try old.forEachKey(of: stored) { key in
                try writer.set(property, of: key, in: classSchema, to: function())
            }
        }
    }

    private func carry(
        _ stored: ClassSchema, _ classSchema: ClassSchema, _ view: StoreView
    ) throws {
        let writer = try migration.store.writer(changing: "'\(classSchema.name)'")
        let rows = try view.table(stored)
        func forEach(_ body: (ObjectKey) throws -> Void) throws {
            try view.forEachKey(of: stored, body)
        }
        /// Returns the property with its column; nil if its values are set already.
        func take(_ requested: Property) -> Property? {
            guard let property = classSchema.property(named: requested.name) else { return nil }
            let target = Target(table: classSchema.table, column: property.column)
            return done.insert(target).inserted ? property : nil
        }
        for difference in migration.differences where difference.className == classSchema.name {
            guard let (requested, source) = migration.conversion(for: difference),
                let property = take(requested)
            else { continue }
            switch source {
            case .fill(let value):
                try forEach { try writer.set(property, of: $0, in: classSchema, to: value) }
            case .complete(let value):
                try forEach { key in
                    guard try rows.isNull(property.column, key) else { return }
                    try writer.set(property, of: key, in: classSchema, to: value)
                }
            case .exact(let old):
                let conversion = Conversion(
                    oldClass: stored, newClass: classSchema, old: old, new: property)
                try convert(conversion, from: view, with: writer, forEach: forEach)
            }
        }
    }

    private func convert(
        _ conversion: Conversion, from old: StoreView, with writer: ObjectWriter,
        forEach: ((ObjectKey) throws -> Void) throws -> Void
    ) throws {
        var failed = KeySet()
        var example = Value.null
        try forEach { key in
            let value = try old.value(conversion.old, of: key, in: conversion.oldClass)
            let schema = migration.schemas.new
            guard let converted = ExactConversion.convert(value, to: conversion.new, in: schema)
            else {
                if failed.isEmpty { example = value }
                return failed.insert(key)
            }
            try writer.set(conversion.new, of: key, in: conversion.newClass, to: converted)
        }
        if !failed.isEmpty { open.append((conversion, failed, example)) }
    }

    /// Throws `type_mismatch` for values that did not convert exactly and that the migration has neither set nor
    /// declared as lost.
    func checkConverted(except losses: LossPolicy) throws {
        guard losses.isChecked else { return }
        let session = migration.session
        for (conversion, keys, example) in open {
            let (classSchema, property) = (conversion.newClass, conversion.new)
            guard let present = migration.schemas.new.find(table: classSchema.table),
                let kept = present.property(named: property.name), kept.column == property.column,
                !losses.covers(property: property.name, of: present.name),
                !losses.covers(property: conversion.old.name, of: conversion.oldClass.name)
            else { continue }
            let rows = try migration.store.view.table(present)
            var left = FoundObjects()
            for key in keys
            where try rows.isPresent(key) && !session.hasSet(present.table, kept.column, key) {
                left.add(key, present)
            }
            let count = left.count
            guard count > 0 else { continue }
            let subject = "'\(present.name).\(property.name)'"
            let objects = left.names(in: migration.store.view, 3)
            guard example != .null else {
                throw StoreError(
                    .missingValue,
                    "\(subject) is required now, and \(count == 1 ? "1 object has" : "\(count) objects have") no "
                        + "value (\(objects)); set it in the migration, or give the property a default"
                )
            }
            let loss = "\"\(present.name).\(property.name)\""
            throw StoreError(
                .typeMismatch,
                "\(subject) would change from \(conversion.old.typeName) to \(property.typeName), and "
                    + "\(count == 1 ? "1 value does" : "\(count) values do") not convert exactly, such as "
                    + "\(example.summary) (\(objects))",
                program:
                    "set the property in the migration with forEach, or drop its values with "
                    + "deleteProperty",
                script:
                    "set the property in the migration with m:each, or declare the loss with drops = "
                    + "{ \(loss) }")
        }
    }
}
