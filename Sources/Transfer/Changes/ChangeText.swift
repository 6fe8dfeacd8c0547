import DataFormats
import ObjectStore

/// Formats changes of a store as text: `+` for inserted, `-` for deleted, `~` for modified.
///
///     version 12
///       + Dog 1 {"id":1,"age":3}
///       ~ Dog 2 age 3 → 4, owner null → "Ann"
///       - Dog 7 {"id":7,"age":3}
package struct ChangeText {
    private var lines: [String] = []

    private init() {}

    /// Returns the lines of one step.
    package static func lines(for change: VersionChange) throws -> [String] {
        var text = ChangeText()
        if change.changesSchema { text.lines.append("  schema changed") }
        for entry in try change.classes {
            try text.add(
                entry.classSchema, deleted: entry.deleted, inserted: entry.inserted,
                modified: entry.modified.lazy.map { ($0.object, $0.properties) },
                from: change.older, to: change.newer)
        }
        return text.finished(change.newer.version)
    }

    /// Returns the lines of a change of observed objects.
    ///
    /// Call it while the observer's function runs.
    package static func lines(
        for change: CollectionChange, _ classSchema: ClassSchema, in view: StoreView
    ) throws -> [String] {
        guard let older = change.versionBefore else { return [] }
        var text = ChangeText()
        let modified = try change.modifiedObjects.enumerated().map { index, object in
            (object, try change.properties(ofModification: index).map(\.property))
        }
        try text.add(
            classSchema, deleted: change.deletedObjects, inserted: change.insertedObjects,
            modified: modified, from: older, to: view)
        return text.finished(view.version)
    }

    private func finished(_ version: UInt64) -> [String] {
        ["version \(version)"] + lines
    }

    private mutating func add(
        _ classSchema: ClassSchema, deleted: some Sequence<ObjectReference>,
        inserted: some Sequence<ObjectReference>,
        modified: some Sequence<(ObjectReference, [Property])>, from older: StoreView,
        to newer: StoreView
    ) throws {
        for object in deleted { try add("-", object, in: classSchema, from: older) }
        for object in inserted { try add("+", object, in: classSchema, from: newer) }
        for (object, properties) in modified {
            let parts = try properties.map { property in
                guard !property.isBacklinks else { return property.name }
                let before = try Self.value(property, of: object, in: older)
                let after = try Self.value(property, of: object, in: newer)
                return before == after
                    ? "\(property.name) \(after)" : "\(property.name) \(before) → \(after)"
            }
            lines.append(
                "  ~ \(try Self.title(of: object, in: classSchema, from: newer)) "
                    + parts.joined(separator: ", "))
        }
    }

    private mutating func add(
        _ sign: String, _ object: ObjectReference, in classSchema: ClassSchema, from view: StoreView
    ) throws {
        var json = JSONWriter()
        json.beginObject()
        try RowEncoder(view: view).members(of: object.key, in: classSchema, to: &json)
        json.endObject()
        lines.append(
            "  \(sign) \(try Self.title(of: object, in: classSchema, from: view)) "
                + String(decoding: json.bytes, as: UTF8.self))
    }

    /// Returns a title such as `Dog 1`, or `Toy #12` for an object without a primary key.
    private static func title(
        of object: ObjectReference, in classSchema: ClassSchema, from view: StoreView
    ) throws -> String {
        guard let key = classSchema.primaryKey else {
            return "\(classSchema.name) #\(object.key.rawValue)"
        }
        return "\(classSchema.name) \(try value(key, of: object, in: view))"
    }

    private static func value(
        _ property: Property, of object: ObjectReference, in view: StoreView
    ) throws -> String {
        guard let classSchema = view.schema.find(table: object.table),
            let seen = classSchema.property(in: property.column)
        else { return "null" }
        var json = JSONWriter()
        try RowEncoder(view: view).write(
            try view.value(seen, of: object.key, in: classSchema), seen, to: &json)
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
