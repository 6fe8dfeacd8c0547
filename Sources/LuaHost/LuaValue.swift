import CLuaShims
import MemoryAccounts
import Synchronization

/// Any Lua value.
///
/// Collectable values are references: they keep the value alive, and are equal if they refer to the same value.
package enum LuaValue: Hashable, Sendable {
    case `nil`
    case boolean(Bool)
    case integer(Int64)
    case number(Double)
    case string(LuaString)
    case table(LuaTable)
    case function(LuaFunction)
    case thread(LuaCoroutine)
    case userdata(LuaUserdata)

    /// Creates a string value.
    package static func text(_ text: String) -> LuaValue { .string(LuaString(text)) }

    /// Whether the value is neither `nil` nor `false`.
    package var isTruthy: Bool { self != .nil && self != .boolean(false) }
    /// Whether the value is `nil`.
    package var isNil: Bool { self == .nil }
    /// The integer, or the float with an integral value; nil for other values, including strings.
    package var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .number(let value): Int64(exactly: value)
        default: nil
        }
    }
    /// The number as a double; nil for other values.
    package var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }
    /// The boolean; nil for other values.
    package var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
    /// The string; nil for other values, including numbers.
    package var string: LuaString? { if case .string(let value) = self { value } else { nil } }
    /// The string as text; nil if its bytes are not UTF-8, and for other values.
    package var text: String? { string?.text }
    /// The table; nil for other values.
    package var table: LuaTable? { if case .table(let value) = self { value } else { nil } }
    /// The function; nil for other values.
    package var function: LuaFunction? {
        if case .function(let value) = self { value } else { nil }
    }
    /// The userdata; nil for other values.
    package var userdata: LuaUserdata? {
        if case .userdata(let value) = self { value } else { nil }
    }
    /// The result of `type(value)`.
    package var typeName: String {
        switch self {
        case .nil: "nil"
        case .boolean: "boolean"
        case .integer, .number: "number"
        case .string: "string"
        case .table: "table"
        case .function: "function"
        case .thread: "thread"
        case .userdata: "userdata"
        }
    }

    var reference: LuaReference? {
        switch self {
        case .table(let value): value.reference
        case .function(let value): value.reference
        case .thread(let value): value.reference
        case .userdata(let value): value.reference
        default: nil
        }
    }
}

extension LuaValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
    /// Creates a string.
    package init(stringLiteral value: String) { self = .string(LuaString(value)) }
    /// Creates an integer.
    package init(integerLiteral value: Int64) { self = .integer(value) }
    /// Creates a float.
    package init(floatLiteral value: Double) { self = .number(value) }
    /// Creates a boolean.
    package init(booleanLiteral value: Bool) { self = .boolean(value) }
    /// Creates `nil`.
    package init(nilLiteral: ()) { self = .nil }
}

/// A Lua string: bytes, which are not necessarily UTF-8 text.
public struct LuaString: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The bytes of the string.
    public var bytes: [UInt8]

    /// Creates a string of these bytes.
    public init(bytes: [UInt8]) { self.bytes = bytes }
    /// Creates a string from the UTF-8 bytes of a Swift string.
    public init(_ text: String) { bytes = Array(text.utf8) }
    /// Creates a string from the UTF-8 bytes of a literal.
    public init(stringLiteral value: String) { self.init(value) }

    /// The text; nil if the bytes are not UTF-8.
    public var text: String? { String(validating: bytes, as: UTF8.self) }
    /// The text with invalid UTF-8 replaced, for messages only.
    public var description: String { String(decoding: bytes, as: UTF8.self) }
}

/// Keeps a Lua table, function, userdata or coroutine alive.
///
/// Can be released on any thread.
package final class LuaReference: @unchecked Sendable {
    // Sendable because both fields are constant and only the state's own thread uses them. `deinit` only adds the slot
    // to a list that is protected by a lock.
    let home: LuaHome
    let slot: Int32

    init(home: LuaHome, slot: Int32) {
        self.home = home
        self.slot = slot
    }

    deinit { home.give(back: slot) }

    /// Returns the open state of this reference.
    func state() throws(LuaError) -> LuaState {
        guard let state = home.state else { throw LuaError.closed }
        return state
    }
}

/// The shared part of a state that its references keep alive: whether the state is open, and the slots to free.
final class LuaHome: @unchecked Sendable {
    // Sendable because `freed` is protected by its lock and the other fields are used on the state's thread only.
    private let freed = Mutex<[Int32]>([])
    private let waiting = Atomic<Bool>(false)
    let account: MemoryAccount?
    private(set) var isOpen = false
    private unowned(unsafe) var owner: LuaState?  // because LuaState clears it in its deinit
    private var closing = false

    init(account: MemoryAccount?) { self.account = account }

    var state: LuaState? { isOpen ? owner : nil }

    /// Returns the memory account of a state's owner, as the shims know it.
    static func account(_ owner: UnsafeRawPointer?) -> MemoryAccount? {
        guard let owner else { return nil }
        return Unmanaged<LuaHome>.fromOpaque(owner).takeUnretainedValue().account
    }

    func open(_ state: LuaState) {
        assert(!isOpen, "a state is opened once")
        owner = state
        isOpen = true
    }

    func willClose() { closing = true }

    func didClose() {
        isOpen = false
        owner = nil
    }

    func give(back slot: Int32) {
        freed.withLock { $0.append(slot) }
        waiting.store(true, ordering: .releasing)
    }

    /// Frees the slots of released references; call it on the state's thread.
    func drain() {
        guard waiting.load(ordering: .acquiring), let owner, !closing else { return }
        waiting.store(false, ordering: .relaxed)
        let slots = freed.withLock { list in
            defer { list.removeAll(keepingCapacity: true) }
            return list
        }
        for slot in slots { shim_unreference(owner.main, slot) }
    }
}

/// A reference to a coroutine.
///
/// Equality is identity.
package struct LuaCoroutine: Hashable, Sendable {
    let reference: LuaReference

    /// The status of a coroutine.
    package enum Status: Int32, Sendable {
        case suspended, running, normal, dead
    }

    /// The status that `coroutine.status` returns.
    package var status: Status {
        guard let state = reference.home.state else { return .dead }
        let L = state.stack
        state.push(reference, on: L)
        defer { shim_settop(L, shim_top(L) - 1) }
        guard let thread = shim_to_thread(L, -1) else { return .dead }
        return Status(rawValue: shim_thread_status(L, thread)) ?? .dead
    }

    /// Returns whether both refer to the same coroutine.
    package static func == (a: LuaCoroutine, b: LuaCoroutine) -> Bool {
        a.reference.isSame(as: b.reference)
    }
    /// Hashes the identity of the coroutine.
    package func hash(into hasher: inout Hasher) { hasher.combine(reference.address) }
}

/// A stream that replaces a standard stream of a state's `io` and writes to the host.
///
/// It must outlive the state, whose finalizers can still write.
package final class LuaStream {
    /// The stream to replace.
    package enum Kind {
        /// The stream `io.stdout`, which `io.write` uses.
        case output
        /// The stream `io.stderr`.
        case error
    }

    private let write: ([UInt8]) -> Void
    private var stream: UnsafeMutableRawPointer?

    fileprivate init(_ write: @escaping ([UInt8]) -> Void) {
        self.write = write
        // The owner closes the stream.
        stream = shim_open_stream(
            { context, bytes, count in
                guard let context else { return }
                Unmanaged<LuaStream>.fromOpaque(context).takeUnretainedValue()
                    .write([UInt8](UnsafeRawBufferPointer(start: bytes, count: count)))
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { stream.map(shim_close_stream) }

    fileprivate func use(_ kind: Kind, on L: OpaquePointer) -> Bool {
        guard let stream else { return false }
        return shim_use_stream(L, stream, kind == .error)
    }
}

extension LuaState {
    /// Replaces a standard stream of `io`; returns nil if there is not enough memory.
    ///
    /// `write` is called on the state's thread, for each piece that a script writes.
    package func useStream(
        _ kind: LuaStream.Kind, write: @escaping ([UInt8]) -> Void
    ) -> LuaStream? {
        let stream = LuaStream(write)
        return stream.use(kind, on: stack) ? stream : nil
    }
}
