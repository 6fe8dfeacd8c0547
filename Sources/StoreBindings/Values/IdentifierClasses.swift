import LuaHost
import ObjectStore

/// A UUID in Lua.
final class UUIDBox {
    let identifier: UUIDValue
    init(_ identifier: UUIDValue) { self.identifier = identifier }

    static let type: LuaClass<UUIDBox> = LuaClass(
        name: "uuid",
        metamethods: [
            LuaMethod("__tostring") { $1.answer(.text($0.identifier.description)) },
            LuaMethod(
                "__eq",
                anyReceiver: { call in
                    let left = call.optionalObject(1, type)?.identifier
                    return call.answer(
                        .boolean(left != nil && left == call.optionalObject(2, type)?.identifier))
                }),
            LuaMethod(
                "__lt",
                anyReceiver: { call in
                    call.answer(
                        .boolean(
                            try call.object(1, type).identifier < call.object(2, type).identifier))
                }),
            LuaMethod("__concat", anyReceiver: joinedTexts),
        ])

    /// `moonpool.uuid([text])`.
    static func make(_ call: borrowing LuaCall) throws -> LuaAnswer {
        if call.isNil(1) { return call.answer(UUIDBox(.random()), type) }
        let text = try call.text(1)
        guard let identifier = UUIDValue(text) else {
            throw call.argumentError(
                1, "'\(text)' is no UUID; it has 32 hexadecimal digits as 8-4-4-4-12")
        }
        return call.answer(UUIDBox(identifier), type)
    }
}

/// An object id in Lua.
final class ObjectIDBox {
    let identifier: ObjectIDValue
    init(_ identifier: ObjectIDValue) { self.identifier = identifier }

    static let type: LuaClass<ObjectIDBox> = LuaClass(
        name: "object_id",
        metamethods: [
            LuaMethod("__tostring") { $1.answer(.text($0.identifier.description)) },
            LuaMethod(
                "__eq",
                anyReceiver: { call in
                    let left = call.optionalObject(1, type)?.identifier
                    return call.answer(
                        .boolean(left != nil && left == call.optionalObject(2, type)?.identifier))
                }),
            LuaMethod(
                "__lt",
                anyReceiver: { call in
                    call.answer(
                        .boolean(
                            try call.object(1, type).identifier < call.object(2, type).identifier))
                }),
            LuaMethod("__concat", anyReceiver: joinedTexts),
        ])

    /// `moonpool.object_id([text])`.
    static func make(_ call: borrowing LuaCall) throws -> LuaAnswer {
        if call.isNil(1) {
            let seconds = UInt32(truncatingIfNeeded: Timestamp.now.microseconds / 1_000_000)
            return call.answer(ObjectIDBox(.generate(seconds: seconds)), type)
        }
        let text = try call.text(1)
        guard let identifier = ObjectIDValue(text) else {
            throw call.argumentError(1, "'\(text)' is no object id; it has 24 hexadecimal digits")
        }
        return call.answer(ObjectIDBox(identifier), type)
    }
}

/// Bytes that are marked as data where no property says so, as in an argument of a query.
final class DataBox {
    let bytes: [UInt8]
    init(_ bytes: [UInt8]) { self.bytes = bytes }

    static let type: LuaClass<DataBox> = LuaClass(
        name: "data",
        metamethods: [
            LuaMethod("__tostring") { $1.answer(.string(LuaString(bytes: $0.bytes))) },
            LuaMethod("__len") { $1.answer(.integer(Int64($0.bytes.count))) },
            LuaMethod(
                "__eq",
                anyReceiver: { call in
                    let left = call.optionalObject(1, type)?.bytes
                    return call.answer(
                        .boolean(left != nil && left == call.optionalObject(2, type)?.bytes))
                }),
            LuaMethod("__concat", anyReceiver: joinedTexts),
        ])
}

/// `moonpool.null`: nil where a key must be present.
final class NullMarker {
    static let type: LuaClass<NullMarker> = LuaClass(
        name: "null",
        metamethods: [LuaMethod("__tostring") { _, call in call.answer("null") }])
}

/// `a .. b` of two values by their texts.
let joinedTexts: @Sendable (borrowing LuaCall) throws -> LuaAnswer = { call in
    let left = try call.state.describe(call[1])
    let right = try call.state.describe(call[2])
    return call.answer(.string(LuaString(bytes: left.bytes + right.bytes)))
}
