import LuaHost
import ObjectStore

/// An identifier that scripts can print and compare.
protocol LuaIdentifier: Comparable, CustomStringConvertible, Sendable {
    static var boxClass: LuaClass<IdentifierBox<Self>> { get }
}

/// A UUID or an object id in Lua.
final class IdentifierBox<Identifier: LuaIdentifier> {
    let identifier: Identifier
    init(_ identifier: Identifier) { self.identifier = identifier }

    static var type: LuaClass<IdentifierBox> { Identifier.boxClass }

    static func makeClass(_ name: String) -> LuaClass<IdentifierBox> {
        LuaClass(
            name: name,
            metamethods: [
                LuaMethod("__tostring") { $1.answer(.text($0.identifier.description)) },
                LuaMethod.equality(of: type) { $0.identifier == $1.identifier },
                LuaMethod("__lt", anyReceiver: { try compare($0, <) }),
                LuaMethod("__le", anyReceiver: { try compare($0, <=) }),
                LuaMethod("__concat", anyReceiver: joinedTexts),
            ])
    }

    private static func compare(
        _ call: borrowing LuaCall, _ test: (Identifier, Identifier) -> Bool
    ) throws -> LuaAnswer {
        let left = try call.object(1, type).identifier
        return call.answer(.boolean(test(left, try call.object(2, type).identifier)))
    }
}

typealias UUIDBox = IdentifierBox<UUIDValue>
typealias ObjectIDBox = IdentifierBox<ObjectIDValue>

extension UUIDValue: LuaIdentifier {
    static let boxClass = UUIDBox.makeClass("uuid")
}

extension ObjectIDValue: LuaIdentifier {
    static let boxClass = ObjectIDBox.makeClass("object_id")
}

extension UUIDBox {
    /// Implements `moonpool.uuid([text])`.
    static func make(_ call: borrowing LuaCall) throws -> LuaAnswer {
        if call.isNil(1) { return call.answer(UUIDBox(.random()), type) }
        let text = try call.text(1)
        guard let identifier = UUIDValue(text) else {
            throw call.argumentError(
                1,
                "'\(text)' is not a valid UUID; expected 32 hexadecimal digits grouped 8-4-4-4-12")
        }
        return call.answer(UUIDBox(identifier), type)
    }
}

extension ObjectIDBox {
    /// Implements `moonpool.object_id([text])`.
    static func make(_ call: borrowing LuaCall) throws -> LuaAnswer {
        if call.isNil(1) {
            let seconds = UInt32(truncatingIfNeeded: Timestamp.now.microseconds / 1_000_000)
            return call.answer(ObjectIDBox(.generate(seconds: seconds)), type)
        }
        let text = try call.text(1)
        guard let identifier = ObjectIDValue(text) else {
            throw call.argumentError(
                1, "'\(text)' is not a valid object id; expected 24 hexadecimal digits")
        }
        return call.answer(ObjectIDBox(identifier), type)
    }
}

/// Bytes that are marked as data if no property determines the type, such as in an argument of a query.
final class DataBox {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

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
final class NullMarker {
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
