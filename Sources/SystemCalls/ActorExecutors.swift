extension Actor {
    /// The executor that the actor's code runs on; nil for the default one.
    package nonisolated var customExecutor: (any SerialExecutor)? {
        let executor = unownedExecutor
        // The runtime represents an executor by its identity and its conformance, with flags in the lowest bits. The
        // conformance of a default actor is 0, and asSerialExecutor() returns an invalid value for it.
        let (_, conformance) = unsafeBitCast(executor, to: (UInt, UInt).self)
        return conformance & ~3 == 0 ? nil : executor.asSerialExecutor()
    }
}
