import ColumnStorage

/// Values that a change of the schema drops, counted in the stored data.
struct SchemaLoss {
    /// The qualified name of the values: `Class.property`, or the name of a class.
    let qualifiedName: String
    /// The number of objects that have such a value, or belong to the class.
    let count: Int
    /// The first affected objects.
    let objects: [ObjectReference]

    private static let nameLimit = 5

    /// Returns the stored values that the differences drop, without properties that have no values.
    ///
    /// `kept` returns the objects of a class that received another value for a property of the new schema.
    static func losses(
        _ differences: [SchemaDifference], in view: StoreView,
        kept: (_ className: String, _ property: String) -> KeySet = { _, _ in KeySet() }
    ) throws -> [SchemaLoss] {
        try differences.compactMap { difference -> SchemaLoss? in
            switch difference.loss {
            case .objects(let name): try view.schema.find(name).map { try whole($0, view) }
            case .values(let property, let name, let receiver):
                try ofProperty(
                    property, of: name, oldName: differences.oldName(ofClass: name), in: view,
                    except: receiver.map { kept(name, $0.name) } ?? KeySet())
            case nil: nil
            }
        }.filter { $0.count > 0 }
    }

    private static func whole(_ classSchema: ClassSchema, _ view: StoreView) throws -> SchemaLoss {
        var loss = Tally()
        let rows = try view.table(classSchema)
        for cluster in 0..<rows.clusterCount {
            try loss.add(rows.presence(cluster), cluster, classSchema.table)
        }
        return SchemaLoss(qualifiedName: classSchema.name, count: loss.count, objects: loss.objects)
    }

    private static func ofProperty(
        _ property: Property, of name: String, oldName: String, in view: StoreView,
        except kept: KeySet
    ) throws -> SchemaLoss? {
        guard !property.isBacklinks, let classSchema = view.schema.find(oldName) else { return nil }
        var loss = Tally()
        let rows = try view.table(classSchema)
        // This is the usual end of a migration: every object received its value.
        if kept.count == rows.count { return nil }
        for cluster in 0..<rows.clusterCount {
            var bits = try rows.presence(cluster)
            if property.isSingle {
                if property.isOptional {
                    bits &= try ~rows.matches(property.column, cluster, .isNull, among: bits)
                }
            } else {
                let all = bits
                try all.forEachRow { row in
                    let key = ObjectKey(rawValue: Int64(cluster * Cluster.rows + row))
                    if try rows.listCount(property.column, key) == 0 { bits.remove(row) }
                }
            }
            if !kept.isEmpty {
                let all = bits
                all.forEachRow { row in
                    let key = ObjectKey(rawValue: Int64(cluster * Cluster.rows + row))
                    if kept.contains(key) { bits.remove(row) }
                }
            }
            loss.add(bits, cluster, classSchema.table)
        }
        return SchemaLoss(
            qualifiedName: "\(name).\(property.name)", count: loss.count, objects: loss.objects)
    }

    /// Counts objects and keeps the first of them.
    private struct Tally {
        var count = 0
        var objects: [ObjectReference] = []

        mutating func add(_ bits: ClusterBits, _ cluster: Int, _ table: TableID) {
            count += bits.rowCount
            guard objects.count < SchemaLoss.nameLimit, !bits.isEmpty else { return }
            bits.forEachRow { row in
                if objects.count < SchemaLoss.nameLimit {
                    let key = ObjectKey(rawValue: Int64(cluster * Cluster.rows + row))
                    objects.append(ObjectReference(table: table, key: key))
                }
            }
        }
    }
}
