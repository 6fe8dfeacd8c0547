// A call of a Swift function from Lua: typed arguments and results.

import CLuaShims

/// The number of results that a function has pushed on the stack for its caller.
///
/// Created by `LuaCall.answer` and `.yield`.
package struct LuaAnswer: Sendable {
    let count: Int32
    /// No results.
    package static let none = LuaAnswer(count: 0)
}

/// The arguments of a call.
///
/// Valid during the call only.
///
/// Arguments are numbered from 1. In a method, argument 1 is the receiver, which messages do not count: the first
/// argument of `dog:update(…)` is argument 2 here, and `#1` in a message.
@safe package struct LuaCall: ~Copyable {
    // Safe because it cannot be copied out of the call, and the stack belongs to the caller.
    /// The state of the calling code.
    package let state: LuaState
    let L: OpaquePointer
    /// The number of arguments, including the receiver.
    package let count: Int
    let function: FunctionBox

    init(_ function: FunctionBox, _ L: OpaquePointer) {
        self.function = function
        state = function.home.state!  // because the state is open: it runs this
        self.L = L
        count = Int(shim_top(L))
    }

    /// Returns an argument as a value; `nil` after the last argument.
    package subscript(index: Int) -> LuaValue {
        index <= count ? state.value(at: Int32(index), on: L) : .nil
    }

    /// Returns all arguments, starting at this one.
    package func rest(from first: Int) -> [LuaValue] {
        first <= count ? (first...count).map { self[$0] } : []
    }

    /// Returns whether the argument is missing or `nil`.
    package func isNil(_ index: Int) -> Bool {
        index > count || shim_type(L, Int32(index)) == SHIM_TNIL
    }

    /// The name under which the function was declared, for messages.
    package var name: String { function.name }

    /// Returns an integer argument; accepts a float with an integral value.
    package func integer(_ index: Int) throws -> Int64 {
        var result: Int64 = 0
        if index <= count, shim_exact_integer(L, Int32(index), &result) { return result }
        if index <= count, shim_type(L, Int32(index)) == SHIM_TNUMBER {
            throw argumentError(index, "number has no integer representation")
        }
        throw typeError(index, "integer")
    }

    /// Returns a number argument.
    package func number(_ index: Int) throws -> Double {
        guard index <= count, shim_type(L, Int32(index)) == SHIM_TNUMBER else {
            throw typeError(index, "number")
        }
        return shim_number(L, Int32(index))
    }

    /// Returns a boolean argument.
    package func boolean(_ index: Int) throws -> Bool {
        guard index <= count, shim_type(L, Int32(index)) == SHIM_TBOOLEAN else {
            throw typeError(index, "boolean")
        }
        return shim_boolean(L, Int32(index))
    }

    /// Returns a string argument; numbers are not converted.
    package func string(_ index: Int) throws -> LuaString {
        guard index <= count, shim_type(L, Int32(index)) == SHIM_TSTRING else {
            throw typeError(index, "string")
        }
        let length = shim_rawlen(L, Int32(index))
        if length >= LuaTable.longString { try state.checkMemory(adding: Int(length)) }
        return state.string(at: Int32(index), on: L)
    }

    /// Returns a string argument as text; throws if it is not UTF-8.
    package func text(_ index: Int) throws -> String {
        if index <= count { try checkMemory(ofText: index) }
        guard let text = try string(index).text else {
            throw argumentError(index, "the string is not valid UTF-8")
        }
        return text
    }

    /// Throws if the script does not have the memory to convert a long string argument and to repeat it in a message.
    package func checkMemory(ofText index: Int) throws {
        let length = shim_rawlen(L, Int32(index))
        guard length >= LuaTable.longString, shim_type(L, Int32(index)) == SHIM_TSTRING else {
            return
        }
        try state.checkMemory(adding: 4 * Int(length))
    }

    /// Returns the address of the bytes of a string argument; 0 for other types.
    ///
    /// An interned name always has the same address, which is that of `LuaLiveClass.internedName`.
    package func address(_ index: Int) -> UInt {
        var length = 0
        return index <= count ? UInt(bitPattern: shim_bytes(L, Int32(index), &length)) : 0
    }

    /// Returns a table argument.
    package func table(_ index: Int) throws -> LuaTable {
        guard index <= count, shim_type(L, Int32(index)) == SHIM_TTABLE else {
            throw typeError(index, "table")
        }
        return LuaTable(reference: state.reference(at: Int32(index), on: L))
    }

    /// Returns a function argument.
    package func function(_ index: Int) throws -> LuaFunction {
        guard index <= count, shim_type(L, Int32(index)) == SHIM_TFUNCTION else {
            throw typeError(index, "function")
        }
        return LuaFunction(reference: state.reference(at: Int32(index), on: L))
    }

    /// Returns the Swift object in an argument of this class.
    package func object<Object: AnyObject>(_ index: Int, _ type: LuaClass<Object>) throws -> Object
    {
        guard let object = optionalObject(index, type) else { throw typeError(index, type.name) }
        return object
    }

    /// Returns the Swift object in an argument of this class; nil for any other argument.
    package func optionalObject<Object: AnyObject>(_ index: Int, _ type: LuaClass<Object>)
        -> Object?
    {
        index <= count ? state.object(at: Int32(index), of: type, on: L) : nil
    }

    /// Returns the live object in an argument; nil for any other argument.
    package func liveObject(_ index: Int) -> LuaLiveObject? {
        index <= count ? state.liveObject(at: Int32(index), on: L) : nil
    }

    /// Returns an error about an argument: `bad argument #1 to 'name' (reason)`.
    ///
    /// `hint` follows the closing parenthesis.
    package func argumentError(
        _ index: Int, _ reason: String, hint: String = ""
    ) -> LuaArgumentError {
        let number = function.isMethod ? index - 1 : index
        if number == 0 {
            return LuaArgumentError("calling '\(name)' on bad self (\(reason))\(hint)")
        }
        return LuaArgumentError("bad argument #\(number) to '\(name)' (\(reason))\(hint)")
    }

    /// Throws unless all arguments from an index on are nil; `reason` says why they have no meaning.
    package func requireNone(from first: Int, _ reason: @autoclosure () -> String) throws {
        guard count >= first, let given = (first...count).first(where: { !isNil($0) }) else {
            return
        }
        throw argumentError(given, reason())
    }

    /// Returns an error about the type of an argument: `… (table expected, got nil); write store:define(schema)`.
    ///
    /// In an operator's metamethod, which scripts do not call by name, the error has the message of Lua's own
    /// operators.
    package func typeError(_ index: Int, _ expected: String) -> LuaArgumentError {
        switch name {
        case "__lt", "__le":
            LuaArgumentError("attempt to compare \(typeName(1)) with \(typeName(2))")
        case "__add", "__sub", "__mul", "__div", "__idiv", "__mod", "__pow":
            LuaArgumentError(
                "attempt to perform arithmetic on a \(typeName(index)) value (\(expected) expected)"
            )
        default:
            argumentError(
                index, "\(expected) expected, got \(typeName(index))",
                hint: usage.map { "; write \($0.text)" } ?? "")
        }
    }

    /// Returns the type of an argument for messages; for a userdata, the name of its class.
    package func typeName(_ index: Int) -> String {
        index > count ? "no value" : String(cString: shim_type_name(L, Int32(index)))
    }

    /// Returns one value to the caller.
    package func answer(_ value: LuaValue) -> LuaAnswer {
        state.push(value, on: L)
        return LuaAnswer(count: 1)
    }

    /// Returns several values to the caller.
    package func answer(_ values: [LuaValue]) throws -> LuaAnswer {
        guard shim_reserve(L, Int32(clamping: values.count + 4)) else {
            throw LuaArgumentError("too many results (\(values.count))")
        }
        for value in values { state.push(value, on: L) }
        return LuaAnswer(count: Int32(values.count))
    }

    /// Returns two values to the caller.
    package func answer(_ first: LuaValue, _ second: LuaValue) -> LuaAnswer {
        state.push(first, on: L)
        state.push(second, on: L)
        return LuaAnswer(count: 2)
    }

    /// Returns a Swift object to the caller.
    package func answer<Object: AnyObject>(_ object: Object, _ type: LuaClass<Object>) -> LuaAnswer
    {
        state.push(object, type, on: L)
        return LuaAnswer(count: 1)
    }

    /// Returns a live object to the caller.
    package func answer(_ object: LuaLiveObject) -> LuaAnswer {
        shim_push_object(L, object.type.pointer, object.key)
        return LuaAnswer(count: 1)
    }

    /// Returns two live objects to the caller.
    package func answer(_ first: LuaLiveObject, _ second: LuaLiveObject) -> LuaAnswer {
        shim_push_object(L, first.type.pointer, first.key)
        shim_push_object(L, second.type.pointer, second.key)
        return LuaAnswer(count: 2)
    }

    /// Returns one of the arguments, such as the receiver, to the caller.
    package func answerArgument(_ index: Int) -> LuaAnswer {
        shim_push_copy(L, Int32(index))
        return LuaAnswer(count: 1)
    }

    /// Returns an iterator over live objects to the caller; it fetches 256 keys at a time.
    package func answer(each type: LuaLiveClass, of source: LuaKeySource) -> LuaAnswer {
        shim_push_walk(L, type.pointer, Unmanaged.passRetained(source).toOpaque()) {
            source, L, position, out, capacity in
            guard let source, let L, let out else { return 0 }
            let keys = Unmanaged<LuaKeySource>.fromOpaque(source).takeUnretainedValue()
            var batch = MutableSpan(_unsafeStart: out, count: Int(capacity))
            do {
                return Int32(try keys.fill(&batch, from: Int(position)))
            } catch {
                // because the owner is set while the state is open, and the state is open because it runs
                let home = Unmanaged<LuaHome>.fromOpaque(shim_owner(L)).takeUnretainedValue()
                return home.state?.raise(error, on: L) ?? -1
            }
        }
        return LuaAnswer(count: 1)
    }

    /// Returns an iterator over rows of values to the caller; it reads several rows at a time.
    package func answer(rows source: LuaRowSource) -> LuaAnswer {
        shim_push_rows(
            L, Int32(source.columnCount), Unmanaged.passRetained(source).toOpaque()
        ) { source, L, table, consumed, cells, capacity in
            guard let source, let L, let cells else { return 0 }
            let rows = Unmanaged<LuaRowSource>.fromOpaque(source).takeUnretainedValue()
            let batch = LuaRowBatch(
                capacity: Int(capacity), columnCount: rows.columnCount, cells, table, L)
            do {
                return Int32(try rows.fill(batch, afterRows: Int(consumed)))
            } catch {
                // because the owner is set while the state is open, and the state is open because it runs
                let home = Unmanaged<LuaHome>.fromOpaque(shim_owner(L)).takeUnretainedValue()
                return home.state?.raise(error, on: L) ?? -1
            }
        }
        return LuaAnswer(count: 1)
    }
}

/// A source of the rows of an iteration, in order.
open class LuaRowSource {
    /// The number of values in a row, from 1.
    package let columnCount: Int
    /// Creates the base of a subclass.
    public init(columnCount: Int) { self.columnCount = columnCount }
    /// Writes as many rows as fit; returns their number, which is 0 at the end.
    ///
    /// The rows begin after the first `consumed` rows of the last call: the others were read ahead, and may have
    /// changed since.
    open func fill(_ batch: borrowing LuaRowBatch, afterRows consumed: Int) throws -> Int { 0 }
}

/// The cells of several rows that are read at once.
///
/// Valid during the call only.
@safe public struct LuaRowBatch: ~Copyable {
    // Safe because it exists only while the call that owns the pointers runs, and the indexes are checked.
    /// The number of rows that fit.
    package let capacity: Int
    private let columnCount: Int
    private let cells: UnsafeMutablePointer<shim_value>
    private let table: Int32
    private let L: OpaquePointer

    fileprivate init(
        capacity: Int, columnCount: Int, _ cells: UnsafeMutablePointer<shim_value>, _ table: Int32,
        _ L: OpaquePointer
    ) {
        self.capacity = capacity
        self.columnCount = columnCount
        self.cells = cells
        self.table = table
        self.L = L
    }

    /// Sets a cell to the result of `body`, and returns whether it is nil.
    @inline(__always)
    @discardableResult  // because only the first cell of a row must have a value
    package func set(
        _ row: Int, _ column: Int, _ body: (borrowing LuaResult) throws -> Void
    ) rethrows -> Bool {
        precondition(row >= 0 && row < capacity && column >= 0 && column < columnCount)
        let index = row * columnCount + column
        let cell = cells + index
        cell.pointee.tag = Int32(SHIM_NIL)
        try body(LuaResult(cell, L))
        shim_keep_cell(L, table, Int32(index), cell)
        return cell.pointee.tag == Int32(SHIM_NIL)
    }
}

/// A source of the keys of an iteration, in order.
open class LuaKeySource {
    /// Creates the base of a subclass.
    public init() {}
    /// Writes as many keys as fit, starting at a position counted from 0; returns their number, which is 0 at the end.
    open func fill(_ batch: inout MutableSpan<Int64>, from position: Int) throws -> Int { 0 }
}

/// The Swift closure behind a Lua function.
final class FunctionBox {
    let home: LuaHome
    let name: String
    /// The type or table of the API that has the function; nil for a function that the API does not describe.
    let owner: String?
    let isMethod: Bool
    let body: (borrowing LuaCall) throws -> LuaAnswer
    /// The number of arguments, including the receiver, that the function is known to take.
    var knownCount: Int
    /// The keys of its tables of options; nil before the first one.
    var options: [Int: [LuaUsage.Option]]?

    init(
        home: LuaHome, name: String, of owner: String?, isMethod: Bool,
        body: @escaping (borrowing LuaCall) throws -> LuaAnswer
    ) {
        self.home = home
        self.name = name
        self.owner = owner
        self.isMethod = isMethod
        self.body = body
        knownCount = owner == nil ? .max : isMethod ? 1 : 0
    }
}

extension LuaState {
    /// Creates a Lua function that calls this closure.
    ///
    /// The closure is released when Lua collects the function. Its errors are raised in Lua. The closure can call Lua
    /// again, including this state's `run`. `owner` is the table of the API that has the function, such as
    /// `moonpool.json`; its description then determines how many arguments the function takes.
    package func makeFunction(
        _ name: String, of owner: String? = nil,
        _ body: @escaping (borrowing LuaCall) throws -> LuaAnswer
    ) -> LuaFunction {
        let L = stack
        push(FunctionBox(home: home, name: name, of: owner, isMethod: false, body: body), on: L)
        return LuaFunction(reference: popReference(L))
    }

    func push(_ function: FunctionBox, on L: OpaquePointer) {
        shim_push_function(L, Unmanaged.passRetained(function).toOpaque()) { object, L in
            guard let object, let L else { return 0 }
            let function = Unmanaged<FunctionBox>.fromOpaque(object).takeUnretainedValue()
            do {
                let call = LuaCall(function, L)
                if call.count > function.knownCount { try call.refuseSurplus() }
                return try function.body(call).count
            } catch {
                // because the state is open: it is running this function
                return function.home.state!.raise(error, on: L)
            }
        }
    }
}

/// A reference to a Lua function.
///
/// Equality is identity.
package struct LuaFunction: Hashable, Sendable {
    let reference: LuaReference

    /// Calls the function and returns all its results.
    ///
    /// Throws the error that the function raises, with a traceback of the raising code.
    @discardableResult  // because many functions are called for their side effects
    package func call(_ arguments: [LuaValue] = []) throws(LuaError) -> [LuaValue] {
        let state = try reference.state()
        return try state.call(.function(self), arguments, with: shim_call)
    }

    /// Calls the function and returns its first result, or `nil`.
    @discardableResult  // because many functions are called for their side effects
    package func call(_ arguments: LuaValue...) throws(LuaError) -> LuaValue {
        try call(arguments).first ?? .nil
    }

    /// Calls the function as `lua` calls a chunk.
    ///
    /// An error object with a `__tostring` is converted to text where it is raised. The call throws this text without a
    /// traceback.
    @discardableResult  // because many chunks run for their side effects
    package func callAsChunk(_ arguments: [LuaValue] = []) throws(LuaError) -> [LuaValue] {
        let state = try reference.state()
        return try state.call(.function(self), arguments, with: shim_call_described)
    }

    /// Returns the binary form of a Lua function, as `string.dump` does, without the values of its upvalues.
    package func dump(stripped: Bool = false) throws(LuaError) -> [UInt8] {
        let state = try reference.state()
        let L = state.stack
        state.push(reference, on: L)
        try state.check(shim_dump(L, stripped), on: L)
        let bytes = state.string(at: -1, on: L).bytes
        shim_settop(L, shim_top(L) - 1)
        return bytes
    }

    /// Assigns a value to an upvalue, counted from 0; other closures that share the upvalue see the new value.
    ///
    /// Returns false if there is no such upvalue.
    @discardableResult  // because a caller that has counted the upvalues knows the result
    package func setUpvalue(_ index: Int, _ value: LuaValue) -> Bool {
        guard let state = reference.home.state else { return false }
        let L = state.stack
        state.push(reference, on: L)
        defer { shim_settop(L, shim_top(L) - 1) }
        let function = shim_top(L)
        state.push(value, on: L)
        return shim_set_upvalue(L, function, Int32(clamping: index + 1))
    }

    /// The names and values of the upvalues, in order.
    package var upvalues: [(name: String, value: LuaValue)] {
        guard let state = reference.home.state else { return [] }
        let L = state.stack
        state.push(reference, on: L)
        var result: [(name: String, value: LuaValue)] = []
        while let name = shim_push_upvalue(L, -1, Int32(result.count + 1)) {
            result.append((String(cString: name), state.pop(L)))
        }
        shim_settop(L, shim_top(L) - 1)
        return result
    }

    /// Returns whether both refer to the same function.
    package static func == (a: LuaFunction, b: LuaFunction) -> Bool {
        a.reference.isSame(as: b.reference)
    }
    /// Hashes the identity of the function.
    package func hash(into hasher: inout Hasher) { hasher.combine(address) }

    /// An address that identifies the function while it is alive.
    package var address: UInt { reference.address }
}

extension LuaState {
    /// Calls any callable value and returns all its results.
    @discardableResult  // because many functions are called for their side effects
    package func call(_ callee: LuaValue, _ arguments: [LuaValue]) throws(LuaError) -> [LuaValue] {
        try call(callee, arguments, with: shim_call)
    }

    func call(
        _ callee: LuaValue, _ arguments: [LuaValue],
        with body: (OpaquePointer?, Int32, Int32) -> Int32
    ) throws(LuaError) -> [LuaValue] {
        let L = stack
        guard shim_reserve(L, Int32(clamping: arguments.count + 8)) else { throw LuaError.overflow }
        let base = shim_top(L)
        push(callee, on: L)
        for argument in arguments { push(argument, on: L) }
        try check(body(L, Int32(arguments.count), -1), on: L)
        return popAll(above: base, on: L)
    }

    func popAll(above base: Int32, on L: OpaquePointer) -> [LuaValue] {
        let top = shim_top(L)
        guard top > base else { return [] }
        _ = shim_reserve(L, 4)
        let results = (base + 1...top).map { value(at: $0, on: L) }
        shim_settop(L, base)
        return results
    }
}
