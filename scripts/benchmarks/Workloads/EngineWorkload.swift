import Glibc
import MoonpoolScripting

/// W17: script engines that share threads.
enum EngineWorkload {
    private static let count = 1_000
    private static let threads = 2
    private static let create = Row(
        title: "W17 create 1,000 engines on 2 threads", unit: .milliseconds,
        swift: .atMost(1_000))
    private static let memory = Row(
        title: "W17 memory of 1,000 engines", unit: .mebibytes, swift: .atMost(300))
    private static let waiting = Row(
        title: "W17 more memory while all of them wait", unit: .mebibytes, swift: .atMost(100))
    private static let ownRun = Row(
        title: "W17 run of an engine with its own thread", unit: .microseconds)
    private static let sharedRun = Row(
        title: "W17 run of an engine on a shared thread", unit: .microseconds)

    static func run(_ bench: Bench) throws {
        guard let contestant = bench.contestants.first(where: { $0.name == Report.swift }) else {
            return
        }
        try bench.repeatEach(create, among: [contestant]) { _ in
            let threadsBefore = entries(of: "/proc/self/task")
            let filesBefore = entries(of: "/proc/self/fd")
            let memoryBefore = residentMebibytes()
            var engines: [ScriptEngine] = []
            let seconds = try seconds {
                let threads = ScriptThreads(count: threads)
                for _ in 0..<count {
                    engines.append(try ScriptEngine(.sandboxed, on: threads))
                }
                try answer(engines)
            }
            bench.report.add(residentMebibytes() - memoryBefore, to: memory, of: Report.swift)
            bench.report.add(try memoryOfWaits(engines), to: waiting, of: Report.swift)
            printError(
                "  \(entries(of: "/proc/self/task") - threadsBefore) more threads, "
                    + "\(entries(of: "/proc/self/fd") - filesBefore) more descriptors")
            try close(engines)
            return (create.unit.value(seconds), [])
        }
        try measureRuns(bench, contestant)
    }

    /// Returns the mebibytes that the engines take in addition while each of them sleeps.
    private static func memoryOfWaits(_ engines: [ScriptEngine]) throws -> Double {
        let before = residentMebibytes()
        let arrivals = Calls()
        let ends = Calls()
        for engine in engines { try engine.register("arrive") { () in arrivals.add(1) } }
        for engine in engines {
            Task {
                // because: the stop at the end makes the run fail.
                _ = try? await engine.run("arrive() moonpool.sleep(3600)")
                ends.add(1)
            }
        }
        _ = try arrivals.wait(for: count)
        let memory = residentMebibytes() - before
        for engine in engines { engine.stop() }
        _ = try ends.wait(for: count)
        return memory
    }

    private static func measureRuns(_ bench: Bench, _ contestant: any Contestant) throws {
        let runs = 10_000
        for (row, threads) in [(ownRun, nil), (sharedRun, ScriptThreads(count: 1))] {
            let engine = try ScriptEngine(.sandboxed, on: threads)
            try bench.repeatEach(row, among: [contestant]) { _ in
                let seconds = try seconds {
                    try waiting { for _ in 0..<runs { try await engine.run("return 1") } }
                }
                return (row.unit.value(seconds, count: runs), [])
            }
            try close([engine])
        }
    }

    private static func answer(_ engines: [ScriptEngine]) throws {
        try waiting {
            for engine in engines { try await engine.run("return 1") }
        }
    }

    private static func close(_ engines: [ScriptEngine]) throws {
        try waiting { for engine in engines { await engine.close() } }
    }

    private static func waiting(_ body: @escaping @Sendable () async throws -> Void) throws {
        let calls = Calls()
        let task = Task {
            defer { calls.add(1) }
            try await body()
        }
        _ = try calls.wait(for: 1)
        _ = task
    }

    private static func entries(of folder: String) -> Int {
        guard let stream = opendir(folder) else { return 0 }
        defer { closedir(stream) }
        var count = 0
        while readdir(stream) != nil { count += 1 }
        return count
    }

    private static func residentMebibytes() -> Double {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, 128, file) != nil else { return 0 }
        let words = String(cString: line).split(separator: " ")
        guard words.count > 1, let pages = Int(words[1]) else { return 0 }
        return Double(pages) * 4096 / 1048576
    }
}
