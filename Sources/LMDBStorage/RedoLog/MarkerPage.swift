#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The page of an open data file that contains the log's marker.
///
/// Every write reads the marker when it begins. The page is mapped for that, because a system call would take a
/// twentieth of the time of a small commit.
final class MarkerPage: @unchecked Sendable {
    // Unchecked because: the mapping is constant, and only read.
    private let page: UnsafeRawPointer?
    private let descriptor: Int32
    private static let size = 4096

    /// Maps the page; the descriptor is that of LMDB's data file, which is never shorter than its headers.
    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        let mapped = mmap(nil, Self.size, PROT_READ, MAP_SHARED, descriptor, 0)
        page = mapped == MAP_FAILED ? nil : mapped.map { UnsafeRawPointer($0) }
    }

    deinit { if let page { munmap(UnsafeMutableRawPointer(mutating: page), Self.size) } }

    /// The current marker on the page.
    var marker: LogMarker {
        guard let page else { return LogMarker.read(descriptor) }
        return LogMarker(
            UnsafeRawBufferPointer(start: page + LogMarker.offset, count: LogMarker.size))
    }
}
