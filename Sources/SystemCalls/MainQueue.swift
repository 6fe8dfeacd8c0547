import Dispatch

/// The queue that runs the code of the main actor.
package enum MainQueue {
    private static let mark: DispatchSpecificKey<Bool> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()

    /// Whether the calling code runs on the main queue, on any thread.
    ///
    /// Costs about 30 ns. The executor of the main actor does not provide this: its `isIsolatingCurrentContext()`
    /// returns nil.
    package static var isCurrent: Bool { DispatchQueue.getSpecific(key: mark) == true }
}
