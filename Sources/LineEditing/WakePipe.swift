/// Wakes a thread that waits for the terminal: any thread may, and signal handlers too.
package final class WakePipe: Sendable {
    let readEnd: Int32
    private let writeEnd: Int32

    /// Makes one; nil when the system has no descriptors left.
    package init?() {
        guard let ends = Descriptor.pipe() else { return nil }
        (readEnd, writeEnd) = ends
    }

    deinit {
        Descriptor.close(readEnd)
        Descriptor.close(writeEnd)
    }

    /// Makes the waiting thread look around.
    ///
    /// A full pipe is as good as one byte in it, so nothing is ever waited for.
    package func wake() {
        var byte: UInt8 = 0
        withUnsafeBytes(of: &byte) { Descriptor.writeOnce(writeEnd, $0) }
    }

    func drain() { Descriptor.drain(readEnd) }
}
