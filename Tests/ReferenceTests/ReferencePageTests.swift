import Reference
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The page of the documentation agrees with the catalog.
@Suite struct ReferencePageTests {
    static let path: String = {
        var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        parts.removeLast(3)
        return parts.joined(separator: "/") + "/Sources/Reference/Reference.docc/LuaAPI.md"
    }()

    @Test func `the page matches the help catalog`() {
        let text = ReferencePage.text
        if getenv("MOONPOOL_WRITE_REFERENCE") != nil, let file = fopen(Self.path, "w") {
            fputs(text, file)
            fclose(file)
        }
        #expect(Self.contents == text)
    }

    static var contents: String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = fread(&buffer, 1, buffer.count, file)
            if count == 0 { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
