import Synchronization

/// What the terminal's signals have told the process: Ctrl-C while code runs, a new window size.
///
/// One set of handlers per process, installed by the first `watch`. The signals are for the main thread, which waits on
/// the pipe; everything else has them blocked.
package enum TerminalSignals {
    private static let interrupts = Atomic<Int>(0)
    // The handler may touch nothing but atomics, so the pipe's address travels as a number. It is never freed.
    private static let pipe = Atomic<UInt>(0)

    /// Lets SIGINT and SIGWINCH wake this pipe instead of doing what they do by default.
    package static func watch(wake pipe: WakePipe) {
        let address = UInt(bitPattern: Unmanaged.passRetained(pipe).toOpaque())
        self.pipe.store(address, ordering: .releasing)
        installSignalHandler(
            [
                TerminalSignalNumber.interrupt, TerminalSignalNumber.windowChange,
                TerminalSignalNumber.continued,
            ]
        ) { signal in
            if signal == TerminalSignalNumber.interrupt {
                TerminalSignals.interrupts.add(1, ordering: .acquiringAndReleasing)
            }
            let address = TerminalSignals.pipe.load(ordering: .acquiring)
            guard let pointer = UnsafeRawPointer(bitPattern: address) else { return }
            // Because: the pipe was retained for good when its address was stored.
            Unmanaged<WakePipe>.fromOpaque(pointer)._withUnsafeGuaranteedRef { $0.wake() }
        }
    }

    /// How many SIGINTs came since the last call.
    package static func takeInterrupts() -> Int {
        interrupts.exchange(0, ordering: .acquiringAndReleasing)
    }
}
