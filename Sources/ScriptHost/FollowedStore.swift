import EventLoops
import ObjectStore

/// A store on a loop of its own thread that hears of the commits of other processes too.
///
/// For programs that observe without a script. Confined to the loop's thread.
public final class FollowedStore {
    /// The store.
    public let store: Store
    private var watch: CommitWatch?
    private var timer: LoopTimer?

    /// Opens a store on the loop of the calling thread, and looks for commits from then on.
    ///
    /// Where the system watches no files, it looks ten times a second. Does not keep the loop alive. Throws what opening a store
    /// throws.
    public init(_ configuration: StoreConfiguration, on loop: EventLoop) throws {
        store = try Store(configuration, scheduler: LoopScheduler(loop: loop))
        watch = CommitWatch(store, on: loop)
        if watch == nil, store.path != nil {
            timer = loop.timer(
                after: .milliseconds(100), every: .milliseconds(100), keepsAlive: false
            ) { [weak self] in
                self?.store.fileMayHaveChanged()
            }
        }
        // What was committed between the two is nobody's news otherwise.
        store.fileMayHaveChanged()
    }

    /// Ends the store.
    public func close() {
        watch?.cancel()
        timer?.cancel()
        store.close()
    }
}
