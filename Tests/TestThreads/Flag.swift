import Synchronization

/// A flag that any thread can set and read.
public final class Flag: Sendable {
    private let state = Atomic<Bool>(false)

    /// Creates a flag that is not set.
    public init() {}

    /// Sets the flag.
    public func set() { state.store(true, ordering: .releasing) }

    /// Whether the flag is set.
    public var isSet: Bool { state.load(ordering: .acquiring) }
}
