#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Converts the bytes of a file to UTF-8, with iconv.
///
/// Confined to one thread.
final class TextDecoder {
    private let encoding: String
    private let path: String
    private let descriptor: iconv_t
    private let input = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
    /// The bytes of the input that are not converted yet.
    private var rest = 0..<0

    /// Throws a `FormatError` for an encoding that iconv does not know.
    init(_ encoding: String, _ path: String) throws {
        self.encoding = encoding
        self.path = path
        let descriptor = iconv_open("UTF-8", encoding)
        guard descriptor != iconv_t(bitPattern: -1), let descriptor else {
            throw FormatError(
                "unknown encoding '\(encoding)'; use windows-1252, latin1, utf-16, or another name from iconv --list"
            )
        }
        self.descriptor = descriptor
    }

    deinit {
        iconv_close(descriptor)
        input.deallocate()
    }

    /// Begins at the start of the file again.
    func reset() {
        iconv(descriptor, nil, nil, nil, nil)
        rest = 0..<0
    }

    /// Converts bytes of the file into memory, and returns their number; 0 at the end.
    ///
    /// `read` returns bytes of the file. Throws a `FormatError` for bytes that are invalid in the encoding.
    func read(
        into output: UnsafeMutableRawBufferPointer,
        from read: (UnsafeMutableRawBufferPointer) throws -> Int
    ) throws -> Int {
        var isIncomplete = rest.isEmpty
        while true {
            if isIncomplete {
                UnsafeMutableRawBufferPointer(rebasing: input[0..<rest.count])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: input[rest]))
                let count = try read(UnsafeMutableRawBufferPointer(rebasing: input[rest.count...]))
                guard count > 0 else {
                    guard rest.isEmpty else { throw fault }
                    return 0
                }
                rest = 0..<rest.count + count
            }
            var source = input.baseAddress.map {
                $0.assumingMemoryBound(to: CChar.self) + rest.lowerBound
            }
            var available = rest.count
            var target = output.baseAddress?.assumingMemoryBound(to: CChar.self)
            var space = output.count
            let result = iconv(descriptor, &source, &available, &target, &space)
            let failure = result == -1 ? errno : 0
            rest = rest.upperBound - available..<rest.upperBound
            if space < output.count { return output.count - space }
            guard failure != EILSEQ else { throw fault }
            isIncomplete = true
        }
    }

    private var fault: FormatError {
        FormatError("\(path) contains bytes that are not valid in the encoding \(encoding)")
    }
}
