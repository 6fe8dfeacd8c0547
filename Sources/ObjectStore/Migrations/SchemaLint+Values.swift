import ColumnStorage

// The findings that require reading values.
extension SchemaLint {
    /// Finds values that do not convert exactly to the new type.
    mutating func lookAtType(_ old: Property, _ new: Property, _ name: String) throws {
        guard let stored = view.schema.find(name) else { return }
        var first: Value?
        var count = 0
        let odd = try view.objects(of: stored) { key in
            let value = try view.value(old, of: key, in: stored)
            if value == .null { return false }
            count += 1
            guard ExactConversion.convert(value, to: new) == nil else { return false }
            if first == nil { first = value }
            return true
        }
        guard let first else { return }
        let isAll = odd.count == count && !(old.isSingle && new.isSingle)
        add(
            isAll ? .changedType : .narrowedType, to: "\(name).\(new.name)", odd,
            problem:
                "\(objects(odd.count)) with a value of '\(name).\(old.name)' that does not convert exactly from "
                + "\(old.typeName) to \(new.typeName), such as \(first.summary)",
            advice: "set '\(new.name)' with m:each"
        )
    }

    /// Finds objects without a value for a property that becomes required.
    mutating func lookAtRequired(_ property: Property, _ name: String) throws {
        guard let stored = view.schema.find(name),
            let old = stored.property(storedAs: property.storedName)
        else { return }
        let without = try view.objects(of: stored) { key in
            let value = try view.value(old, of: key, in: stored)
            return old.isSingle
                ? value == .null && property.defaultValue == nil
                : ExactConversion.convert(value, to: property) == nil
        }
        guard without.count > 0 else { return }
        add(
            .missingValues, to: "\(name).\(property.name)", without,
            problem:
                "\(objects(without.count)) without a value of '\(name).\(property.name)', which becomes "
                + "required",
            advice: "set it with m:each, or give the property a default")
    }

    mutating func lookAtAdded(_ property: Property, _ name: String) throws {
        guard property.isSingle, !property.isOptional, !property.isPrimary,
            property.defaultValue == nil, let stored = view.schema.find(name)
        else { return }
        let count = try view.table(stored).count
        guard count > 0 else { return }
        add(
            .missingValues, to: "\(name).\(property.name)", count: count, objects: [],
            problem: "\(objects(count)) would get \(property.type.zero.summary) as "
                + "'\(name).\(property.name)', which is required and new",
            advice: "fill it with m:each, or declare it \"\(property.typeName)?\"")
    }

    /// Finds objects that would share a primary key; if the values are not kept, all objects would have the same key.
    mutating func lookAtKey(
        _ property: Property, _ name: String, isKept: Bool, as role: String = "the primary key"
    ) throws {
        guard let stored = view.schema.find(name) else { return }
        let old = stored.property(storedAs: property.storedName).flatMap { old in
            let keeps =
                old.type == property.type && old.isSingle
                && (property.isOptional || !old.isOptional)
            return isKept && keeps ? old : nil
        }
        // A change of type is reported separately.
        if isKept, old == nil, stored.property(storedAs: property.storedName) != nil { return }
        var owners: [Value: [ObjectKey]] = [:]
        try view.forEachKey(of: stored) { key in
            let value =
                try old.map { try view.value($0, of: key, in: stored) } ?? property.type.zero
            // Objects without a value share none, except as a key.
            if value == .null, !property.isPrimary { return }
            owners[value, default: []].append(key)
        }
        let clashes = owners.filter { $0.value.count > 1 }.sorted { $0.value[0] < $1.value[0] }
        guard !clashes.isEmpty else { return }
        let count = clashes.reduce(0) { $0 + $1.value.count }
        let shown = clashes.prefix(3).map { clash in
            let names = clash.value.prefix(Self.nameLimit).map {
                view.name(of: ObjectReference(table: stored.table, key: $0))
            }
            return "\(property.name) = \(clash.key.summary): " + names.joined(separator: ", ")
                + (clash.value.count > names.count ? ", …" : "")
        }
        let objects = clashes.flatMap(\.value).map { ObjectReference(table: stored.table, key: $0) }
        add(
            .duplicateKeys, to: "\(name).\(property.name)", count: count, objects: objects,
            problem:
                "\(self.objects(count)) share a value of '\(name).\(property.name)', which becomes \(role) ("
                + shown.joined(separator: "; ") + (clashes.count > shown.count ? "; …" : "") + ")",
            advice: "give each object its own with m:each")
    }

    /// Finds objects whose values break the new rules of their property.
    mutating func lookAtRules(_ old: Property, _ new: Property, _ name: String) throws {
        guard let stored = view.schema.find(name) else { return }
        let broken = try RuleTest(new).map { try RuleCheck.broken($0, old, stored, in: view) }
        if let broken, broken.count > 0 {
            add(
                .brokenRules, to: "\(name).\(new.name)", count: broken.count,
                objects: broken.first.map { ObjectReference(table: stored.table, key: $0.key) },
                problem: broken.message, advice: "change the values with m:each, or change the rule"
            )
        }
        if new.rules.isUnique, !old.rules.isUnique {
            try lookAtKey(new, name, isKept: true, as: "unique")
        }
    }

    mutating func lookAtParents(_ name: String) throws {
        guard let stored = view.schema.find(name) else { return }
        let wrong = try view.objects(of: stored) { try view.linkCount(of: $0, in: stored) != 1 }
        guard wrong.count > 0 else { return }
        add(
            .parents, to: name, wrong,
            problem:
                "\(objects(wrong.count)) of class '\(name)', which becomes embedded, without exactly one "
                + "parent",
            advice: "delete or copy them in the migration")
    }
}
