import LuaHost
import ObjectStore

/// A schema that a script declares: the classes of the file, and the parts that only the script has.
package struct DeclaredSchema {
    /// The parts of a class that the file does not contain.
    struct Parts {
        /// Whether the class declares only the properties that change, after `"..."`.
        let isPartial: Bool
        /// The default function of each stored property that the class declares; nil for one without a function.
        var functions: [String: LuaFunction?] = [:]
        /// The ignored properties by name.
        var ignored: [String: IgnoredProperties.Declaration] = [:]
    }

    /// The classes, sorted by name.
    package fileprivate(set) var classes: [ClassSchema] = []
    /// The parts of each class by its name.
    fileprivate(set) var parts: [String: Parts] = [:]
}

/// Parses schemas in the notation of scripts.
struct SchemaArguments {
    private let json: LuaJSON
    private let present: Schema?
    /// The first element of a class that declares only the properties that change.
    private static let others = "..."

    /// `present` contains the classes that `{ "...", age = "int" }` changes.
    init(_ json: LuaJSON, changing present: Schema? = nil) {
        self.json = json
        self.present = present
    }

    /// Parses the classes of a table `{ Dog = { … }, … }`.
    ///
    /// Throws `invalid_schema` with the names of the class and the property.
    func schema(_ table: LuaTable) throws -> DeclaredSchema {
        var schema = DeclaredSchema()
        for (key, value) in table.pairs {
            guard let name = key.text else {
                throw Self.invalid(
                    "expected class names as the keys of a schema, got a \(key.typeName)")
            }
            guard let declarations = value.table else {
                throw Self.invalid(
                    "'\(name)' must be a table of properties, got a \(value.typeName)")
            }
            let isEmbedded = try Self.isEmbedded(declarations, name)
            try json.state.checkMemory()
            let indexes = try Self.indexes(declarations["indexes"], name)
            var parts = DeclaredSchema.Parts(isPartial: Self.isPartial(declarations))
            let properties = try properties(declarations, of: name, &parts)
            schema.parts[name] = parts
            if parts.isPartial {
                schema.classes.append(
                    try changed(
                        name, properties, without: parts.ignored,
                        isEmbedded: declarations["embedded"].boolean, indexes))
                continue
            }
            let classSchema = ClassSchema(
                name, properties, isEmbedded: isEmbedded, indexes: indexes ?? [])
            schema.classes.append(
                declarations.count == 0 ? classSchema.unordered : classSchema)
        }
        schema.classes.sort { $0.name < $1.name }
        return schema
    }

    /// Returns whether a class declares only the properties that change, after `"..."`.
    private static func isPartial(_ properties: LuaTable) -> Bool { properties[1].text == others }

    /// Returns a class of the store with some of its properties added or replaced.
    private func changed(
        _ name: String, _ properties: [Property],
        without ignored: [String: IgnoredProperties.Declaration], isEmbedded: Bool?,
        _ indexes: [CompositeIndex]?
    ) throws -> ClassSchema {
        guard let present else {
            throw Self.invalid(
                "'\(name)': \"...\" means the other properties of a class that the store has; use it in store:define"
            )
        }
        let old = try present.require(name).unplaced
        let replaced = old.properties.filter { ignored[$0.name] == nil }.map { property in
            properties.first { $0.name == property.name } ?? property
        }
        return ClassSchema(
            name, replaced + properties.filter { old.property(named: $0.name) == nil },
            isEmbedded: isEmbedded ?? old.isEmbedded, indexes: indexes ?? old.indexes
        ).unordered
    }

    /// Returns whether a class is embedded: `embedded = true` next to the properties.
    ///
    /// A property can also have this name.
    private static func isEmbedded(_ table: LuaTable, _ className: String) throws -> Bool {
        let value = table["embedded"]
        if let flag = value.boolean { return flag }
        let isProperty = value.text != nil || value.table != nil
        guard value.isNil || isProperty && (table.count == 0 || table[1].text == others) else {
            throw invalid(
                "'\(className)': 'embedded' must be true or false, got a \(value.typeName)")
        }
        return false
    }

    /// Parses `indexes = { { "owner", "age", unique = true } }` of a class; returns nil if a property has this name.
    private static func indexes(
        _ value: LuaValue, _ className: String
    ) throws -> [CompositeIndex]? {
        guard let table = value.table, table.pairs.allSatisfy({ $0.key.integer != nil }) else {
            return nil
        }
        return try table.array.map { element in
            guard let names = element.table?.array.compactMap(\.text), !names.isEmpty,
                names.count == element.table?.count
            else {
                throw invalid(
                    "'\(className)': expected 'indexes' to be an array of arrays of property names, such as "
                        + "{ { \"owner\", \"age\" } }")
            }
            var isUnique = false
            for (key, value) in element.table?.pairs ?? [] where key.integer == nil {
                guard key.text == "unique", let flag = value.boolean else {
                    throw invalid(
                        "'\(className)': an index over several properties has no option "
                            + "'\(key.text ?? key.typeName)' other than unique = true or false")
                }
                isUnique = flag
            }
            return CompositeIndex(names, isUnique: isUnique)
        }
    }

    private func properties(
        _ table: LuaTable, of className: String, _ parts: inout DeclaredSchema.Parts
    ) throws -> [Property] {
        guard parts.isPartial || table.count == 0 else {
            return try ordered(table, of: className, &parts)
        }
        // Sorted alphabetically after the primary key, because a Lua table has no order.
        return try named(table, of: className, &parts).sorted {
            ($0.isPrimary ? 0 : 1, $0.name) < ($1.isPrimary ? 0 : 1, $1.name)
        }
    }

    /// Parses properties in the form `{ id = "int primary" }`, after `"..."` if it is the first element.
    private func named(
        _ table: LuaTable, of className: String, _ parts: inout DeclaredSchema.Parts
    ) throws -> [Property] {
        var properties: [Property] = []
        for (key, value) in table.pairs where key.integer != 1 || value.text != Self.others {
            guard let name = key.text else {
                throw Self.invalid(
                    "expected property names as the keys of '\(className)', got a \(key.typeName)")
            }
            if name == "embedded", case .boolean = value { continue }
            if name == "indexes", try Self.indexes(value, className) != nil { continue }
            if let property = try stored(name, value, in: className, &parts) {
                properties.append(property)
            }
        }
        return properties
    }

    /// Parses properties in a fixed order: `{ {"id", "int primary"}, {"name", "string", default = "Rex"} }`.
    private func ordered(
        _ table: LuaTable, of className: String, _ parts: inout DeclaredSchema.Parts
    ) throws -> [Property] {
        for (key, _) in table.pairs where key.integer == nil {
            guard key.text == "embedded" || key.text == "indexes" else {
                throw Self.invalid(
                    "'\(className)' mixes an array of properties with the key \(key.text ?? "?")")
            }
        }
        return try table.array.compactMap { element in
            guard let pair = element.table, let name = pair[1].text ?? pair["name"].text else {
                throw Self.invalid(
                    "'\(className)': each property in an array is {\"name\", \"type\"}")
            }
            guard pair.count <= 2 else {
                throw Self.invalid(
                    "'\(className).\(name)': an array contains name and type; write modifiers in the type, as in "
                        + "{\"id\", \"int primary\"}")
            }
            let hasOptions = pair.pairs.contains { $0.key.integer == nil }
            return try stored(name, hasOptions ? element : pair[2], in: className, &parts)
        }
    }

    /// Parses a declaration, and adds the parts that only the script has; returns nil for an ignored property.
    ///
    /// Throws `invalid_schema` for options that only a stored property can have.
    private func stored(
        _ name: String, _ declaration: LuaValue, in className: String,
        _ parts: inout DeclaredSchema.Parts
    ) throws -> Property? {
        let options = declaration.table
        let isIgnored =
            try options.map {
                try Self.flag("ignored", in: $0, isInType: false, of: "'\(className).\(name)'")
            } ?? false
        let property = try property(name, declaration, in: className)
        let initial = options?["default"] ?? .nil
        guard isIgnored else {
            parts.functions[name] = .some(initial.function)
            return property
        }
        guard
            property
                == Property(
                    name, property.type, isOptional: property.isOptional,
                    defaultValue: property.defaultValue), property.type != .object
        else {
            throw Self.invalid(
                "'\(className).\(name)': an ignored property is not stored; its type is a plain value, or "
                    + "mixed for every value of Lua, and 'default' is its only option")
        }
        parts.ignored[name] = IgnoredProperties.Declaration(property: property, initial: initial)
        return nil
    }

    private func property(
        _ name: String, _ value: LuaValue, in className: String
    ) throws -> Property {
        if let text = value.text {
            return try PropertySyntax.parse(name: name, in: className, text)
        }
        let subject = "'\(className).\(name)'"
        guard let long = value.table else {
            throw Self.invalid(
                "\(subject): write the type as a string such as \"int?\", got a \(value.typeName)")
        }
        let known =
            [
                "type", "primary", "indexed", "fulltext", "default", "map_to", "ignored", "name",
            ] + PropertyRules.optionNames
        for (key, _) in long.pairs where key.integer == nil {
            guard let option = key.text, known.contains(option) else {
                let shown = key.text ?? key.typeName
                let nearest = NearestName.find(shown, among: known)
                throw Self.invalid(
                    "\(subject): unknown key '\(shown)'; "
                        + (nearest.map { "did you mean '\($0)'?" }
                            ?? "the keys are \(known.joined(separator: ", "))"))
            }
        }
        guard let type = long["type"].text ?? long[2].text else {
            throw Self.invalid("\(subject): 'type' is missing")
        }
        var property = try PropertySyntax.parse(name: name, in: className, type)
        if !long["map_to"].isNil {
            guard case .string = long["map_to"], let stored = long["map_to"].text else {
                throw Self.invalid(
                    "\(subject): 'map_to' must be the name that the file uses, a string, got a "
                        + long["map_to"].typeName)
            }
            property.storedName = stored
        }
        property.isPrimary = try Self.flag(
            "primary", in: long, isInType: property.isPrimary, of: subject)
        property.isIndexed = try Self.flag(
            "indexed", in: long, isInType: property.isIndexed, of: subject)
        property.isFullText = try Self.flag(
            "fulltext", in: long, isInType: property.isFullText, of: subject)
        property.defaultValue = try optionValue(long["default"], of: "default", property, subject)
        for option in PropertyRules.optionNames where !long[option].isNil {
            var element = property
            element.collection = option == "enum" ? .list : nil
            if option == "pattern" { element.type = .string }
            let value = try optionValue(long[option], of: option, element, subject)
            try property.rules.set(option, to: value ?? .null, of: subject)
        }
        return property
    }

    /// Returns whether a modifier is set, which is a field next to the type or a part of the type.
    private static func flag(
        _ name: String, in long: LuaTable, isInType: Bool, of subject: String
    ) throws -> Bool {
        let value = long[name]
        if value.isNil { return isInType }
        guard let flag = value.boolean else {
            throw invalid("\(subject): '\(name)' must be true or false, got a \(value.typeName)")
        }
        guard flag || !isInType else {
            throw invalid(
                "\(subject): the type contains '\(name)', but the option is \(name) = false; remove one of them"
            )
        }
        return flag
    }

    /// Returns the value of the option `default` or of a rule; nil for a default function.
    private func optionValue(
        _ value: LuaValue, of option: String, _ property: Property, _ subject: String,
        depth: Int = 0
    ) throws -> Value? {
        switch value {
        // Functions are kept by FunctionDefaults.
        case .function where option == "default" && depth == 0: return nil
        case .integer(let number) where property.type == .double: return .double(Double(number))
        case .integer(let number) where property.type == .decimal:
            return .decimal(DecimalValue(number))
        case .number(let number) where property.type == .decimal:
            return .decimal(DecimalValue(number))
        case .string(let string) where property.type == .data: return .data(string.bytes)
        case .table(let table):
            guard property.collection != nil || property.type == .mixed,
                depth < StoreLimits.nesting
            else { break }
            var element = property
            element.collection = nil
            let form =
                switch property.collection {
                case .list, .set: "an array of values without gaps"
                case .map: "a table with strings as keys"
                case nil: "an array without gaps, or a table with strings as keys"
                }
            return try json.collection(table, property.collection) { _ in
                Self.invalid("\(subject): '\(option)' must be \(form)")
            } _: {
                try optionValue($0, of: option, element, subject, depth: depth + 1) ?? .null
            }
        default:
            if let plain = json.value(value) { return plain == .null ? nil : plain }
        }
        let place = depth == 0 ? "'\(option)'" : "an element of '\(option)'"
        throw Self.invalid("\(subject): \(place) cannot be a \(value.typeName)")
    }

    static func invalid(_ message: String) -> StoreError { StoreError(.invalidSchema, message) }
}

/// Writes schemas in the form that `define` takes.
struct SchemaText {
    private let handle: StoreHandle
    private let schema: Schema
    /// Whether a class is an array of names and declarations, which keeps the order of its properties.
    private var isOrdered = false

    /// Creates the text of the store's current schema, or of another schema.
    init(_ handle: StoreHandle, _ schema: Schema? = nil) {
        self.handle = handle
        self.schema = schema ?? handle.store.schema
    }

    /// Creates the text in the form that the second argument of `store:schema` requests.
    init(_ handle: StoreHandle, _ schema: Schema? = nil, options call: borrowing LuaCall) throws {
        self.init(handle, schema)
        isOrdered = try call.options(3)?["ordered"].isTruthy == true
    }

    /// Returns a table of all classes.
    func table() -> LuaTable {
        let classes = schema.classes
        let result = handle.state.makeTable(fields: classes.count)
        for classSchema in classes { result[classSchema.name] = .table(table(classSchema)) }
        return result
    }

    /// Returns a class in the short form, or in the long one if it has additional attributes.
    func table(_ classSchema: ClassSchema) -> LuaTable {
        let result = handle.state.makeTable(fields: classSchema.properties.count)
        if classSchema.isEmbedded { result["embedded"] = .boolean(true) }
        if !classSchema.indexes.isEmpty {
            result["indexes"] = .table(
                handle.state.makeTable(
                    classSchema.indexes.map { index in
                        let names = handle.state.makeTable(index.properties.map(LuaValue.text))
                        if index.isUnique { names["unique"] = .boolean(true) }
                        return .table(names)
                    }))
        }
        var count = 0
        func add(_ name: String, _ declaration: LuaValue) {
            guard isOrdered else { return result[name] = declaration }
            count += 1
            result[count] = .table(handle.state.makeTable([.text(name), declaration]))
        }
        for property in classSchema.properties {
            let text = LuaValue.text(PropertySyntax.text(of: property))
            let function = handle.functionDefaults.function(of: property, in: classSchema)
            let isMapped = property.storedName != property.name
            let rules = property.rules.options
            guard property.defaultValue != nil || function != nil || isMapped || !rules.isEmpty
            else {
                add(property.name, text)
                continue
            }
            let long = handle.state.makeTable(fields: 3)
            long["type"] = text
            if let function {
                long["default"] = .function(function)
            } else if let value = property.defaultValue {
                long["default"] = ValueBridge(handle, nil).lua(value)
            }
            if isMapped { long["map_to"] = .text(property.storedName) }
            for (name, value) in rules { long[name] = ValueBridge(handle, nil).lua(value) }
            add(property.name, .table(long))
        }
        let ignored = handle.ignoredProperties.all(of: classSchema).sorted { $0.key < $1.key }
        for (name, declaration) in ignored {
            let long = handle.state.makeTable(fields: 3)
            long["type"] = .text(PropertySyntax.text(of: declaration.property))
            long["ignored"] = .boolean(true)
            long["default"] = declaration.initial
            add(name, .table(long))
        }
        return result
    }
}

/// The default functions of a schema: `default = function() … end`.
///
/// They exist until the script that declared them ends. The file does not contain them.
final class FunctionDefaults {
    private var functions: [String: [String: LuaFunction]] = [:]

    /// The default function of a property, if this script declared one.
    func function(of property: Property, in classSchema: ClassSchema) -> LuaFunction? {
        functions[classSchema.name]?[property.name]
    }

    /// Releases all functions, when the Lua state closes.
    func forget() { functions = [:] }

    /// Registers the default functions of a schema that the store has just adopted.
    ///
    /// A property that is declared without a function loses its earlier function.
    func take(_ schema: DeclaredSchema, for handle: StoreHandle) throws {
        for (className, parts) in schema.parts {
            for (name, function) in parts.functions {
                guard function != nil || functions[className]?[name] != nil else { continue }
                functions[className, default: [:]][name] = function
                try handle.store.setDefault(
                    of: name, in: className,
                    to: function.map { function in { try function.call([]).first ?? .nil } },
                    convert: { [weak handle] in
                        guard let handle else {
                            throw StoreError(.closed, "the script has ended")
                        }
                        return try Self.value($0, of: name, in: className, handle)
                    })
            }
        }
    }

    private static func value(
        _ result: LuaValue, of name: String, in className: String, _ handle: StoreHandle
    ) throws -> Value {
        let classSchema = try handle.store.view.schema.require(className)
        let property = try classSchema.requireProperty(name)
        return try ValueBridge(handle, nil).value(result, for: property, of: classSchema)
    }
}
