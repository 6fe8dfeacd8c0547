import ColumnStorage

// What the lint finds by reading values.
extension SchemaLint {
    mutating func lookAtType(
        _ difference: SchemaDifference, _ old: Property, _ new: Property, _ name: String
    ) {
        for loss in SchemaLoss.losses([difference], in: view) {
            add(
                .changedType, loss.place, loss.count, loss.objects,
                "\(objects(loss.count)) would lose the value when '\(loss.place)' changes from "
                    + "\(old.typeName) to \(new.typeName); convert it with m:each")
        }
        guard let stored = view.schema.find(name), old.isSingle, new.isSingle,
            old.type != .object, new.type != .object
        else { return }
        var odd = Some()
        var first: Value?
        view.forEachKey(of: stored) { key in
            guard let value = try? view.value(old, of: key, in: stored), value != .null,
                !Self.isExpressible(value, as: new, stored)
            else { return }
            if first == nil { first = value }
            odd.add(key, stored)
        }
        guard let first else { return }
        add(
            .narrowedType, "\(name).\(new.name)", odd.count, odd.objects,
            "\(objects(odd.count)) with a value of '\(name).\(old.name)' that no "
                + "\(new.typeName) expresses, the first is \(first.summary); decide in m:each what "
                + "becomes of them")
    }

    /// Whether a value can be converted without losing any of it.
    private static func isExpressible(
        _ value: Value, as property: Property, _ classSchema: ClassSchema
    ) -> Bool {
        if property.type == .string || property.type == .mixed { return true }
        switch (value, property.type) {
        case (.string(let text), .int): return Int64(text) != nil
        case (.string(let text), .double), (.string(let text), .float):
            return Double(text) != nil
        case (.string(let text), .decimal): return DecimalValue(text) != nil
        case (.string(let text), .bool): return text == "true" || text == "false"
        case (.string(let text), .uuid): return UUIDValue(text) != nil
        case (.string, .data): return true
        case (.int(let number), .bool): return number == 0 || number == 1
        case (.bool, .int): return true
        case (.double(let number), .int): return Int64(exactly: number) != nil
        case (.float(let number), .int): return Int64(exactly: number) != nil
        case (.double(let number), .float): return Double(Float(number)) == number
        default: return (try? ValueConversion.single(value, property, classSchema)) != nil
        }
    }

    mutating func lookAtRequired(
        _ difference: SchemaDifference, _ property: Property, _ name: String
    ) {
        for loss in SchemaLoss.losses([difference], in: view) {
            add(
                .lostValues, loss.place, loss.count, loss.objects,
                "\(objects(loss.count)) would lose the value of '\(loss.place)' because it becomes "
                    + "required; copy it with m:each")
        }
        guard let stored = view.schema.find(name),
            let old = stored.property(storedAs: property.storedName), old.isSingle
        else { return }
        var without = Some()
        view.forEachKey(of: stored) { key in
            if (try? view.value(old, of: key, in: stored)) == .null { without.add(key, stored) }
        }
        guard without.count > 0 else { return }
        add(
            .missingValues, "\(name).\(property.name)", without.count, without.objects,
            "\(objects(without.count)) without a value of '\(name).\(property.name)', which becomes "
                + "required; give them one with m:each")
    }

    mutating func lookAtAdded(_ property: Property, _ name: String) {
        guard property.isSingle, !property.isOptional, !property.isPrimary,
            property.defaultValue == nil, let stored = view.schema.find(name)
        else { return }
        let count = view.table(stored).count
        guard count > 0 else { return }
        add(
            .missingValues, "\(name).\(property.name)", count, [],
            "\(objects(count)) would get \(property.type.zero.summary) as "
                + "'\(name).\(property.name)', which is required and new; fill it with m:each, or "
                + "declare it \"\(property.typeName)?\"")
    }

    /// Where the values are not kept, or there are none, every object would have the same key.
    mutating func lookAtKey(_ property: Property, _ name: String, isKept: Bool) {
        guard let stored = view.schema.find(name) else { return }
        let old = stored.property(storedAs: property.storedName).flatMap { old in
            let keeps =
                old.type == property.type && old.isSingle
                && (property.isOptional || !old.isOptional)
            return isKept && keeps ? old : nil
        }
        // A change of type is a finding of its own.
        if isKept, old == nil, stored.property(storedAs: property.storedName) != nil { return }
        var seen: Set<Value> = []
        var shared = Some()
        view.forEachKey(of: stored) { key in
            let value =
                old.flatMap { try? view.value($0, of: key, in: stored) } ?? property.type.zero
            if !seen.insert(value).inserted { shared.add(key, stored) }
        }
        guard shared.count > 0 else { return }
        add(
            .duplicateKeys, "\(name).\(property.name)", shared.count, shared.objects,
            "\(objects(shared.count)) would have the same value of '\(name).\(property.name)' as "
                + "another one, which is to be the primary key; give each its own with m:each")
    }

    mutating func lookAtParents(_ name: String) {
        guard let stored = view.schema.find(name) else { return }
        let links = view.schema.links(to: stored.table).map {
            (rows: view.table($0.classSchema), column: $0.property.column)
        }
        var wrong = Some()
        view.forEachKey(of: stored) { key in
            let parents = links.reduce(0) {
                $0 + $1.rows.sourceCount(of: key, through: $1.column)
            }
            if parents != 1 { wrong.add(key, stored) }
        }
        guard wrong.count > 0 else { return }
        add(
            .parents, name, wrong.count, wrong.objects,
            "\(objects(wrong.count)) of class '\(name)', which becomes embedded, without exactly one "
                + "parent; delete or copy them in the migration")
    }

    /// How many objects were found, and the first of them.
    private struct Some {
        var count = 0
        var objects: [ObjectReference] = []

        mutating func add(_ key: ObjectKey, _ classSchema: ClassSchema) {
            count += 1
            if objects.count < SchemaLint.nameLimit {
                objects.append(ObjectReference(table: classSchema.table, key: key))
            }
        }
    }
}
