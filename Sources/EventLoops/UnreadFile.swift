#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Why a file was not read as a whole.
package enum UnreadFile: Error {
    /// The system's error number (`errno`).
    case system(Int32)
    /// The file has more bytes than this.
    case tooLong(Int)

    /// What the system says, or that the file is too long: "No such file or directory".
    package var reason: String {
        switch self {
        case .system(let number): String(cString: strerror(number))
        case .tooLong(let limit): "it is longer than \(limit >> 20) MiB"
        }
    }

    /// Whether there is no such file.
    package var isMissing: Bool {
        if case .system(ENOENT) = self { true } else { false }
    }
}
