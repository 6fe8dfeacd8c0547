import Glibc

/// A folder for one test, removed with everything in it when the last reference is released.
public final class TemporaryFolder: Sendable {
    /// The folder's path, without a slash at the end.
    public let path: String

    /// Creates an empty folder in `/tmp`.
    public init() throws {
        var template = Array("/tmp/moonpool-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure(call: "mkdtemp", code: errno) }
        template.removeLast()
        path = String(decoding: template.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// A system call that failed.
    public struct Failure: Error {
        let call: String
        let code: Int32
    }

    /// Returns the path of a file in the folder.
    public func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Creates a folder in the folder.
    public func make(_ name: String) throws {
        guard mkdir(file(name), 0o755) == 0 else { throw Failure(call: "mkdir", code: errno) }
    }

    /// Creates a symbolic link in the folder.
    public func link(_ name: String, to target: String) throws {
        guard symlink(target, file(name)) == 0 else { throw Failure(call: "symlink", code: errno) }
    }

    /// Writes a file of text in the folder and returns its path.
    @discardableResult
    public func write(_ text: String, to name: String) throws -> String {
        let stream = fopen(file(name), "w")
        guard let stream else { throw Failure(call: "fopen", code: errno) }
        defer { fclose(stream) }
        let bytes = Array(text.utf8)
        guard fwrite(bytes, 1, bytes.count, stream) == bytes.count else {
            throw Failure(call: "fwrite", code: errno)
        }
        return file(name)
    }

    /// Returns the whole text of a file in the folder.
    public func read(_ name: String) throws -> String {
        let stream = fopen(file(name), "r")
        guard let stream else { throw Failure(call: "fopen", code: errno) }
        defer { fclose(stream) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&buffer, 1, buffer.count, stream), count > 0 {
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    deinit { Self.remove(path) }

    private static func remove(_ path: String) {
        if unlink(path) == 0 || rmdir(path) == 0 { return }
        guard let folder = opendir(path) else { return }
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { remove("\(path)/\(name)") }
        }
        closedir(folder)
        rmdir(path)
    }
}
