import EventLoops

/// An argument that selects stores: one path, or a pattern such as `tenants/*.moonpool` for several files.
struct StorePattern {
    /// The paths in order; the argument itself if it contains no `*` or `?`.
    let paths: [String]
    /// Whether the argument is a pattern.
    let isPattern: Bool

    init(_ argument: String) {
        let (folder, pattern) = Self.split(argument)
        isPattern = pattern.contains { $0 == "*" || $0 == "?" }
        guard isPattern else {
            paths = [argument]
            return
        }
        let prefix = folder.map { $0 == "/" ? "/" : $0 + "/" } ?? ""
        let names = (ProcessServices.names(in: folder ?? ".") ?? []).filter { name in
            (!name.hasPrefix(".") || pattern.hasPrefix("."))
                && Self.matches(Array(name), Array(pattern))
        }
        paths = names.sorted().map { prefix + $0 }
    }

    private static func split(_ argument: String) -> (folder: String?, pattern: String) {
        guard let end = argument.lastIndex(of: "/") else { return (nil, argument) }
        let folder = argument[..<end]
        return (
            folder.isEmpty ? "/" : String(folder), String(argument[argument.index(after: end)...])
        )
    }

    /// Returns whether a name matches a pattern with `*` and `?`.
    static func matches(_ name: [Character], _ pattern: [Character]) -> Bool {
        var (index, location) = (0, 0)
        var star: (pattern: Int, name: Int)?
        while index < name.count {
            if location < pattern.count, pattern[location] != "*",
                pattern[location] == "?" || pattern[location] == name[index]
            {
                index += 1
                location += 1
            } else if location < pattern.count, pattern[location] == "*" {
                star = (location, index)
                location += 1
            } else if let last = star {
                star = (last.pattern, last.name + 1)
                location = last.pattern + 1
                index = last.name + 1
            } else {
                return false
            }
        }
        return pattern[location...].allSatisfy { $0 == "*" }
    }
}
