import LuaHost
import ObjectStore

/// The meaning of a name in an object's class, packed into one integer, with which the shims answer a lookup.
///
/// A slot contains the column and the kind of a property, so that reading a number needs no lookup and no reference
/// counting. From the lowest bit: 4 bits of kind, 12 bits of index, 15 bits of column. A wide slot has 27 bits of index.
struct PropertySlot {
    /// The way in which a name is read and assigned.
    ///
    /// The kinds are constants and not cases, because the conversion of an integer to a case costs a call.
    struct Kind: Equatable {
        fileprivate let bits: Int

        static let bool = Kind(bits: 0)
        static let int = Kind(bits: 1)
        static let float = Kind(bits: 2)
        static let double = Kind(bits: 3)
        static let string = Kind(bits: 4)
        static let data = Kind(bits: 5)
        static let date = Kind(bits: 6)
        static let link = Kind(bits: 7)
        /// Any other single value.
        static let other = Kind(bits: 8)
        /// A set, a map or backlinks.
        static let collection = Kind(bits: 9)
        /// A property whose index or column exceeds the bits of a slot; it uses the general path.
        static let wide = Kind(bits: 10)
        /// The name `store` of every object.
        static let store = Kind(bits: 11)
        /// The name `class` of every object.
        static let className = Kind(bits: 12)
        static let list = Kind(bits: 13)
    }

    private static let kindBits = 4
    private static let indexBits = 12
    private static let columnBits = 15

    /// The integer, as the shims store it.
    let rawValue: Int

    /// Unpacks a slot that this type has packed.
    init(rawValue: Int) { self.rawValue = rawValue }

    /// Packs the slot of a property with its index in the class.
    init(_ property: Property, at index: Int) {
        let column = property.isBacklinks ? 0 : property.column.rawValue
        guard index < 1 << Self.indexBits, column < 1 << Self.columnBits else {
            rawValue = Kind.wide.bits | index << Self.kindBits
            return
        }
        rawValue =
            Self.kind(of: property).bits | index << Self.kindBits
            | column << (Self.kindBits + Self.indexBits)
        assert(
            self.index == index && self.column.rawValue == column,
            "a slot returns the index and the column that it packs")
    }

    private init(_ kind: Kind) { rawValue = kind.bits }

    private static func kind(of property: Property) -> Kind {
        if !property.isSingle { return property.isList ? .list : .collection }
        return switch property.type {
        case .bool: .bool
        case .int: .int
        case .float: .float
        case .double: .double
        case .string: .string
        case .data: .data
        case .date: .date
        case .object: .link
        default: .other
        }
    }

    /// Returns the names and slots of a class: its properties, and `store` and `class` unless a property has this name.
    static func names(of classSchema: ClassSchema) -> [(name: String, slot: Int)] {
        var slots: [(name: String, slot: Int)] = []
        for (index, property) in classSchema.properties.enumerated() {
            slots.append((property.name, PropertySlot(property, at: index).rawValue))
        }
        for (name, kind) in [("store", Kind.store), ("class", .className)]
        where classSchema.property(named: name) == nil {
            slots.append((name, PropertySlot(kind).rawValue))
        }
        return slots
    }

    /// Returns the slot of a name; nil if the class has no such name.
    static func find(_ name: String, in classSchema: ClassSchema) -> PropertySlot? {
        names(of: classSchema).first { $0.name == name }.map { PropertySlot(rawValue: $0.slot) }
    }

    @inline(__always)
    var kind: Kind { Kind(bits: rawValue & (1 << Self.kindBits - 1)) }

    /// The index of the property in its class.
    @inline(__always)
    var index: Int {
        let index = rawValue >> Self.kindBits
        return kind == .wide ? index : index & (1 << Self.indexBits - 1)
    }

    /// The column of the property; meaningful for single values and lists that are not wide.
    @inline(__always)
    var column: ColumnID { ColumnID(rawValue: rawValue >> (Self.kindBits + Self.indexBits)) }

    /// Whether the name is a property, and not `store` or `class`.
    var isProperty: Bool { kind != .store && kind != .className }

    /// Whether the property may be a collection.
    var mayBeCollection: Bool { kind == .list || kind == .collection || kind == .wide }
}

/// The properties that a script declares with `ignored = true`.
///
/// Neither the file nor the store knows them. A value belongs to one handle of an object: other handles of the object,
/// and other scripts, have their own. A property of the file with the same name hides an ignored one.
final class IgnoredProperties {
    /// One ignored property.
    struct Declaration {
        let property: Property
        /// The default value, or the function that returns it.
        let initial: LuaValue
    }

    private var declarations: [String: [String: Declaration]] = [:]
    /// The values of each handle by name; the handles are weak keys.
    private let values: LuaTable
    private unowned let state: LuaState  // used only while the state runs

    init(_ state: LuaState) {
        self.state = state
        values = StoreModule.weakTable(state, "k")
    }

    /// Returns the declarations of a class by name.
    func all(of classSchema: ClassSchema) -> [String: Declaration] {
        guard !declarations.isEmpty, let all = declarations[classSchema.name] else { return [:] }
        return all.filter { classSchema.property(named: $0.key) == nil }
    }

    func find(_ name: String, in classSchema: ClassSchema) -> Declaration? {
        guard !declarations.isEmpty, classSchema.property(named: name) == nil else { return nil }
        return declarations[classSchema.name]?[name]
    }

    /// Registers the ignored properties of a schema that the store has just adopted.
    ///
    /// A class that is declared as a whole loses its earlier ones.
    func take(_ schema: DeclaredSchema) {
        for (className, parts) in schema.parts {
            var found = parts.isPartial ? declarations[className] ?? [:] : [:]
            for name in parts.functions.keys { found[name] = nil }
            found.merge(parts.ignored) { $1 }
            declarations[className] = found.isEmpty ? nil : found
        }
    }

    /// Returns the value that a handle keeps, or the default.
    ///
    /// A default function is called once for each handle.
    func value(of name: String, _ declaration: Declaration, for object: LuaValue) throws -> LuaValue
    {
        let known = values.raw(object).table?.raw(.text(name)) ?? .nil
        guard known.isNil else { return known }
        guard let function = declaration.initial.function else { return declaration.initial }
        let created = try function.call([]).first ?? .nil
        keep(created, as: name, for: object)
        return created
    }

    /// Keeps a value with a handle; nil restores the default.
    ///
    /// Throws `type_mismatch`. A mixed property takes every value of Lua.
    func set(
        _ name: String, _ declaration: Declaration, for object: LuaValue, to value: LuaValue,
        in classSchema: ClassSchema, _ handle: StoreHandle
    ) throws {
        let isNull = value.isNil || value.userdata?.object(as: NullMarker.type) != nil
        let property = declaration.property
        if !isNull, property.type != .mixed {
            let converted = try ValueBridge(handle, nil).value(
                value, for: property, of: classSchema)
            _ = try ValueConversion.stored(converted, property, classSchema)
        }
        keep(isNull ? .nil : value, as: name, for: object)
    }

    /// Keeps the ignored ones of the named values with a handle.
    func set(
        _ named: LuaTable, for object: LuaValue, in classSchema: ClassSchema, _ handle: StoreHandle
    ) throws {
        for (name, declaration) in all(of: classSchema) {
            let value = named.raw(.text(name))
            if value.isNil { continue }
            try set(name, declaration, for: object, to: value, in: classSchema, handle)
        }
    }

    private func keep(_ value: LuaValue, as name: String, for object: LuaValue) {
        if let kept = values.raw(object).table { return kept[name] = value }
        let kept = state.makeTable(fields: 1)
        kept[name] = value
        values.setRaw(object, .table(kept))
    }

    /// Releases the declarations, when the Lua state closes.
    func forget() { declarations = [:] }
}
