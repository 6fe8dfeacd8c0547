import EventLoops
import ObjectStore

/// A store on an event loop that also receives the commits of other processes.
///
/// Used by programs that observe a store without a script. Confined to the loop's thread.
package final class FollowedStore {
    /// The store.
    package let store: Store
    private let watch: CommitWatch?

    /// Opens a store on the loop of the calling thread, and watches for commits from then on.
    ///
    /// If the system cannot watch the file, the store checks for commits ten times a second. The store does not keep
    /// the loop alive. Throws the errors of opening a store.
    package init(_ configuration: StoreConfiguration, on loop: EventLoop) throws {
        store = try Store(configuration, scheduler: LoopScheduler(loop: loop, surroundings: nil))
        watch = CommitWatch(store, on: loop)
    }

    /// Closes the store.
    package func close() {
        watch?.cancel()
        store.close()
    }
}
