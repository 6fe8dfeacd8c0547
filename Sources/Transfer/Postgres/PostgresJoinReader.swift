import DataFormats
import ObjectStore

/// Fills the lists, sets or maps of links of a class from the table with their elements.
struct PostgresJoinReader {
    private let importer: Importer
    private let join: PostgresLayout.Join
    private let path: String
    private let className: String
    private let propertyName: String

    init(
        _ importer: Importer, join: PostgresLayout.Join, layout: PostgresLayout,
        className: String
    ) {
        self.importer = importer
        self.join = join
        self.className = className
        propertyName =
            importer.options.property(of: join.property.name, in: join.owner.name)
            ?? join.property.name
        path = layout.path(join.name)
    }

    /// Sets one collection after the other, because the rows of an owner are adjacent.
    func read(_ server: PostgresConnection) throws {
        let ownerType = PostgresLayout.keyType(of: join.owner)
        let targetType = PostgresLayout.keyType(of: join.target)
        let position = PostgresConnection.quoted(join.positionColumn)
        let rows = try server.copyOut(
            """
            COPY (SELECT "owner"::\(ownerType.readName), \(position)::text, "target"::\(targetType.readName) \
            FROM \(path) ORDER BY "owner", \(position)) TO STDOUT (FORMAT binary)
            """)
        var number = 0
        var owner: Value?
        var positions: [String] = []
        var targets: [Value] = []
        var first = 1
        func flush() throws {
            guard let owner else { return }
            try set(
                owner, positions: positions, targets: targets,
                at: RowLocation(table: join.name, line: first))
            positions.removeAll(keepingCapacity: true)
            targets.removeAll(keepingCapacity: true)
        }
        while try rows.next() {
            number += 1
            let next = try key(rows, 0, ownerType, of: join.owner)
            if next != owner {
                try flush()
                owner = next
                first = number
            }
            if join.property.isMap { positions.append(rows.text(1)) }
            targets.append(
                rows.isNull(2) ? .null : try key(rows, 2, targetType, of: join.target))
        }
        try flush()
    }

    private func key(
        _ rows: PostgresCopyReader, _ column: Int, _ type: PostgresType, of classSchema: ClassSchema
    ) throws -> Value {
        guard type == .text else {
            if type == .uuid, let identifier = UUIDValue(bytes: rows.bytes(column)) {
                return .uuid(identifier)
            }
            return .int(rows.int(column))
        }
        let keyType = classSchema.primaryKey?.type ?? .string
        guard let value = ValueText.value(rows.text(column), as: keyType) else {
            throw FormatError(
                "'\(join.name)' refers to \(classSchema.name) \"\(rows.text(column))\", which is not a "
                    + "valid \(keyType.rawValue)")
        }
        return value
    }

    private func set(
        _ owner: Value, positions: [String], targets: [Value], at location: RowLocation
    ) throws {
        let schema = importer.store.view.schema
        let ownerClass = try schema.require(className)
        let targetClass = try schema.require(join.target.name)
        try importer.complete(location) {
            record(of: owner, positions: positions, targets: targets)
        } _: {
            let links = try targets.map { target -> Value in
                if target == .null { return .null }
                if targetClass.primaryKey == nil, case .int(let number) = target {
                    return try importer.link(toNumber: number, of: targetClass, location)
                }
                return try importer.link(to: target, of: targetClass, location)
            }
            let value: Value =
                join.property.isMap
                ? .dictionary(Dictionary(zip(positions, links), uniquingKeysWith: { $1 }))
                : .list(links)
            guard let object = try importer.find(owner, of: ownerClass) else {
                throw FormatError("there is no \(ownerClass.name) \(owner.summary)")
            }
            _ = try importer.fields(of: className).property(propertyName, for: join.property.name)
            try importer.store.update(object, [propertyName: value])
        }
    }

    /// Returns the owner and its links as a row of JSON Lines, which an import with upsert accepts.
    private func record(of owner: Value, positions: [String], targets: [Value]) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.key("$class")
        json.string(className)
        json.key(join.owner.primaryKey?.name ?? "$key")
        Self.write(owner, to: &json)
        json.key(propertyName)
        if join.property.isMap { json.beginObject() } else { json.beginArray() }
        for (index, target) in targets.enumerated() {
            if join.property.isMap { json.key(positions[index]) }
            guard join.target.primaryKey == nil, target != .null else {
                Self.write(target, to: &json)
                continue
            }
            json.beginObject()
            json.key("$key")
            Self.write(target, to: &json)
            json.endObject()
        }
        if join.property.isMap { json.endObject() } else { json.endArray() }
        json.endObject()
        return json.bytes
    }

    private static func write(_ key: Value, to json: inout JSONWriter) {
        switch key {
        case .int(let number): json.int(number)
        case .null: json.null()
        default: json.string(ValueText.text(key) ?? key.summary)
        }
    }
}
