import ObjectStore
import RealmFiles
import Transfer

/// Maps the tables of a Realm file to classes and properties of a store.
struct RealmPlan {
    /// A property.
    struct Column {
        /// The index in the class of the file.
        let index: Int
        /// The name in the store.
        let name: String
        /// The target class of links, as an index in ``RealmPlan/classes``.
        let target: Int?
    }

    /// A class.
    struct Class {
        let source: RealmClass
        /// The name in the store.
        let name: String
        var columns: [Column] = []
        /// The class as described by the file, for a store that does not have the class.
        var schema: ClassSchema

        /// Returns the position of a column's property in a class of the store; nil if the class does not have it.
        func position(of column: Column, in schema: ClassSchema) -> Int? {
            schema.position(of: column.name)
                ?? schema.properties.firstIndex {
                    $0.storedName == source.properties[column.index].name
                }
        }

        /// Returns the property of a column in a class of the store; nil if the class does not have it.
        func property(_ column: Column, in schema: ClassSchema) -> Property? {
            position(of: column, in: schema).map { schema.properties[$0] }
        }
    }

    private(set) var classes: [Class] = []
    /// Notes about data without an equivalent in a store.
    private(set) var notes: [String] = []
    /// The indexes in ``classes`` by the index of the class in the file.
    private(set) var positions: [Int: Int] = [:]

    private let file: RealmFile
    private let options: ImportOptions

    /// Plans the import of a file.
    ///
    /// Throws `unknown_class` for a class in the options that the file does not contain.
    init(_ file: RealmFile, _ options: ImportOptions) throws {
        self.file = file
        self.options = options
        let chosen = try chosenClasses()
        var names = RealmNames()
        for name in options.classNames.values { names.take(name) }
        for (position, source) in chosen.enumerated() {
            let plain = Self.plainName(source)
            let name =
                options.classNames[plain] ?? options.classNames[source.name]
                ?? names.name(plain, fallback: "Class_\(source.index + 1)", isClass: true)
            if name != plain { notes.append("class '\(plain)' is named '\(name)'") }
            assert(positions[source.index] == nil, "each class of the file is planned once")
            positions[source.index] = position
            classes.append(Class(source: source, name: name, schema: ClassSchema(name, [])))
        }
        for position in classes.indices { plan(position) }
        recordRest(chosen)
    }

    /// Returns the name of a class without the prefix of user classes.
    static func plainName(_ source: RealmClass) -> String {
        source.name.hasPrefix("class_") && source.name.count > 6
            ? String(source.name.dropFirst(6)) : source.name
    }

    // MARK: - Classes

    private func chosenClasses() throws -> [RealmClass] {
        let all = file.userClasses
        var wanted = options.tables
        if let name = options.className { wanted.append(name) }
        func isNamed(_ source: RealmClass, _ name: String) -> Bool {
            source.name == name || Self.plainName(source) == name
                || options.classNames[Self.plainName(source)] == name
        }
        for name in wanted + Array(options.classNames.keys)
        where !all.contains(where: { isNamed($0, name) }) {
            throw StoreError(
                .unknownClass,
                "the file has no class '\(name)'"
                    + NearestName.hint(for: name, among: all.map(Self.plainName)))
        }
        let isLeftOut = { (source: RealmClass) in
            self.options.classNames[Self.plainName(source)] == ""
                || self.options.classNames[source.name] == ""
        }
        var kept = Set(
            all.filter { source in
                (wanted.isEmpty || wanted.contains { isNamed(source, $0) }) && !isLeftOut(source)
            }.map(\.index))
        // Embedded objects are imported with their owners.
        var isGrowing = true
        while isGrowing {
            let parts = kept.flatMap { file.classes[$0].properties.compactMap(\.target) }
                .filter { file.classes[$0].kind == .embedded && !kept.contains($0) }
            kept.formUnion(parts)
            isGrowing = !parts.isEmpty
        }
        return file.classes.filter { kept.contains($0.index) }
    }

    private mutating func recordRest(_ chosen: [RealmClass]) {
        let kept = Set(chosen.map(\.index))
        let users = Set(file.userClasses.map(\.index))
        let internals = file.classes.filter { !users.contains($0.index) }
        if !internals.isEmpty {
            notes.append(
                "tables that are not classes are omitted: "
                    + Self.list(internals.map { "\($0.name) (\($0.count))" }))
        }
        let others = file.classes.filter { users.contains($0.index) && !kept.contains($0.index) }
        if !others.isEmpty {
            notes.append(
                "classes that were not requested: " + Self.list(others.map(Self.plainName)))
        }
        for source in chosen where source.kind == .asymmetric {
            notes.append(
                "'\(Self.plainName(source))' is asymmetric, which Moonpool does not have; it becomes an "
                    + "ordinary class")
        }
        let missing = chosen.reduce(0) { $0 + $1.tombstones }
        if missing > 0 {
            notes.append(
                "\(missing) objects do not exist, but other objects link to them: these links become "
                    + "nil, or are left out of lists and sets")
        }
    }

    private static func list(_ names: [String]) -> String {
        let shown = names.prefix(12).joined(separator: ", ")
        return names.count > 12 ? shown + " and \(names.count - 12) more" : shown
    }

    // MARK: - Properties

    private mutating func plan(_ position: Int) {
        let source = classes[position].source
        let plain = Self.plainName(source)
        var names = RealmNames()
        var renamed: [String] = []
        var properties: [Property] = []
        // Names that can remain unchanged are assigned first, so that no other name takes them.
        var kept: [Int: String] = [:]
        for (index, found) in source.properties.enumerated() {
            guard options.property(of: found.name, in: plain) == nil else { continue }
            var probe = RealmNames()
            guard !found.name.isEmpty, probe.name(found.name, fallback: "_") == found.name,
                !kept.values.contains(found.name)
            else { continue }
            kept[index] = found.name
        }
        for name in kept.values { names.take(name) }
        for (index, found) in source.properties.enumerated() {
            var name: String
            var storedName: String?
            if let given = options.property(of: found.name, in: plain) {
                if given.isEmpty { continue }
                name = given
            } else if let same = kept[index] {
                name = same
            } else {
                name = names.name(found.name, fallback: "property_\(index + 1)")
                renamed.append("'\(found.name)' is '\(name)'")
                if Self.canBeStored(found.name),
                    !properties.contains(where: { $0.storedName == found.name })
                {
                    storedName = found.name
                }
            }
            guard var property = property(found, name, plain, isKey: source.primaryKey == index)
            else {
                continue
            }
            property.storedName = storedName ?? name
            properties.append(property)
            classes[position].columns.append(
                Column(index: index, name: name, target: found.target.flatMap { positions[$0] }))
        }
        assert(
            properties.count == classes[position].columns.count, "each property has one column")
        if !renamed.isEmpty {
            notes.append("properties of '\(plain)' have other names: " + Self.list(renamed))
        }
        classes[position].schema = ClassSchema(
            classes[position].name, properties, isEmbedded: source.kind == .embedded)
    }

    /// Returns whether a store can keep the original name in addition to its own.
    private static func canBeStored(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= 200
            && name.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    private mutating func property(
        _ found: RealmProperty, _ name: String, _ className: String, isKey: Bool
    ) -> Property? {
        let location = "'\(className).\(found.name)'"
        var target: String?
        var element = found
        var isMixed = false
        switch found.type {
        case .link:
            guard let index = found.target, let position = positions[index] else {
                notes.append(
                    "\(location) is omitted: it links to a class that is not imported")
                return nil
            }
            target = classes[position].name
        case .table:
            if found.columns.count == 1, found.columns[0].name.isEmpty {
                element = found.columns[0]
            } else {
                isMixed = true
                notes.append("\(location) is a subtable and becomes a list of maps")
            }
        default: break
        }
        let type = isMixed ? PropertyType.mixed : Self.type(element.type)
        var isPrimary = isKey
        if isKey, !type.canBePrimary || found.collection != nil {
            notes.append(
                "\(location) cannot be a primary key in Moonpool, and is an ordinary property")
            isPrimary = false
        }
        var isIndexed = found.index == .general && !isPrimary
        if isIndexed, !type.canBeIndexed || found.collection != nil {
            notes.append("the index of \(location) is omitted: \(type.rawValue) has none")
            isIndexed = false
        }
        if found.hasIntegerKeys {
            notes.append("\(location) has integers as keys; they become texts")
        }
        let collection = found.collection.map { kind -> CollectionKind in
            switch kind {
            case .list: .list
            case .set: .set
            case .dictionary: .map
            }
        }
        return Property(
            name, type, isOptional: element.isNullable, collection: collection, target: target,
            isPrimary: isPrimary, isIndexed: isIndexed,
            isFullText: found.index == .fullText && type == .string && collection == nil)
    }

    static func type(_ type: RealmType) -> PropertyType {
        switch type {
        case .int: .int
        case .bool: .bool
        case .string: .string
        case .binary: .data
        case .mixed, .table: .mixed
        case .timestamp: .date
        case .float: .float
        case .double: .double
        case .decimal: .decimal
        case .link: .object
        case .uuid: .uuid
        case .objectID: .objectID
        }
    }
}

/// Converts names of a Realm file to valid schema names.
///
/// Realm permits any text. Schema names consist of letters, digits and `_`, and are unique.
struct RealmNames {
    /// The names that are already taken.
    private var taken: Set<String> = []

    /// Type names, which cannot be class names, because `link = "string"` would be ambiguous.
    private static let reserved = Set(
        PropertyType.allCases.map(\.rawValue) + ["list", "set", "map"])

    /// Returns a valid and unique name.
    ///
    /// `fallback` replaces a name without letters and digits.
    mutating func name(_ wanted: String, fallback: String, isClass: Bool = false) -> String {
        var name = Self.valid(wanted)
        if !name.unicodeScalars.contains(where: { $0 != "_" }) { name = fallback }
        if isClass, Self.reserved.contains(name) { name += "_" }
        let stem = name
        var number = 2
        while !taken.insert(name).inserted {
            name = "\(stem)_\(number)"
            number += 1
        }
        return name
    }

    /// Reserves a name without changing it.
    mutating func take(_ name: String) { taken.insert(name) }

    /// Returns the name without characters that a schema does not permit.
    private static func valid(_ name: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            let isDigit = ("0"..."9").contains(scalar)
            if scalar == "_" || isDigit || scalar.properties.isAlphabetic {
                scalars.append(scalar)
            } else if !scalars.isEmpty, scalars.last != "_" {
                scalars.append("_")
            }
        }
        if let last = scalars.last, last == "_", name.unicodeScalars.last != "_" {
            scalars.removeLast()
        }
        var text = String(scalars)
        if let first = text.unicodeScalars.first, ("0"..."9").contains(first) { text = "_" + text }
        while text.utf8.count > 190 { text.removeLast() }
        return text
    }
}
