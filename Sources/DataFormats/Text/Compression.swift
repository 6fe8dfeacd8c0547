import CZlib
import CZstd

/// Compresses the bytes of a file.
///
/// Confined to one thread.
protocol Compressor: AnyObject {
    /// Compresses bytes and passes the result to `write`; `isEnd` completes the file.
    func compress(
        _ bytes: UnsafeRawBufferPointer, isEnd: Bool,
        write: (UnsafeRawBufferPointer) throws -> Void
    ) throws
}

extension Compression {
    /// Returns the compressor for the name of a file; nil for a name that does not end in `.gz` or `.zst`.
    static func compressor(_ path: String) throws -> (any Compressor)? {
        switch path.split(separator: ".").last?.lowercased() {
        case "gz": try GzipCompressor()
        case "zst": try ZstdCompressor()
        default: nil
        }
    }

    /// Returns whether a file with this name is written compressed.
    package static func isCompressed(_ path: String) -> Bool {
        ["gz", "zst"].contains(path.split(separator: ".").last?.lowercased())
    }
}

/// A compressor for gzip (RFC 1952).
private final class GzipCompressor: Compressor {
    private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
    // The stream is behind a pointer, because zlib requires a stable address.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)

    init() throws {
        stream.initialize(to: z_stream())
        guard shim_deflate_begin(stream) == Z_OK else { throw FormatError("not enough memory") }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
        output.deallocate()
    }

    func compress(
        _ bytes: UnsafeRawBufferPointer, isEnd: Bool,
        write: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: bytes.baseAddress?.assumingMemoryBound(to: Bytef.self))
        stream.pointee.avail_in = uInt(bytes.count)
        repeat {
            stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: Bytef.self)
            stream.pointee.avail_out = uInt(output.count)
            deflate(stream, isEnd ? Z_FINISH : Z_NO_FLUSH)
            let count = output.count - Int(stream.pointee.avail_out)
            try write(UnsafeRawBufferPointer(rebasing: output[..<count]))
        } while stream.pointee.avail_out == 0
        assert(stream.pointee.avail_in == 0, "all bytes are compressed")
    }
}

/// A compressor for Zstandard (RFC 8878).
private final class ZstdCompressor: Compressor {
    private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: 128 << 10, alignment: 16)
    private let stream: OpaquePointer

    init() throws {
        guard let stream = ZSTD_createCStream() else { throw FormatError("not enough memory") }
        self.stream = stream
    }

    deinit {
        ZSTD_freeCStream(stream)
        output.deallocate()
    }

    func compress(
        _ bytes: UnsafeRawBufferPointer, isEnd: Bool,
        write: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        var input = ZSTD_inBuffer(src: bytes.baseAddress, size: bytes.count, pos: 0)
        var remaining = 0
        repeat {
            var result = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
            remaining = ZSTD_compressStream2(
                stream, &result, &input, isEnd ? ZSTD_e_end : ZSTD_e_continue)
            guard ZSTD_isError(remaining) == 0 else { throw FormatError("not enough memory") }
            try write(UnsafeRawBufferPointer(rebasing: output[..<result.pos]))
        } while isEnd ? remaining > 0 : input.pos < input.size
    }
}

/// Decompresses the bytes of a file.
///
/// Confined to one thread.
protocol Decompressor: AnyObject {
    /// Decompresses into memory. Returns the number of bytes, 0 at the end.
    ///
    /// `read` returns compressed bytes. Throws a `FormatError` for damaged data.
    func read(
        into output: UnsafeMutableRawBufferPointer,
        from read: (UnsafeMutableRawBufferPointer) throws -> Int
    ) throws -> Int
}

/// The compression formats, recognized by the first bytes of a file that is read, and by the name of a file that is
/// written.
///
/// No UTF-8 text begins with these bytes.
package enum Compression {
    private static let gzip: [UInt8] = [0x1F, 0x8B]
    private static let zstd: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]

    /// Returns the decompressor for a file that begins with these bytes; nil for an uncompressed file.
    static func decompressor(_ beginning: [UInt8], _ path: String) throws -> (any Decompressor)? {
        if beginning.starts(with: gzip) { return try GzipDecompressor(path) }
        if beginning.starts(with: zstd) { return try ZstdDecompressor(path) }
        return nil
    }
}

/// A decompressor for gzip (RFC 1952), including files with several members.
private final class GzipDecompressor: Decompressor {
    private let path: String
    private let input = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
    // The stream is behind a pointer, because zlib requires a stable address.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var isInMember = true
    private var isAtEnd = false

    init(_ path: String) throws {
        self.path = path
        stream.initialize(to: z_stream())
        guard shim_inflate_begin(stream) == Z_OK else { throw FormatError("not enough memory") }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
        input.deallocate()
    }

    func read(
        into output: UnsafeMutableRawBufferPointer,
        from read: (UnsafeMutableRawBufferPointer) throws -> Int
    ) throws -> Int {
        stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: Bytef.self)
        stream.pointee.avail_out = uInt(output.count)
        while stream.pointee.avail_out == output.count, !isAtEnd {
            if stream.pointee.avail_in == 0 {
                let count = try read(input)
                guard count > 0 else {
                    guard !isInMember else {
                        throw FormatError("\(path) is compressed and cut off")
                    }
                    isAtEnd = true
                    break
                }
                stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: Bytef.self)
                stream.pointee.avail_in = uInt(count)
            }
            if !isInMember {
                inflateReset(stream)
                isInMember = true
            }
            switch inflate(stream, Z_NO_FLUSH) {
            case Z_OK, Z_BUF_ERROR: break
            case Z_STREAM_END: isInMember = false
            case Z_MEM_ERROR: throw FormatError("not enough memory")
            default: throw FormatError("\(path) is compressed with gzip and damaged")
            }
        }
        return output.count - Int(stream.pointee.avail_out)
    }
}

/// A decompressor for Zstandard (RFC 8878), including files with several frames.
private final class ZstdDecompressor: Decompressor {
    private let path: String
    private let input = UnsafeMutableRawBufferPointer.allocate(byteCount: 128 << 10, alignment: 16)
    private let stream: OpaquePointer
    private var rest = ZSTD_inBuffer()
    private var isInFrame = true

    init(_ path: String) throws {
        self.path = path
        guard let stream = ZSTD_createDStream() else { throw FormatError("not enough memory") }
        self.stream = stream
    }

    deinit {
        ZSTD_freeDStream(stream)
        input.deallocate()
    }

    func read(
        into output: UnsafeMutableRawBufferPointer,
        from read: (UnsafeMutableRawBufferPointer) throws -> Int
    ) throws -> Int {
        var result = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
        while result.pos == 0 {
            if rest.pos == rest.size {
                let count = try read(input)
                if count == 0, !isInFrame { break }
                guard count > 0 else { throw FormatError("\(path) is compressed and cut off") }
                rest = ZSTD_inBuffer(src: input.baseAddress, size: count, pos: 0)
            }
            let hint = ZSTD_decompressStream(stream, &result, &rest)
            guard ZSTD_isError(hint) == 0 else {
                let reason = String(cString: ZSTD_getErrorName(hint))
                throw FormatError("\(path) is compressed with zstd and cannot be read: \(reason)")
            }
            isInFrame = hint != 0
        }
        return result.pos
    }
}
