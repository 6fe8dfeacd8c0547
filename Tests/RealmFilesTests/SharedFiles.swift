import RealmFiles
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The files that Realm has written, with their expected contents, if they are available beside the project.
enum SharedFiles {
    /// The folder.
    static let folder: String = {
        var parts = #filePath.split(separator: "/").dropLast(3).map(String.init)
        parts.removeLast()
        return "/" + parts.joined(separator: "/") + "/shared/realm"
    }()

    /// Whether the folder exists.
    static let arePresent = access(folder + "/files.json", R_OK) == 0

    /// A file of one of the lists.
    struct Entry: Sendable, CustomTestStringConvertible {
        let name: String
        let file: String
        let oracle: String?
        let expect: String
        let key: String?
        var testDescription: String { name }
    }

    /// The files of a list.
    static func entries(_ list: String) -> [Entry] {
        guard arePresent else { return [] }
        return JSON(parsing: read(folder + "/" + list)).elements.map { entry in
            Entry(
                name: entry["name"]?.string ?? "", file: entry["file"]?.string ?? "",
                oracle: entry["oracle"]?.string, expect: entry["expect"]?.string ?? "",
                key: entry["key"]?.string)
        }
    }

    /// The path of a file; a compressed file is decompressed into a temporary file.
    static func path(_ entry: Entry) -> (path: String, isTemporary: Bool) {
        let path = folder + "/files/" + entry.file
        guard path.hasSuffix(".gz") else { return (path, false) }
        let target = TemporaryFile.path("realm")
        TemporaryFile.write(unpack(path), to: target)
        return (target, true)
    }

    /// The expected content.
    static func oracle(_ entry: Entry) -> JSON {
        let path = folder + "/oracles/" + (entry.oracle ?? "")
        return JSON(
            parsing: access(path, R_OK) == 0 && !path.hasSuffix(".gz")
                ? read(path) : unpack(path.hasSuffix(".gz") ? path : path + ".gz"))
    }

    static func read(_ path: String) -> [UInt8] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        return contents(file)
    }

    private static func unpack(_ path: String) -> [UInt8] {
        guard let file = popen("gzip -dc '\(path)'", "r") else { return [] }
        defer { pclose(file) }
        return contents(file)
    }

    private static func contents(_ file: UnsafeMutablePointer<FILE>) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 {
            bytes += buffer[..<count]
        }
        return bytes
    }
}

/// Files that a test creates.
enum TemporaryFile {
    /// Returns an unused path.
    static func path(_ ending: String) -> String {
        "/tmp/moonpool-realm-\(getpid())-\(UInt64.random(in: 0 ... .max)).\(ending)"
    }

    static func write(_ bytes: [UInt8], to path: String) {
        guard let file = fopen(path, "w") else { return }
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
    }

    static func remove(_ path: String) { unlink(path) }

    /// Calls `body` with the path of a file that contains the bytes.
    static func with<Result>(_ bytes: [UInt8], _ body: (String) throws -> Result) rethrows -> Result
    {
        let path = path("realm")
        write(bytes, to: path)
        defer { remove(path) }
        return try body(path)
    }
}
