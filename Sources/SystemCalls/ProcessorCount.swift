#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The number of processors that a process may use.
package enum ProcessorCount {
    /// The number of processors that the system, the set of processors of this process, and the limits of its control
    /// groups allow; a part of a processor counts as one.
    static var allowed: Int {
        let online = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        let set = inSet(status: text("/proc/self/status")) ?? online
        let quota = quota(groups: text("/proc/self/cgroup"), limit: text) ?? online
        return max(1, min(online, set, quota))
    }

    /// Returns the size of the set of processors in the content of `/proc/self/status`, which has a mask of
    /// hexadecimal digits; nil if there is none.
    package static func inSet(status: String?) -> Int? {
        let name = "Cpus_allowed:"
        let line = status?.split(separator: "\n").first { $0.hasPrefix(name) }
        return line?.dropFirst(name.count).reduce(0) {
            $0 + ($1.hexDigitValue?.nonzeroBitCount ?? 0)
        }
    }

    /// Returns the number of processors that the limits of a process's control groups allow; nil if there is no limit.
    ///
    /// `groups` is the content of `/proc/self/cgroup`, and `limit` reads a file. Each group is limited by its own
    /// `cpu.max` and by those of the groups that contain it: `quota period` or `max period`, in microseconds.
    package static func quota(groups: String?, limit: (String) -> String?) -> Int? {
        guard let line = groups?.split(separator: "\n").first(where: { $0.hasPrefix("0::/") })
        else {
            return nil
        }
        var folder = "/sys/fs/cgroup" + line.dropFirst(3)
        var minimum: Int?
        while folder.count >= "/sys/fs/cgroup".count {
            let words = limit(folder + "/cpu.max")?.split(whereSeparator: \.isWhitespace) ?? []
            if words.count == 2, let quota = Int(words[0]), let period = Int(words[1]), period > 0 {
                minimum = min(minimum ?? .max, max(1, (quota + period - 1) / period))
            }
            guard let end = folder.lastIndex(of: "/") else { break }
            folder = String(folder[..<end])
        }
        return minimum
    }

    private static func text(_ path: String) -> String? {
        ProcessServices.read(path, limit: 16 << 10).map { String(decoding: $0, as: UTF8.self) }
    }
}
