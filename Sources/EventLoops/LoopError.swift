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
    /// The file of the failed call; nil if there is none.
    package let path: String?

    /// One sentence with the call, the file and the system's message.
    package var description: String {
        let reason = String(cString: uv_strerror(-number))
        return "\(call)\(path.map { " '\($0)'" } ?? ""): \(reason)"
    }

    /// The ``number`` of the error for a socket without a listening process.
    package static let refused = ECONNREFUSED
    /// The ``number`` of the error for a missing file.
    package static let missing = ENOENT
    /// The ``number`` of the error for a socket of another user.
    package static let notPermitted = EPERM

    /// Whether another program listens on the port.
    package var isAddressInUse: Bool { number == EADDRINUSE }

    static func check(_ status: Int32, _ call: String, path: String? = nil) throws(LoopError) {
        if status < 0 { throw LoopError(number: -status, call: call, path: path) }
    }
}
