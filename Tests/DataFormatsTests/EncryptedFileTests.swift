import Glibc
import TestThreads
import Testing

@testable import DataFormats

/// Encrypted copies: every change of one is found.
@Suite struct EncryptedFileTests {
    private let folder: TemporaryFolder
    private let key: CopyKey
    private static let chunk = ChunkCipher.chunkSize + ChunkCipher.tagSize

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(String(repeating: "0123456789abcdef", count: 4) + "\n", to: "key")
        key = try CopyKey(file: folder.file("key"))
    }

    private func bytes(_ name: String) -> [UInt8] {
        guard let file = fopen(folder.file(name), "r") else { return [] }
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        return Array(buffer[..<fread(&buffer, 1, buffer.count, file)])
    }

    private func write(_ bytes: [UInt8], to name: String) throws {
        let file = try #require(fopen(folder.file(name), "w"))
        defer { fclose(file) }
        #expect(fwrite(bytes, 1, bytes.count, file) == bytes.count)
    }

    private func encrypt(_ content: [UInt8], to name: String) throws -> [UInt8] {
        try write(content, to: "plain")
        let (plain, target) = (folder.file("plain"), folder.file(name))
        try EncryptedFiles.encrypt(plain, to: target, with: key, like: plain)
        return bytes(name)
    }

    private func decrypt(_ name: String, _ key: CopyKey? = nil) throws -> [UInt8] {
        try EncryptedFiles.decrypt(
            folder.file(name), to: folder.file("out"), with: key ?? self.key)
        return bytes("out")
    }

    private static func content(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 131_072, 200_000])
    func `a decrypted file has the same content`(count: Int) throws {
        let content = Self.content(count)
        let sealed = try encrypt(content, to: "sealed")
        let chunks = max(1, (count + 65_535) / 65_536)
        #expect(sealed.count == ChunkCipher.headerSize + count + chunks * ChunkCipher.tagSize)
        #expect(try decrypt("sealed") == content)
        // The same content never has the same bytes.
        #expect(try encrypt(content, to: "again") != sealed)
    }

    @Test func `a changed, cut, extended or rearranged file is refused, and nothing is written`()
        throws
    {
        let sealed = try encrypt(Self.content(150_000), to: "sealed")
        let other = try encrypt(Self.content(150_000), to: "other")
        let begin = ChunkCipher.headerSize
        var wrong: [[UInt8]] = []
        for place in [0, 8, 39, begin, begin + 65_540, begin + Self.chunk + 5, sealed.count - 1] {
            var changed = sealed
            changed[place] ^= 1
            wrong.append(changed)
        }
        for size in [0, 7, begin, begin + 10, begin + Self.chunk, begin + 2 * Self.chunk] {
            wrong.append(Array(sealed[..<size]))
        }
        wrong.append(Array(sealed.dropLast()))
        wrong.append(sealed + [0])
        wrong.append(sealed + sealed[begin...])
        let (first, second) = (
            begin..<begin + Self.chunk, begin + Self.chunk..<begin + 2 * Self.chunk
        )
        let tail = sealed[(begin + 2 * Self.chunk)...]
        wrong.append(Array(sealed[..<begin] + sealed[second] + sealed[first] + tail))
        wrong.append(Array(sealed[..<begin] + sealed[first] + sealed[first] + tail))
        wrong.append(Array(sealed[..<begin] + other[first] + sealed[second] + tail))
        wrong.append(Array(other[..<begin] + sealed[begin...]))
        for (number, bytes) in wrong.enumerated() {
            try write(bytes, to: "wrong")
            #expect(throws: FormatError.self, "\(number)") { try decrypt("wrong") }
            #expect(access(folder.file("out"), F_OK) != 0, "\(number)")
        }
    }

    @Test func `a file that was cut off is not reported as a wrong key`() throws {
        let sealed = try encrypt(Self.content(150_000), to: "sealed")
        let begin = ChunkCipher.headerSize
        for (size, message) in [
            (20, "the file was cut off after 0 bytes of content"),
            (begin + 10, "the key is not that of the file, or the file was changed or cut off"),
            (begin + Self.chunk, "the file was cut off after 65536 bytes of content"),
            (begin + 2 * Self.chunk, "the file was cut off after 131072 bytes of content"),
            (sealed.count - 1, "the file was changed or cut off after 131072 bytes of content"),
        ] {
            try write(Array(sealed[..<size]), to: "cut")
            let error = #expect(throws: FormatError.self) { try decrypt("cut") }
            #expect(error?.description.hasSuffix(message) == true, "\(String(describing: error))")
        }
    }

    @Test func `another key, and a file without a key, are refused without their content`() throws {
        _ = try encrypt([1, 2, 3], to: "sealed")
        try write(Array(repeating: 7, count: 32), to: "raw")
        let other = try CopyKey(file: folder.file("raw"))
        let error = #expect(throws: FormatError.self) { try decrypt("sealed", other) }
        #expect(error?.description.contains("the key is not that of the file") == true)
        for text in ["", "secret", String(repeating: "g", count: 64)] {
            try folder.write(text, to: "short")
            let error = #expect(throws: FormatError.self) {
                try CopyKey(file: folder.file("short"))
            }
            #expect(error?.description.contains("must have 32 bytes") == true)
            #expect(text.isEmpty || error?.description.contains(text) == false)
        }
        #expect(throws: FormatError.self) { try CopyKey(file: folder.file("missing")) }
    }
}
