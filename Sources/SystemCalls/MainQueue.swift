import Dispatch

/// The queue that runs the code of the main actor.
package enum MainQueue {
    private static let mark: DispatchSpecificKey<Bool> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()

    /// Whether the calling code runs on the main queue, on whichever thread.
    ///
    /// Costs about 30 ns. The executor of the main actor cannot be asked: its `isIsolatingCurrentContext()` has no answer.
    package static var isCurrent: Bool { DispatchQueue.getSpecific(key: mark) == true }
}
