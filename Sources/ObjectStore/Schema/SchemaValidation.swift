/// Checks a schema before a file adopts it, and reports all errors at once.
struct SchemaValidation {
    private let classes: [ClassSchema]
    private let known: [String: ClassSchema]
    private var faults: [String] = []

    /// Throws `invalid_schema` with the class, the property, the error and the correct form, and `limit_exceeded`.
    static func check(_ classes: [ClassSchema]) throws {
        try checkLimits(classes)
        var validation = SchemaValidation(classes)
        validation.checkClasses()
        guard !validation.faults.isEmpty else { return }
        throw StoreError(.invalidSchema, validation.faults.joined(separator: "\n"))
    }

    /// Throws `limit_exceeded` for too many classes or properties.
    static func checkLimits(_ classes: [ClassSchema]) throws {
        guard classes.count <= StoreLimits.classes else {
            throw StoreError(
                .limitExceeded,
                "the schema has \(classes.count) classes; the maximum is \(StoreLimits.classes)")
        }
        for classSchema in classes where classSchema.properties.count > StoreLimits.properties {
            throw StoreError(
                .limitExceeded,
                "'\(classSchema.name)' has \(classSchema.properties.count) properties; "
                    + "a class has at most \(StoreLimits.properties)")
        }
    }

    private init(_ classes: [ClassSchema]) {
        self.classes = classes
        known = Dictionary(classes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Checks that a class does not have the name of a type: in a declaration, the name would mean the type.
    private mutating func checkReserved(_ name: String) {
        guard PropertyType(rawValue: name) != nil else { return }
        faults.append("class name '\(name)' is the name of a type; choose another name")
    }

    private mutating func checkClasses() {
        for (name, group) in Dictionary(grouping: classes, by: \.name) where group.count > 1 {
            faults.append("class '\(name)' is declared \(group.count) times; declare it once")
        }
        for classSchema in classes {
            checkName(classSchema.name, "class")
            checkReserved(classSchema.name)
            let properties = classSchema.properties
            for (name, group) in Dictionary(grouping: properties, by: \.name) where group.count > 1
            {
                faults.append(
                    "'\(classSchema.name).\(name)' is declared \(group.count) times; "
                        + "declare it once")
            }
            for (name, group) in Dictionary(grouping: properties, by: \.storedName)
            where Set(group.map(\.name)).count > 1 {
                let names = group.map { "'\($0.name)'" }.joined(separator: " and ")
                faults.append(
                    "\(names) of '\(classSchema.name)' are both stored as '\(name)'; "
                        + "map each to a different name")
            }
            let keys = properties.filter(\.isPrimary).map { "'\($0.name)'" }
            if keys.count > 1 {
                faults.append(
                    "'\(classSchema.name)' has \(keys.count) primary keys "
                        + "(\(keys.joined(separator: ", "))); keep one")
            }
            if classSchema.isEmbedded, let key = keys.first {
                faults.append(
                    "'\(classSchema.name)' is embedded and cannot have a primary key (\(key)); "
                        + "its objects are found through their parents")
            }
            for property in properties { check(property, of: classSchema) }
            faults += classSchema.indexes.compactMap { $0.fault(in: classSchema) }
            if Set(classSchema.indexes.map(\.properties)).count < classSchema.indexes.count {
                faults.append("'\(classSchema.name)' declares an index twice; declare it once")
            }
        }
    }

    private mutating func checkName(_ name: String, _ what: String) {
        let first = name.unicodeScalars.first
        let isFine =
            name.unicodeScalars.allSatisfy {
                $0 == "_" || $0.properties.isAlphabetic || isDigit($0)
            }
            && first.map { !isDigit($0) } == true
        if name.utf8.count > StoreLimits.nameBytes {
            faults.append(
                "\(what) name '\(name.prefix(40))…' has \(name.utf8.count) bytes; "
                    + "the maximum is \(StoreLimits.nameBytes)")
        } else if !isFine {
            faults.append(
                "\(what) name '\(name)' cannot be used; names consist of letters, digits and '_', "
                    + "and do not begin with a digit")
        }
    }

    /// Checks a name in the file; almost any text is valid, because programs do not use this name.
    private mutating func checkStoredName(_ name: String) {
        let isFine =
            !name.isEmpty && name.utf8.count <= 200
            && name.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        if !isFine {
            faults.append(
                "stored property name '\(name)' cannot be used; it has 1 to 200 bytes and no control "
                    + "characters")
        }
    }

    private func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

    private mutating func check(_ property: Property, of classSchema: ClassSchema) {
        let subject = "'\(classSchema.name).\(property.name)'"
        checkName(property.name, "property")
        if property.storedName != property.name {
            checkStoredName(property.storedName)
            if property.isBacklinks {
                faults.append("\(subject) is computed, not stored; remove its name in the file")
            }
        }
        if let target = property.target, known[target] == nil {
            return faults.append(subject + undeclared(target))
        }
        if property.isPrimary, !property.type.canBePrimary || !property.isSingle {
            faults.append(
                "\(subject) is a primary key of type \(property.typeName); "
                    + "a primary key is \(PropertyType.names(of: .key, "or"))")
        }
        if property.isIndexed, !property.type.canBeIndexed || !property.isSingle {
            faults.append(
                "\(subject) of type \(property.typeName) cannot be indexed; "
                    + "\(PropertyType.names(of: .index, "and")) can")
        }
        if property.isFullText, property.type != .string || !property.isSingle {
            faults.append(
                "\(subject) of type \(property.typeName) cannot have a full-text index; only strings can"
            )
        }
        if property.type == .object, property.isList || property.isSet, property.isOptional {
            let right = (property.target ?? "Class") + (property.collection?.mark ?? "")
            faults.append("\(subject) cannot hold nil links; write \(right)")
        }
        if property.isSet, let target = property.target, known[target]?.isEmbedded == true {
            faults.append(
                "\(subject) cannot hold embedded objects, which are never equal; "
                    + "write \(target)[] or \(target){}")
        }
        if let origin = property.origin { check(origin, subject, classSchema) }
        if !property.rules.isEmpty { checkRules(of: property, subject, classSchema) }
        if let value = property.defaultValue {
            do {
                _ = try ValueConversion.stored(value, property, classSchema)
            } catch {
                faults.append(
                    "\(subject): the default \(value.summary) is not a valid \(property.typeName)")
            }
        }
    }

    private mutating func checkRules(
        of property: Property, _ subject: String, _ classSchema: ClassSchema
    ) {
        let rules = property.rules
        var found: [String] = []
        defer { faults += found }
        func refuse(_ option: String, _ right: String) {
            found.append(
                "\(subject) of type \(property.typeName) cannot have '\(option)'; \(right)")
        }
        let isOrdered = property.type.isNumeric || property.type == .date
        for (option, value) in [("min", rules.minimum), ("max", rules.maximum)] {
            if value != nil, !isOrdered { refuse(option, "numbers and dates can") }
        }
        let isPlain = !property.leadsToObjects && property.type != .mixed
        if !rules.allowed.isEmpty, !isPlain { refuse("enum", "plain values of one type can") }
        if rules.pattern != nil, property.type != .string { refuse("pattern", "strings can") }
        if rules.isUnique {
            if property.isPrimary {
                found.append(
                    "\(subject) is the primary key, which is always unique; remove 'unique'")
            } else if !property.isSingle || property.type == .mixed {
                refuse("unique", "single values of one type, and links, can")
            } else if property.target.flatMap({ known[$0] })?.isEmbedded == true {
                refuse(
                    "unique", "embedded objects are never equal; make a property of theirs unique")
            }
        }
        if rules.ownsObjects {
            let target = property.target.flatMap { known[$0] }
            if property.type != .object || target == nil {
                refuse("owns", "links, and lists, sets and maps of links can")
            } else if target?.isEmbedded == true {
                faults.append(
                    "\(subject) already owns its objects, which are embedded; remove 'owns'")
            }
        }
        if isOrdered, let minimum = rules.minimum, let maximum = rules.maximum,
            ValueOrder.order(minimum, maximum) > 0
        {
            faults.append(
                "\(subject): the minimum \(minimum.summary) is above the maximum \(maximum.summary)"
            )
        }
        guard isPlain else { return }
        var element = property
        element.collection = nil
        for value in [rules.minimum, rules.maximum].compactMap(\.self) + rules.allowed {
            guard
                value == .null || (try? ValueConversion.stored(value, element, classSchema)) == nil
            else { continue }
            faults.append(
                "\(subject): \(value.summary) in a rule is not a valid \(property.elementTypeName)")
        }
        do {
            _ = try rules.pattern.map(TextPattern.init)
        } catch {
            faults.append("\(subject): \((error as? StoreError)?.message ?? "\(error)")")
        }
    }

    /// Returns the error for an undeclared class: a name with a small first letter is probably a misspelled type.
    private func undeclared(_ target: String) -> String {
        guard target.first?.isLowercase == true else {
            return " links to class '\(target)', which is not declared"
                + NearestName.hint(for: target, among: Array(known.keys))
        }
        let types = PropertyType.allCases.filter { $0 != .object }.map(\.rawValue)
        let nearest = NearestName.find(target, among: types + known.keys)
        return ": '\(target)' is not a type"
            + (nearest.map { "; did you mean '\($0)'?" } ?? " or a declared class")
    }

    private mutating func check(
        _ origin: Property.Origin, _ subject: String, _ classSchema: ClassSchema
    ) {
        guard let source = known[origin.className] else { return }
        guard let link = source.property(named: origin.property) else {
            let names = source.properties.map(\.name)
            faults.append(
                "\(subject) follows '\(origin.className).\(origin.property)', which does not exist"
                    + NearestName.hint(for: origin.property, among: names))
            return
        }
        if link.type != .object || link.target != classSchema.name {
            faults.append(
                "\(subject) follows '\(origin.className).\(origin.property)', which is "
                    + "\(link.typeName); it must link to \(classSchema.name)")
        }
    }
}
