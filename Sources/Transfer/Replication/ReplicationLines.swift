import DataFormats
import ObjectStore

/// Writes commits and snapshots of a store as JSON Lines that create an exact copy.
///
/// Objects keep their keys, and links refer to keys.
///
///     {"$replica":1,"version":12,"since":11}
///     {"schema":{"Dog":{"id":"int primary"}},"catalog":"AQEB…"}
///     {"deleted":"Dog","object":7}
///     {"inserted":"Dog","object":9,"values":{"id":3,"age":null}}
///     {"modified":"Dog","object":9,"values":{"owner":{"$key":4}}}
///
/// The first line shows whether the lines are those of a commit, with the previous version in `since`, or of a
/// snapshot, with `"snapshot"`. Deletions come first, then insertions with the values that do not link to other
/// objects, then modifications, with the links of the new objects. `catalog` is the schema with the numbers of its
/// tables and columns, which identify renames. The lines can be split into parts anywhere.
package struct ReplicationLines {
    /// The number of the format.
    package static let format: Int64 = 1

    /// The size at which a part is passed on, in bytes.
    private let partSize: Int
    private var json = JSONWriter()
    private let take: (_ part: [UInt8]) throws -> Void

    /// Creates a writer; `take` receives parts of at most twice `partSize` bytes, which consist of whole lines unless a line
    /// is longer.
    package init(partSize: Int = 256 << 10, _ take: @escaping (_ part: [UInt8]) throws -> Void) {
        self.partSize = partSize
        self.take = take
    }

    /// Writes the changes of a step and returns the last part.
    ///
    /// `known` is the schema that the reader has. If it is nil, the lines of a changed schema repeat all values.
    package mutating func commit(
        _ change: VersionChange, since: UInt64, catalog: [UInt8], known: Schema?
    ) throws -> [UInt8] {
        let view = change.newer
        begin(view.version)
        json.member("since", since)
        try end()
        if change.changesSchema { try schema(view, catalog) }
        let classes = try change.classes
        for entry in classes where view.schema.find(table: entry.classSchema.table) != nil {
            for object in entry.deleted {
                line("deleted", entry.classSchema, object)
                try end()
            }
        }
        for entry in classes {
            for object in entry.inserted { try inserted(object, in: entry.classSchema, from: view) }
        }
        for entry in classes {
            let linking = entry.classSchema.properties.filter(Self.isLinking)
            for object in entry.inserted {
                try modified(object, linking, in: entry.classSchema, from: view)
            }
            for row in entry.modified {
                try modified(row.object, row.properties, in: entry.classSchema, from: view)
            }
        }
        if change.changesSchema { try newProperties(view, known) }
        return finished()
    }

    /// Writes a commit without changes.
    package mutating func emptyCommit(_ version: UInt64, since: UInt64) throws -> [UInt8] {
        begin(version)
        json.member("since", since)
        try end()
        return finished()
    }

    /// Writes all objects of a version and returns the last part.
    package mutating func snapshot(_ view: StoreView, catalog: [UInt8]) throws -> [UInt8] {
        begin(view.version)
        json.member("snapshot", true)
        try end()
        try schema(view, catalog)
        let classes = view.schema.classes.filter { !$0.isEmbedded }.sorted { $0.name < $1.name }
        for classSchema in classes {
            for object in try Self.objects(of: classSchema, view) {
                try inserted(object, in: classSchema, from: view)
            }
        }
        for classSchema in classes {
            let linking = classSchema.properties.filter(Self.isLinking)
            guard !linking.isEmpty else { continue }
            for object in try Self.objects(of: classSchema, view) {
                try modified(object, linking, in: classSchema, from: view)
            }
        }
        return finished()
    }

    /// Returns whether values of a property can link to other objects.
    private static func isLinking(_ property: Property) -> Bool {
        !property.isBacklinks && (property.type == .object || property.type == .mixed)
    }

    private static func objects(
        of classSchema: ClassSchema, _ view: StoreView
    ) throws -> some Sequence<ObjectReference> {
        try Results(.frozen(view), all: classSchema).keys().lazy.map {
            ObjectReference(table: classSchema.table, key: $0)
        }
    }

    /// Repeats the values of properties that the reader does not have yet.
    private mutating func newProperties(_ view: StoreView, _ known: Schema?) throws {
        for classSchema in view.schema.classes where !classSchema.isEmbedded {
            let old = known?.find(table: classSchema.table)
            if known != nil, old == nil { continue }
            let new = classSchema.properties.filter { property in
                !property.isBacklinks && !property.isPrimary
                    && old?.property(in: property.column) == nil
            }
            guard !new.isEmpty else { continue }
            for object in try Self.objects(of: classSchema, view) {
                // The value of an optional property that the reader adds is nil.
                let set = try new.filter {
                    try known == nil || !$0.isOptional || !$0.isSingle
                        || view.value($0, of: object.key, in: classSchema) != .null
                }
                try modified(object, set, in: classSchema, from: view)
            }
        }
    }

    // MARK: Lines

    private mutating func inserted(
        _ object: ObjectReference, in classSchema: ClassSchema, from view: StoreView
    ) throws {
        line("inserted", classSchema, object)
        try end(object, classSchema.properties.filter { !Self.isLinking($0) }, classSchema, view)
    }

    private mutating func modified(
        _ object: ObjectReference, _ properties: [Property], in classSchema: ClassSchema,
        from view: StoreView
    ) throws {
        guard !properties.isEmpty else { return }
        line("modified", classSchema, object)
        try end(object, properties, classSchema, view)
    }

    /// Ends a line with values.
    private mutating func end(
        _ object: ObjectReference, _ properties: [Property], _ classSchema: ClassSchema,
        _ view: StoreView
    ) throws {
        json.key("values")
        try RowEncoder(view: view, linksByNumber: true)
            .object(object.key, in: classSchema, properties: properties, to: &json)
        try end()
    }

    private mutating func begin(_ version: UInt64) {
        json.beginObject()
        json.member("$replica", Self.format)
        json.member("version", version)
    }

    private mutating func line(
        _ change: String, _ classSchema: ClassSchema, _ object: ObjectReference
    ) {
        json.beginObject()
        json.key(change)
        json.string(classSchema.name)
        json.member("object", object.key.rawValue)
    }

    private mutating func schema(_ view: StoreView, _ catalog: [UInt8]) throws {
        json.beginObject()
        json.key("schema")
        try SchemaJSON.write(view, to: &json)
        json.member("catalog", Base64.encode(catalog))
        try end()
    }

    private mutating func end() throws {
        json.endObject()
        json.newLine()
        guard json.bytes.count >= partSize else { return }
        var rest = json.bytes[...]
        while rest.count > 2 * partSize {
            try take(Array(rest.prefix(partSize)))
            rest = rest.dropFirst(partSize)
        }
        try take(Array(rest))
        json.removeAll()
    }

    private mutating func finished() -> [UInt8] {
        assert(json.bytes.last ?? 0x0A == 0x0A, "the last part ends with a whole line")
        defer { json.removeAll() }
        return json.bytes
    }
}
