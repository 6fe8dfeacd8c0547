import Glibc

/// A folder for one test, which is removed with its content at the end.
final class TemporaryFolder {
    let path: String

    init() {
        var template = [CChar]("/tmp/moonpool-test-XXXXXX".utf8CString)
        path = template.withUnsafeMutableBufferPointer { String(cString: mkdtemp($0.baseAddress!)) }
    }

    func file(_ name: String = "store") -> String { "\(path)/\(name)" }

    deinit {
        guard let folder = opendir(path) else { return }
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
            }
            if name != "." && name != ".." {
                chmod("\(path)/\(name)", 0o600)
                unlink("\(path)/\(name)")
            }
        }
        closedir(folder)
        rmdir(path)
    }
}
