import ObjectStore

/// Checks the objects that nested values of a row describe, before the row is stored.
///
/// Rows often repeat the objects that they link to, such as `"owner": {"id": 7, "name": "Ann"}` in each row of a dog.
/// Equal descriptions refer to the same object. A different description is an error, unless the import updates objects.
struct NestedObjects {
    let store: Store
    /// Whether an existing object is updated with the described values.
    let isUpsert: Bool
    /// Whether an existing object may be described again with the same values.
    let allowsRepetition: Bool
    /// The number of descriptions without an existing object.
    private(set) var new = 0
    /// The awaited objects that descriptions fill.
    private(set) var described: [ObjectReference] = []

    init(_ store: Store, isUpsert: Bool, allowsRepetition: Bool) {
        self.store = store
        self.isUpsert = isUpsert
        self.allowsRepetition = allowsRepetition
    }

    /// Checks the values of a row; `isAwaited` returns whether an object was created for links and has no values yet.
    ///
    /// Throws `duplicate_key` for a description that differs from the object with the same key.
    mutating func check(
        _ row: DecodedRow, isAwaited: (ObjectReference) -> Bool
    ) throws {
        for (property, value) in zip(row.classSchema.properties, row.values) {
            guard let value, let target = store.view.schema.target(of: property) else { continue }
            try check(value, of: property, target: target, isAwaited: isAwaited)
        }
    }

    private mutating func check(
        _ value: Value, of property: Property, target: ClassSchema,
        isAwaited: (ObjectReference) -> Bool
    ) throws {
        switch value {
        case .list(let elements):
            for element in elements { try check(element, of: target, isAwaited: isAwaited) }
        case .dictionary(let entries) where property.isMap:
            for entry in entries.values { try check(entry, of: target, isAwaited: isAwaited) }
        default: try check(value, of: target, isAwaited: isAwaited)
        }
    }

    private mutating func check(
        _ description: Value, of target: ClassSchema, isAwaited: (ObjectReference) -> Bool
    ) throws {
        guard case .dictionary(let members) = description else { return }
        for (name, value) in members {
            guard let property = target.property(named: name),
                let inner = store.view.schema.target(of: property)
            else { continue }
            try check(value, of: property, target: inner, isAwaited: isAwaited)
        }
        guard !target.isEmbedded else { return }
        guard let primary = target.primaryKey, let key = members[primary.name] else {
            new += 1
            return
        }
        guard let object = try store.object(target.name, primaryKey: key) else {
            new += 1
            return
        }
        if isAwaited(object.reference) {
            new += 1
            described.append(object.reference)
            try requireValues(members, target)
        } else if !isUpsert {
            guard allowsRepetition else { throw Self.exists(key, target) }
            try compare(members, with: object, key, target)
        }
    }

    /// Throws `missing_value` if a description has no value for a required property.
    private func requireValues(_ members: ValueMap, _ target: ClassSchema) throws {
        for property in target.properties where members[property.name] == nil {
            try store.requireDefault(property, target)
        }
    }

    private static func exists(_ key: Value, _ target: ClassSchema) -> StoreError {
        StoreError(
            .duplicateKey,
            "'\(target.name)' already has an object with the primary key \(key.summary); import with "
                + "upsert to update it")
    }

    // MARK: Comparing

    private func compare(
        _ members: ValueMap, with object: LiveObject, _ key: Value, _ target: ClassSchema
    ) throws {
        for (name, given) in members.sorted(by: { $0.key < $1.key }) {
            let property = try target.requireProperty(name)
            let stored = try store.view.value(property, of: object.key, in: target)
            guard try !isSame(stored, given, property) else { continue }
            throw StoreError(
                .duplicateKey,
                "'\(target.name)' \(key.summary) is described differently: '\(name)' is "
                    + "\(stored.summary) and \(given.summary); import with upsert to use the last one"
            )
        }
    }

    private func isSame(_ stored: Value, _ given: Value, _ property: Property) throws -> Bool {
        switch (stored, given) {
        case (.list(let old), .list(let new)) where property.collection == .set:
            let old = Set(old)
            // Elements that are described by their values are links.
            return Set(new).isSubset(of: old) && Set(new).count == old.count
        case (.list(let old), .list(let new)):
            guard old.count == new.count else { return false }
            return try zip(old, new).allSatisfy { try isSameObject($0, $1) }
        case (.dictionary(let old), .dictionary(let new)) where property.isMap:
            guard old.count == new.count else { return false }
            return try new.allSatisfy { name, value in
                guard let stored = old[name] else { return false }
                return try isSameObject(stored, value)
            }
        default: return try isSameObject(stored, given)
        }
    }

    /// Returns whether a value equals the stored one, or describes the object of a stored link.
    private func isSameObject(_ stored: Value, _ given: Value) throws -> Bool {
        guard case .object(let reference) = stored, case .dictionary(let members) = given,
            let target = store.view.schema.find(table: reference.table)
        else { return stored == given }
        // Only the key is compared here, because the other description of the object is checked separately.
        let names = target.primaryKey.map { [$0.name] } ?? Array(members.keys)
        return try names.allSatisfy { name in
            guard let value = members[name], let property = target.property(named: name) else {
                return false
            }
            let stored = try store.view.value(property, of: reference.key, in: target)
            return try isSame(stored, value, property)
        }
    }
}

extension Store {
    /// Throws `missing_value` if a property needs its own value in each object.
    func requireDefault(_ property: Property, _ classSchema: ClassSchema) throws {
        guard needsValue(property, classSchema) else { return }
        throw StoreError(
            .missingValue,
            "'\(classSchema.name).\(property.name)' is required and has no default; it needs a value of "
                + "type \(property.typeName)")
    }

    /// Returns whether a property is neither optional nor has a default.
    func needsValue(_ property: Property, _ classSchema: ClassSchema) -> Bool {
        property.isSingle && !property.isOptional && !property.isBacklinks
            && property.type != .object && property.type != .mixed
            && property.defaultValue == nil && !hasFunctionDefault(property, classSchema)
    }
}

/// Maps the numbers of objects in a file to object keys, for a class without a primary key.
///
/// Most files have their rows in the order of the numbers, and new objects get consecutive keys. Such runs are stored
/// as ranges, so memory does not grow with the number of objects.
package struct NumberedObjects {
    private struct Run {
        let number: Int64
        let key: Int64
        var count: Int64 = 1

        /// Returns the key for a number that is not less than the first number.
        func key(of wanted: Int64) -> ObjectKey? {
            // The difference of two numbers in a file can overflow.
            let (offset, overflow) = wanted.subtractingReportingOverflow(number)
            return !overflow && offset < count ? ObjectKey(rawValue: key + offset) : nil
        }
    }

    /// The runs in ascending order of numbers.
    private var runs: [Run] = []
    /// The objects that are out of order, and the objects that can be removed.
    private var others: [Int64: ObjectKey] = [:]

    package init() {}

    /// The object with a number.
    package subscript(number: Int64) -> ObjectKey? {
        if !others.isEmpty, let key = others[number] { return key }
        var low = 0
        var high = runs.count
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].number <= number { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? runs[low - 1].key(of: number) : nil
    }

    /// Adds an object.
    ///
    /// If a number occurs twice, the newer object replaces the older one.
    package mutating func add(_ number: Int64, _ key: ObjectKey) {
        if !others.isEmpty, others[number] != nil {
            others[number] = key
            return
        }
        guard let last = runs.last else {
            runs.append(Run(number: number, key: key.rawValue))
            return
        }
        if number > last.number {
            let offset = number.subtractingReportingOverflow(last.number)
            if !offset.overflow, offset.partialValue == last.count,
                key.rawValue == last.key + last.count
            {
                runs[runs.count - 1].count += 1
                return
            }
            if offset.overflow || offset.partialValue >= last.count {
                runs.append(Run(number: number, key: key.rawValue))
                return
            }
        }
        others[number] = key
    }

    /// Adds an object that can be removed again.
    mutating func addForNow(_ number: Int64, _ key: ObjectKey) { others[number] = key }

    /// Calls `body` with the objects that were created out of order or before their rows, and their numbers.
    func forEachOther(_ body: (_ number: Int64, _ key: ObjectKey) -> Void) {
        for (number, key) in others { body(number, key) }
    }

    /// Removes an object that was added temporarily.
    mutating func remove(_ number: Int64) { others[number] = nil }
}
