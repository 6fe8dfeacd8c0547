import CLuaShims
import MemoryAccounts
import Synchronization

/// Keeps a Lua table, function, userdata or coroutine alive.
///
/// May be dropped on any thread.
package final class LuaReference: @unchecked Sendable {
    // Sendable because both fields are constant and only the state's own thread follows them; `deinit` merely puts
    // the slot on a list that is guarded by a lock.
    let home: LuaHome
    let slot: Int32

    /// The memory of a reference, and of its place in arrays of values.
    private static let memory = 96

    init(home: LuaHome, slot: Int32) {
        self.home = home
        self.slot = slot
        home.account?.record(Self.memory)
    }

    deinit {
        home.account?.release(Self.memory)
        home.give(back: slot)
    }

    /// The open state that this belongs to.
    func state() throws(LuaError) -> LuaState {
        guard let state = home.state else { throw LuaError.closed }
        return state
    }
}

/// The state's remainder for its references: whether it is open, and which slots wait to be freed.
final class LuaHome: @unchecked Sendable {
    // Sendable because `freed` is guarded by its lock and the rest is touched on the state's thread only.
    private let freed = Mutex<[Int32]>([])
    private let waiting = Atomic<Bool>(false)
    let account: MemoryAccount?
    /// The bytes of large strings that the functions that are running have copied.
    private(set) var copied = 0
    private(set) var isOpen = false
    private unowned(unsafe) var owner: LuaState?  // because LuaState clears it before it goes
    private var closing = false

    init(account: MemoryAccount?) { self.account = account }

    var state: LuaState? { isOpen ? owner : nil }

    /// The account of the home that the shims know as the owner of a state.
    static func account(_ owner: UnsafeRawPointer?) -> MemoryAccount? {
        guard let owner else { return nil }
        return Unmanaged<LuaHome>.fromOpaque(owner).takeUnretainedValue().account
    }

    func open(_ state: LuaState) {
        owner = state
        isOpen = true
    }

    /// The bytes of a string whose copy is charged; copies of shorter strings cost less memory than charging costs time.
    static let leastNotedCopy = 4096

    /// Charges a copy of a Lua string until the function that requested it returns.
    @inline(__always)
    func noteCopy(of count: Int) {
        if count >= Self.leastNotedCopy, let account {
            account.record(count)
            copied += count
        }
    }

    /// Releases the copies of a function that returns; when it was called, `before` bytes were charged.
    @inline(__always)
    func releaseCopies(downTo before: Int) {
        guard copied != before else { return }
        account?.release(copied - before)
        copied = before
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

    /// Frees the slots of dropped references; on the state's thread.
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
