#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Why a file was not read as a whole.
public struct UnreadFile: Error {
    /// What the system says, or that the file is too long: "No such file or directory".
    public let reason: String
    /// Whether there is no such file.
    public let isMissing: Bool

    init(system number: Int32) {
        reason = String(cString: strerror(number))
        isMissing = number == ENOENT
    }

    init(longerThan limit: Int) {
        reason = "it is longer than \(limit >> 20) MiB"
        isMissing = false
    }
}
