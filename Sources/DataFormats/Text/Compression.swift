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
