import Synchronization
import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

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
        Signals.handle([SIGINT, SIGWINCH, SIGCONT]) { signal in
            if signal == SIGINT {
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

/// Wakes a thread that waits for the terminal, from any thread or signal handler.
package final class WakePipe: Sendable {
    let readEnd: Int32
    private let writeEnd: Int32

    /// Creates a pipe; nil if the system has no descriptors left.
    package init?() {
        guard let ends = Descriptor.pipe() else { return nil }
        (readEnd, writeEnd) = ends
    }

    deinit {
        Descriptor.close(readEnd)
        Descriptor.close(writeEnd)
    }

    /// Wakes the waiting thread.
    ///
    /// Never blocks: if the pipe is full, the thread is woken anyway.
    package func wake() {
        var byte: UInt8 = 0
        withUnsafeBytes(of: &byte) { Descriptor.writeOnce(writeEnd, $0) }
    }

    func drain() { Descriptor.drain(readEnd) }
}
