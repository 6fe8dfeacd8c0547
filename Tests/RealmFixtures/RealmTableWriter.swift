import RealmFiles

extension RealmWriter {
    /// A property of another table that links to a table.
    private struct Incoming {
        let origin: Int
        let property: Int
        /// The keys of the linking objects, by key of the target.
        var origins: [Int64: [Int64]]
    }

    private static func incoming(_ target: Int, _ tables: [Table]) -> [Incoming] {
        var found: [Incoming] = []
        for (origin, table) in tables.enumerated() {
            for (index, property) in table.properties.enumerated()
            where property.target != nil || property.type == .mixed {
                var origins: [Int64: [Int64]] = [:]
                for row in table.rows {
                    row.values[index].forEachLink { link in
                        if link.target == target { origins[link.key, default: []].append(row.key) }
                    }
                }
                if property.target == target || !origins.isEmpty {
                    found.append(Incoming(origin: origin, property: index, origins: origins))
                }
            }
        }
        return found
    }

    private static func code(_ property: Property, _ format: Int) -> Int64 {
        switch property.type {
        case .int: 0
        case .bool: 1
        case .string: 2
        case .binary: 4
        case .table: 5
        case .mixed: 6
        case .timestamp: 8
        case .float: 9
        case .double: 10
        case .decimal: 11
        case .link: property.collection == .list && format < 24 ? 13 : 12
        case .objectID: 15
        case .uuid: 17
        }
    }

    private static func attributes(_ property: Property) -> Int64 {
        (property.isIndexed ? 1 : 0) | (property.isNullable ? 16 : 0)
            | (property.collection == .list ? 32 : 0)
            | (property.collection == .dictionary ? 64 : 0)
            | (property.collection == .set ? 128 : 0)
    }

    private func columnKey(_ position: Int, _ code: Int64, _ attributes: Int64) -> Int64 {
        Int64(position) | code << 16 | (attributes & 0xFF) << 22 | Int64(position + 7) << 30
    }

    private func columnKey(_ index: Int, _ property: Property) -> Int64 {
        columnKey(index, Self.code(property, format), Self.attributes(property))
    }

    // MARK: - Formats 10 to 24

    /// Writes a table of clusters.
    mutating func table(_ index: Int, _ tables: [Table]) -> Int64 {
        let table = tables[index]
        let incoming = Self.incoming(index, tables)
        let count = table.properties.count
        let backlinks = incoming.indices.map { columnKey(count + $0, 14, 0) }
        let codes = table.properties.map { property in
            Self.code(property, format) | (property.collection == .dictionary ? 2 << 16 : 0)
        }
        let spec = references([
            integers(codes + backlinks.map { _ in 14 }),
            strings(table.properties.map { Array($0.name.utf8) }),
            integers(table.properties.map(Self.attributes) + backlinks.map { _ in 0 }), 0, 0,
            integers(table.properties.enumerated().map { columnKey($0, $1) } + backlinks),
        ])
        let empty = integers([])
        let indexes = references(
            table.properties.enumerated().map { position, property in
                property.isIndexed || position == table.primaryKey ? empty : 0
            } + backlinks.map { _ in 0 })
        let oppositeTables = integers(
            table.properties.map { Int64($0.target ?? 0x7FFF_FFFF) }
                + incoming.map { Int64($0.origin) })
        let oppositeColumns = integers(
            table.properties.map { _ in Int64.max }
                + incoming.map { columnKey($0.property, tables[$0.origin].properties[$0.property]) }
        )
        let rows = clusters(table.rows.map(\.key)) { writer, range in
            table.properties.enumerated().map { position, property in
                let values = range.map { table.rows[$0].values[position] }
                return property.collection == nil
                    ? writer.leaf(values, property, inCollection: false)
                    : writer.references(values.map { writer.collection($0, property) })
            }
                + incoming.map { link in
                    writer.backlinks(range.map { link.origins[table.rows[$0].key] ?? [] })
                }
        }
        let primary = table.primaryKey.map { columnKey($0, table.properties[$0]) }
        let flags: Int64 = table.kind == .embedded ? 1 : table.kind == .asymmetric ? 2 : 0
        return references([
            spec, 0, rows, Self.tagged(Int64(index)), indexes, 1, 1, oppositeTables,
            oppositeColumns, 1, 0, primary.map(Self.tagged) ?? 0, Self.tagged(flags), 0,
        ])
    }

    private mutating func collection(_ value: RealmValue, _ property: Property) -> Int64 {
        switch value {
        case .list(let elements), .set(let elements):
            return elements.isEmpty
                ? 0 : tree(elements) { $0.leaf($1, property, inCollection: true) }
        case .dictionary(let entries): return dictionary(entries)
        default: return 0
        }
    }

    private mutating func backlinks(_ origins: [[Int64]]) -> Int64 {
        references(
            origins.map { keys in
                switch keys.count {
                case 0: 0
                case 1: Self.tagged(keys[0])
                default: format >= 24 ? tree(keys) { $0.integers($1) } : integers(keys)
                }
            })
    }

    // MARK: - Formats below 10

    /// Writes a table of columns.
    mutating func oldTable(_ index: Int, _ tables: [Table]) -> Int64 {
        let table = tables[index]
        let incoming = Self.incoming(index, tables)
        var subspecs: [Int64] = []
        var columns: [Int64] = []
        var codes: [Int64] = []
        var attributes: [Int64] = []
        for (position, property) in table.properties.enumerated() {
            let values = table.rows.map { $0.values[position] }
            attributes.append(
                (property.isIndexed ? 1 : 0)
                    | (property.isNullable && property.collection == nil ? 16 : 0))
            if property.collection == .list, property.type != .link {
                // A list of values is a subtable of one column with a reserved name.
                codes.append(5)
                var element = property
                element.collection = nil
                subspecs.append(
                    references([
                        integers([Self.code(element, format)]),
                        strings([Array("!ARRAY_VALUE".utf8)]),
                        integers([property.isNullable ? 16 : 0]),
                    ]))
                let lists = values.map { value -> Int64 in
                    guard case .list(let elements) = value, !elements.isEmpty else { return 0 }
                    return references([oldColumn(elements, element)])
                }
                columns.append(tree(lists) { $0.references($1) })
            } else if property.type == .link {
                codes.append(property.collection == .list ? 13 : 12)
                subspecs.append(Self.tagged(Int64(property.target ?? 0)))
                if property.collection == .list {
                    let lists = values.map { value -> Int64 in
                        guard case .list(let elements) = value, !elements.isEmpty else { return 0 }
                        return tree(elements) { $0.leaf($1, property, inCollection: true) }
                    }
                    columns.append(tree(lists) { $0.references($1) })
                } else {
                    columns.append(tree(values) { $0.leaf($1, property, inCollection: false) })
                }
            } else {
                codes.append(Self.code(property, format))
                columns.append(oldColumn(values, property))
            }
            if property.isIndexed { columns.append(integers([])) }
        }
        for link in incoming {
            codes.append(14)
            attributes.append(0)
            subspecs += [Self.tagged(Int64(link.origin)), Self.tagged(Int64(link.property))]
            let origins = table.rows.map { link.origins[$0.key] ?? [] }
            columns.append(
                tree(origins) { writer, part in
                    writer.references(
                        part.map { keys in
                            switch keys.count {
                            case 0: 0
                            case 1: Self.tagged(keys[0])
                            default: writer.tree(keys) { $0.integers($1) }
                            }
                        })
                })
        }
        let spec = references([
            integers(codes), strings(table.properties.map { Array($0.name.utf8) }),
            integers(attributes), subspecs.isEmpty ? 0 : references(subspecs),
        ])
        return references([spec, references(columns)])
    }

    /// Writes a column of values.
    private mutating func oldColumn(_ values: [RealmValue], _ property: Property) -> Int64 {
        guard property.type == .timestamp else {
            return tree(values) { $0.leaf($1, property, inCollection: false, isOld: true) }
        }
        var seconds = property
        seconds.type = .int
        seconds.isNullable = true
        var nanoseconds = property
        nanoseconds.type = .int
        nanoseconds.isNullable = false
        let moments = values.map { value -> (RealmValue, RealmValue) in
            guard case .timestamp(let moment) = value else { return (.null, .int(0)) }
            return (.int(moment.seconds), .int(moment.nanoseconds))
        }
        return references([
            tree(moments.map(\.0)) { $0.leaf($1, seconds, inCollection: false) },
            tree(moments.map(\.1)) { $0.leaf($1, nanoseconds, inCollection: false) },
        ])
    }
}
