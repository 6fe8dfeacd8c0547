import ObjectStore
import RealmFiles
import Transfer

/// Creates the objects of a Realm file in a store.
final class RealmObjects {
    private let importer: Importer
    private let plan: RealmPlan
    private let schemas: [ClassSchema]
    private let values: RealmValues
    /// The columns of each class with links to objects that did not exist at their creation.
    private var deferred: [Set<Int>]

    init(
        _ importer: Importer, plan: RealmPlan, schemas: [ClassSchema], values: RealmValues
    ) {
        self.importer = importer
        self.plan = plan
        self.schemas = schemas
        self.values = values
        deferred = Array(repeating: [], count: plan.classes.count)
        assert(
            schemas.count == plan.classes.count && values.isComplete.count == plan.classes.count,
            "each class of the plan has a schema")
    }

    /// The storage of a column.
    private enum Kind {
        case int, bool, double, text, link(Int)
        /// Any other value.
        case general
    }

    /// The mapping of a column to a property.
    ///
    /// It contains no references, so that copying it in a loop needs no reference counting.
    private struct Field {
        /// The index of the property in the class of the file.
        let index: Int
        /// The index of the property in the class of the store.
        let position: Int
        let kind: Kind
        /// Whether a plain value can be null; other values are converted with their nulls.
        let mayBeNull: Bool
        /// Whether the property links to a class.
        let hasTarget: Bool
        /// Whether elements that differ in the file can be equal in a store: NaN, or 1 and 1.0.
        let mayMerge: Bool
    }

    /// Returns the property in the file.
    private func property(_ field: Field, _ position: Int) -> RealmProperty {
        plan.classes[position].source.properties[field.index]
    }

    /// Returns the replacement of null: nil, or zero if a required value cannot be read.
    private func null(_ field: Field, _ position: Int) -> Value {
        let property = schemas[position].properties[field.position]
        return property.isOptional || !property.isSingle ? .null : property.type.zero
    }

    // MARK: - Creation

    /// Creates the objects of a class.
    ///
    /// ``complete(_:_:)`` sets links to objects that do not exist yet.
    func create(_ position: Int, _ pass: RealmPass, count: (Int) -> Void) throws {
        assert(!values.isComplete[position], "the objects of a class are created once")
        let found = plan.classes[position]
        let schema = schemas[position]
        try importer.requireKeyForUpsert(schema)
        assert(
            found.source.kind != .embedded, "embedded objects are created with their owners")
        var fields: [Field] = []
        for column in found.columns {
            let field = try field(column, found, schema)
            if isLater(column, found.source.properties[column.index]) {
                deferred[position].insert(column.index)
            } else {
                fields.append(field)
            }
        }
        let key = found.source.primaryKey.flatMap { primary in
            fields.first { $0.index == primary && schema.properties[$0.position].isPrimary }
        }
        var inserter = try importer.store.inserter(of: schema)
        try pass.read(found.source, properties: fields.map(\.index)) { rows in
            for row in 0..<rows.count {
                if !inserter.isUsable { inserter = try importer.store.inserter(of: schema) }
                try createObject(position, rows, row: row, fields: fields, key: key, inserter)
            }
            count(rows.count)
        }
    }

    private func createObject(
        _ position: Int, _ rows: RealmRows, row: Int, fields: [Field], key: Field?,
        _ inserter: ObjectInserter
    ) throws {
        let realmKey = rows.key(row)
        let location = RowLocation(
            table: plan.classes[position].name, line: Int(clamping: realmKey))
        try importer.take(
            location, record: { record(rows, row: row, fields: fields, position: position) }
        ) {
            inserter.clear()
            for field in fields { try set(field, rows, row: row, inserter, position: position) }
            func primaryKey() throws -> Value? {
                try key.flatMap {
                    try values.value(rows.value(row, $0.index), of: property($0, position), "")
                }
            }
            let isUpdate =
                try importer.options.isUpsert && key != nil
                && importer.store.object(
                    schemas[position].name, primaryKey: primaryKey() ?? .null) != nil
            let object: ObjectKey
            do {
                object = try inserter.insert(mode: isUpdate ? .modified : .error)
            } catch let error as StoreError where error.code == .duplicateKey {
                throw try importer.duplicate(primaryKey(), schemas[position])
            }
            values.record(realmKey, position, object)
            for field in fields where field.mayMerge {
                try countMerged(field, rows, row: row, object: object, position: position)
            }
            return isUpdate ? .updated : .stored
        }
    }

    /// Counts the elements of a set that are equal in a store.
    private func countMerged(
        _ field: Field, _ rows: RealmRows, row: Int, object: ObjectKey, position: Int
    ) throws {
        let schema = schemas[position]
        guard case .set(let elements) = try rows.value(row, field.index), elements.count > 1,
            let live = importer.store.object(
                ObjectReference(table: schema.table, key: object)),
            case .list(let kept) = try live.value(schema.properties[field.position].name),
            !kept.isEmpty, kept.count < elements.count
        else { return }
        values.losses.add(
            .equalElements, count: elements.count - kept.count,
            fieldLocation(of: position, field, rows, row: row))
    }

    @inline(__always)
    private func set(
        _ field: Field, _ rows: RealmRows, row: Int, _ inserter: ObjectInserter, position: Int
    ) throws {
        let index = field.index
        if field.mayBeNull, rows.isNull(row, index) {
            return inserter.set(field.position, null(field, position))
        }
        switch field.kind {
        case .int: inserter.set(field.position, int: rows.int(row, index))
        case .bool: inserter.set(field.position, bool: rows.int(row, index) != 0)
        case .double:
            let bits = UInt64(bitPattern: rows.int(row, index))
            inserter.set(field.position, double: Double(bitPattern: bits))
        case .text:
            var isSet = false
            _ = try rows.withBytes(row, index) { isSet = inserter.set(field.position, utf8: $0) }
            if !isSet { try setAny(field, rows, row: row, inserter, position: position) }
        case .link(let target):
            let found = values.found(
                rows.int(row, index), of: target, fieldLocation(of: position, field, rows, row: row)
            )
            inserter.set(field.position, found.map(Value.object) ?? .null)
        case .general: try setAny(field, rows, row: row, inserter, position: position)
        }
    }

    private func setAny(
        _ field: Field, _ rows: RealmRows, row: Int, _ inserter: ObjectInserter, position: Int
    ) throws {
        let stored = try rows.value(row, field.index)
        if let value = try values.value(
            stored, of: property(field, position),
            fieldLocation(of: position, field, rows, row: row))
        {
            guard value == .null else { return inserter.set(field.position, value) }
            // A collection that cannot be read remains empty.
            if property(field, position).collection == nil {
                inserter.set(field.position, null(field, position))
            }
        } else {
            deferred[position].insert(field.index)
        }
    }

    private func field(
        _ column: RealmPlan.Column, _ planned: RealmPlan.Class, _ schema: ClassSchema
    ) throws -> Field {
        let found = planned.source.properties[column.index]
        guard let position = planned.position(of: column, in: schema) else {
            throw StoreError(
                .unknownProperty,
                "'\(schema.name)' has no property '\(column.name)'"
                    + NearestName.hint(for: column.name, among: schema.properties.map(\.name))
                    + "; map '\(found.name)' to a property, or to nothing to leave it out")
        }
        let property = schema.properties[position]
        var kind = Kind.general
        if found.collection == nil, property.isSingle {
            switch (found.type, property.type) {
            case (.int, .int): kind = .int
            case (.bool, .bool): kind = .bool
            case (.double, .double): kind = .double
            case (.string, .string): kind = .text
            case (.link, .object):
                if let target = column.target, !schemas[target].isEmbedded,
                    property.target == schemas[target].name
                {
                    kind = .link(target)
                }
            default: break
            }
        }
        let mayMerge =
            found.collection == .set
            && [.float, .double, .decimal, .mixed].contains(found.type)
        let mayBeNull =
            switch kind {
            case .int, .bool, .double: found.isNullable
            case .text, .link: true
            case .general: false
            }
        return Field(
            index: column.index, position: position, kind: kind, mayBeNull: mayBeNull,
            hasTarget: column.target != nil, mayMerge: mayMerge)
    }

    /// Returns whether a property can link to objects that do not exist yet.
    private func isLater(_ column: RealmPlan.Column, _ property: RealmProperty) -> Bool {
        guard let target = column.target else { return false }
        guard schemas[target].isEmbedded else { return !values.isComplete[target] }
        return !targets(ofParts: target).allSatisfy { values.isComplete[$0] }
    }

    /// Returns the classes that the embedded objects of a class link to.
    private func targets(ofParts start: Int) -> Set<Int> {
        var found: Set<Int> = []
        var seen: Set<Int> = [start]
        var open = [start]
        while let position = open.popLast() {
            let part = plan.classes[position]
            for column in part.columns {
                if part.source.properties[column.index].type == .mixed {
                    for other in schemas.indices where !schemas[other].isEmbedded {
                        found.insert(other)
                    }
                }
                guard let target = column.target else { continue }
                if !schemas[target].isEmbedded {
                    found.insert(target)
                } else if seen.insert(target).inserted {
                    open.append(target)
                }
            }
        }
        return found
    }

    // MARK: - Completion

    /// Sets links to objects that did not exist when the linking object was created.
    func complete(_ position: Int, _ pass: RealmPass) throws {
        assert(values.isComplete[position], "links are completed after all objects are created")
        let columns = plan.classes[position].columns.filter {
            deferred[position].contains($0.index)
        }
        guard !columns.isEmpty else { return }
        let found = plan.classes[position]
        let schema = schemas[position]
        let fields = try columns.map { try field($0, found, schema) }
        try pass.read(found.source, properties: columns.map(\.index)) { rows in
            for row in 0..<rows.count {
                guard let object = values.objects[position][rows.key(row)] else { continue }
                try completeObject(object, at: position, rows, row: row, fields: fields)
            }
        }
    }

    private func completeObject(
        _ object: ObjectKey, at position: Int, _ rows: RealmRows, row: Int, fields: [Field]
    ) throws {
        let schema = schemas[position]
        let location = RowLocation(
            table: plan.classes[position].name, line: Int(clamping: rows.key(row)))
        try importer.complete(
            location, record: { record(rows, row: row, fields: fields, position: position) }
        ) {
            var changes: ValueMap = [:]
            for field in fields {
                switch field.kind {
                case .link(let target):
                    guard !rows.isNull(row, field.index) else { continue }
                    let found = values.found(
                        rows.int(row, field.index), of: target,
                        fieldLocation(of: position, field, rows, row: row))
                    if let found {
                        changes[schema.properties[field.position].name] = .object(found)
                    }
                default:
                    let stored = try rows.value(row, field.index)
                    // Values without links are already set, except for embedded objects.
                    guard field.hasTarget && !stored.isEmpty || stored.hasLinks else {
                        continue
                    }
                    changes[schema.properties[field.position].name] =
                        try values.value(
                            stored, of: property(field, position),
                            fieldLocation(of: position, field, rows, row: row)
                        ) ?? .null
                }
            }
            guard !changes.isEmpty,
                let live = importer.store.object(
                    ObjectReference(table: schema.table, key: object))
            else { return }
            try importer.store.update(live, changes)
        }
    }

    // MARK: - Reports

    private func fieldLocation(
        of position: Int, _ field: Field, _ rows: RealmRows, row: Int
    ) -> String {
        "\(plan.classes[position].name).\(schemas[position].properties[field.position].name), object \(rows.key(row))"
    }

    private func record(
        _ rows: RealmRows, row: Int, fields: [Field], position: Int
    ) -> [UInt8] {
        values.record(
            rows, row, read: fields.map(\.index), of: position,
            RowEncoder(view: importer.store.view))
    }
}

extension RealmValue {
    /// Whether the value is null or a collection without elements.
    fileprivate var isEmpty: Bool {
        switch self {
        case .null: true
        case .list(let elements), .set(let elements): elements.isEmpty
        case .dictionary(let entries): entries.isEmpty
        default: false
        }
    }

    /// Whether the value contains a link at any depth.
    fileprivate var hasLinks: Bool {
        var found = false
        forEachLink { _ in found = true }
        return found
    }
}
