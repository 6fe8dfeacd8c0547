extension Actor {
    /// The executor that the actor's code runs on; nil for the default one.
    package nonisolated var customExecutor: (any SerialExecutor)? {
        let executor = unownedExecutor
        // The runtime has an executor's identity and its conformance, with flags in the lowest bits. That of a default actor has no
        // conformance, and asSerialExecutor() gives an invalid value for it.
        let (_, conformance) = unsafeBitCast(executor, to: (UInt, UInt).self)
        return conformance & ~3 == 0 ? nil : executor.asSerialExecutor()
    }
}
