/// A value that may travel anywhere but opens only on its loop's thread, and traps elsewhere.
///
/// It is also dropped on that thread: the last reference elsewhere posts the value home. When the loop has ended there
/// is nobody left to race with, and it is dropped where it is.
package final class LoopBound<Value>: @unchecked Sendable {
    // Unchecked because: the value is reached through `value` alone, which checks the thread.
    private let loop: EventLoop
    // Nil only at the end, when the value is on its way home.
    private var stored: Value?

    /// Wraps a value on the loop's thread.
    package init(_ value: Value, on loop: EventLoop) {
        loop.preconditionOnLoop()
        self.loop = loop
        stored = value
    }

    deinit {
        if loop.isOnLoop { return }
        // Given away, not shared: whatever is left here could outlive the parcel, and be dropped on this thread.
        let parcel = Parcel(value: stored.take())
        loop.post { _ = parcel }
    }

    /// The value; traps off the loop's thread.
    package var value: Value {
        get {
            loop.preconditionOnLoop()
            // because: it is given away by the last reference only.
            return stored!
        }
        set {
            loop.preconditionOnLoop()
            stored = newValue
        }
    }

    private struct Parcel: @unchecked Sendable {
        // Unchecked because: nobody looks inside; it is carried home to be dropped.
        let value: Value?
    }
}
