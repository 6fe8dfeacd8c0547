import CLuaShims
import MemoryAccounts
import Synchronization

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
