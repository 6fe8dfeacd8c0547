import DataFormats
import ObjectStore

/// Applies recorded ``ChangeLines`` to a store, so that its observers are notified.
///
/// Each step becomes one write transaction. A line that does not fit ends the replay, and its step is rolled back.
/// Objects are found by their primary keys. Objects of classes without a primary key are found by their numbers in the
/// stream or, if they existed before the recording began, by their own numbers in the store. Own numbers are correct in
/// a copy of the store from that time. New objects get their numbers in the stream if these are free, so the rows have
/// the same order. Links to objects whose lines come later in the same step are set at the end of the step. Confined to
/// the thread of the store.
package final class ChangeReplay {
    /// The number of replayed steps, without steps that changed only the schema.
    package private(set) var steps = 0
    /// The number of replayed object lines.
    package private(set) var changes = 0

    private let store: Store
    private let importer: Importer
    private var changesInStep: Int64 = 0
    /// The lines of the step that link to objects that did not exist yet.
    private var unlinked: [UnlinkedRow] = []
    private var isInStep: Bool { changesInStep > 0 }
    private var hasHeader = false
    /// The lines of the step that were read to find new primary keys.
    private var linesAhead: [(number: Int, text: [UInt8])] = []
    /// The classes of the step whose objects get new primary keys.
    private var rekeyed: Set<String> = []
    /// The classes of the recording's schema, and those that its last change removed.
    private var classNames: (current: Set<String>, removed: Set<String>) = ([], [])

    /// An inserted object, and those of its properties that are set when all objects of the step exist.
    private struct UnlinkedRow {
        let object: LiveObject
        let positions: [Int]
        let line: Int
        let text: [UInt8]
    }

    /// Prepares a replay.
    package init(into store: Store) {
        self.store = store
        importer = Importer(into: store)
        importer.links.keepNumbers()
    }

    /// Replays a file; `-` is standard input.
    ///
    /// Throws a `FormatError` with the file and the line, and the errors of writing.
    package func run(_ path: String) throws {
        guard !store.isInWrite else {
            throw StoreError(
                .alreadyInWrite,
                "moonpool.replay cannot run in a write transaction; call it outside of one")
        }
        let lines = JSONLineReader(try FileReader(path))
        try importer.links.takeOwnNumbers()
        do {
            while try lines.next() {
                try located(lines.line, path) {
                    try lines.parse()
                    try take(JSONNode(lines.tape), lines, lines.line) { lines.record }
                }
                for line in linesAhead {
                    try located(line.number, path) {
                        try JSONText.read(line.text, onto: lines.tape)
                        try take(JSONNode(lines.tape), lines, line.number) { line.text }
                    }
                }
                linesAhead = []
            }
            guard !isInStep else {
                throw FormatError(
                    line: lines.line, "the file ends inside a step, which was not replayed"
                ).inFile(path)
            }
        } catch {
            changesInStep = 0
            unlinked = []
            linesAhead = []
            if store.isInWrite { try store.cancelWrite() }
            throw error
        }
    }

    /// Runs the work and adds the file and the line to its errors.
    private func located(_ line: Int, _ path: String, _ work: () throws -> Void) throws {
        do {
            try work()
        } catch let error as FormatError {
            throw FormatError(line: line, column: error.column, error.reason).inFile(path)
        } catch let error as StoreError where error.code != .closed && error.code != .interrupted {
            let placed = FormatError(line: line, error.message).inFile(path)
            throw StoreError(error.code, placed.description)
        }
    }

    // MARK: - Lines

    private func take(
        _ node: JSONNode, _ lines: JSONLineReader, _ number: Int, _ text: () -> [UInt8]
    ) throws {
        let members = try Self.members(node)
        if let format = members["$changes"] {
            guard format.int == ChangeLines.format else {
                throw FormatError(
                    "the recording has format \(format.description); this version reads "
                        + "\(ChangeLines.format)")
            }
            hasHeader = true
            return try define(members, nil)
        }
        guard hasHeader else {
            throw FormatError(
                "the file is not a recording of changes: the first line is not {\"$changes\":1,…}")
        }
        let change = try Self.text("change", members)
        if change != "inserted" { try link() }
        switch change {
        case "schema":
            guard !isInStep else { throw FormatError("the schema changes inside a step") }
            return try define(members, lines)
        case "commit":
            try checkCount(members["count"])
            if isInStep { try commit() }
            changesInStep = 0
            rekeyed = []
            return
        case "deleted", "inserted", "modified": break
        default:
            throw FormatError(
                "expected deleted, inserted, modified, schema or commit in \"change\", got \"\(change)\""
            )
        }
        if !isInStep { try store.beginWrite() }
        defer {
            changes += 1
            changesInStep += 1
        }
        let className = try Self.text("class", members)
        // Objects of a removed class, and those that get no new primary key, were deleted with the change of the schema.
        if change == "deleted", classNames.removed.union(rekeyed).contains(className) { return }
        let classSchema = try store.view.schema.require(className)
        importer.links.startRow()
        let decoder = JSONRowDecoder(importer, RowLocation(table: nil, line: number))
        if change == "inserted" {
            try insert(members, in: classSchema, with: decoder, number, text)
        } else {
            try apply(change, members, in: classSchema, with: decoder)
        }
    }

    private func apply(
        _ change: String, _ members: [String: JSONNode], in classSchema: ClassSchema,
        with decoder: JSONRowDecoder
    ) throws {
        guard let key = members["key"] else { throw FormatError("the line has no \"key\"") }
        let object = try find(key, in: classSchema, with: decoder)
        if change == "deleted" {
            // The recording contains each deletion of an owned object.
            return try store.delete([object.key], of: classSchema, keepingOwned: true)
        }
        var values: ValueMap = [:]
        var newKey: Value?
        try forEachValue(of: members, in: classSchema, with: decoder) { position, value in
            let property = classSchema.properties[position]
            if property.isPrimary { newKey = value } else { values[property.name] = value }
        }
        if let newKey, let name = classSchema.primaryKey?.name, try object.value(name) != newKey {
            throw FormatError(
                "the primary key of '\(classSchema.name)' \(key.description) changes, which a replay cannot repeat"
            )
        }
        try store.update(object, values)
    }

    private func insert(
        _ members: [String: JSONNode], in classSchema: ClassSchema, with decoder: JSONRowDecoder,
        _ line: Int, _ text: () -> [UInt8]
    ) throws {
        guard let key = members["key"] else { throw FormatError("the line has no \"key\"") }
        var row = DecodedRow(classSchema)
        var missing: [Int] = []
        var known = importer.links.unresolved
        // Objects are created by their own lines, which are in the order of the rows.
        importer.links.createsObjects = false
        defer { importer.links.createsObjects = true }
        try forEachValue(of: members, in: classSchema, with: decoder) { position, value in
            if importer.links.unresolved == known {
                row.values[position] = value
            } else {
                known = importer.links.unresolved
                missing.append(position)
            }
        }
        row.number = members["number"]?.int ?? key.only("$key")?.int
        try importer.links.prepare(row)
        try importer.store(row)
        guard !missing.isEmpty else { return }
        unlinked.append(
            UnlinkedRow(
                object: try find(key, in: classSchema, with: decoder), positions: missing,
                line: line, text: text()))
    }

    /// Sets the links of inserted objects to objects whose lines came later.
    private func link() throws {
        guard !unlinked.isEmpty else { return }
        let rows = unlinked
        unlinked = []
        let tape = JSONTape()
        for row in rows {
            try JSONText.read(row.text, onto: tape)
            let members = try Self.members(JSONNode(tape))
            var values: ValueMap = [:]
            importer.links.startRow()
            let classSchema = row.object.classSchema
            try forEachValue(
                of: members, in: classSchema,
                with: JSONRowDecoder(importer, RowLocation(table: nil, line: row.line))
            ) { position, value in
                if row.positions.contains(position) {
                    values[classSchema.properties[position].name] = value
                }
            }
            try store.update(row.object, values)
        }
    }

    private func forEachValue(
        of members: [String: JSONNode], in classSchema: ClassSchema, with decoder: JSONRowDecoder,
        _ body: (Int, Value) -> Void
    ) throws {
        guard let values = members["values"], values.kind == .object else {
            throw FormatError("the line has no \"values\"")
        }
        try decoder.forEachValue(of: values, in: classSchema, body)
    }

    private func find(
        _ key: JSONNode, in classSchema: ClassSchema, with decoder: JSONRowDecoder
    ) throws -> LiveObject {
        let name = classSchema.name
        if let primary = classSchema.primaryKey {
            let isNil = key.only("$key")?.kind == .null
            let value = try isNil ? .null : decoder.value(key, primary, classSchema)
            if let found = try store.object(name, primaryKey: value) { return found }
            throw FormatError("the store has no '\(name)' with the key \(key.description)")
        }
        guard let number = key.only("$key")?.int else {
            throw FormatError("'\(name)' has no primary key; identify its objects by {\"$key\":n}")
        }
        guard let found = try importer.links.known(number, classSchema).flatMap(store.object) else {
            throw FormatError("the store has no '\(name)' with the number \(number)")
        }
        return found
    }

    /// Throws if the count in the last line of the step differs from the number of changes.
    private func checkCount(_ count: JSONNode?) throws {
        guard let count, let wanted = count.int, wanted != changesInStep else { return }
        throw FormatError(
            "the recording is incomplete: lines of the step: \(changesInStep), by its last line: "
                + count.description)
    }

    private func commit() throws {
        assert(unlinked.isEmpty, "the links of a step are set before its commit")
        if let missing = try importer.links.missing.first { throw FormatError(missing.reason) }
        try store.commitWrite()
        steps += 1
    }

    /// Applies a schema.
    ///
    /// The initial schema of the recording, without `lines`, only adds to the store's schema; later changes are applied
    /// completely.
    private func define(_ members: [String: JSONNode], _ lines: JSONLineReader?) throws {
        guard let schema = members["schema"] else { return }
        let classes = try SchemaJSON.read(schema.tape, schema.index)
        let renames = members["renames"]?.members.compactMapValues(\.string) ?? [:]
        let names = Set(classes.map(\.name))
        let removed = classNames.current.subtracting(names).subtracting(renames.keys)
        guard let lines else {
            try store.define(classes)
            classNames = (names, removed)
            return
        }
        var reinserted: [String] = []
        members["reinserted"]?.forEachElement { reinserted += $0.string.map { [$0] } ?? [] }
        rekeyed = Set(classes.filter { getsKey($0, renames) }.map(\.name))
            .subtracting(reinserted)
        if !rekeyed.isEmpty { try readAhead(lines) }
        if renames.isEmpty, removed.isEmpty, reinserted.isEmpty, rekeyed.isEmpty {
            try store.redefine(classes)
        } else {
            try store.redefine(classes) { [self] migration in
                try change(migration, renaming: renames, removing: removed)
                for name in reinserted { try deleteAll(name) }
                for line in linesAhead { try setKey(of: line) }
            }
        }
        classNames = (names, removed)
    }

    /// Returns whether the existing objects of a class get another primary key.
    private func getsKey(_ new: ClassSchema, _ renames: [String: String]) -> Bool {
        let oldName = renames.first { $0.value == new.name && !$0.key.contains(".") }?.key
        guard let key = new.primaryKey?.name,
            let old = store.view.schema.find(oldName ?? new.name)
        else { return false }
        let oldKey = old.primaryKey?.name
        return oldKey.map { renames["\(old.name).\($0)"] ?? $0 } != key
    }

    /// Reads the other lines of the step.
    private func readAhead(_ lines: JSONLineReader) throws {
        while try lines.next() {
            linesAhead.append((lines.line, lines.record))
            // A line that is not valid is an error when it is replayed.
            guard (try? lines.parse()) != nil, JSONNode(lines.tape).kind == .object,
                JSONNode(lines.tape).members["change"]?.string != "commit"
            else { return }
        }
    }

    /// Sets the new primary key of a line's object, or deletes the object, while the schema is changed.
    private func setKey(of line: (number: Int, text: [UInt8])) throws {
        let tape = JSONTape()
        guard (try? JSONText.read(line.text, onto: tape)) != nil, JSONNode(tape).kind == .object
        else { return }
        let members = JSONNode(tape).members
        guard let name = members["class"]?.string, rekeyed.contains(name),
            let classSchema = store.view.schema.find(name), let key = classSchema.primaryKey
        else { return }
        let decoder = JSONRowDecoder(importer, RowLocation(table: nil, line: line.number))
        if members["change"]?.string == "deleted" {
            guard let number = members["key"]?.only("$key")?.int,
                let found = try importer.links.known(number, classSchema)
            else { return }
            return try store.delete([found.key], of: classSchema, keepingOwned: true)
        }
        guard let number = members["number"]?.int, let value = members["values"]?.members[key.name],
            members["change"]?.string == "modified",
            let found = try importer.links.known(number, classSchema)
        else { return }
        try store.object(found)?.set(key.name, decoder.value(value, key, classSchema))
    }

    /// Deletes all objects of a class.
    ///
    /// The recording contains each deletion of an owned object.
    private func deleteAll(_ className: String) throws {
        guard let classSchema = store.view.schema.find(className), !classSchema.isEmbedded
        else { return }
        let all = Results(.store(store), all: classSchema)
        try store.delete(all.keys().array, of: classSchema, keepingOwned: true)
    }

    private func change(
        _ migration: Migration, renaming renames: [String: String], removing removed: Set<String>
    ) throws {
        for (old, new) in renames {
            let names = old.split(separator: ".", maxSplits: 1).map(String.init)
            if names.count == 2 {
                try migration.renameProperty(names[0], from: names[1], to: new)
            } else {
                try migration.renameClass(old, to: new)
            }
        }
        for name in removed.sorted() {
            try deleteAll(name)
            try migration.deleteClass(name)
        }
    }

    private static func members(_ node: JSONNode) throws -> [String: JSONNode] {
        guard node.kind == .object else {
            throw FormatError("expected an object on the line, got \(node.description)")
        }
        return node.members
    }

    private static func text(_ name: String, _ members: [String: JSONNode]) throws -> String {
        guard let text = members[name]?.string else {
            throw FormatError("the line has no \"\(name)\"")
        }
        return text
    }
}
