import DataFormats
import ObjectStore

/// Writes the changes of a store as JSON Lines.
///
/// There is one line for each object that was deleted, inserted or modified, and one at the end of each step.
///
///     {"$changes":1,"version":11,"schema":{"Dog":{"id":"int primary","age":"int?"}}}
///     {"version":12,"change":"deleted","class":"Dog","key":7,"old":{"id":7,"age":3}}
///     {"version":12,"change":"inserted","class":"Dog","key":1,"number":8,"values":{"id":1,"age":null}}
///     {"version":12,"change":"modified","class":"Dog","key":2,"values":{"age":4},"old":{"age":3}}
///     {"version":12,"change":"commit","since":11,"count":3,"time":"2026-11-20T10:00:00Z"}
///
/// `key` is the primary key, or `{"$key":n}` with a number that identifies the object permanently in a class without
/// primary key. For an inserted object with a primary key, `number` contains such a number, because the numbers
/// determine the order of the rows. Values are as ``RowEncoder`` writes them: links are keys, embedded objects are
/// inside their owner. A step is one commit, or several that the observer received together: `since` is the version
/// before the step. If the schema has changed, a line `{"version":…,"change":"schema","schema":{…}}` comes first, with
/// the new names of renamed classes and properties in `renames`, and in `reinserted` the classes that are no longer
/// embedded, whose objects are then inserted again. If an existing object gets a primary key, its modification has its
/// `number` too. A stream with a snapshot has `"snapshot":true` in its
/// first line; its first step inserts all objects of that version, and its commit line has no `since`. The format only
/// grows: readers ignore unknown members.
package struct ChangeLines {
    /// The number of the format, which is in the first line.
    package static let format: Int64 = 1

    /// The beginning of a file in this format.
    static let mark = "{\"$changes\":"

    private static let partSize = 64 << 10

    private var json = JSONWriter()
    /// The number of objects in the step so far.
    private var count = 0
    private let time: () -> Timestamp
    private let hasOldValues: Bool

    /// Creates a writer for one stream; `time` returns the time of each step.
    ///
    /// Without `oldValues`, the lines of deletions and modifications do not contain the previous values.
    package init(oldValues: Bool = true, time: @escaping () -> Timestamp = { .now }) {
        hasOldValues = oldValues
        self.time = time
    }

    /// Returns the first line, which describes the initial state of the store.
    package mutating func header(_ view: StoreView, isSnapshot: Bool = false) throws -> [UInt8] {
        json.beginObject()
        json.member("$changes", Self.format)
        json.member("version", view.version)
        if isSnapshot { json.member("snapshot", true) }
        try schema(view)
        return taken()
    }

    /// Writes the first line and a step that inserts all objects, in parts that consist of whole lines.
    package mutating func snapshot(
        _ view: StoreView, _ take: (_ part: [UInt8]) throws -> Void
    ) throws {
        try take(header(view, isSnapshot: true))
        for classSchema in view.schema.classes.sorted(by: { $0.name < $1.name })
        where !classSchema.isEmbedded {
            for key in try Results(.frozen(view), all: classSchema).keys() {
                let object = ObjectReference(table: classSchema.table, key: key)
                try inserted(object, in: classSchema, from: view)
                try end(take)
            }
        }
        try take(commit(view.version, since: nil))
    }

    /// Writes the lines of one step in parts that consist of whole lines, because a step may change millions of objects.
    package mutating func write(
        _ step: ChangedObjects, _ take: (_ part: [UInt8]) throws -> Void
    ) throws {
        let (older, newer) = (step.older, step.newer)
        json.removeAll()
        count = 0
        if step.changesSchema {
            begin("schema", newer.version)
            try schema(newer)
            renames(older.schema.renames(in: newer.schema))
            if !step.reinserted.isEmpty {
                json.key("reinserted")
                json.beginArray()
                for name in step.reinserted { json.string(name) }
                json.endArray()
            }
            endLine()
        }
        for entry in step.classes {
            for object in entry.deleted {
                try begin("deleted", object, in: entry.classSchema, from: older, newer.version)
                if hasOldValues {
                    try members(
                        "old", entry.classSchema.properties, of: object, in: entry.classSchema,
                        older)
                }
                try end(take)
            }
        }
        for entry in step.classes {
            for object in entry.inserted {
                try inserted(object, in: entry.classSchema, from: newer)
                try end(take)
            }
        }
        for entry in step.classes {
            for (object, properties) in entry.modified {
                let known = older.schema.find(table: object.table)
                // A migration can change the primary key of an object, which had the previous one, or none.
                let key = properties.first(where: \.isPrimary)
                let hadKey = key.flatMap { known?.property(in: $0.column) }?.isPrimary == true
                try begin(
                    "modified", object, in: entry.classSchema, from: hadKey ? older : newer,
                    newer.version)
                if key != nil, !hadKey { json.member("number", object.key.rawValue) }
                try members("values", properties, of: object, in: entry.classSchema, newer)
                // A new property has no previous value.
                if hasOldValues, let known {
                    let before = properties.filter { !$0.isBacklinks }
                        .compactMap { known.property(in: $0.column) }
                    try members("old", before, of: object, in: known, older)
                }
                try end(take)
            }
        }
        try take(commit(newer.version, since: older.version))
    }

    // MARK: - Lines

    private mutating func inserted(
        _ object: ObjectReference, in classSchema: ClassSchema, from view: StoreView
    ) throws {
        try begin("inserted", object, in: classSchema, from: view, view.version)
        if classSchema.primaryKey != nil { json.member("number", object.key.rawValue) }
        try members("values", classSchema.properties, of: object, in: classSchema, view)
    }

    private mutating func members(
        _ name: String, _ properties: [Property], of object: ObjectReference,
        in classSchema: ClassSchema, _ view: StoreView
    ) throws {
        json.key(name)
        try RowEncoder(view: view)
            .object(object.key, in: classSchema, properties: properties, to: &json)
    }

    private mutating func begin(
        _ change: String, _ object: ObjectReference, in classSchema: ClassSchema,
        from view: StoreView, _ version: UInt64
    ) throws {
        begin(change, version)
        json.member("class", classSchema.name)
        json.key("key")
        try RowEncoder(view: view).link(object, to: &json)
    }

    private mutating func begin(_ change: String, _ version: UInt64) {
        json.beginObject()
        json.member("version", version)
        json.member("change", change)
    }

    /// Returns the written lines, including the line that ends a step.
    private mutating func commit(_ version: UInt64, since: UInt64?) -> [UInt8] {
        begin("commit", version)
        if let since { json.member("since", since) }
        json.member("count", count)
        json.member("time", time().description)
        count = 0
        return taken()
    }

    private mutating func schema(_ view: StoreView) throws {
        json.key("schema")
        try SchemaJSON.write(view, to: &json)
    }

    private mutating func renames(_ names: [String: String]) {
        guard !names.isEmpty else { return }
        json.key("renames")
        json.beginObject()
        for (old, new) in names.sorted(by: { $0.key < $1.key }) { json.member(old, new) }
        json.endObject()
    }

    /// Ends the line of an object, and passes on the lines so far if they are long enough.
    private mutating func end(_ take: (_ part: [UInt8]) throws -> Void) throws {
        endLine()
        count += 1
        guard json.bytes.count >= Self.partSize else { return }
        try take(json.bytes)
        json.removeAll()
    }

    private mutating func endLine() {
        json.endObject()
        json.newLine()
    }

    private mutating func taken() -> [UInt8] {
        endLine()
        defer { json.removeAll() }
        return json.bytes
    }
}

/// The objects that one step changes: one or several commits, or a change of observed objects.
package struct ChangedObjects {
    /// The changed objects of one class; each sequence is computed one by one.
    struct ClassChanges {
        let classSchema: ClassSchema
        let deleted: AnySequence<ObjectReference>
        let inserted: AnySequence<ObjectReference>
        let modified: AnySequence<(object: ObjectReference, properties: [Property])>
    }

    let older: StoreView
    let newer: StoreView
    let changesSchema: Bool
    /// The classes that are no longer embedded.
    ///
    /// All their objects count as inserted, because the step before has no line for them, and all objects that link to
    /// them as modified.
    let reinserted: [String]
    let classes: [ClassChanges]

    /// The changes of a store.
    package init(_ change: VersionChange) throws {
        (older, newer) = (change.older, change.newer)
        changesSchema = change.changesSchema
        let before = older.schema
        let freed = newer.schema.classes.filter {
            !$0.isEmbedded && before.find(table: $0.table)?.isEmbedded == true
        }
        reinserted = freed.map(\.name)
        let tables = Set(freed.map(\.table))
        let others = try change.classes.filter { !tables.contains($0.classSchema.table) }
        classes =
            try Self.reinserting(freed, newer)
            + others.map { entry in
                ClassChanges(
                    classSchema: entry.classSchema, deleted: AnySequence(entry.deleted),
                    inserted: AnySequence(entry.inserted),
                    modified: AnySequence(entry.modified.lazy.map { ($0.object, $0.properties) }))
            }
    }

    /// Returns the insertions of all objects of some classes, and the modifications of the objects that link to them.
    private static func reinserting(
        _ classes: [ClassSchema], _ view: StoreView
    ) throws -> [ClassChanges] {
        guard !classes.isEmpty else { return [] }
        var linking = Set(classes.map(\.table))
        func links(_ property: Property) -> Bool {
            !property.isBacklinks
                && view.schema.target(of: property).map { linking.contains($0.table) } == true
        }
        // The objects of an embedded class are values of their owners.
        while let embedded = view.schema.classes.first(where: {
            $0.isEmbedded && !linking.contains($0.table) && $0.properties.contains(where: links)
        }) {
            linking.insert(embedded.table)
        }
        return try view.schema.classes.filter { !$0.isEmbedded }.compactMap { classSchema in
            let isInserted = classes.contains { $0 === classSchema }
            let properties = classSchema.properties.filter(links)
            guard isInserted || !properties.isEmpty else { return nil }
            let objects = try Results(.frozen(view), all: classSchema).keys().lazy.map {
                ObjectReference(table: classSchema.table, key: $0)
            }
            return ClassChanges(
                classSchema: classSchema, deleted: AnySequence([]),
                inserted: isInserted ? AnySequence(objects) : AnySequence([]),
                modified: isInserted
                    ? AnySequence([])
                    : AnySequence(objects.map { (object: $0, properties: properties) }))
        }
    }

    /// The change of a query's results; nil for the initial notification.
    ///
    /// Objects that left the collection count as deleted, and objects that entered it as inserted. Call it while the
    /// observer's function runs, and use the result only there.
    package init?(
        _ change: CollectionChange, _ classSchema: ClassSchema, in view: StoreView
    ) throws {
        guard let before = change.versionBefore else { return nil }
        older = before
        newer = view
        changesSchema = false
        reinserted = []
        let modified = try change.modifiedObjects.enumerated().map { index, object in
            (
                object: object,
                properties: try change.properties(ofModification: index).map(\.property)
            )
        }
        classes = [
            ClassChanges(
                classSchema: classSchema, deleted: AnySequence(change.deletedObjects),
                inserted: AnySequence(change.insertedObjects), modified: AnySequence(modified))
        ]
    }

    /// The step as text: `+` for inserted, `-` for deleted, `~` for modified.
    ///
    ///     version 12
    ///       + Dog 1 {"id":1,"age":3}
    ///       ~ Dog 2 age 3 → 4, owner null → "Ann"
    ///       - Dog 7 {"id":7,"age":3}
    package var text: [String] {
        get throws {
            var lines = ["version \(newer.version)"]
            if changesSchema { lines.append("  schema changed") }
            for entry in classes {
                for (sign, objects, view) in [
                    ("-", entry.deleted, older), ("+", entry.inserted, newer),
                ] {
                    for object in objects {
                        var json = JSONWriter()
                        try RowEncoder(view: view).object(
                            object.key, in: entry.classSchema, to: &json)
                        lines.append(
                            "  \(sign) \(try Self.title(of: object, in: entry.classSchema, from: view)) "
                                + json.text)
                    }
                }
                for (object, properties) in entry.modified {
                    let parts = try properties.map { try difference($0, object) }
                    lines.append(
                        "  ~ \(try Self.title(of: object, in: entry.classSchema, from: newer)) "
                            + parts.joined(separator: ", "))
                }
            }
            return lines
        }
    }

    private func difference(_ property: Property, _ object: ObjectReference) throws -> String {
        guard !property.isBacklinks else { return property.name }
        let before = try Self.value(property, of: object, in: older)
        let after = try Self.value(property, of: object, in: newer)
        return before == after
            ? "\(property.name) \(after)" : "\(property.name) \(before) → \(after)"
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
        return json.text
    }
}

/// Records all changes of a store in a file as ``ChangeLines``, until it is stopped or the store closes.
///
/// When a commit of this store returns, the file contains it. Commits of other processes are written when the store
/// advances to them. Confined to the thread of the store.
package final class ChangeRecording {
    /// The path of the file.
    package let path: String
    /// The number of steps that have been written.
    package private(set) var steps = 0
    private let log: LineLog
    private var lines: ChangeLines
    private var token: NotificationToken?

    /// The options of a recording.
    package struct Options: Sendable {
        /// Whether to begin with all objects of the store, so that a replay into an empty store creates a copy.
        package var beginsWithSnapshot = false
        /// Whether to record the values before a change too.
        package var hasOldValues = true

        package init() {}
    }

    /// Starts a recording in a file.
    ///
    /// Overwrites an earlier recording in the file. Throws a `FormatError` if the file cannot be opened or has other
    /// content, and the errors of `Store.observeChanges`.
    package init(of store: Store, to path: String, options: Options = Options()) throws {
        self.path = path
        lines = ChangeLines(oldValues: options.hasOldValues)
        try store.check()
        log = try LineLog(path, replacing: ChangeLines.mark)
        if options.beginsWithSnapshot {
            try lines.snapshot(store.view, log.write)
        } else {
            try log.write(lines.header(store.view))
        }
        token = try store.observeChanges(name: "the recording in \(path)") {
            [unowned self] change in
            try lines.write(ChangedObjects(change), log.write)
            steps += 1
        }
    }

    /// Whether the recording is active.
    package var isActive: Bool { token?.isValid == true }

    /// Stops the recording.
    ///
    /// Idempotent.
    package func stop() {
        token?.invalidate()
        token = nil
        log.close()
    }
}
