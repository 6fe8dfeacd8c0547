import CUV

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What the system refused to an event loop.
package struct LoopError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The system's error number (`errno`).
    package let number: Int32
    /// The call that failed.
    package let call: String
    /// The file it was about, if any.
    package let path: String?

    /// A sentence with the call, the file and the system's own words.
    package var description: String {
        let reason = String(cString: uv_strerror(-number))
        return "\(call)\(path.map { " '\($0)'" } ?? ""): \(reason)"
    }

    /// `number` of: nobody listens at a socket.
    package static let refused = ECONNREFUSED
    /// `number` of: there is no such file.
    package static let missing = ENOENT
    /// `number` of: that is another user's.
    package static let notPermitted = EPERM

    static func check(_ status: Int32, _ call: String, path: String? = nil) throws(LoopError) {
        if status < 0 { throw LoopError(number: -status, call: call, path: path) }
    }
}
