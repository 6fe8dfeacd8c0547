import Glibc

/// The files of a store that is not open.
enum StoreFiles {
    /// Copies a store and its log, if it has one, over another store.
    static func copy(_ store: String, to other: String) throws {
        for ending in ["", "-lock", "-log"] { unlink(other + ending) }
        for ending in ["", "-log"] where access(store + ending, F_OK) == 0 {
            let copying = try Subprocess("/bin/cp", [store + ending, other + ending])
            guard try copying.finish().exitCode == 0 else { throw SystemFailure("cp") }
        }
    }
}
