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
/// before the step. If the schema has changed, a line `{"version":…,"change":"schema","schema":{…}}` comes first. A
/// stream with a snapshot has `"snapshot":true` in its first line; its first step inserts all objects of that version,
/// and its commit line has no `since`. The format only grows: readers ignore unknown members.
package struct ChangeLines {
    /// The number of the format, which is in the first line.
    package static let format: Int64 = 1

    /// The beginning of a file in this format.
    static let mark = "{\"$changes\":"

    private var json = JSONWriter()
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
    package mutating func header(_ view: StoreView) throws -> [UInt8] {
        try header(view, isSnapshot: false)
    }

    private mutating func header(_ view: StoreView, isSnapshot: Bool) throws -> [UInt8] {
        json.beginObject()
        json.member("$changes", Self.format)
        version(view.version)
        if isSnapshot {
            json.member("snapshot", true)
        }
        try schema(view)
        return taken()
    }

    /// Writes the first line and a step that inserts all objects, in parts that consist of whole lines.
    package mutating func snapshot(
        _ view: StoreView, _ take: (_ part: [UInt8]) throws -> Void
    ) throws {
        try take(header(view, isSnapshot: true))
        var count = 0
        for classSchema in view.schema.classes.sorted(by: { $0.name < $1.name })
        where !classSchema.isEmbedded {
            for key in try Results(.frozen(view), all: classSchema).keys() {
                let object = ObjectReference(table: classSchema.table, key: key)
                try inserted(object, in: classSchema, from: view, version: view.version)
                count += 1
                try takePart(take)
            }
        }
        try take(commit(view.version, since: nil, count))
    }

    private static let partSize = 64 << 10

    /// Passes on the lines so far if they are long enough.
    private mutating func takePart(_ take: (_ part: [UInt8]) throws -> Void) throws {
        guard json.bytes.count >= Self.partSize else { return }
        try take(json.bytes)
        json.removeAll()
    }

    /// Returns the lines of one step.
    package mutating func lines(for change: VersionChange) throws -> [UInt8] {
        var lines: [UInt8] = []
        try write(change) { lines += $0 }
        return lines
    }

    /// Writes the lines of one step in parts that consist of whole lines, because a step may change millions of objects.
    package mutating func write(
        _ change: VersionChange, _ take: (_ part: [UInt8]) throws -> Void
    ) throws {
        json.removeAll()
        let number = change.newer.version
        if change.changesSchema {
            begin("schema", version: number)
            try schema(change.newer)
            end()
        }
        let classes = try change.classes
        var count = 0
        for entry in classes {
            for object in entry.deleted {
                try deleted(object, in: entry.classSchema, from: change.older, version: number)
                count += 1
                try takePart(take)
            }
        }
        for entry in classes {
            for object in entry.inserted {
                try inserted(object, in: entry.classSchema, from: change.newer, version: number)
                count += 1
                try takePart(take)
            }
        }
        for entry in classes {
            for row in entry.modified {
                try modified(
                    row.object, row.properties, in: entry.classSchema,
                    views: (change.older, change.newer), version: number)
                count += 1
                try takePart(take)
            }
        }
        try take(commit(number, since: change.older.version, count))
    }

    /// Returns the lines of a change of observed objects.
    ///
    /// Objects that left the collection count as deleted, and objects that entered it as inserted. Call it while the
    /// observer's function runs.
    package mutating func lines(
        for change: CollectionChange, _ classSchema: ClassSchema, in view: StoreView
    ) throws -> [UInt8] {
        guard let older = change.versionBefore else { return [] }
        let number = view.version
        for object in change.deletedObjects {
            try deleted(object, in: classSchema, from: older, version: number)
        }
        for object in change.insertedObjects {
            try inserted(object, in: classSchema, from: view, version: number)
        }
        for (index, object) in change.modifiedObjects.enumerated() {
            let properties = try change.properties(ofModification: index).map(\.property)
            try modified(
                object, properties.filter { !$0.isBacklinks }, in: classSchema,
                views: (older, view), version: number)
        }
        return commit(
            number, since: older.version,
            change.deletions.count + change.insertions.count + change.modifications.count)
    }

    // MARK: - Lines

    private mutating func deleted(
        _ object: ObjectReference, in classSchema: ClassSchema, from view: StoreView,
        version number: UInt64
    ) throws {
        try begin("deleted", object, in: classSchema, from: view, version: number)
        if hasOldValues {
            try members("old", classSchema.properties, of: object, in: classSchema, from: view)
        }
        end()
    }

    private mutating func inserted(
        _ object: ObjectReference, in classSchema: ClassSchema, from view: StoreView,
        version number: UInt64
    ) throws {
        try begin("inserted", object, in: classSchema, from: view, version: number)
        if classSchema.primaryKey != nil {
            json.member("number", object.key.rawValue)
        }
        try members("values", classSchema.properties, of: object, in: classSchema, from: view)
        end()
    }

    private mutating func modified(
        _ object: ObjectReference, _ properties: [Property], in classSchema: ClassSchema,
        views: (older: StoreView, newer: StoreView), version number: UInt64
    ) throws {
        try begin("modified", object, in: classSchema, from: views.newer, version: number)
        try members("values", properties, of: object, in: classSchema, from: views.newer)
        // A new property has no previous value.
        if hasOldValues, let known = views.older.schema.find(table: object.table) {
            let before = properties.compactMap { known.property(in: $0.column) }
            try members("old", before, of: object, in: known, from: views.older)
        }
        end()
    }

    private mutating func members(
        _ name: String, _ properties: [Property], of object: ObjectReference,
        in classSchema: ClassSchema, from view: StoreView
    ) throws {
        let encoder = RowEncoder(view: view)
        json.key(name)
        json.beginObject()
        for property in properties where !property.isBacklinks {
            json.key(property.name)
            try encoder.write(
                try view.value(property, of: object.key, in: classSchema), property, to: &json)
        }
        json.endObject()
    }

    private mutating func begin(
        _ change: String, _ object: ObjectReference, in classSchema: ClassSchema,
        from view: StoreView, version number: UInt64
    ) throws {
        begin(change, version: number)
        json.member("class", classSchema.name)
        json.key("key")
        try RowEncoder(view: view).link(object, to: &json)
    }

    private mutating func begin(_ change: String, version number: UInt64) {
        json.beginObject()
        version(number)
        json.member("change", change)
    }

    /// Returns the written lines, including the line that ends a step.
    private mutating func commit(_ number: UInt64, since: UInt64?, _ count: Int) -> [UInt8] {
        begin("commit", version: number)
        if let since {
            json.member("since", since)
        }
        json.member("count", count)
        json.member("time", time().description)
        return taken()
    }

    private mutating func version(_ number: UInt64) {
        json.member("version", number)
    }

    private mutating func schema(_ view: StoreView) throws {
        json.key("schema")
        try SchemaJSON.write(
            view.schema.classes.sorted { $0.name < $1.name }, of: view, to: &json)
    }

    private mutating func end() {
        json.endObject()
        json.newLine()
    }

    private mutating func taken() -> [UInt8] {
        end()
        defer { json.removeAll() }
        return json.bytes
    }
}

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
            try lines.write(change, log.write)
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
