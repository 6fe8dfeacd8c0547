extension AsyncOutput {
    /// The event that ended a wait between lines.
    package enum Event: Sendable { case woken, interrupted, timeout }

    /// Waits until another thread wakes the pipe, the user presses Ctrl-C, or the time has passed.
    ///
    /// Used for waiting while code runs.
    package func waitForEvent(milliseconds: Int? = nil) -> Event {
        while true {
            if TerminalSignals.takeInterrupts() > 0 { return .interrupted }
            let readiness = Descriptor.waitForInput(
                nil, or: pipe.readEnd, milliseconds: milliseconds)
            pipe.drain()
            if TerminalSignals.takeInterrupts() > 0 { return .interrupted }
            if readiness == .second { return .woken }
            if readiness == .timeout { return .timeout }
        }
    }
}
