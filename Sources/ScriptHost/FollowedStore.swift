import EventLoops
import ObjectStore

/// A store on a loop of its own thread that also receives the commits of other processes.
///
/// For programs that observe without a script. Confined to the loop's thread.
package final class FollowedStore {
    /// The store.
    package let store: Store
    private let watch: CommitWatch?

    /// Opens a store on the loop of the calling thread, and looks for commits from then on.
    ///
    /// Where the system watches no files, it looks ten times a second. Does not keep the loop alive. Throws what opening a store
    /// throws.
    package init(_ configuration: StoreConfiguration, on loop: EventLoop) throws {
        store = try Store(configuration, scheduler: LoopScheduler(loop: loop, surroundings: nil))
        watch = CommitWatch(store, on: loop)
    }

    /// Ends the store.
    package func close() {
        watch?.cancel()
        store.close()
    }
}
