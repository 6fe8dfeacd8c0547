// Values passed between Lua and a class on the fast paths: one value, or the fields of a table, borrowed during the
// call.

import CLuaShims

/// Receives the value of a property that Lua reads.
///
/// Borrowed bytes are copied into Lua.
@safe public struct LuaResult: ~Copyable {
    // Safe because it exists only while the call that owns both pointers runs.
    let out: UnsafeMutablePointer<shim_value>
    let L: OpaquePointer

    @inline(__always)
    init(_ out: UnsafeMutablePointer<shim_value>, _ L: OpaquePointer) {
        self.out = out
        self.L = L
    }

    /// The state that reads the property.
    package var state: LuaState {
        // because the owner is set while the state is open, and the state is open because it runs
        Unmanaged<LuaHome>.fromOpaque(shim_owner(L)).takeUnretainedValue().state!
    }
    /// Sets the result to `nil`.
    @inline(__always)
    package func setNil() { out.pointee.tag = Int32(SHIM_NIL) }
    /// Sets the result to an integer.
    package func set(_ value: Int64) {
        out.pointee.tag = Int32(SHIM_INT)
        out.pointee.u.i = value
    }
    /// Sets the result to a float.
    package func set(_ value: Double) {
        out.pointee.tag = Int32(SHIM_NUM)
        out.pointee.u.d = value
    }
    /// Sets the result to a boolean.
    package func set(_ value: Bool) {
        out.pointee.tag = Int32(SHIM_BOOL)
        out.pointee.u.b = value
    }
    /// Sets the result to a string of these bytes.
    package func set(_ bytes: RawSpan) {
        bytes.withUnsafeBytes { shim_push_bytes(L, $0.baseAddress, $0.count) }
        out.pointee.tag = Int32(SHIM_PUSHED)
    }
    /// Sets the result to a string.
    package func set(_ text: String) { set(text.utf8Span.span.bytes) }
    /// Sets the result to a live object.
    ///
    /// Its class must belong to the same state.
    package func set(_ type: LuaLiveClass, _ key: Int64) {
        out.pointee.tag = Int32(SHIM_OBJECT)
        out.pointee.u.i = key
        out.pointee.x.cls = type.pointer
    }
    /// Sets the result to a Swift object.
    package func set<Object: AnyObject>(_ object: Object, _ type: LuaClass<Object>) {
        state.push(object, type, on: L)
        out.pointee.tag = Int32(SHIM_PUSHED)
    }
    /// Sets the result to any value.
    package func set(_ value: LuaValue) {
        state.push(value, on: L)
        out.pointee.tag = Int32(SHIM_PUSHED)
    }
}

/// The kind of a field's value.
package enum LuaFieldKind: Sendable {
    case null, bool, int, double, string
    /// A live object.
    case object
    /// A Swift object in a userdata.
    case box
    /// A table, a function, or a userdata of another library.
    case other
}

@inline(__always)
private func kind(_ tag: Int32) -> LuaFieldKind {
    switch Int(tag) {
    case SHIM_NIL: .null
    case SHIM_BOOL: .bool
    case SHIM_INT: .int
    case SHIM_NUM: .double
    case SHIM_STR: .string
    case SHIM_OBJECT: .object
    case SHIM_BOX: .box
    default: .other
    }
}

/// A value that a script assigns.
///
/// Valid during the call. Read strings before any other use of Lua.
@safe public struct LuaField: ~Copyable {
    // Safe because it exists only while the call that owns both pointers runs.
    let value: UnsafePointer<shim_value>
    let L: OpaquePointer
    let index: Int32  // its stack index; 0 for a field of a table

    @inline(__always)
    init(_ value: UnsafePointer<shim_value>, _ L: OpaquePointer, index: Int32) {
        self.value = value
        self.L = L
        self.index = index
    }

    /// The state that assigns the value.
    package var state: LuaState {
        // because the owner is set while the state is open, and the state is open because it runs
        Unmanaged<LuaHome>.fromOpaque(shim_owner(L)).takeUnretainedValue().state!
    }
    /// The kind of the value; check it first, because an accessor of another kind traps.
    package var kind: LuaFieldKind { LuaHost.kind(value.pointee.tag) }
    /// The integer, if the kind is `.int`.
    package var int: Int64 {
        precondition(value.pointee.tag == SHIM_INT)
        return value.pointee.u.i
    }
    /// The float, if the kind is `.double`.
    package var double: Double {
        precondition(value.pointee.tag == SHIM_NUM)
        return value.pointee.u.d
    }
    /// The boolean, if the kind is `.bool`.
    package var bool: Bool {
        precondition(value.pointee.tag == SHIM_BOOL)
        return value.pointee.u.b
    }
    /// Passes the bytes to the body, if the kind is `.string`.
    package func withBytes<R>(_ body: (RawSpan) throws -> R) rethrows -> R {
        precondition(value.pointee.tag == SHIM_STR)
        return try body(
            UnsafeRawBufferPointer(start: value.pointee.u.bytes, count: value.pointee.x.length)
                .bytes)
    }
    /// The text, if the kind is `.string`; nil if the bytes are not UTF-8.
    package var text: String? {
        precondition(value.pointee.tag == SHIM_STR)
        let bytes = UnsafeRawBufferPointer(
            start: value.pointee.u.bytes, count: value.pointee.x.length)
        return String(validating: bytes, as: UTF8.self)
    }
    /// A copy of the bytes, if the kind is `.string`.
    package var bytes: [UInt8] {
        precondition(value.pointee.tag == SHIM_STR)
        return [UInt8](
            UnsafeRawBufferPointer(start: value.pointee.u.bytes, count: value.pointee.x.length))
    }
    /// The live object, if the kind is `.object`.
    package var object: LuaLiveObject {
        precondition(value.pointee.tag == SHIM_OBJECT)
        // because the class of a checked object is alive
        let context = shim_class_context(value.pointee.x.cls)!
        return LuaLiveObject(
            type: Unmanaged<LuaLiveClass>.fromOpaque(context).takeUnretainedValue(),
            key: value.pointee.u.i)
    }
    /// Returns the Swift object, if the kind is `.box` and the object is of this class; nil otherwise.
    package func box<Object: AnyObject>(_ type: LuaClass<Object>) -> Object? {
        guard value.pointee.tag == SHIM_BOX,
            state.classes[ObjectIdentifier(type)] == value.pointee.x.cls
        else { return nil }
        // because the kind of an empty box is not `.box`
        let pointer = UnsafeRawPointer(bitPattern: Int(value.pointee.u.i))!
        return Unmanaged<Object>.fromOpaque(pointer).takeUnretainedValue()
    }
    /// The Swift object, if the kind is `.box`; nil otherwise.
    package var swiftObject: AnyObject? {
        guard value.pointee.tag == SHIM_BOX else { return nil }
        // because the kind of an empty box is not `.box`
        let pointer = UnsafeRawPointer(bitPattern: Int(value.pointee.u.i))!
        return Unmanaged<AnyObject>.fromOpaque(pointer).takeUnretainedValue()
    }
    /// Returns the keys of an array of live objects of one class, in order; nil for an empty array and for other
    /// values.
    ///
    /// Takes time proportional to the number of elements. Use it only for values on the stack, not for the fields of a
    /// table.
    package func liveArray() -> (type: LuaLiveClass, keys: [Int64])? {
        guard value.pointee.tag == SHIM_OTHER, index != 0 else { return nil }
        var cls: OpaquePointer?
        var length = 0
        func read(capacity: Int) -> [Int64] {
            [Int64](unsafeUninitializedCapacity: capacity) { buffer, count in
                length = Int(shim_live_array(L, index, &cls, buffer.baseAddress, Int64(capacity)))
                count = max(min(length, capacity), 0)
            }
        }
        var keys = read(capacity: 16)
        if length > keys.count { keys = read(capacity: length) }
        // because the class of a checked object is alive
        guard length > 0, let cls, let context = shim_class_context(cls) else { return nil }
        return (Unmanaged<LuaLiveClass>.fromOpaque(context).takeUnretainedValue(), keys)
    }
    /// Passes the elements of a short array to the body; returns nil for other values, and for tables with a metatable,
    /// other keys, gaps, or more than ``LuaFields/maxElements`` elements.
    package func withElements<R>(_ body: (borrowing LuaFields) throws -> R) rethrows -> R? {
        guard value.pointee.tag == SHIM_OTHER, index != 0 else { return nil }
        return try withUnsafeTemporaryAllocation(
            of: shim_value.self, capacity: LuaFields.maxElements
        ) {
            // because: the allocation is not empty
            let values = $0.baseAddress!
            let count = shim_array(L, index, values, Int64(LuaFields.maxElements))
            return count < 0 ? nil : try body(LuaFields(values, Int(count), L))
        }
    }
    /// Passes the keys and the values of a small table to the body; returns nil for other values, and for tables with a
    /// metatable, keys that are not strings, or more than ``LuaFields/maxElements`` entries.
    package func withEntries<R>(
        _ body: (_ keys: borrowing LuaFields, _ values: borrowing LuaFields) throws -> R
    ) rethrows -> R? {
        guard value.pointee.tag == SHIM_OTHER, index != 0 else { return nil }
        let capacity = LuaFields.maxElements
        return try withUnsafeTemporaryAllocation(of: shim_value.self, capacity: 2 * capacity) {
            // because: the allocation is not empty
            let keys = $0.baseAddress!
            let count = shim_entries(L, index, keys, keys + capacity, Int64(capacity))
            guard count >= 0 else { return nil }
            return try body(
                LuaFields(keys, Int(count), L), LuaFields(keys + capacity, Int(count), L))
        }
    }
    /// The value of any kind as a Lua value; `nil` for a box in the fields of a table (see `box`).
    package var luaValue: LuaValue {
        let state = state
        if index != 0 { return state.value(at: index, on: L) }
        shim_put(L, value)
        return state.pop(L)
    }
}

/// The fields of a table, for creating an object, or the elements of an array.
///
/// Valid during the call. Read strings before any other use of Lua.
@safe public struct LuaFields: ~Copyable {
    // Safe because it exists only while the call that owns both pointers runs.
    let values: UnsafePointer<shim_value>
    let L: OpaquePointer
    /// The maximum number of elements of an array, or of entries of a table.
    package static let maxElements = 64
    /// The number of fields or elements.
    ///
    /// A field that is `nil` in the table does not count.
    package let count: Int

    init(_ values: UnsafePointer<shim_value>, _ count: Int, _ L: OpaquePointer) {
        self.values = values
        self.count = count
        self.L = L
    }

    /// Returns the slot of the property that a field sets; meaningless for elements.
    @inline(__always)
    package func slot(_ i: Int) -> Int {
        precondition(i >= 0 && i < count)
        return Int(values[i].slot)
    }
    /// Returns a field or an element, borrowed during the call.
    @inline(__always)
    package func field(_ i: Int) -> LuaField {
        precondition(i >= 0 && i < count)
        // The table in a field is on the stack, at this index; that in an element is not, and has the index 0.
        let index = values[i].tag == SHIM_OTHER ? Int32(values[i].u.i) : 0
        return LuaField(values + i, L, index: index)
    }
}
