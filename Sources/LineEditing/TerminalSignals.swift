import Synchronization

/// Collects the terminal's signals: Ctrl-C while code runs, and changes of the window size.
///
/// The process has one set of handlers, installed by the first `watch`. The main thread receives the signals and waits
/// on the pipe; all other threads block them.
package enum TerminalSignals {
    private static let interrupts = Atomic<Int>(0)
    // The handler may only use atomics, so the address of the pipe is stored as a number. The pipe is never freed.
    private static let pipe = Atomic<UInt>(0)

    /// Makes SIGINT and SIGWINCH wake this pipe instead of their default actions.
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
            // The reference is valid, because the pipe was retained permanently when its address was stored.
            Unmanaged<WakePipe>.fromOpaque(pointer)._withUnsafeGuaranteedRef { $0.wake() }
        }
    }

    /// Returns the number of SIGINTs since the last call.
    package static func takeInterrupts() -> Int {
        interrupts.exchange(0, ordering: .acquiringAndReleasing)
    }
}
