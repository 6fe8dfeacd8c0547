import Glibc
import Testing

/// The library that watches the system calls of a process on the files of a folder: filecalls.c.
enum FileCalls {
    /// Compiles the library that watches the calls of a process on files, and returns its path.
    static func compile(in folder: TemporaryFolder) throws -> String {
        let library = folder.path + "/filecalls.so"
        let source = Tool.root + "/Tests/ToolTests/PowerLoss/filecalls.c"
        let compiling = try Subprocess(
            try #require(compiler), ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"])
        let compiled = try compiling.finish(within: 300)
        try #require(compiled.exitCode == 0, "\(compiled.error)")
        return library
    }

    /// The C compiler of this machine; nil if there is none.
    static let compiler: String? = {
        let folders = (getenv("PATH").map { String(cString: $0) } ?? "").split(separator: ":")
        for name in ["clang", "cc", "gcc"] {
            for folder in folders.map(String.init) + ["/usr/bin"] {
                if access("\(folder)/\(name)", X_OK) == 0 { return "\(folder)/\(name)" }
            }
        }
        return nil
    }()

    /// Returns the number of calls that the last process has counted in a file.
    static func count(_ path: String) throws -> Int {
        let file = open(path, O_RDONLY)
        guard file >= 0 else { throw SystemFailure("open \(path)") }
        defer { close(file) }
        var number: UInt64 = 0
        guard Glibc.read(file, &number, 8) == 8 else { throw SystemFailure("read \(path)") }
        return Int(number)
    }
}
