import ObjectStore
import Synchronization
import TestThreads
import Testing

/// Frozen versions and other threads and stores; `Tests/Specifications/frozen.lua` specifies the rest.
@Suite struct FrozenTests {
    let stores: StorePair
    var store: Store { stores.store }

    init() throws {
        stores = try StorePair([ClassSchema("Dog", [Property("id", .int, isPrimary: true)])])
    }

    @Test func `freezing on another thread is an error`() throws {
        let error = Mutex<StoreError.Code?>(nil)
        nonisolated(unsafe) let store = store
        RunningThread {
            do {
                _ = try store.frozenView()
            } catch let failure as StoreError {
                error.withLock { $0 = failure.code }
            } catch {}
        }.wait()
        #expect(error.withLock { $0 } == .wrongThread)
    }

    @Test func `an object that is newer than the store thaws to nil`() throws {
        let rex = try store.write { try store.create("Dog", .list([.int(1)])) }
        let frozen = try store.freeze(rex)
        #expect(try stores.other.thaw(frozen) == nil)
        try stores.other.refresh()
        #expect(try stores.other.thaw(frozen)?.value("id") == .int(1))
    }
}
