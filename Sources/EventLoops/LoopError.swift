import CUV

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A system call that failed in an event loop.
package struct LoopError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The system's error number (`errno`).
    package let number: Int32
    /// The call that failed.
    package let call: String
    /// The file that the call was about, if any.
    package let path: String?

    /// The call, the file and the system's message in one sentence.
    package var description: String {
        let reason = String(cString: uv_strerror(-number))
        return "\(call)\(path.map { " '\($0)'" } ?? ""): \(reason)"
    }

    /// The `number` for a socket on which no process listens.
    package static let refused = ECONNREFUSED
    /// The `number` for a missing file.
    package static let missing = ENOENT
    /// The `number` for a socket of another user.
    package static let notPermitted = EPERM

    static func check(_ status: Int32, _ call: String, path: String? = nil) throws(LoopError) {
        if status < 0 { throw LoopError(number: -status, call: call, path: path) }
    }
}
