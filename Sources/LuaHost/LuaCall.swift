// One call from Lua of a function written in Swift: its arguments, typed, and its answer.

import CLuaShims

/// How many values a function has put on the stack for its caller.
///
/// Made by `LuaCall.answer` and `.yield`.
package struct LuaAnswer: Sendable {
    let count: Int32
    /// No results.
    package static let none = LuaAnswer(count: 0)
}

/// The arguments of a call.
///
/// Exists during the call only.
///
/// Arguments are numbered from 1. In a method the receiver comes first and is not counted in messages: what a script
/// writes as the first argument of `dog:update(…)` is argument 2 here and `#1` in the message.
@safe package struct LuaCall: ~Copyable {
    // Safe because it cannot be copied out of the call, and the stack it names is the caller's.
    /// The state that calls.
    package let state: LuaState
    let L: OpaquePointer
    /// How many arguments there are, the receiver included.
    package let count: Int
    let function: FunctionBox

    init(_ function: FunctionBox, _ L: OpaquePointer) {
        self.function = function
        state = function.home.state!  // because the state is open: it runs this
        self.L = L
        count = Int(shim_top(L))
    }

    /// The argument as a value; `nil` beyond the last.
    package subscript(index: Int) -> LuaValue {
        index <= count ? state.value(at: Int32(index), on: L) : .nil
    }

    /// All arguments from this one on.
    package func rest(from first: Int) -> [LuaValue] {
        first <= count ? (first...count).map { self[$0] } : []
    }

    /// Whether the argument is missing or `nil`.
    package func isNil(_ index: Int) -> Bool {
        index > count || shim_type(L, Int32(index)) == SHIM_TNIL
    }

    /// The name under which the function was declared, for messages.
    package var name: String { function.name }

    /// An integer, or a float with an integral value.
    package func integer(_ index: Int) throws -> Int64 {
        var result: Int64 = 0
        if index <= count, shim_exact_integer(L, Int32(index), &result) { return result }
        if index <= count, shim_type(L, Int32(index)) == SHIM_TNUMBER {
            throw argumentError(index, "number has no integer representation")
        }
        throw typeError(index, "integer")
    }

    /// A number.
    package func number(_ index: Int) throws -> Double {
        guard index <= count, shim_type(L, Int32(index)) == SHIM_TNUMBER else {
            throw typeError(index, "number")
        }
        return shim_number(L, Int32(index))
    }

    /// A boolean.
    package func boolean(_ index: Int) throws -> Bool {
        guard index <= count, shim_type(L, Int32(index)) == SHIM_TBOOLEAN else {
            throw typeError(index, "boolean")
        }
        return shim_boolean(L, Int32(index))
    }

    /// A string; numbers are not converted.
    package func string(_ index: Int) throws -> LuaString {
        guard index <= count, shim_type(L, Int32(index)) == SHIM_TSTRING else {
            throw typeError(index, "string")
        }
        let length = shim_rawlen(L, Int32(index))
        if length >= LuaHome.leastNotedCopy { try state.checkMemory(adding: length) }
        return state.string(at: Int32(index), on: L)
    }

    /// A string that is UTF-8.
    package func text(_ index: Int) throws -> String {
        guard let text = try string(index).text else {
            throw argumentError(index, "the string is not valid UTF-8")
        }
        return text
    }

    /// The address of the bytes of a string argument; 0 for anything else.
    ///
    /// For an interned name the same each time, as in `LuaLiveClass.internedName`.
    package func address(_ index: Int) -> UInt {
        var length = 0
        return index <= count ? UInt(bitPattern: shim_bytes(L, Int32(index), &length)) : 0
    }

    /// A table.
    package func table(_ index: Int) throws -> LuaTable {
        guard index <= count, shim_type(L, Int32(index)) == SHIM_TTABLE else {
            throw typeError(index, "table")
        }
        return LuaTable(reference: state.reference(at: Int32(index), on: L))
    }

    /// A function.
    package func function(_ index: Int) throws -> LuaFunction {
        guard index <= count, shim_type(L, Int32(index)) == SHIM_TFUNCTION else {
            throw typeError(index, "function")
        }
        return LuaFunction(reference: state.reference(at: Int32(index), on: L))
    }

    /// A Swift object of this class.
    package func object<Object: AnyObject>(_ index: Int, _ type: LuaClass<Object>) throws -> Object
    {
        guard let object = optionalObject(index, type) else { throw typeError(index, type.name) }
        return object
    }

    /// A Swift object of this class, or nil when the argument is anything else.
    package func optionalObject<Object: AnyObject>(_ index: Int, _ type: LuaClass<Object>)
        -> Object?
    {
        index <= count ? state.object(at: Int32(index), of: type, on: L) : nil
    }

    /// A live object, or nil when the argument is anything else.
    package func liveObject(_ index: Int) -> LuaLiveObject? {
        index <= count ? state.liveObject(at: Int32(index), on: L) : nil
    }

    /// An error about an argument: `bad argument #1 to 'name' (reason)`.
    package func argumentError(_ index: Int, _ reason: String) -> LuaArgumentError {
        let number = function.isMethod ? index - 1 : index
        if number == 0 {
            return LuaArgumentError("calling '\(name)' on bad self (\(reason))")
        }
        return LuaArgumentError("bad argument #\(number) to '\(name)' (\(reason))")
    }

    /// An error about an argument's type: `… (table expected, got nil)`.
    ///
    /// In the metamethod of an operator, which the script does not call by name, the error has Lua's own words.
    package func typeError(_ index: Int, _ expected: String) -> LuaArgumentError {
        switch name {
        case "__lt", "__le":
            LuaArgumentError("attempt to compare \(typeName(1)) with \(typeName(2))")
        case "__add", "__sub", "__mul", "__div", "__idiv", "__mod", "__pow":
            LuaArgumentError(
                "attempt to perform arithmetic on a \(typeName(index)) value (\(expected) expected)"
            )
        default: argumentError(index, "\(expected) expected, got \(typeName(index))")
        }
    }

    /// The type of an argument as messages name it; userdata by the name of their class.
    package func typeName(_ index: Int) -> String {
        index > count ? "no value" : String(cString: shim_type_name(L, Int32(index)))
    }

    /// Answers one value.
    package func answer(_ value: LuaValue) -> LuaAnswer {
        state.push(value, on: L)
        return LuaAnswer(count: 1)
    }

    /// Answers several values.
    package func answer(_ values: [LuaValue]) throws -> LuaAnswer {
        guard shim_reserve(L, Int32(clamping: values.count + 4)) else {
            throw LuaArgumentError("too many results (\(values.count))")
        }
        for value in values { state.push(value, on: L) }
        return LuaAnswer(count: Int32(values.count))
    }

    /// Answers two values.
    package func answer(_ first: LuaValue, _ second: LuaValue) -> LuaAnswer {
        state.push(first, on: L)
        state.push(second, on: L)
        return LuaAnswer(count: 2)
    }

    /// Answers a Swift object.
    package func answer<Object: AnyObject>(_ object: Object, _ type: LuaClass<Object>) -> LuaAnswer
    {
        state.push(object, type, on: L)
        return LuaAnswer(count: 1)
    }

    /// Answers a live object.
    package func answer(_ object: LuaLiveObject) -> LuaAnswer {
        shim_push_object(L, object.type.pointer, object.key)
        return LuaAnswer(count: 1)
    }

    /// Answers two live objects.
    package func answer(_ first: LuaLiveObject, _ second: LuaLiveObject) -> LuaAnswer {
        shim_push_object(L, first.type.pointer, first.key)
        shim_push_object(L, second.type.pointer, second.key)
        return LuaAnswer(count: 2)
    }

    /// Answers one of the arguments, such as the receiver.
    package func answerArgument(_ index: Int) -> LuaAnswer {
        shim_push_copy(L, Int32(index))
        return LuaAnswer(count: 1)
    }

    /// Answers an iterator over live objects: keys are fetched 256 at a time.
    package func answer(each type: LuaLiveClass, of source: LuaKeySource) -> LuaAnswer {
        shim_push_walk(L, type.pointer, Unmanaged.passRetained(source).toOpaque()) {
            source, L, position, out, capacity in
            guard let source, let L, let out else { return 0 }
            let keys = Unmanaged<LuaKeySource>.fromOpaque(source).takeUnretainedValue()
            var batch = MutableSpan(_unsafeStart: out, count: Int(capacity))
            do {
                return Int32(try keys.fill(&batch, from: Int(position)))
            } catch {
                // because the owner is set for as long as the state is open, and it is: it runs
                let home = Unmanaged<LuaHome>.fromOpaque(shim_owner(L)).takeUnretainedValue()
                return home.state?.raise(error, on: L) ?? -1
            }
        }
        return LuaAnswer(count: 1)
    }

    /// Ends this call by yielding from the coroutine that made it; what it is resumed with are the call's results.
    package func yield(_ values: [LuaValue]) throws -> LuaAnswer {
        let count = try answer(values).count
        return LuaAnswer(count: Int32(SHIM_YIELD) - count)
    }
}

/// Gives out the keys of a walk in order.
open class LuaKeySource {
    /// For subclasses.
    public init() {}
    /// Writes the keys from this position (a count from 0) on, as many as fit; how many that were, 0 at the end.
    open func fill(_ batch: inout MutableSpan<Int64>, from position: Int) throws -> Int { 0 }
}

/// A Swift closure as a function of Lua.
final class FunctionBox {
    let home: LuaHome
    let name: String
    let isMethod: Bool
    let body: (borrowing LuaCall) throws -> LuaAnswer

    init(
        home: LuaHome, name: String, isMethod: Bool,
        body: @escaping (borrowing LuaCall) throws -> LuaAnswer
    ) {
        self.home = home
        self.name = name
        self.isMethod = isMethod
        self.body = body
    }
}

extension LuaState {
    /// A Lua function that calls this closure.
    ///
    /// It is released when Lua collects the function. Errors thrown by it are raised in Lua; the
    /// closure may call Lua again, also this state's `run`.
    package func makeFunction(
        _ name: String, _ body: @escaping (borrowing LuaCall) throws -> LuaAnswer
    ) -> LuaFunction {
        let L = stack
        push(FunctionBox(home: home, name: name, isMethod: false, body: body), on: L)
        return LuaFunction(reference: popReference(L))
    }

    func push(_ function: FunctionBox, on L: OpaquePointer) {
        shim_push_function(L, Unmanaged.passRetained(function).toOpaque()) { object, L in
            guard let object, let L else { return 0 }
            let function = Unmanaged<FunctionBox>.fromOpaque(object).takeUnretainedValue()
            let copied = function.home.copied
            defer { function.home.releaseCopies(downTo: copied) }
            do {
                return try function.body(LuaCall(function, L)).count
            } catch {
                // Because the state is open: it runs this.
                return function.home.state!.raise(error, on: L)
            }
        }
    }
}
