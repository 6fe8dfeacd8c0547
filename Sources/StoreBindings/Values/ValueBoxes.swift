import LuaHost
import ObjectStore
import Synchronization

/// A value in Lua that no Lua type represents, as a userdata with a class of its own.
class ValueBox {
    /// The value; null for `moonpool.null`.
    var value: Value { .null }
}

/// A UUID, an object id, or a value of another type with a fixed number of bytes.
final class FixedBox: ValueBox {
    let fixed: FixedValue
    init(_ fixed: FixedValue) { self.fixed = fixed }
    override var value: Value { .fixed(fixed) }

    private static let usual = FixedType.all.map(makeClass)
    /// The classes of types that were registered since ``usual`` was made.
    private static let others = Mutex<[FixedType: LuaClass<FixedBox>]>([:])

    /// The class of the values of a type.
    static func type(_ type: FixedType) -> LuaClass<FixedBox> {
        if Int(type.number) < usual.count { return usual[Int(type.number)] }
        return others.withLock { classes in
            let known = classes[type] ?? makeClass(type)
            classes[type] = known
            return known
        }
    }

    private static func makeClass(_ type: FixedType) -> LuaClass<FixedBox> {
        func compare(
            _ name: String, _ test: @escaping @Sendable (FixedValue, FixedValue) -> Bool
        ) -> LuaMethod<FixedBox> {
            LuaMethod(
                name,
                anyReceiver: { call in
                    let left = try call.object(1, Self.type(type)).fixed
                    return call.answer(
                        .boolean(test(left, try call.object(2, Self.type(type)).fixed)))
                })
        }
        return LuaClass(
            name: type.traits.name,
            metamethods: [
                LuaMethod("__tostring") { $1.answer(.text($0.fixed.description)) },
                LuaMethod.equality(of: Self.type(type)) { $0.fixed == $1.fixed },
                compare("__lt") { $0 < $1 }, compare("__le") { $0 <= $1 },
                LuaMethod("__concat", anyReceiver: joinedTexts),
            ])
    }

    /// Implements `moonpool.uuid([text])` and the functions of the other types.
    static func make(_ type: FixedType, _ call: borrowing LuaCall) throws -> LuaAnswer {
        let traits = type.traits
        if call.isNil(1) { return call.answer(FixedBox(traits.generate()), Self.type(type)) }
        let text = try call.text(1)
        guard let fixed = traits.parse(text) else {
            throw call.argumentError(
                1, "'\(text)' is not a valid \(traits.title); expected \(traits.format)")
        }
        return call.answer(FixedBox(fixed), Self.type(type))
    }
}

/// Bytes that are marked as data if no property determines the type, such as in an argument of a query.
final class DataBox: ValueBox {
    let bytes: [UInt8]
    init(_ bytes: [UInt8]) { self.bytes = bytes }
    override var value: Value { .data(bytes) }

    static let type: LuaClass<DataBox> = LuaClass(
        name: "data",
        metamethods: [
            LuaMethod("__tostring") { data, call in
                try call.state.checkMemory(adding: data.bytes.count)
                return call.answer(.string(LuaString(bytes: data.bytes)))
            },
            LuaMethod("__len") { $1.answer(.integer(Int64($0.bytes.count))) },
            LuaMethod.equality(of: type) { $0.bytes == $1.bytes },
            LuaMethod("__concat", anyReceiver: joinedTexts),
        ])
}

/// The value `moonpool.null`, which represents nil in a table where a key must be present.
final class NullMarker: ValueBox {
    static let type: LuaClass<NullMarker> = LuaClass(
        name: "null",
        metamethods: [LuaMethod("__tostring") { _, call in call.answer("null") }])
}

extension LuaValue {
    /// Whether the value is nil or `moonpool.null`.
    package var isNull: Bool {
        isNil || userdata?.object(as: NullMarker.type) != nil
    }
}

/// The metamethod of `a .. b`, which concatenates the texts of two values.
let joinedTexts: @Sendable (borrowing LuaCall) throws -> LuaAnswer = { call in
    let left = try call.state.describe(call[1])
    let right = try call.state.describe(call[2])
    try call.state.checkMemory(adding: 2 * (left.bytes.count + right.bytes.count))
    return call.answer(.string(LuaString(bytes: left.bytes + right.bytes)))
}

// Values of the store as values of Lua.
extension LuaJSON {
    /// Converts a value of the store.
    ///
    /// Lists become plain arrays, whose nil elements are `moonpool.null`. `object` converts links; without it, they are
    /// nil.
    func lua(
        _ value: Value, object: (ObjectReference) -> LuaValue = { _ in .nil }
    ) -> LuaValue {
        func copied(_ value: Value) -> LuaValue {
            value == .null ? null : lua(value, object: object)
        }
        switch value {
        case .null: return .nil
        case .bool(let flag): return .boolean(flag)
        case .int(let number): return .integer(number)
        case .float(let number): return .number(Double(number))
        case .double(let number): return .number(number)
        case .string(let text): return .text(text)
        case .data(let bytes): return .string(LuaString(bytes: bytes))
        case .date(let moment): return dates.userdata(moment, state)
        case .fixed(let fixed): return state.userdata(FixedBox(fixed), FixedBox.type(fixed.type))
        case .decimal(let number): return state.userdata(DecimalBox(number), DecimalBox.type)
        case .object(let reference): return object(reference)
        case .list(let values): return .table(state.makeTable(values.map(copied)))
        case .dictionary(let values):
            let table = makeMap(ofCount: values.count)
            for (name, value) in values { table[name] = copied(value) }
            return .table(table)
        }
    }

    /// Converts a value without losing its type: a float becomes a `moonpool.float`.
    func exact(_ value: Value) -> LuaValue {
        switch value {
        case .null: null
        case .float(let number): state.userdata(FloatBox(number), FloatBox.type)
        case .data(let bytes): state.userdata(DataBox(bytes), DataBox.type)
        default: lua(value)
        }
    }

    /// Returns the date, identifier, number, data or null in a userdata; nil for other userdata.
    func value(_ userdata: LuaUserdata) -> Value? {
        if let live = userdata.liveObject {
            return live.type === dates ? .date(Timestamp(microseconds: live.key)) : nil
        }
        return (userdata.swiftObject as? ValueBox)?.value
    }

    /// Returns the value of the store in a value of Lua without elements; nil for tables, functions and objects.
    ///
    /// Strings that are not UTF-8 become data.
    func value(_ value: LuaValue) -> Value? {
        switch value {
        case .nil: .null
        case .boolean(let flag): .bool(flag)
        case .integer(let number): .int(number)
        case .number(let number): .double(number)
        case .string(let string): string.text.map(Value.string) ?? .data(string.bytes)
        case .userdata(let userdata): self.value(userdata)
        default: nil
        }
    }

    /// Converts a table: an array, whose elements can be nil, to a list, and a table with text as keys to a map.
    ///
    /// With `kind`, only this collection is possible. Throws the error that `refusal` returns for a key that the
    /// collection cannot have, and ``MemoryLimitReached``.
    func collection(
        _ table: LuaTable, _ kind: CollectionKind? = nil, refusal: (LuaValue) -> StoreError,
        _ convert: (LuaValue) throws -> Value
    ) throws -> Value {
        func element(_ value: LuaValue) throws -> Value {
            let element = try convert(value)
            try state.checkMemory()
            return element
        }
        try table.requireSpace()
        if kind != .map {
            let other = table.keyOutsideArray
            if other == nil, kind != nil || table.count > 0 || !Self.isObject(table) {
                return .list(try table.array.map(element))
            }
            if kind != nil, let other { throw refusal(other) }
        }
        var entries: ValueMap = [:]
        for (key, value) in table.pairs {
            guard let name = key.text else { throw refusal(key) }
            entries[name] = try element(value)
        }
        return .dictionary(entries)
    }
}
