import Decimals
import LuaHost
import ObjectStore

/// Dates in Lua: a moment in microseconds that needs no finalizer, with calendar fields in UTC.
final class DateClass: LuaLiveClass {
    static let names: [(name: String, slot: Int)] = [
        "year", "month", "day", "hour", "minute", "second", "microsecond", "seconds",
        "microseconds",
    ].enumerated().map { ($1, $0) }

    override func get(_ key: Int64, _ slot: Int, _ result: borrowing LuaResult) throws {
        let moment = Timestamp(microseconds: key)
        switch slot {
        case 0: result.set(Int64(moment.components.year))
        case 1: result.set(Int64(moment.components.month))
        case 2: result.set(Int64(moment.components.day))
        case 3: result.set(Int64(moment.components.hour))
        case 4: result.set(Int64(moment.components.minute))
        case 5: result.set(Int64(moment.components.second))
        case 6: result.set(Int64(moment.components.microsecond))
        case 7: result.set(moment.seconds)
        case 8: result.set(moment.microseconds)
        default:
            let name = result.key.text ?? "?"
            throw StoreError(
                .unknownProperty,
                "a date has no field '\(name)'"
                    + NearestName.hint(for: name, among: Self.names.map(\.name)))
        }
    }

    override func set(_ key: Int64, _ slot: Int, _ value: borrowing LuaField) throws {
        throw StoreError(
            .invalidArgument, "dates are immutable; create a new date with moonpool.date")
    }

    func userdata(_ moment: Timestamp, _ state: LuaState) -> LuaValue {
        state.userdata(LuaLiveObject(type: self, key: moment.microseconds))
    }

    static let methods = LuaLiveMethods(
        methods: [
            LuaMethod("to_table") { date, call in
                let moment = Timestamp(microseconds: date.key).components
                let table = call.state.makeTable(fields: 7)
                table["year"] = .integer(Int64(moment.year))
                table["month"] = .integer(Int64(moment.month))
                table["day"] = .integer(Int64(moment.day))
                table["hour"] = .integer(Int64(moment.hour))
                table["min"] = .integer(Int64(moment.minute))
                table["sec"] = .integer(Int64(moment.second))
                table["microsecond"] = .integer(Int64(moment.microsecond))
                return call.answer(.table(table))
            }
        ],
        metamethods: [
            LuaMethod("__tostring") { date, call in
                call.answer(.text(Timestamp(microseconds: date.key).description))
            },
            LuaMethod("__lt", anyReceiver: { try compare($0, <) }),
            LuaMethod("__le", anyReceiver: { try compare($0, <=) }),
            LuaMethod(
                "__add",
                anyReceiver: { call in
                    let dateIndex = call.liveObject(1) != nil ? 1 : 2
                    let step = try duration(call, 3 - dateIndex)
                    let sum = try moment(call, dateIndex).key.addingReportingOverflow(step)
                    return try answer(sum, call)
                }),
            LuaMethod(
                "__sub",
                anyReceiver: { call in
                    let left = try moment(call, 1)
                    guard let right = call.liveObject(2), right.type is DateClass else {
                        return try answer(
                            left.key.subtractingReportingOverflow(try duration(call, 2)), call)
                    }
                    let (difference, overflow) = left.key.subtractingReportingOverflow(right.key)
                    let microseconds =
                        overflow ? Double(left.key) - Double(right.key) : Double(difference)
                    return call.answer(.number(microseconds / 1_000_000))
                }),
        ])

    private static func moment(_ call: borrowing LuaCall, _ index: Int) throws -> LuaLiveObject {
        guard let date = call.liveObject(index), date.type is DateClass else {
            throw call.typeError(index, "date")
        }
        return date
    }

    private static func compare(
        _ call: borrowing LuaCall, _ test: (Int64, Int64) -> Bool
    ) throws -> LuaAnswer {
        let (left, right) = (try moment(call, 1), try moment(call, 2))
        return call.answer(.boolean(test(left.key, right.key)))
    }

    /// Returns the seconds in an argument as microseconds: exact for integers, rounded for floats.
    private static func duration(_ call: borrowing LuaCall, _ index: Int) throws -> Int64 {
        let step: Timestamp?
        if case .integer(let seconds) = call[index] {
            step = Timestamp(wholeSeconds: seconds)
        } else {
            step = Timestamp(seconds: try call.number(index))
        }
        guard let step else { throw outOfRange }
        return step.microseconds
    }

    private static func answer(
        _ sum: (partialValue: Int64, overflow: Bool), _ call: borrowing LuaCall
    ) throws -> LuaAnswer {
        let date = call.liveObject(1) ?? call.liveObject(2)
        guard let type = date?.type, !sum.overflow else { throw outOfRange }
        return call.answer(LuaLiveObject(type: type, key: sum.partialValue))
    }

    private static var outOfRange: StoreError {
        StoreError(.invalidArgument, "the date is out of range")
    }

    /// Implements `moonpool.date(…)`: text, seconds, calendar fields in UTC, microseconds, or no argument for the
    /// current time.
    func make(_ call: borrowing LuaCall) throws -> LuaAnswer {
        let moment: Timestamp?
        switch call[1] {
        case .nil: moment = .now
        case .integer(let seconds): moment = Timestamp(wholeSeconds: seconds)
        case .number(let seconds): moment = Timestamp(seconds: seconds)
        case .string(let text):
            try call.checkMemory(ofText: 1)
            moment = try Self.parsed(text.description, call)
        case .table(let table):
            moment =
                try Self.microseconds(table, call) ?? Timestamp(try Self.components(table, call))
        default: throw call.typeError(1, "string, number or table")
        }
        guard let moment else { throw call.argumentError(1, "the date is out of range") }
        return call.answer(LuaLiveObject(type: self, key: moment.microseconds))
    }

    /// Parses a date; throws if the text has digits below the microsecond.
    private static func parsed(_ text: String, _ call: borrowing LuaCall) throws -> Timestamp {
        guard let moment = PreciseTimestamp(text) else {
            throw call.argumentError(
                1, "'\(text)' is not a valid date; expected \"2026-11-20T10:00:00Z\"")
        }
        guard moment.isExact else {
            throw call.argumentError(
                1,
                "'\(text)' has the digits '\(moment.digitsBelow)' below the microsecond, which a date cannot "
                    + "hold; remove them, or round the text to 6 digits after the point")
        }
        return moment.floor
    }

    /// Returns the date of `{ microseconds = … }`; nil for a table without this field.
    private static func microseconds(
        _ table: LuaTable, _ call: borrowing LuaCall
    ) throws -> Timestamp? {
        if table["microseconds"].isNil { return nil }
        guard let count = table["microseconds"].integer else {
            throw call.argumentError(1, "field 'microseconds' must be a whole number")
        }
        guard table.pairs.count == 1 else {
            throw call.argumentError(
                1,
                "'microseconds' counts from 1970 and excludes the other fields; use 'microsecond' with them"
            )
        }
        return Timestamp(microseconds: count)
    }

    private static func components(
        _ table: LuaTable, _ call: borrowing LuaCall
    ) throws -> Timestamp.Components {
        // All fields of os.date("!*t") are accepted; 'yday', 'wday' and 'isdst' are redundant.
        let known = [
            "year", "month", "day", "hour", "minute", "min", "second", "sec", "microsecond",
            "yday", "wday", "isdst",
        ]
        for (key, _) in table.pairs where !known.contains(key.text ?? "") {
            let shown = key.text ?? key.typeName
            throw call.argumentError(
                1, "a date has no field '\(shown)'" + NearestName.hint(for: shown, among: known))
        }
        func field(_ names: [String], _ missing: Int?) throws -> Int {
            for name in names where !table[name].isNil {
                guard let number = table[name].integer, let small = Int32(exactly: number) else {
                    throw call.argumentError(1, "field '\(name)' must be a whole number")
                }
                return Int(small)
            }
            guard let missing else {
                throw call.argumentError(1, "field '\(names[0])' is missing")
            }
            return missing
        }
        return Timestamp.Components(
            year: try field(["year"], nil), month: try field(["month"], 1),
            day: try field(["day"], 1), hour: try field(["hour"], 0),
            minute: try field(["minute", "min"], 0), second: try field(["second", "sec"], 0),
            microsecond: try field(["microsecond"], 0))
    }
}

/// A decimal number in Lua.
///
/// Supports arithmetic with decimals and numbers. A number has the value of its shortest decimal form.
final class DecimalBox: ValueBox {
    let number: DecimalValue
    init(_ number: DecimalValue) { self.number = number }
    override var value: Value { .decimal(number) }

    static let type: LuaClass<DecimalBox> = LuaClass(
        name: "decimal",
        methods: [
            LuaMethod("round") { decimal, call in
                let places = call.isNil(2) ? 0 : Int(clamping: try call.integer(2))
                guard let rounded = decimal.number.rounded(places: places) else {
                    throw call.argumentError(
                        2, "\(decimal.number) with \(places) places needs more than 34 digits")
                }
                return call.answer(DecimalBox(rounded), type)
            },
            LuaMethod("abs") { decimal, call in
                call.answer(DecimalBox(decimal.number.magnitude), type)
            },
            LuaMethod("to_number") { decimal, call in
                call.answer(
                    decimal.number.exactInt.map(LuaValue.integer) ?? .number(decimal.number.double))
            },
            LuaMethod("is_nan") { decimal, call in
                call.answer(.boolean(decimal.number.isNotANumber))
            },
            LuaMethod("is_finite") { decimal, call in
                call.answer(.boolean(decimal.number.isFinite))
            },
        ],
        metamethods: [
            LuaMethod("__tostring") { $1.answer(.text($0.number.description)) },
            LuaMethod.equality(of: type) { DecimalValue.order($0.number, $1.number) == 0 },
            LuaMethod("__lt", anyReceiver: { try compare($0) { $0 < 0 } }),
            LuaMethod("__le", anyReceiver: { try compare($0) { $0 <= 0 } }),
            LuaMethod("__add", anyReceiver: { try calculate($0, +) }),
            LuaMethod("__sub", anyReceiver: { try calculate($0, -) }),
            LuaMethod("__mul", anyReceiver: { try calculate($0, *) }),
            LuaMethod("__div", anyReceiver: { try calculate($0, /) }),
            LuaMethod("__mod", anyReceiver: { try calculate($0) { $0.modulo($1) } }),
            LuaMethod("__idiv", anyReceiver: { try calculate($0) { $0.floorDivided(by: $1) } }),
            LuaMethod("__unm") { $1.answer(DecimalBox(-$0.number), type) },
            LuaMethod("__concat", anyReceiver: joinedTexts),
        ])

    private static func calculate(
        _ call: borrowing LuaCall, _ operation: (DecimalValue, DecimalValue) -> DecimalValue
    ) throws -> LuaAnswer {
        call.answer(DecimalBox(operation(try operand(call, 1), try operand(call, 2))), type)
    }

    private static func compare(
        _ call: borrowing LuaCall, _ test: (Int) -> Bool
    ) throws -> LuaAnswer {
        let order = DecimalValue.order(try operand(call, 1), try operand(call, 2))
        return call.answer(.boolean(order.map(test) ?? false))
    }

    private static func operand(_ call: borrowing LuaCall, _ index: Int) throws -> DecimalValue {
        switch call[index] {
        case .integer(let number): return DecimalValue(number)
        case .number(let number): return DecimalValue(number)
        default: return try call.object(index, type).number
        }
    }

    /// Implements `moonpool.decimal(text | number)`.
    static func make(_ call: borrowing LuaCall) throws -> LuaAnswer {
        switch call[1] {
        case .string(let string):
            try call.checkMemory(ofText: 1)
            guard let text = string.text, let number = DecimalValue(text) else {
                throw call.argumentError(
                    1,
                    "'\(string.description)' is not a valid decimal; expected \"12.30\", \"1e10\", \"NaN\" or "
                        + "\"Infinity\" (at most 9.99…e6144)")
            }
            return call.answer(DecimalBox(number), type)
        case .integer, .number: return call.answer(DecimalBox(try operand(call, 1)), type)
        default:
            guard let decimal = call.optionalObject(1, type) else {
                throw call.typeError(1, "string or number")
            }
            return call.answer(decimal, type)
        }
    }
}

/// The function `moonpool.type_of`: returns the stored type of a value, because one Lua type represents several stored
/// types.
///
/// Lua represents data and strings as strings, and floats and doubles as numbers. An empty list looks like an empty
/// map.
enum TypeFunctions {
    private typealias Item = NestedCollection.Item

    /// Implements `moonpool.type_of(object, property)` and `moonpool.type_of(collection, index or key)`.
    static func typeOf(_ call: borrowing LuaCall) throws -> LuaAnswer {
        let item: NestedCollection.Item?
        switch call[1].userdata?.held?.value {
        case .object(let object):
            let property = try object.classSchema.requireProperty(call.text(2))
            return call.answer(.text(try name(of: property, of: object)))
        case .collection(let list as LiveList):
            item = try list.element(at: position(call)).map(Item.value)
        case .collection(let set as LiveSet):
            item = try set.element(at: position(call)).map(Item.value)
        case .collection(let map as LiveMap):
            item = try map.value(forKey: call.text(2)).map(Item.value)
        case .nested(let nested) where nested.kind == .list:
            item = try nested.item(at: position(call))
        case .nested(let nested): item = try nested.item(forKey: call.text(2))
        case .values(let values):
            let (all, position) = (try values.values(), try position(call))
            item = all.indices.contains(position) ? .value(all[position]) : nil
        case .collection, .results, .store, nil: throw call.typeError(1, "object or collection")
        }
        guard let item else { return call.answer(.nil) }
        return call.answer(.text(name(of: item)))
    }

    private static func position(_ call: borrowing LuaCall) throws -> Int {
        ScriptIndex.position(try call.integer(2))
    }

    private static func name(of property: Property, of object: LiveObject) throws -> String {
        if property.isBacklinks { return "backlinks" }
        if let collection = property.collection {
            _ = try object.value(property.name)
            return collection.name
        }
        if property.type == .mixed {
            return name(of: try NestedCollection.item(at: .property(object, property)))
        }
        return name(of: .value(try object.value(property.name)))
    }

    private static func name(of item: NestedCollection.Item) -> String {
        switch item {
        case .nested(let nested): nested.kind == .list ? "list" : "map"
        case .value(.list): "list"
        case .value(.dictionary): "map"
        case .value(let value): value.typeName
        }
    }
}

/// A single-precision number in Lua, for storing a float in a mixed value, because a Lua number becomes a double.
final class FloatBox: ValueBox {
    let number: Float
    init(_ number: Float) { self.number = number }
    override var value: Value { .float(number) }

    /// Implements `moonpool.float(number)`.
    static func make(_ call: borrowing LuaCall) throws -> LuaAnswer {
        let number = try call.number(1)
        let float = Float(number)
        guard float.isFinite || !number.isFinite else {
            throw call.argumentError(1, "\(number) is out of the range of a float")
        }
        return call.answer(FloatBox(float), type)
    }

    static let type: LuaClass<FloatBox> = LuaClass(
        name: "float",
        methods: [
            LuaMethod("to_number") { float, call in call.answer(.number(Double(float.number))) }
        ],
        metamethods: [
            LuaMethod("__tostring") { $1.answer(.text($0.number.description)) },
            LuaMethod.equality(of: type) { $0.number == $1.number },
        ])
}
