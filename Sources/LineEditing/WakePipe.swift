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
