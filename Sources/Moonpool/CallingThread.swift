internal import SystemCalls

/// The thread that opens a store, for programs without an event loop.
///
/// A store on it delivers to its observers in ``ObjectStore/Store/refresh()``; nothing wakes the thread in between. Use the store on the thread that created the scheduler; other threads get `wrong_thread`.
///
/// ```swift
/// let store = try Store(configuration, scheduler: CallingThread())
/// ```
public struct CallingThread: Scheduler {
    private struct NoWakeup: Wakeup {
        func wake() {}
        func cancel() {}
    }

    private let thread: ThreadIdentity

    /// Creates a scheduler for the calling thread.
    public init() { thread = ThreadIdentity.current }

    /// Whether the caller runs on this thread.
    public var isOnThread: Bool { thread == ThreadIdentity.current }
    /// True: observers receive changes in `refresh()`.
    public var canDeliver: Bool { true }
    /// Whether both schedulers are of the same thread.
    public func isSame(as other: any Scheduler) -> Bool {
        (other as? CallingThread)?.thread == thread
    }
    /// Returns a wake-up that never runs its handler.
    public func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup { NoWakeup() }
}

extension Store {
    /// Opens a store on the calling thread.
    ///
    /// Creates the file if it does not exist. Takes about a millisecond, independent of the number of objects. Throws
    /// ``StoreError`` with the codes of ``init(_:scheduler:migration:shouldCompact:whileWaiting:)``.
    ///
    /// ```swift
    /// let dog = ClassSchema("Dog", [Property("name", .string), Property("age", .int)])
    /// let store = try Store(StoreConfiguration(.file("zoo.moonpool"), schema: [dog]))
    /// try store.write { try store.create("Dog", .dictionary(["name": .string("Rex"), "age": .int(3)])) }
    /// ```
    public convenience init(_ configuration: StoreConfiguration) throws {
        try self.init(configuration, scheduler: CallingThread())
    }
}

extension LiveList {
    /// The number of elements.
    ///
    /// Throws `invalid_object` if the owner was deleted, `closed`, `wrong_thread`.
    public var elementCount: Int { get throws { try count() } }
}

extension LiveSet {
    /// The number of elements.
    ///
    /// Throws `invalid_object` if the owner was deleted, `closed`, `wrong_thread`.
    public var elementCount: Int { get throws { try count() } }
}

extension LiveMap {
    /// The number of entries.
    ///
    /// Throws `invalid_object` if the owner was deleted, `closed`, `wrong_thread`.
    public var elementCount: Int { get throws { try count() } }
}
