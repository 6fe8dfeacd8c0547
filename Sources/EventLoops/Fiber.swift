import CFibers

/// A stack on which code can stop in the middle and continue later, on the same thread.
///
/// The stack is used for one body after the other. The stack takes address space; the system provides memory only for
/// the part that is used. Starting or continuing a body takes one or two microseconds. The body has its own task-local
/// values.
final class Fiber {
    private let handle: OpaquePointer
    private var body: (() -> Void)?
    private let values = TaskLocalStorage()

    /// Reserves a stack; returns nil if the system has no memory or address space left, or does not support fibers.
    init?(stackSize: Int) {
        guard let handle = fiber_create(stackSize) else { return nil }
        self.handle = handle
    }

    deinit {
        values.close()
        fiber_destroy(handle)
    }

    /// Whether a body has canceled the task of the stack, which later bodies would notice.
    var isCanceled: Bool { values.isCanceled }

    /// Calls the body on the fiber's stack until it returns or parks; returns whether it has returned.
    func start(_ body: @escaping () -> Void) -> Bool {
        precondition(self.body == nil, "a fiber runs one body at a time")
        self.body = body
        return run {
            fiber_start(
                handle,
                { argument in
                    // Because: the owner of the fiber keeps it while a body runs.
                    guard let argument else { return }
                    Unmanaged<Fiber>.fromOpaque(argument).takeUnretainedValue().body?()
                }, Unmanaged.passUnretained(self).toOpaque())
        }
    }

    /// Continues the parked body until it returns or parks again; returns whether it has returned.
    func resume() -> Bool {
        precondition(body != nil, "a fiber without a body cannot continue")
        return run { fiber_resume(handle) }
    }

    /// Returns to the caller of ``start(_:)`` or ``resume()``; called by the body, which continues with the next
    /// ``resume()``.
    func park() { fiber_park(handle) }

    private func run(_ part: () -> Bool) -> Bool {
        var hasReturned = false
        values.run { hasReturned = part() }
        if hasReturned { body = nil }
        return hasReturned
    }
}
