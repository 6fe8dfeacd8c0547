import Glibc
import OptionalProducts

/// Returns the contestants in the order of the table.
func makeContestants() -> [any Contestant] {
    [SwiftContestant(), LuaContestant(), SQLiteContestant(), LMDBContestant()]
}

do {
    let arguments = CommandLine.arguments.dropFirst()
    if arguments.contains("--help") {
        print(Options.help)
        exit(0)
    }
    let options = try Options(Array(arguments))
    if let name = options.insertsAs ?? options.commitsAs {
        guard let contestant = makeContestants().first(where: { $0.name == name }) else {
            throw BenchmarkError("no contestant is called \(name)")
        }
        if options.insertsAs != nil {
            try InsertWorkload.insertAlone(contestant, options)
        } else {
            try ChildCommitter.serve(contestant, folder: options.folder)
        }
        exit(0)
    }

    if let file = options.importsFile {
        try TransferWorkload.importAlone(file, folder: options.folder)
        exit(0)
    }
    if let seconds = options.soakSeconds {
        exit(try Soak.run(options, seconds: seconds) ? 0 : 1)
    }

    countsProcessorTime.store(options.countsProcessorTime, ordering: .relaxed)
    let chosen = makeContestants().filter { options.includes(contestant: $0.name) }
    OptionalProducts.register()
    let bench = try Bench(options, chosen)
    try InsertWorkload.run(bench)
    if options.includes("W2") { try CommitWorkload.run(bench) }
    try bench.withMainData {
        try ReadWorkload.run(bench)
        try QueryWorkload.run(bench)
    }
    if options.includes("W7") { try DeleteWorkload.run(bench) }
    if options.includes("W8") {
        try LatencyWorkload.run(bench)
        try CrowdWorkload.run(bench)
    }
    if options.includes("W10") { try OpenWorkload.run(bench) }
    if options.includes("W11") { try QueryingWorkload.run(bench) }
    if options.includes("W12") { try TextWorkload.run(bench) }
    if options.includes("W13") { try ListWorkload.run(bench) }
    if options.includes("W14") { try TransferWorkload.run(bench) }
    if options.includes("W15") { try CompletionWorkload.run(bench) }
    if options.includes("W16") { try TypedWorkload.run(bench) }
    if options.includes("W17") { try EngineWorkload.run(bench) }
    if options.includes("W18") { try EffectWorkload.run(bench) }
    if options.includes("W19") { try PostgresWorkload.run(bench) }
    if options.includes("W20") { try ReplicationWorkload.run(bench) }
    if options.includes("W21") { try CollectionWorkload.run(bench) }
    if options.includes("W9") { try InsertWorkload.measureSize(bench) }

    print(
        "\(options.size) objects, medians; × is how many times better Moonpool is than the peer\n")
    for line in bench.report.table() { print(line) }
    Files.remove(bench.folder)
    guard bench.report.disagreements.isEmpty else {
        print("\nThe contestants disagree:")
        for line in bench.report.disagreements { print("  \(line)") }
        exit(1)
    }
} catch {
    printError("benchmarks: \(error)")
    exit(1)
}
