import Testing

@testable import LMDBStorage

struct ByteCodingTests {
    private static var encoded: [UInt8] {
        var writer = ByteWriter()
        writer.byte(7)
        for number: UInt64 in [0, 127, 128, 1 << 40, .max] { writer.number(number) }
        for number: Int64 in [0, -1, .min, .max] { writer.signed(number) }
        writer.word(0x0102_0304_0506_0708)
        writer.word(0xAABBCC, bytes: 3)
        writer.text("Rex 🐕")
        writer.data([1, 2, 3])
        return writer.bytes
    }

    private static func decode(_ bytes: [UInt8]) throws -> Bool {
        try ByteReader.decode(bytes, of: "a test") { reader in
            guard try reader.byte() == 7 else { return false }
            for number: UInt64 in [0, 127, 128, 1 << 40, .max] {
                guard try reader.number() == number else { return false }
            }
            for number: Int64 in [0, -1, .min, .max] {
                guard try reader.signed() == number else { return false }
            }
            try reader.expect(0x0102_0304_0506_0708)
            try reader.expect(0xAABBCC, bytes: 3)
            guard try reader.text() == "Rex 🐕", try reader.data() == [1, 2, 3] else {
                return false
            }
            return reader.isAtEnd
        }
    }

    @Test func `decoded values equal the encoded ones`() throws {
        #expect(try Self.decode(Self.encoded))
    }

    @Test func `truncated bytes are damaged at every length`() {
        for count in 0..<Self.encoded.count {
            #expect(throws: DamagedEncoding(what: "a test")) {
                _ = try Self.decode(Array(Self.encoded[..<count]))
            }
        }
    }

    @Test(arguments: [
        [UInt8](repeating: 0xFF, count: 10), [UInt8](repeating: 0x80, count: 11) + [1],
    ])
    func `a number of more than 64 bits is damaged`(_ bytes: [UInt8]) {
        #expect(throws: DamagedEncoding(what: "a number")) {
            _ = try ByteReader.decode(bytes, of: "a number") { try $0.number() }
        }
    }

    @Test func `a number that does not fit into its type is damaged`() {
        var writer = ByteWriter()
        writer.number(1 << 32)
        #expect(throws: DamagedEncoding(what: "a number")) {
            _ = try ByteReader.decode(writer.bytes, of: "a number") {
                try $0.number(as: UInt32.self)
            }
        }
    }

    @Test(arguments: [UInt64(3), .max]) func `a count beyond the end is damaged`(_ count: UInt64) {
        var writer = ByteWriter()
        writer.number(count)
        for byte: UInt8 in [1, 2] { writer.byte(byte) }
        #expect(throws: DamagedEncoding(what: "data")) {
            _ = try ByteReader.decode(writer.bytes, of: "data") { try $0.data() }
        }
    }

    @Test func `text that is not UTF-8 is damaged`() {
        var writer = ByteWriter()
        writer.data([0xFF])
        #expect(throws: DamagedEncoding(what: "a text")) {
            _ = try ByteReader.decode(writer.bytes, of: "a text") { try $0.text() }
        }
    }

    /// The records of the log and the seal, as their bytes.
    private static let header = LogHeader(
        id: 1, salt: 2, sequence: 3, version: 4, start: 8192, pageSize: 4096,
        metas: [
            [UInt8](repeating: 5, count: FileHeader.metaSize),
            [UInt8](repeating: 6, count: FileHeader.metaSize),
        ], tables: ["rows", "lists"])

    @Test func `a log header with one wrong byte is not a header`() throws {
        let bytes = try #require(Self.header.bytes)
        #expect(LogHeader(bytes) == Self.header)
        for index in Array(0..<400) + Array(4080..<4096) {
            var damaged = bytes
            damaged[index] ^= 1
            #expect(LogHeader(damaged) == nil)
        }
        #expect(LogHeader(Array(bytes.dropLast())) == nil)
    }

    @Test func `a log record decodes its header, and short or foreign bytes are not a record`() {
        var bytes = [UInt8](repeating: 9, count: LogRecord.size + 16)
        bytes.withUnsafeMutableBytes {
            LogRecord.seal($0, .changes, version: 11, unflushed: 3, salt: 12)
        }
        bytes.withUnsafeBytes { bytes in
            let record = LogRecord(bytes)
            #expect(record?.version == 11)
            #expect(record?.unflushed == 3)
            #expect(record?.salt == 12)
            #expect(record?.length == 16)
            #expect(record?.checksum == LogRecord.sum(bytes))
            for count in 0..<LogRecord.size {
                #expect(LogRecord(UnsafeRawBufferPointer(rebasing: bytes[..<count])) == nil)
            }
            #expect(LogRecord(UnsafeRawBufferPointer(rebasing: bytes[8...])) == nil)
        }
    }

    @Test
    func `a list of free pages has as many numbers as its count, and otherwise is not a list`() {
        func numbers(_ words: [UInt64]) -> [UInt64]? {
            words.withUnsafeBytes { FreePages($0).map(Array.init) }
        }
        #expect(numbers([0]) == [])
        #expect(numbers([2, 9, 4, 77]) == [9, 4])
        #expect(numbers([2, 9]) == nil)
        #expect(numbers([.max, 9]) == nil)
        #expect(numbers([]) == nil)
    }
}
