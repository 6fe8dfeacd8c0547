#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The reason why a file was not read completely.
package enum UnreadFile: Error {
    /// The system's error number (`errno`).
    case system(Int32)
    /// The file is larger than this number of bytes.
    case tooLong(Int)

    /// The system's message, such as "No such file or directory", or the message that the file is too long.
    package var reason: String {
        switch self {
        case .system(let number): String(cString: strerror(number))
        case .tooLong(let limit): "it is longer than \(limit >> 20) MiB"
        }
    }

    /// Whether the file does not exist.
    package var isMissing: Bool {
        if case .system(ENOENT) = self { true } else { false }
    }
}
