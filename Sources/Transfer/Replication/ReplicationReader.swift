import DataFormats
import ObjectStore

/// A commit that a newer version of Moonpool has written.
package struct NewerReplicaFormat: Error, CustomStringConvertible {
    let what: String

    package var description: String {
        "the commit has \(what) of a newer Moonpool; update Moonpool to follow it"
    }
}

/// Applies ``ReplicationLines`` to a store, which becomes an exact copy.
///
///     let reader = ReplicationReader(store)
///     try store.write { for part in parts { try reader.take(part) } try reader.finish() }
///
/// Apply all parts of a commit or snapshot in one write transaction. Confined to the thread of the store.
package final class ReplicationReader {
    private let store: Store
    private let importer: Importer
    private var hasHeader = false
    private var isSnapshot = false
    /// The keys of the objects in a snapshot, for classes that had objects in the store before.
    private var seen: [String: Set<ObjectKey>] = [:]
    private var wasEmpty = true
    private let tape = JSONTape()
    /// The beginning of a line whose end is in a later part.
    private var unfinished: [UInt8] = []
    private static let longestLine = 1 << 30
    /// The maximum number of keys without objects before the key of a new object.
    ///
    /// Each key takes a few bits in the file, and objects that were created and deleted again leave gaps.
    private static let widestGap: Int64 = 1 << 28
    /// The inserted rows so far.
    private var insertions = 0
    /// The class of the last row, and whether values of its objects cannot lead to other objects.
    private var plain: (classSchema: ClassSchema, isPlain: Bool)?

    /// Creates a reader for one commit or snapshot.
    package init(_ store: Store) {
        self.store = store
        importer = Importer(into: store)
    }

    /// Applies a part in the open write transaction.
    ///
    /// Throws a `FormatError` for lines that do not match the store, `NewerReplicaFormat`, and the errors of writing.
    package func take(_ part: [UInt8]) throws {
        var rest = part[...]
        if !unfinished.isEmpty {
            let end = rest.firstIndex(of: 0x0A) ?? rest.endIndex
            unfinished += rest[..<end]
            guard unfinished.count <= Self.longestLine else {
                throw FormatError("a line is longer than \(Self.longestLine) bytes")
            }
            guard end < rest.endIndex else { return }
            let line = unfinished
            unfinished = []
            try takeLine(line)
            rest = rest[(end + 1)...]
        }
        while let end = rest.firstIndex(of: 0x0A) {
            if end > rest.startIndex { try takeLine(Array(rest[..<end])) }
            rest = rest[(end + 1)...]
        }
        unfinished = Array(rest)
    }

    private func takeLine(_ line: [UInt8]) throws {
        try JSONText.read(line, onto: tape)
        if try !insertPlain() { try take(JSONNode(tape)) }
    }

    /// Ends the commit or snapshot; deletes objects that are not in a snapshot.
    package func finish() throws {
        if !unfinished.isEmpty { try takeLine(unfinished) }
        guard hasHeader else { throw FormatError("the commit is empty") }
        guard isSnapshot, !wasEmpty else { return }
        for classSchema in store.view.schema.classes where !classSchema.isEmbedded {
            let kept = seen[classSchema.name] ?? []
            let all = try store.objects(classSchema.name).keys()
            try store.delete(
                all.filter { !kept.contains($0) }, of: classSchema, keepingOwned: true)
        }
    }

    private func take(_ line: JSONNode) throws {
        let members = line.members
        if let format = members["$replica"] {
            guard format.int == ReplicationLines.format else {
                throw NewerReplicaFormat(what: "format \(format.description)")
            }
            hasHeader = true
            isSnapshot = members["snapshot"] != nil
            wasEmpty = try !store.hasObjects
            try importer.links.takeOwnNumbers()
            return
        }
        guard hasHeader else { throw FormatError("the first line is not {\"$replica\":1,…}") }
        if members["schema"] != nil {
            guard let bytes = members["catalog"]?.string.flatMap(Base64.decode) else {
                throw FormatError("the schema has no catalog")
            }
            if bytes != store.schemaCatalog() {
                do {
                    try store.adoptSchemaCatalog(bytes)
                } catch let error as StoreError where error.code == .fileCorrupt {
                    throw FormatError("the catalog is damaged")
                } catch let error as StoreError where error.code == .fileFormatTooNew {
                    throw NewerReplicaFormat(what: "a schema")
                }
            }
            try importer.links.takeOwnNumbers()
            return
        }
        guard let number = members["object"]?.int else {
            throw FormatError("the line has no \"object\"")
        }
        let key = ObjectKey(rawValue: number)
        if let name = members["deleted"] {
            // The commit contains each deletion, and its order says nothing about the owners.
            let classSchema = try store.view.schema.require(name.text)
            return try store.delete([key], of: classSchema, keepingOwned: true)
        }
        guard let name = (members["inserted"] ?? members["modified"])?.string,
            let values = members["values"], values.kind == .object
        else { throw FormatError("the line is neither deleted, inserted nor modified") }
        let classSchema = try store.view.schema.require(name)
        let decoder = JSONRowDecoder(importer, RowLocation(table: nil, line: 0))
        importer.links.startRow()
        if members["inserted"] != nil {
            guard key.rawValue >= 0,
                try key.rawValue - store.view.table(classSchema).keyBound <= Self.widestGap
            else {
                throw FormatError(
                    "the key \(key.rawValue) of a '\(classSchema.name)' is far from those of the others"
                )
            }
            try insert(key, in: classSchema, values: values, with: decoder)
        } else {
            try modify(key, in: classSchema, values: values, with: decoder)
        }
    }

    // MARK: Many rows

    private static let inserted = Array("inserted".utf8)
    private static let object = Array("object".utf8)
    private static let values = Array("values".utf8)
    /// From this number of rows, the preparation of the fast path costs less than the path saves.
    private static let manyRows = 16

    /// Stores the inserted object on the tape if its key is the next one and its values lead to no other object.
    ///
    /// Returns false and stores nothing for any other line.
    private func insertPlain() throws -> Bool {
        guard hasHeader, wasEmpty || !isSnapshot, tape.kind(0) == .object,
            tape.kind(1) == .string, tape.equals(1, Self.inserted), tape.kind(2) == .string,
            tape.kind(3) == .string, tape.equals(3, Self.object), tape.kind(4) == .int,
            tape.kind(5) == .string, tape.equals(5, Self.values), tape.kind(6) == .object
        else { return false }
        insertions += 1
        guard insertions > Self.manyRows else { return false }
        let fields: FieldTable
        if let last = importer.lastFields, tape.equals(2, last.className) {
            fields = last
        } else {
            fields = try importer.fields(of: tape.text(2))
        }
        let classSchema = fields.classSchema
        let key = tape.int(4)
        guard isPlain(classSchema), try key == store.view.table(classSchema).keyBound,
            try JSONRowDecoder(importer, RowLocation(table: nil, line: 0)).insert(tape, fields, 7)
        else { return false }
        importer.links.recordOwn(ObjectKey(rawValue: key), classSchema)
        return true
    }

    private func isPlain(_ classSchema: ClassSchema) -> Bool {
        if let plain, plain.classSchema === classSchema { return plain.isPlain }
        let isPlain = classSchema.properties.allSatisfy {
            $0.isSingle && $0.type != .object && $0.type != .mixed || $0.isBacklinks
        }
        plain = (classSchema, isPlain)
        return isPlain
    }

    private func insert(
        _ key: ObjectKey, in classSchema: ClassSchema, values: JSONNode,
        with decoder: JSONRowDecoder
    ) throws {
        var row = DecodedRow(classSchema)
        try decoder.forEachValue(of: values, in: classSchema) { row.values[$0] = $1 }
        let replaces = isSnapshot && !wasEmpty
        if replaces { seen[classSchema.name, default: []].insert(key) }
        if try store.create(
            classSchema, at: key, positional: row.values, replacingOthers: replaces)
        {
            importer.links.recordOwn(key, classSchema)
            return
        }
        guard isSnapshot else {
            throw FormatError("the store already has a '\(classSchema.name)' \(key.rawValue)")
        }
        try update(key, in: classSchema, values: row.valuesByName)
    }

    private func modify(
        _ key: ObjectKey, in classSchema: ClassSchema, values: JSONNode,
        with decoder: JSONRowDecoder
    ) throws {
        var row = DecodedRow(classSchema)
        try decoder.forEachValue(of: values, in: classSchema) { row.values[$0] = $1 }
        if let missing = try importer.links.missing.first { throw FormatError(missing.reason) }
        try update(key, in: classSchema, values: row.valuesByName)
    }

    private func update(
        _ key: ObjectKey, in classSchema: ClassSchema, values: ValueMap
    ) throws {
        let reference = ObjectReference(table: classSchema.table, key: key)
        guard try store.view.isPresent(reference), let object = store.object(reference) else {
            throw FormatError("the store has no '\(classSchema.name)' \(key.rawValue)")
        }
        if isSnapshot {
            try store.replace(object, with: values)
        } else {
            try store.update(object, values)
        }
    }
}
