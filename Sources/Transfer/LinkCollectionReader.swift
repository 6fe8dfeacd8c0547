import DataFormats
import ObjectStore

/// Fills a collection of links in the objects of a class from a database table with one row for each element.
struct LinkCollectionReader {
    /// A row of the table: the key of the owner, the key in a map, and the key of the linked object.
    typealias Element = (owner: Value, key: String?, target: Value)

    private let importer: Importer
    private let table: String
    private let owner: ClassSchema
    private let property: Property
    private let target: ClassSchema

    /// Creates a reader of `table` for a property of the export in `owningTable`; nil if the options omit the property.
    ///
    /// Throws `unknown_property`, and `type_mismatch` if the property of the store is not such a collection.
    init?(
        _ importer: Importer, _ exported: Property, of owningTable: String, className: String,
        table: String
    ) throws {
        let renamed = importer.options.property(of: exported.name, in: owningTable)
        let field = try importer.fields(of: className).property(
            renamed: renamed ?? exported.name, for: exported.name)
        guard case .property(let position) = field else { return nil }
        let schema = importer.store.view.schema
        owner = try schema.require(className)
        property = owner.properties[position]
        guard !property.isSingle, property.isMap == exported.isMap,
            let target = schema.target(of: property)
        else {
            throw StoreError(
                .typeMismatch,
                "'\(className).\(property.name)' expects \(property.typeName), but the table '\(table)' holds "
                    + "\(exported.typeName)")
        }
        self.importer = importer
        self.table = table
        self.target = target
    }

    /// Sets one collection after the other; `next` returns the rows, of which those of an owner are adjacent.
    func read(_ next: () throws -> Element?) throws {
        var number = 0
        var first = 1
        var elements: [Element] = []
        while let element = try next() {
            number += 1
            if let last = elements.last, last.owner != element.owner {
                try set(elements, RowLocation(table: table, line: first))
                elements.removeAll(keepingCapacity: true)
                first = number
            }
            elements.append(element)
        }
        if !elements.isEmpty { try set(elements, RowLocation(table: table, line: first)) }
    }

    private func set(_ elements: [Element], _ location: RowLocation) throws {
        let key = elements[0].owner
        try importer.complete(location) {
            record(key, elements)
        } _: {
            let links = try elements.map { element -> Value in
                switch element.target {
                case .null: .null
                case .int(let number) where target.primaryKey == nil:
                    try importer.link(toNumber: number, of: target, location)
                case let key: try importer.link(to: key, of: target, location)
                }
            }
            let keys = elements.compactMap(\.key)
            let value: Value =
                property.isMap
                ? .dictionary(ValueMap(zip(keys, links).map { (key: $0, value: $1) }))
                : .list(links)
            guard let object = try importer.find(key, of: owner) else {
                throw FormatError("there is no \(owner.name) \(key.summary)")
            }
            try importer.store.update(object, [property.name: value])
        }
    }

    /// Returns the owner and its links as a row of JSON Lines, which an import with upsert accepts.
    private func record(_ key: Value, _ elements: [Element]) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("$class", owner.name)
        json.key(owner.primaryKey?.name ?? "$key")
        Self.write(key, to: &json)
        json.key(property.name)
        if property.isMap { json.beginObject() } else { json.beginArray() }
        for element in elements {
            if let key = element.key { json.key(key) }
            guard target.primaryKey == nil, element.target != .null else {
                Self.write(element.target, to: &json)
                continue
            }
            json.beginObject()
            json.key("$key")
            Self.write(element.target, to: &json)
            json.endObject()
        }
        if property.isMap { json.endObject() } else { json.endArray() }
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
