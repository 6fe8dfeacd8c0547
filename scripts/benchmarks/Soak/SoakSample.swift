import Glibc

/// The measurements of the soak test at one time.
struct SoakSample {
    var second: Double
    var commits: Int
    var calls: Int
    /// Resident memory without the pages of mapped files, in mebibytes.
    var memory: Double
    var file: Double
    /// The part of the file that the newest version uses.
    var used: Double
    var pins: Int
    var wrong: Int
    var late: Int
    var median: Double
    var tail: Double
    /// The longest flush of another file on the same device, in milliseconds.
    var flush: Double

    private static let widths = [7, 10, 11, 11, 9, 9, 6, 7, 6, 11, 11, 10]

    static let head = Self.row([
        "second", "commits", "calls", "memory MiB", "file MiB", "used MiB", "pins", "wrong", "late",
        "median ms", "p99 ms", "flush ms",
    ])

    var line: String {
        Self.row([
            "\(Int(second))", "\(commits)", "\(calls)", Report.number(memory), Report.number(file),
            Report.number(used), "\(pins)", "\(wrong)", "\(late)", Report.number(median),
            Report.number(tail), Report.number(flush),
        ])
    }

    private static func row(_ cells: [String]) -> String {
        zip(cells, widths).map { String(repeating: " ", count: max(1, $1 - $0.count)) + $0 }
            .joined(separator: " ")
    }

    /// Returns the resident memory of this process without mapped files, in mebibytes.
    static func ownMemory() throws -> Double {
        guard let status = fopen("/proc/self/status", "r") else { throw BenchmarkError("no /proc") }
        defer { fclose(status) }
        var line = [CChar](repeating: 0, count: 256)
        while let text = fgets(&line, 256, status) {
            let text = String(cString: text)
            if text.hasPrefix("RssAnon:"), let kilobytes = Int(trimming: text) {
                return Double(kilobytes) / 1024
            }
        }
        throw BenchmarkError("no RssAnon in /proc/self/status")
    }
}
