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
