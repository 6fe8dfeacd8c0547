import EventLoops
import ObjectStore
import SystemCalls

/// Asks for confirmation before the prompt creates a store, because the name can be misspelled.
enum NewStore {
    /// Returns whether to open the prompt on a path: the file exists, or the user confirms that it should be created.
    static func isWanted(at path: String) -> Bool {
        guard ProcessServices.size(of: path) == nil else { return true }
        let near = nearest(to: path).map { "; did you mean '\($0)'?" } ?? ""
        if !near.isEmpty { ProcessServices.writeError("there is no store '\(path)'\(near)\n") }
        while true {
            ProcessServices.writeError("create new store '\(path)'? y/n ")
            guard let answer = readLine() else {
                ProcessServices.writeError("\n")
                return false
            }
            switch answer.lowercased() {
            case "y", "yes": return true
            case "n", "no": return false
            default: continue
            }
        }
    }

    /// Returns the store in the same folder with the most similar name.
    private static func nearest(to path: String) -> String? {
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { String(path[...$0]) } ?? ""
        let file = slash.map { String(path[path.index(after: $0)...]) } ?? path
        let names = (ProcessServices.names(in: folder.isEmpty ? "." : folder) ?? [])
            .filter { $0.hasSuffix(".moonpool") }
        return NearestName.find(file, among: names).map { folder + $0 }
    }
}
